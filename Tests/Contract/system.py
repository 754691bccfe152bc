"""A Parley of its own for one test run, started and removed by deploy/dev."""

import os
import random
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import httpx

from contract import Contract

REPOSITORY = Path(__file__).parents[2]


class System:
    def __init__(self):
        self.state = Path(tempfile.mkdtemp(prefix="parley-contract-"))
        self.http_port = _free_ports()
        self.ws_port = self.http_port + 1
        self.contract = Contract()
        # Erases the system when this process ends, however it does; in a session that Ctrl-C does not reach.
        self.guard = subprocess.Popen(
            [REPOSITORY / "Tests/guard"], env=self.environment, stdin=subprocess.PIPE, start_new_session=True
        )

    @property
    def environment(self):
        return os.environ | {
            "PARLEY_STATE": str(self.state),
            "PARLEY_HTTP_PORT": str(self.http_port),
            "PARLEY_WS_PORT": str(self.ws_port),
        }

    @property
    def secret(self) -> bytes:
        return (self.state / "jwt-secret").read_bytes()

    @property
    def executables(self) -> Path:
        return Path(os.environ.get("PARLEY_EXECUTABLES", REPOSITORY / ".build/release"))

    def start(self):
        subprocess.run([REPOSITORY / "deploy/dev/up"], env=self.environment, check=True)

    def remove(self):
        self.guard.stdin.close()
        self.guard.wait()

    def http(self, port: int | None = None, **options) -> httpx.Client:
        """A client whose every response is judged by the document."""
        return httpx.Client(
            base_url=f"http://127.0.0.1:{port or self.http_port}",
            event_hooks={"response": [self.contract.check_response]},
            timeout=15,
            trust_env=False,
            **options,
        )

    @contextmanager
    def sibling(self, service: str, **environment: str):
        """One more process beside the first of its kind, told something else; yields its port."""
        inherited = Path(f"/proc/{self.process_ids()[f'{service}-0']}/environ").read_bytes().decode()
        first = dict(line.split("=", 1) for line in inherited.split("\0") if line)
        port = _free_ports()
        bus = {"PARLEY_BUS_BIND": first["PARLEY_BUS_BIND"].replace(f"{service}-0", f"{service}-90")}
        changed = {"PARLEY_LISTEN": f"127.0.0.1:{port}", "PARLEY_INSTANCE": "90"} | bus | environment
        first.pop("PARLEY_JWT_SECRET_FILE", None)
        process = subprocess.Popen([self.executables / service], env=first | changed, stderr=subprocess.DEVNULL)
        try:
            self._await_ready(port)
            yield port
        finally:
            process.terminate()
            assert process.wait(20) == 0

    def _await_ready(self, port: int):
        deadline = time.monotonic() + 10
        while True:
            try:
                if httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            assert time.monotonic() < deadline, "not ready within 10 s"
            time.sleep(0.05)

    def process_ids(self) -> dict[str, int]:
        """Of the services, by name; a service that died is missing."""
        pids = {file.stem: int(file.read_text()) for file in (self.state / "run").glob("*-*.pid")}
        return {name: pid for name, pid in pids.items() if Path(f"/proc/{pid}/exe").exists()}

    def logs(self) -> str:
        return "".join(file.read_text() for file in sorted((self.state / "logs").glob("*.log")))


def _free_ports() -> int:
    """The first of four ports in a row that nobody listens on: ingest, fanout, and what store and receipt take."""
    while True:
        first = random.randrange(20000, 32000, 10)
        if all(_is_free(first + offset) for offset in range(4)):
            return first


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
