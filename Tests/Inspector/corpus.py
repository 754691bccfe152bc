"""Files to be looked into, made here: of each type a valid one."""

import functools
import io
import subprocess
import tempfile
from pathlib import Path

import pillow_heif
from PIL import Image, ImageDraw

pillow_heif.register_heif_opener()

ORIENTATION, GPS = 0x0112, 0x8825
SECRET = b"nobody may read this"


@functools.cache
def drawing(width: int = 320, height: int = 200) -> Image.Image:
    """Each corner differs, so that it shows how a picture is turned."""
    picture = Image.merge(
        "RGB",
        [Image.linear_gradient("L").rotate(turn).resize((width, height)) for turn in (0, 90, 180)],
    )
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, width // 4, height // 4), fill=(255, 0, 0))
    pen.rectangle((width * 3 // 4, 0, width, height // 4), fill=(0, 0, 255))
    return picture


def exif(orientation: int = 1) -> Image.Exif:
    tags = Image.Exif()
    tags[ORIENTATION] = orientation
    tags[0x010E] = SECRET.decode()
    tags.get_ifd(GPS).update({1: "N", 2: (47.0, 22.0, 1.0), 3: "E", 4: (8.0, 32.0, 3.0)})
    return tags


def encoded(picture: Image.Image, kind: str, **options: object) -> bytes:
    output = io.BytesIO()
    picture.save(output, kind, **options)
    return output.getvalue()


def frames(count: int = 8, size: tuple[int, int] = (64, 48)) -> list[Image.Image]:
    return [drawing().resize(size).rotate(index * 360 // count) for index in range(count)]


def animation(kind: str, count: int = 8, size: tuple[int, int] = (64, 48), **options: object) -> bytes:
    first, *rest = frames(count, size)
    return encoded(first, kind, save_all=True, append_images=rest, **({"duration": 70, "loop": 0} | options))


PICTURES = {
    "jpeg": lambda: encoded(drawing(), "JPEG", quality=85),
    "progressive jpeg": lambda: encoded(drawing(), "JPEG", progressive=True),
    "grey jpeg": lambda: encoded(drawing().convert("L"), "JPEG"),
    "cmyk jpeg": lambda: encoded(drawing().convert("CMYK"), "JPEG"),
    "png": lambda: encoded(drawing(), "PNG"),
    "transparent png": lambda: encoded(transparent(), "PNG"),
    "palette png": lambda: encoded(drawing().convert("P"), "PNG"),
    "grey png": lambda: encoded(drawing().convert("LA"), "PNG"),
    "deep png": lambda: encoded(drawing().convert("I;16"), "PNG"),
    "bitmap png": lambda: encoded(drawing().convert("1"), "PNG"),
    "gif": lambda: encoded(drawing().convert("P"), "GIF"),
    "animated gif": lambda: animation("GIF"),
    "webp": lambda: encoded(drawing(), "WEBP"),
    "lossless webp": lambda: encoded(transparent(), "WEBP", lossless=True),
    "animated webp": lambda: animation("WEBP"),
    "heic": lambda: encoded(drawing(), "HEIF"),
    "transparent heic": lambda: encoded(transparent(), "HEIF"),
    "avif": lambda: encoded(drawing(), "AVIF"),
    "transparent avif": lambda: encoded(transparent(), "AVIF"),
}


def transparent() -> Image.Image:
    picture = drawing().convert("RGBA")
    picture.putalpha(Image.linear_gradient("L").resize(picture.size))
    return picture


TONE = ["-f", "lavfi", "-i", "sine=frequency=440:duration=3"]
TEST_PICTURE = ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25:duration=3"]
H264 = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]
RECORDINGS = {
    "mp4": ("mp4", [*TEST_PICTURE, *TONE, *H264, "-c:a", "aac", "-movflags", "+faststart"]),
    "mov": ("mov", [*TEST_PICTURE, *TONE, *H264, "-c:a", "aac", "-metadata", "location=+47.36+008.53/"]),
    "hevc mp4": ("mp4", [*TEST_PICTURE, "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none"]),
    "webm": ("webm", [*TEST_PICTURE, *TONE, "-c:v", "libvpx", "-deadline", "realtime", "-c:a", "libopus"]),
    "vp9 webm": ("webm", [*TEST_PICTURE, "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"]),
    "mkv": ("matroska", [*TEST_PICTURE, *TONE, *H264, "-c:a", "aac"]),
    "mp3": ("mp3", [*TONE, "-c:a", "libmp3lame"]),
    "m4a": ("ipod", [*TONE, "-c:a", "aac"]),
    "aac": ("adts", [*TONE, "-c:a", "aac"]),
    "opus": ("ogg", [*TONE, "-c:a", "libopus"]),
    "vorbis": ("ogg", [*TONE, "-c:a", "libvorbis"]),
    "wav": ("wav", [*TONE]),
    "flac": ("flac", [*TONE]),
    "opus webm": ("webm", [*TONE, "-c:a", "libopus"]),
}


@functools.cache
def recording(name: str) -> bytes:
    container, options = RECORDINGS[name]
    return encoded_by_ffmpeg(container, *options)


def encoded_by_ffmpeg(container: str, *options: str) -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "recording"
        subprocess.run(
            ["ffmpeg", "-nostdin", "-loglevel", "error", *options, "-f", container, path], check=True, timeout=120
        )
        return path.read_bytes()
