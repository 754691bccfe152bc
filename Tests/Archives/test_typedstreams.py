"""The texts of typedstreams, compared with those that an independent reader finds."""

import random

import typedstream
from source import Source, archive
from typedstreams import PART, attributed, body

BOUNDARIES = [0x7E, 0x7F, 0x80, 0x81, 0x82, 0x85, 0x91, 0x92, 0xFF, 0x100, 0x101, 0x7FF, 0x3FFF, 0x4000]
ALPHABETS = [
    "x",
    "é",
    "漢",
    "🧗",
    "a\u0301",
    "👩🏽\u200d🚀",
    "ab \n\t",
    "\u2028\ufeff",
    "0\u202e1",
    "\u0081\u0084\u0086",
]
LIMIT = 16 * 1024


def texts(random: random.Random) -> list[str]:
    found = []
    for alphabet in ALPHABETS:
        for length in BOUNDARIES:
            for near in (-1, 0, 1):
                text = (alphabet * length).encode()[: length + near].decode(errors="ignore")
                found.append("." + text[1:])
    for _ in range(1500):
        text = "".join(random.choice("".join(ALPHABETS)) for _ in range(random.randint(1, 200)))
        found.append("." + text)
    return [text for text in found if len(text.encode()) <= LIMIT]


def divided(text: str, random: random.Random) -> list[tuple[str, dict]]:
    runs, rest = [], text
    while rest:
        length = random.randint(1, len(rest))
        attributes = {PART: 0} | random.choice(
            [{}, {"__kIMMentionConfirmedMention": "+15550100"}, {"data": b"\x86" * 99}]
        )
        runs.append((rest[:length], attributes))
        rest = rest[length:]
    return runs


def reference(stream: bytes) -> str | None:
    """What pytypedstream reads; None where it refuses."""
    try:
        root = typedstream.unarchive_from_data(stream)
        value = root.contents[0].value if hasattr(root, "contents") else root
        return value.value
    except Exception:  # It raises whatever Python does on the bytes.
        return None


def read(tmp_path, streams: list[bytes]):
    source = Source(tmp_path / "chat.db", "sequoia")
    chat = source.chat("iMessage;-;+15550100", [source.handle("+15550100")])
    guids = [source.message(chat, None, attributedBody=stream)[1].lower() for stream in streams]
    result = archive(source.finish())
    found = {record["id"]: record["text"] for record in result.of("message")}
    return [found[guid] for guid in guids], result


def test_every_text_is_that_of_another_reader(tmp_path):
    chance = random.Random(1)
    wanted = texts(chance)
    streams = []
    for index, text in enumerate(wanted):
        if index % 3 == 0:
            streams.append(body(text, mutable=index % 2 == 0, big_endian=index % 5 == 0))
        else:
            streams.append(attributed(divided(text, chance), mutable=index % 2 == 0, big_endian=index % 7 == 0))
    compared = [reference(stream) for stream in streams]
    assert compared == wanted, "the other reader reads what was written"
    found, result = read(tmp_path, streams)
    assert found == wanted
    assert len(wanted) > 1800
    assert result.status == 0 and "damagedBody" not in result.report["notes"]


def test_texts_of_the_longest_forms_of_lengths_are_continued(tmp_path):
    wanted = ["x" * length for length in (0xFFFF, 0x10000, 0x10001, 0x20000)]
    streams = [body(text) for text in wanted]
    assert [reference(stream) for stream in streams] == wanted
    _, result = read(tmp_path, streams)
    assert "".join(record["text"] for record in result.of("message")) == "".join(wanted)
    assert result.report["notes"]["split"] == len(wanted) and result.status == 0


def test_a_damaged_text_is_read_where_another_reader_can_and_is_never_lost(tmp_path):
    chance = random.Random(2)
    originals = [attributed([("Sunday, nine? 🧗", {PART: 0}), ("Look!", {PART: 1})]), body("short")]
    streams = []
    for _ in range(6000):
        stream = bytearray(chance.choice(originals))
        for _ in range(chance.randint(1, 3)):
            position = chance.randrange(max(1, len(stream)))
            stream = stream or bytearray(b"\x04")
            match chance.randrange(4):
                case 0:
                    stream[position] ^= 1 << chance.randrange(8)
                case 1:
                    stream[position] = chance.choice([0, 0x7F, 0x80, 0x81, 0x82, 0x84, 0x85, 0x86, 0x92, 0xFF])
                case 2:
                    del stream[position:]
                case 3:
                    del stream[position : position + chance.randint(1, 8)]
        streams.append(bytes(stream))
    found, result = read(tmp_path, streams)
    assert result.report["outcomes"] == {"message": len(streams)}
    assert result.status == 0 and len(found) == len(streams)
    compared = 0
    for stream, text in zip(streams, found):
        # What the program says of attachments and emptiness is not in the stream.
        expected = reference(stream)
        if expected and expected.strip() and not set(expected) & {"\ufffc", "\0"}:
            # A part of a message is a line of its own.
            assert text.replace("\n", "") == expected.replace("\n", "")
            compared += 1
    assert compared > 200
    assert result.report["notes"]["unreadableBody"] > 200
