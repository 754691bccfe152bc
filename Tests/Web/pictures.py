"""Files that people send, made for the tests."""

import subprocess
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image


def picture(width: int = 640, height: int = 480, kind: str = "PNG", hue: int = 0) -> bytes:
    """A sky that becomes darker over a ground, so that its hash and its orientation can be seen."""
    image = Image.new("RGB", (64, 64))
    for y in range(64):
        for x in range(64):
            ground = y > 40 + 10 * (x / 64)
            color = (30 + hue % 200, 110 - x // 2, 60) if ground else (90 + 2 * y, 140 + y, (235 + hue) % 256)
            image.putpixel((x, y), color)
    content = BytesIO()
    image.resize((width, height), Image.Resampling.BICUBIC).save(content, kind)
    return content.getvalue()


def noise(width: int, height: int) -> bytes:
    """A picture that cannot be compressed, so that its upload takes several parts."""
    content = BytesIO()
    Image.effect_noise((width, height), 90).convert("RGB").save(content, "PNG", compress_level=1)
    return content.getvalue()


def video(seconds: int = 2) -> bytes:
    source = ["-f", "lavfi", "-i", f"testsrc=size=480x270:rate=10:duration={seconds}"]
    return encoded("webm", *source, "-c:v", "libvpx", "-b:v", "200k")


def tone(seconds: int = 3) -> bytes:
    return encoded("ogg", "-f", "lavfi", "-i", f"sine=frequency=440:duration={seconds}", "-c:a", "libopus")


def encoded(container: str, *options: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        command = ["ffmpeg", "-nostdin", "-loglevel", "error", *options, "-f", container, str(path)]
        subprocess.run(command, check=True, timeout=120)
        return path.read_bytes()
