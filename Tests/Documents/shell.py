"""The simple commands of a shell script, as far as documents need them."""

import re

SEPARATORS = "|&;()\n"
KEYWORDS = {"{", "}", "!", "then", "else", "fi", "do", "done", "if", "while", "for"}


def functions(script: str) -> set[str]:
    return set(re.findall(r"^\s*(\w+)\(\)", script, re.MULTILINE))


def commands(script: str) -> list[list[str]]:
    """Each as its words, without assignments before it; those in substitutions too. Variables stay as written."""
    script = re.sub(r"^(\s*)\w+\(\)", r"\1", script, flags=re.MULTILINE).replace("\\\n", " ")
    found: list[list[str]] = []
    _scan(script, 0, found, until=None)
    return [plain for words in found if (plain := _plain(words))]


def _scan(script: str, start: int, found: list[list[str]], until: str | None) -> int:
    """Reads commands up to the closing parenthesis of a substitution, or to the end; returns the place behind it."""
    words: list[str] = []
    word: str | None = None
    place = start

    def end_word():
        nonlocal word
        if word is not None:
            words.append(word)
            word = None

    def end_command():
        nonlocal words
        end_word()
        if words:
            found.append(words)
            words = []

    while place < len(script):
        character = script[place]
        if character == until:
            end_command()
            return place + 1
        if character == "#" and word is None:
            place = script.find("\n", place)
            if place < 0:
                break
        elif script.startswith("$(", place):
            place = _scan(script, place + 2, found, until=")")
            word = (word or "") + "$()"
        elif character == "'":
            closing = script.index("'", place + 1)
            word = (word or "") + script[place + 1 : closing]
            place = closing + 1
        elif character == '"':
            content, place = _quoted(script, place + 1, found)
            word = (word or "") + content
        elif character in SEPARATORS:
            end_command()
            place += 1
        elif character in "<>":
            end_word()
            words.append(character)
            place += 1
        elif character in " \t":
            end_word()
            place += 1
        else:
            word = (word or "") + character
            place += 1
    end_command()
    return place


def _quoted(script: str, place: int, found: list[list[str]]) -> tuple[str, int]:
    content = ""
    while script[place] != '"':
        if script.startswith("$(", place):
            place = _scan(script, place + 2, found, until=")")
            content += "$()"
        else:
            content += script[place]
            place += 1
    return content, place + 1


def _plain(words: list[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for word in words:
        if word in "<>":
            if kept and kept[-1] in ("1", "2"):  # 2>
                kept.pop()
            skip = True
        elif skip:
            skip = False
        elif kept or not (word in KEYWORDS or re.match(r"\w+=", word)):
            kept.append(word)
    while kept and kept[0] == "export":
        kept = [word for word in kept[1:] if "=" not in word]
    return [word for word in kept if word not in KEYWORDS]
