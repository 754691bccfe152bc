"""Runs media-inspector and reads what it says."""

import io
import json
import os
import signal
import socket
import struct
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

REPOSITORY = Path(__file__).resolve().parents[2]
INSPECTOR = Path(os.environ.get("PARLEY_EXECUTABLES", REPOSITORY / ".build/release")) / "media-inspector"
FACTS, CONTENT, SMALL, LARGE, END = range(1, 6)
REASONS = {"unreadable", "tooLarge", "tooSlow"}
PATIENCE = 120


@dataclass
class Report:
    """What came out for a file. Without an end nothing of it counts."""

    status: int = 0
    frames: dict[int, bytes] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        return END in self.frames

    @property
    def facts(self) -> dict:
        return json.loads(self.frames[FACTS])

    @property
    def reason(self) -> str | None:
        """Why the file is refused, as the service `media` sees it: a death counts as unreadable."""
        if not self.ended:
            return "unreadable"
        return self.facts.get("reason")

    def picture(self, tag: int = CONTENT) -> Image.Image:
        picture = Image.open(io.BytesIO(self.frames[tag]))
        return picture if getattr(picture, "is_animated", False) else loaded(picture)


def loaded(picture: Image.Image) -> Image.Image:
    picture.load()
    return picture


def read_frames(stream: bytes) -> dict[int, bytes]:
    frames: dict[int, bytearray] = {}
    position = 0
    while position + 5 <= len(stream):
        tag, length = struct.unpack(">BI", stream[position : position + 5])
        assert tag in range(FACTS, END + 1) and length <= 64 << 10
        piece = stream[position + 5 : position + 5 + length]
        if len(piece) < length:
            break
        frames.setdefault(tag, bytearray()).extend(piece)
        position += 5 + length
    return {tag: bytes(content) for tag, content in frames.items()}


def inspect(content: bytes, *arguments: str) -> Report:
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()
        file.seek(0)
        run = subprocess.run([INSPECTOR, *arguments], stdin=file, capture_output=True, timeout=PATIENCE, check=False)
    assert run.stderr == b"", "what a library says may quote the file"
    return Report(run.returncode, read_frames(run.stdout))


class Inspected:
    """One file that a server looks into, and the process that does."""

    def __init__(self, output: socket.socket):
        self._output = output
        # What comes first is a byte with a descriptor of the process.
        _, descriptors, _, _ = socket.recv_fds(output, 1, 1)
        self.process = descriptors[0] if descriptors else None

    def kill(self) -> None:
        signal.pidfd_send_signal(self.process, signal.SIGKILL)

    def report(self) -> Report:
        with self._output, self._output.makefile("rb") as stream:
            frames = read_frames(stream.read())
        if self.process is not None:
            os.close(self.process)
        return Report(frames=frames)


class Server:
    """media-inspector --serve: a process for each file, made by fork."""

    def __init__(self, *arguments: str):
        self.socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen([INSPECTOR, "--serve", *arguments], stdin=other)
        other.close()

    def start(self, content: bytes) -> Inspected:
        with tempfile.TemporaryFile() as file:
            file.write(content)
            file.flush()
            own, other = socket.socketpair()
            with other:
                socket.send_fds(self.socket, [b"\0"], [file.fileno(), other.fileno()])
        return Inspected(own)

    def inspect(self, content: bytes) -> Report:
        return self.start(content).report()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        assert self.process.wait(PATIENCE) == 0
