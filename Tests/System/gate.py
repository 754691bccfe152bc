"""A gate in front of a service, which lets as many bytes of clients pass as a test wants."""

import asyncio


class Gate:
    """Listens at a port of its own. What comes back from the service always passes."""

    def __init__(self, address: str):
        self._host, port = address.removeprefix("http://").split(":")
        self._port = int(port)
        self._changed = asyncio.Event()
        self._room = 0
        self.passed = 0
        """How many bytes of clients passed."""

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_):
        self._server.close()

    @property
    def address(self) -> str:
        host, port = self._server.sockets[0].getsockname()
        return f"http://{host}:{port}"

    def open(self, size: int):
        """So many bytes more may pass."""
        self._room += size
        self._changed.set()

    async def closed(self):
        """Waits until no more may pass."""
        while self._room > 0:
            await asyncio.sleep(0.01)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        try:
            inner, outer = await asyncio.open_connection(self._host, self._port)
        except OSError:  # The service is away.
            return writer.close()
        answers = asyncio.create_task(self._answer(inner, writer))
        try:
            await self._pass(reader, outer)
        except OSError:
            pass  # A side is gone, which the other one learns now.
        outer.close()
        await answers

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        while True:
            while self._room == 0:
                self._changed.clear()
                await self._changed.wait()
            piece = await reader.read(min(self._room, 65536))
            if not piece:
                return
            self._room = max(0, self._room - len(piece))
            self.passed += len(piece)
            writer.write(piece)
            await writer.drain()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        try:
            while piece := await reader.read(65536):
                writer.write(piece)
                await writer.drain()
        except OSError:
            pass
        writer.close()
