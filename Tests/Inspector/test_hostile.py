"""Whatever a file is, it is shown or refused for one of the known reasons."""

import functools
import io
import os
import random
import struct
import zlib

import pytest
from corpus import PICTURES, RECORDINGS, SECRET, drawing, encoded, recording
from inspecting import REASONS, Report, Server, inspect
from PIL import Image

SEED = int(os.environ.get("PARLEY_SEED", "20261123"))
DAMAGES = int(os.environ.get("PARLEY_DAMAGES", "200"))


@functools.cache
def valid(name: str) -> bytes:
    return recording(name) if name in RECORDINGS else PICTURES[name]()


def assert_shown_or_refused(report: Report) -> None:
    """A death is a refusal, but never one for what the filter forbids: that would be a library's first step astray."""
    if report.ended:
        assert report.facts["verdict"] == "ready" or report.facts["reason"] in REASONS


def damaged(content: bytes, dice: random.Random) -> bytes:
    bytes_ = bytearray(content)
    for _ in range(dice.choice((1, 1, 2, 8, 64))):
        position = dice.randrange(len(bytes_)) if dice.random() < 0.5 else dice.randrange(min(len(bytes_), 512))
        kind = dice.randrange(4)
        if kind == 0:
            bytes_[position] ^= 1 << dice.randrange(8)
        elif kind == 1:
            bytes_[position : position + 4] = dice.choice((b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"))
        elif kind == 2:
            del bytes_[position : position + dice.randrange(1, 64)]
        else:
            bytes_[position:position] = bytes_[: dice.randrange(1, 64)]
        if len(bytes_) < 2:
            break
    return bytes(bytes_)


@pytest.mark.parametrize("name", [*PICTURES, *RECORDINGS])
def test_damage_is_shown_or_refused(name):
    content = valid(name)
    dice = random.Random(f"{SEED} {name}")
    ended = 0
    with Server("--seconds", "10") as server:
        for _ in range(DAMAGES):
            report = server.inspect(damaged(content, dice))
            assert_shown_or_refused(report)
            ended += report.ended
    # Deaths are refusals, but each is one of a library's: few, or something is wrong with the filter.
    assert ended >= DAMAGES * 0.97


@pytest.mark.parametrize("name", [*PICTURES, *RECORDINGS])
def test_what_is_cut_off_is_shown_or_refused(name):
    content = valid(name)
    with Server() as server:
        for part in range(1, 20):
            report = server.inspect(content[: len(content) * part // 20])
            assert_shown_or_refused(report)
            assert report.ended


@pytest.mark.parametrize("name", ["jpeg", "png", "gif", "webp", "heic", "avif"])
def test_half_a_picture_is_refused(name):
    content = valid(name)
    report = inspect(content[: len(content) // 2])
    assert (report.ended, report.reason) == (True, "unreadable")


def png_chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int, height: int, rows: bytes = b"", *chunks: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = png_chunk(b"IHDR", header) + b"".join(chunks) + png_chunk(b"IDAT", zlib.compress(rows, 9))
    return b"\x89PNG\r\n\x1a\n" + body + png_chunk(b"IEND", b"")


def resized(content: bytes, mark: bytes, offset: int, layout: str, width: int, height: int) -> bytes:
    """With other dimensions written into the header that follows a mark."""
    position = content.index(mark) + offset
    size = struct.pack(layout, width, height)
    return content[:position] + size + content[position + len(size) :]


HUGE = {
    "png": lambda: png(65_535, 65_535, bytes(1 << 20)),
    "a png of zeros": lambda: png(20_000, 20_000, bytes(20_000 * 3 * 1_000)),
    "jpeg": lambda: resized(valid("jpeg"), b"\xff\xc0", 5, ">HH", 65_500, 65_500),
    "gif": lambda: endless_gif(1).replace(b"\1\0\1\0", b"\xff\xff\xff\xff"),
    "heic": lambda: resized(valid("heic"), b"ispe", 8, ">II", 65_535, 65_535),
    "frames": lambda: endless_gif(400).replace(b"\1\0\1\0", struct.pack("<HH", 640, 480)),
    "a thousand frames and one": lambda: endless_gif(1_001),
}


def endless_gif(count: int) -> bytes:
    """Frames of one pixel."""
    frame = b"\x2c\0\0\0\0\1\0\1\0\0" + b"\2\2\x44\1\0"
    return b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff" + frame * count + b"\x3b"


@pytest.mark.parametrize("name", HUGE)
def test_a_bomb_is_refused(name):
    report = inspect(HUGE[name]())
    expected = {"unreadable", "tooLarge"} if name == "heic" else {"tooLarge"}
    assert report.ended and report.reason in expected


@pytest.mark.parametrize("count", [500, 1_000])
def test_many_small_frames_are_none(count):
    assert inspect(endless_gif(count)).facts["verdict"] == "ready"


HOSTILE = {
    "nothing": b"",
    "html": b"<!DOCTYPE html><script>alert(1)</script>",
    "svg": b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    "entities": b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><x>&a;</x>",
    "playlist": b"#EXTM3U\n#EXTINF:1\nfile:///etc/passwd\n",
    "concat": b"ffconcat version 1.0\nfile /etc/passwd\n",
    "magick": b"push graphic-context\nimage over 0,0 0,0 'https://example.com'\npop graphic-context",
    "postscript": b"%!PS\n(/etc/passwd) (r) file",
    "tiff": b"II*\0\x08\0\0\0",
    "avi": b"RIFF\0\0\0\0AVI LIST",
    "random": random.Random(SEED).randbytes(100_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_not_looked_into_is_a_plain_file(name):
    report = inspect(HOSTILE[name])
    assert report.ended and set(report.frames) == {1, 5}
    assert report.facts == {"type": "application/octet-stream", "verdict": "ready"}


WRONG = {
    "a jpeg of html": b"\xff\xd8\xff\xe0" + HOSTILE["html"],
    "a png of zeros": b"\x89PNG\r\n\x1a\n" + bytes(10_000),
    "a gif of a script": b"GIF89a=1;alert(1)//",
    "a webp of a page": b"RIFF\x24\0\0\0WEBPVP8 " + HOSTILE["html"],
    "an mp4 of a page": b"\0\0\0\x18ftypisom\0\0\0\0isommp42" + HOSTILE["html"],
    "a heic of a page": b"\0\0\0\x18ftypheic\0\0\0\0heicmif1" + HOSTILE["html"],
    "an mp3 of a page": b"ID3\4\0\0\0\0\0\0" + HOSTILE["html"],
    "a webm of a page": b"\x1a\x45\xdf\xa3\x84webm" + HOSTILE["html"],
    "boxes in boxes": b"\0\0\0\x10ftypisom\0\0\0\0"
    + b"".join(struct.pack(">I", 1 << 20) + b"moov" for _ in range(10_000)),
    "a box of itself": b"\0\0\0\x10ftypisom\0\0\0\0" + struct.pack(">I4sQ", 1, b"moov", 1 << 62),
    "an ogg of nothing": b"OggS" * 10_000,
    "a flac of nothing": b"fLaC" + bytes(1_000),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_what_it_says_is_refused(name):
    report = inspect(WRONG[name])
    assert (report.ended, report.reason) == (True, "unreadable")


def test_megabytes_of_metadata_are_read_over():
    comments = (b"\xff\xfe\xff\xff" + SECRET * 3276 + bytes(65_533 - 20 * 3276)) * 300
    content = valid("jpeg")
    report = inspect(content[:2] + comments + content[2:])
    assert report.facts["verdict"] == "ready" and SECRET not in report.frames[2]
    texts = b"".join(png_chunk(b"tEXt", b"Comment\0" + SECRET * 50_000) for _ in range(10))
    assert_shown_or_refused(inspect(png(8, 8, bytes(8 * 25), texts)))


def test_a_compressed_profile_that_grows_is_no_bomb():
    profile = png_chunk(b"iCCP", b"x\0\0" + zlib.compress(bytes(500 << 20), 9))
    assert_shown_or_refused(inspect(png(8, 8, bytes(8 * 25), profile)))


def test_two_files_in_one_are_shown_as_one():
    """The picture is encoded again, so nothing of the archive behind it is left."""
    archive = b"PK\3\4" + SECRET + b"PK\5\6" + bytes(18)
    report = inspect(valid("png") + archive)
    assert report.facts["verdict"] == "ready" and SECRET not in report.frames[2]


def test_the_largest_picture_that_is_allowed_is_shown():
    picture = Image.new("RGB", (8_000, 8_000), (10, 20, 30))
    output = io.BytesIO()
    picture.save(output, "PNG", compress_level=1)
    report = inspect(output.getvalue())
    assert (report.reason, report.facts["width"]) == (None, 8_000)
    assert drawing().size == (320, 200)
    assert inspect(encoded(picture.resize((8_001, 8_000)), "JPEG")).reason == "tooLarge"
