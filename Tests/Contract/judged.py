"""The running system as these tests need it: every response that it gives is judged by the document."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx

from contract import Contract
from recoder import Recoder

sys.path.append(str(Path(__file__).parents[1] / "System"))
from system import EXECUTABLES, PATIENCE, SECRET, SERVICES, PatientSystem, is_alive  # noqa: E402


class JudgedSystem(PatientSystem):
    secret = SECRET.encode()

    def __init__(self):
        super().__init__()
        self.ws_port = self.http_port + 1
        self.contract = Contract()
        self.recoder = Recoder(EXECUTABLES / "RecodeModels")
        self.contract.on_good = self.recoder.check

    def remove(self):
        super().remove()
        self.recoder.close()

    def http(self, port: int | None = None, service: str = "ingest", **options) -> httpx.Client:
        """A client whose every response is judged."""
        return httpx.Client(
            base_url=f"http://127.0.0.1:{port}" if port else self.address(service),
            event_hooks={"response": [self.contract.check_response]},
            timeout=PATIENCE,
            trust_env=False,
            verify=False,  # There is no TLS here, and loading the certificates takes longer than most tests.
            **options,
        )

    def living(self) -> dict[str, int]:
        """The process ids of the services, by name; one that died is missing."""
        return {service: self.pid(service) for service in SERVICES if is_alive(self.pid(service))}

    def resident_bytes(self, service: str) -> int:
        return int(Path(f"/proc/{self.pid(service)}/statm").read_text().split()[1]) * 4096

    def open_descriptors(self, service: str) -> int:
        return len(os.listdir(f"/proc/{self.pid(service)}/fd"))

    def logs(self) -> str:
        return "".join(log.read_text() for log in (self.state / "logs").glob("*.log"))

    def settings(self, service: str) -> dict[str, str]:
        """The settings of its first process."""
        inherited = Path(f"/proc/{self.pid(service)}/environ").read_bytes().decode()
        return dict(variable.split("=", 1) for variable in inherited.split("\0") if variable)

    def choose(self, **settings: str):
        """Starts `store` and `ingest` again, configured otherwise from now on."""
        for service in ("store", "ingest"):
            self.change(service, **settings)
        self.revive()

    @contextmanager
    def sibling(self, service: str, awaiting="/readyz", **settings: str):
        """One more process beside the first of its kind, configured otherwise; yields its port."""
        port = self.http_port + 90
        environment = self.settings(service)
        if any(name.startswith("PARLEY_JWT") for name in settings):
            del environment["PARLEY_JWT_SECRET_FILE"]
        bus = environment["PARLEY_BUS_BIND"].replace(f"{service}-0", f"{service}-9")
        environment |= {"PARLEY_INSTANCE": "9", "PARLEY_LISTEN": f"127.0.0.1:{port}", "PARLEY_BUS_BIND": bus} | settings
        log = self.state / "logs" / f"{service}-9.log"
        with log.open("a") as stderr:
            process = subprocess.Popen([EXECUTABLES / service], env=environment, stderr=stderr)
        try:
            _await(f"http://127.0.0.1:{port}{awaiting}")
            yield port
        finally:
            process.terminate()
            assert process.wait(PATIENCE) == 0


def _await(url: str):
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if httpx.get(url, trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline, "it does not begin"
        time.sleep(0.05)
