"""How the machine itself is doing beside a run: on a shared one, waits are not all Parley's."""

import asyncio
import os
import tempfile
import threading
import time
from pathlib import Path

INTERVAL_SECONDS = 0.1


class Weather:
    """Writes a page to the disk and waits for it, again and again, and sees how late the clients' own timers are."""

    def __init__(self):
        self.waits: list[tuple[float, float]] = []
        """When, and how many seconds longer than nothing, a write to the disk or a timer took."""
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def begin(self):
        self._thread.start()
        self._task = asyncio.create_task(self._tick())

    def end(self):
        self._is_over.set()
        self._task.cancel()
        self._thread.join()

    def worst(self, start: float, end: float) -> float:
        return max((wait for at, wait in self.waits if start <= at < end or start <= at - wait < end), default=0)

    def _write(self):
        with tempfile.TemporaryFile(dir=Path(tempfile.gettempdir())) as file:
            while not self._is_over.wait(INTERVAL_SECONDS):
                begun = time.monotonic()
                os.pwrite(file.fileno(), bytes(8192), 0)
                os.fdatasync(file.fileno())
                self.waits.append((time.monotonic(), time.monotonic() - begun))

    async def _tick(self):
        while True:
            due = time.monotonic() + INTERVAL_SECONDS
            await asyncio.sleep(INTERVAL_SECONDS)
            self.waits.append((time.monotonic(), time.monotonic() - due))
