"""What the documents refer to exists: pages, headings, files, variables, tests."""

import fnmatch
import re
from functools import cache
from pathlib import Path

import pytest
from repository import REPOSITORY, documents, files, folders, prose, text

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`]+)`")
# A file, as prose names one: of these kinds, or with a folder of the repository before it.
NAMED = re.compile(r"[\w.+*/-]+\.(?:swift|py|sql|md|json|yml|yaml|sh|svg)")
TOP_FOLDERS = {name.split("/")[0] for name in files() if "/" in name}
DECISIONS = [name for name in documents() if re.match(r"docs/decisions/\d", name)]


@cache
def anchors(name: str) -> set[str]:
    """As the usual renderers name headings."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} (.*)$", prose(name), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")
        repeated = 0
        while (anchor := slug + (f"-{repeated}" if repeated else "")) in found:
            repeated += 1
        found.add(anchor)
    return found


def links(name: str) -> list[str]:
    return LINK.findall(CODE.sub("", prose(name)))


def target(name: str, link: str) -> tuple[str, str]:
    """The path from the root of the repository, and the anchor."""
    path, _, anchor = link.partition("#")
    if not path:
        return name, anchor
    return str(((REPOSITORY / name).parent / path).resolve().relative_to(REPOSITORY)), anchor


@pytest.mark.parametrize("name", documents())
def test_links_lead_somewhere(name):
    dead = []
    for link in links(name):
        if re.match(r"https://[\w.-]+/", link):
            continue
        try:
            path, anchor = target(name, link)
        except ValueError:
            dead.append(f"{link} leaves the repository")
            continue
        if path not in files() and path not in folders():
            dead.append(f"{link}: there is no {path}")
        elif anchor and anchor not in anchors(path):
            dead.append(f"{link}: {path} has no such heading")
    assert not dead


@pytest.mark.parametrize("name", documents())
def test_files_that_are_named_exist(name):
    missing = [path for code in CODE.findall(prose(name)) for path in paths(code) if not exists(path)]
    assert not missing


def paths(code: str) -> list[str]:
    """Words of inline code that look like files of the repository."""
    words = [word.rstrip(":,;") for word in code.split()]
    return [
        word
        for word in words
        if word.isascii()
        and not word.startswith(("/", "-", "~", "<", "docs.", "http"))
        and not re.search(r"[=<$(]", word)
        and (word.split("/")[0] in TOP_FOLDERS and "/" in word or NAMED.fullmatch(word))
    ]


def exists(path: str) -> bool:
    """As written from the root, or the end of a path: prose beside a file leaves the folders out."""
    bare = path.partition("::")[0].rstrip("/")
    if "*" in bare:
        return bool(fnmatch.filter([*files(), *folders()], bare))
    return bare in files() or bare in folders() or any(name.endswith("/" + bare) for name in files())


def test_nothing_refers_to_what_is_outside():
    """Paths of a machine, other than those where Debian and containers have things."""
    allowed = ("/var/lib/", "/tmp/", "/run/parley/", "/proc/", "/etc/")
    outside = re.compile(r"(?<![\w.\"}\]>*/)…])(/(?:home|root|work|mnt|opt|var|tmp|run|srv|data|usr)/[\w./-]*)")
    found = [
        f"{name}: {path}"
        for name in documents()
        for path in outside.findall(text(name))
        if not path.startswith(allowed)
    ]
    assert not found


@cache
def known_variables() -> set[str]:
    code = [name for name in files() if not name.endswith((".md", ".svg", ".json")) and "Tests/Documents" not in name]
    names = {found for name in code for found in re.findall(r"PARLEY_[A-Z_]+", readable(name))}
    return names | {f"{name}_FILE" for name in names}


def readable(name: str) -> str:
    try:
        return text(name)
    except UnicodeDecodeError:
        return ""


@pytest.mark.parametrize("name", documents())
def test_variables_are_read_by_something(name):
    # One that ends in an underscore stands for several.
    named = {variable for variable in re.findall(r"PARLEY_[A-Z_]+", text(name)) if not variable.endswith("_")}
    assert not named - known_variables() - {f"PARLEY_BUS_{role}" for role in ("INGEST", "STORE", "RECEIPT", "FANOUT")}


def test_every_page_is_reached_from_the_readme():
    reached, waiting = {"README.md"}, ["README.md"]
    while waiting:
        name = waiting.pop()
        for link in links(name):
            if "://" in link:
                continue
            path = target(name, link)[0]
            if path in documents() and path not in reached:
                reached.add(path)
                waiting.append(path)
    assert not {name for name in documents() if name.startswith("docs/")} - reached


def test_the_readme_takes_five_minutes():
    assert len(text("README.md").splitlines()) <= 150


def test_results_in_the_readme_are_those_of_the_benchmarks():
    section = text("README.md").partition("\n## Measured\n")[2].partition("\n## ")[0]
    numbers = re.findall(r"\d[\d,.]*\d", LINK.sub("", section))
    known = text("docs/benchmarks.md") + text("docs/testing.md")
    assert numbers and not [number for number in numbers if number not in known]


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_has_context_decision_and_price(name):
    number = int(Path(name).name[:4])
    assert text(name).startswith(f"# {number}. ")
    places = [text(name).find(f"**{part}.**") for part in ("Context", "Decision", "Price")]
    assert -1 < places[0] < places[1] < places[2]
    title = text(name).splitlines()[0].partition(". ")[2]
    assert f"- [{number:04}]({Path(name).name}) {title}\n" in text("docs/decisions/README.md")


def test_decisions_are_numbered_without_a_gap():
    assert [int(Path(name).name[:4]) for name in DECISIONS] == list(range(1, len(DECISIONS) + 1))
