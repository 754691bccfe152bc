"""The processes of a system under faults: ended, stopped and started again as an operator's supervisor would."""

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import aiohttp
from system import SERVICES, System, is_alive

END_SECONDS = 30.0
READY_SECONDS = 60.0


class Machine:
    """Starts processes again exactly as deploy/dev started them, which takes milliseconds instead of seconds."""

    def __init__(self, system: System):
        self.system = system
        self.extra: dict[str, str] = {}
        """Added to the environment of what is started from now on."""
        self._began_with = {name: _began_with(pid) for name, pid in system.pids().items()}
        self._children: list[subprocess.Popen] = []

    @property
    def names(self) -> list[tuple[str, int]]:
        return [(service, number) for service in SERVICES for number in range(self.system.instances)]

    def environment(self, service: str, number: int) -> dict[str, str]:
        return self._began_with[f"{service}-{number}"][1]

    def signal(self, service: str, number: int, which: signal.Signals):
        self.system.signal(service, number, which)

    async def kill(self, service: str, number: int):
        self.system.kill(service, number)
        await self._gone(service, number)

    async def terminate(self, service: str, number: int):
        """Asks it to end and waits until it has."""
        self.signal(service, number, signal.SIGTERM)
        await self._gone(service, number)

    async def _gone(self, service: str, number: int):
        pid = self.system.pid(service, number)
        async with asyncio.timeout(END_SECONDS):
            while is_alive(pid):
                await asyncio.sleep(0.01)

    async def start(self, service: str, number: int):
        """Starts it and returns when it says it is ready."""
        name = f"{service}-{number}"
        executable, environment = self._began_with[name]
        with (self.system.state / "logs" / f"{name}.log").open("a") as log:
            child = subprocess.Popen(
                [executable], cwd=self.system.state, env=environment | self.extra, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._children.append(child)
        (self.system.state / "run" / f"{name}.pid").write_text(f"{child.pid}\n")
        await self.ready(service, number)

    async def ready(self, service: str, number: int):
        async with aiohttp.ClientSession() as http:
            try:
                async with asyncio.timeout(READY_SECONDS):
                    while not await self.is_ready(http, service, number):
                        await asyncio.sleep(0.05)
            except TimeoutError:
                log = self.system.state / "logs" / f"{service}-{number}.log"
                raise AssertionError(f"{service}-{number} is not ready; it says:\n{log.read_text()[-3000:]}") from None

    async def is_ready(self, http: aiohttp.ClientSession, service: str, number: int) -> bool:
        try:
            async with http.get(self.system.address(service, number) + "/readyz", timeout=_BRIEFLY) as answer:
                return answer.status == 200
        except (aiohttp.ClientError, OSError, TimeoutError):
            return False

    async def restart_everything(self):
        for service, number in self.names:
            await self.terminate(service, number)
            await self.start(service, number)

    def collect(self):
        """Ended children are not kept as zombies."""
        for child in self._children:
            child.poll()


_BRIEFLY = aiohttp.ClientTimeout(total=2)


def _began_with(pid: int) -> tuple[str, dict[str, str]]:
    """The executable of a process and the environment it began with."""
    environment = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return os.readlink(f"/proc/{pid}/exe"), dict(line.split("=", 1) for line in environment if "=" in line)
