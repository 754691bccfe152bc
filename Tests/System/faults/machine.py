"""The processes of a system under faults: ended, stopped and started again as an operator's supervisor would."""

import asyncio
import signal

import aiohttp
from system import READY_SECONDS, System, is_alive

END_SECONDS = 30.0


class Machine:
    """Starts processes again as deploy/dev started them."""

    def __init__(self, system: System):
        self.system = system
        self.extra: dict[str, str] = {}
        """Added to the environment of what is started from now on."""

    @property
    def names(self) -> list[tuple[str, int]]:
        return self.system.names

    def environment(self, service: str, number: int) -> dict[str, str]:
        return self.system.environment_of(service, number)

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
        self.system.start(service, number, **self.extra)
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


_BRIEFLY = aiohttp.ClientTimeout(total=2)
