"""What a picture becomes: upright, in sRGB, without anything but its pixels, with two thumbnails and a hash."""

import base64
import io

import pytest
import thumbhashes
from corpus import PICTURES, SECRET, animation, drawing, encoded, exif
from inspecting import CONTENT, LARGE, SMALL, inspect
from PIL import Image, ImageChops, ImageCms, ImageOps, ImageStat

SHOWN = {"heic": "image/jpeg", "avif": "image/jpeg", "transparent heic": "image/webp", "transparent avif": "image/webp"}


def difference(one: Image.Image, other: Image.Image) -> float:
    """On average, of 255 steps."""
    assert one.size == other.size
    return max(ImageStat.Stat(ImageChops.difference(one.convert("RGB"), other.convert("RGB"))).mean)


@pytest.mark.parametrize("name", PICTURES)
def test_every_kind_of_picture_is_shown(name):
    content = PICTURES[name]()
    report = inspect(content)
    facts = report.facts
    assert (report.status, facts["verdict"], report.ended) == (0, "ready", True)
    kind = name.split()[-1]
    assert facts["type"] == f"image/{kind}"
    assert facts["contentType"] == SHOWN.get(name, f"image/{kind}")
    original, shown = Image.open(io.BytesIO(content)), report.picture()
    assert shown.get_format_mimetype() == facts["contentType"]
    assert (facts["width"], facts["height"]) == original.size == shown.size
    limit = 40 if "cmyk" in name else 128 if "deep" in name else 8
    assert difference(original, shown) < limit
    for tag, thumbnail in zip((SMALL, LARGE), facts["thumbnails"], strict=True):
        picture = report.picture(tag)
        assert picture.format == "WEBP"
        assert picture.size == (thumbnail["width"], thumbnail["height"])
        assert not getattr(picture, "is_animated", False)


def test_thumbnails_keep_the_proportions_and_are_never_larger_than_the_picture():
    facts = inspect(encoded(drawing(3000, 1500), "JPEG")).facts
    assert [(t["size"], t["width"], t["height"]) for t in facts["thumbnails"]] == [
        ("small", 256, 128),
        ("large", 1280, 640),
    ]
    facts = inspect(encoded(drawing(20, 10), "PNG")).facts
    assert {(t["width"], t["height"]) for t in facts["thumbnails"]} == {(20, 10)}


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_picture_is_turned_as_its_metadata_says(kind, orientation):
    content = encoded(drawing(), kind, exif=exif(orientation))
    report = inspect(content)
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(content)))
    assert (report.facts["width"], report.facts["height"]) == upright.size
    assert difference(upright, report.picture()) < 8
    assert difference(upright.resize((64, 64)), report.picture(SMALL).resize((64, 64))) < 12


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "HEIF", "AVIF"])
def test_nothing_but_pixels_is_left(kind):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    options = {"comment": SECRET} if kind in ("JPEG", "GIF") else {}
    if kind != "GIF":
        options |= {"exif": exif(), "icc_profile": profile}
    if kind in ("JPEG", "WEBP", "PNG"):
        options["xmp"] = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'>" + SECRET + b"</x:xmpmeta>"
    content = encoded(drawing().convert("P") if kind == "GIF" else drawing(), kind, **options)
    assert SECRET in content
    # What follows the picture is no part of it: so a file could be two things.
    report = inspect(content + b"PK\3\4" + SECRET if kind in ("JPEG", "PNG", "GIF") else content)
    assert report.facts["verdict"] == "ready"
    for tag in (CONTENT, SMALL, LARGE):
        assert SECRET not in report.frames[tag]
        picture = report.picture(tag)
        assert not picture.getexif() and not picture.info.keys() & {"exif", "icc_profile", "xmp", "comment", "XML"}


def test_colours_are_those_of_the_profile():
    """A picture whose profile swaps nothing but the brightness is as bright afterwards without it."""
    grey = Image.new("RGB", (32, 32), (128, 128, 128))
    lab = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    report = inspect(encoded(grey, "PNG", icc_profile=lab))
    assert difference(grey, report.picture()) < 2


@pytest.mark.parametrize("kind", ["GIF", "WEBP"])
def test_an_animation_stays_one(kind):
    report = inspect(animation(kind, duration=[50, 60, 70, 80, 90, 100, 110, 120], loop=3))
    picture = report.picture()
    assert (report.facts["width"], report.facts["height"]) == picture.size == (64, 48)
    assert picture.n_frames == 8
    durations = []
    for index in range(8):
        picture.seek(index)
        picture.load()
        durations.append(picture.info["duration"])
    assert durations == [50, 60, 70, 80, 90, 100, 110, 120]
    assert picture.info["loop"] == 3


def nibbles(encoded: bytes) -> list[int]:
    return [nibble for byte in encoded[5:] for nibble in (byte & 15, byte >> 4)]


@pytest.mark.parametrize("size", [(100, 75), (60, 100), (7, 5), (1, 1), (100, 3)])
@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_the_hash_is_that_of_an_independent_implementation(size, mode):
    picture = drawing(*size).convert(mode)
    if mode == "RGBA":
        picture.putalpha(Image.linear_gradient("L").resize(size))
    found = base64.b64decode(inspect(encoded(picture, "PNG")).facts["thumbhash"])
    expected = thumbhashes.encode(*size, picture.convert("RGBA").tobytes())
    # What is nothing is between two steps, and floating point may fall to either side.
    assert found[:5] == expected[:5] and len(found) == len(expected)
    assert all(abs(one - other) <= 1 for one, other in zip(nibbles(found), nibbles(expected), strict=True))
