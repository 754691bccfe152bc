"""`parley chat` in terminals that exist in memory: keys go in, and what a person would see comes out."""

import os
import signal
import time
from pathlib import Path

import pexpect
import pyte
from system import EXECUTABLES, PATIENCE, System

KEYS = {
    "enter": "\r",
    "newline": "\n",
    "escape": "\x1b",
    "tab": "\t",
    "backspace": "\x7f",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "end": "\x1b[4~",
    "page up": "\x1b[5~",
    "find": "\x06",
    "file": "\x14",
    "clear": "\x15",
    "details": "\x07",
    "new": "\x0e",
    "settings": "\x0f",
    "quit": "\x11",
    "schedule": "\x13",
    "look away": "\x1b[O",
    "look": "\x1b[I",
}


class Terminal:
    """A program in a terminal."""

    def __init__(self, command: list[str], environment: dict[str, str], columns: int = 100, rows: int = 26):
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.output = b""
        """All that it wrote, for what is not to be seen on the screen."""
        # pyte is a terminal of this kind. The environment may be of another one, of another size.
        environment = environment | {
            "TERM": "linux", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "LINES": "24", "COLUMNS": "80",
        }  # fmt: skip
        program, *words = command
        self._process = pexpect.spawn(
            program, words, env=environment, dimensions=(rows, columns), timeout=None, echo=False
        )
        self._process.delaybeforesend = None

    # MARK: Keys

    def press(self, *keys: str):
        """Presses keys by their names, or letters."""
        for key in keys:
            self._process.send(KEYS.get(key, key))
            # Escape followed by a letter at once would be Alt with that letter.
            if key == "escape":
                self.read(0.1)

    def type(self, text: str):
        self._process.send(text)

    def say(self, text: str):
        self.type(text)
        self.press("enter")

    def paste(self, text: str):
        self._process.send(f"\x1b[200~{text}\x1b[201~")

    def resize(self, columns: int, rows: int):
        self._screen.resize(rows, columns)
        self._process.setwinsize(rows, columns)

    # MARK: The screen

    def read(self, seconds: float):
        """Takes what is written within this time."""
        deadline = time.monotonic() + seconds
        while (rest := deadline - time.monotonic()) > 0:
            try:
                part = self._process.read_nonblocking(65536, timeout=min(rest, 0.05))
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                return
            self.output += part
            self._stream.feed(part)

    @property
    def lines(self) -> list[str]:
        return list(self._screen.display)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def cursor(self) -> tuple[int, int]:
        return self._screen.cursor.x, self._screen.cursor.y

    def shows(self, *texts: str) -> bool:
        self.read(0.05)
        return all(text in self.text for text in texts)

    def wait(self, *texts: str, absent: tuple[str, ...] = ()):
        """Returns when all texts are on the screen, and none of the absent ones."""
        self.wait_until(lambda: self.shows(*texts) and not any(text in self.text for text in absent), texts, absent)

    def wait_until(self, condition, *hints):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f"not seen: {hints}\n{self.framed()}"
            self.read(0.05)

    def framed(self) -> str:
        """The screen as it is, for a report."""
        edge = "+" + "-" * self._screen.columns + "+"
        return "\n".join([edge, *(f"|{line}|" for line in self.lines), edge])

    # MARK: The end

    def leave(self) -> int:
        """Quits, and returns the exit status."""
        self.press("quit")
        return self.ended()

    def signal(self, which: signal.Signals):
        os.kill(self._process.pid, which)

    def ended(self) -> int:
        """Waits for the end; negative is the signal."""
        deadline = time.monotonic() + PATIENCE
        while self._process.isalive():
            assert time.monotonic() < deadline, f"it does not end:\n{self.framed()}"
            self.read(0.05)
        self.read(0.1)
        return self._process.exitstatus if self._process.signalstatus is None else -self._process.signalstatus

    def close(self):
        if self._process.isalive():
            self._process.kill(signal.SIGKILL)
            self._process.wait()
        self._process.close()


class ChatTerminal(Terminal):
    """One user's terminal client."""

    def __init__(self, system: System, user: str, directory: Path, *words: str, **size: int):
        command = [EXECUTABLES / "parley", "chat", "--user", user, "--directory", directory, *words]
        super().__init__([str(word) for word in command], system.environment, **size)
