"""A Parley system of the test's own: real processes, a real PostgreSQL, started and removed through deploy/dev."""

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "Tests"))

import services  # noqa: E402
from services import SERVICES  # noqa: E402

DEV = REPOSITORY / "deploy" / "dev"
GUARD = REPOSITORY / "Tests" / "guard"
EXECUTABLES = Path(os.environ.get("PARLEY_EXECUTABLES", REPOSITORY / ".build" / "release"))
SECRET = "a secret of the system tests, long enough for HS256"


class System:
    """`instances` processes of every service, with a state directory and ports of their own, and with a PostgreSQL of
    their own unless `database` names another."""

    def __init__(self, instances: int = 1, database: str | None = None, partitions: int | None = None):
        self.instances = instances
        self.database = database
        self.partitions = partitions
        self.state = Path(tempfile.mkdtemp(prefix="parley-test-"))
        self.state.chmod(0o755)  # PostgreSQL's user has to get in
        self.http_port = _free_ports(instances)
        # In a session of its own, so that Ctrl-C reaches the tests and not the guard.
        self._guard = subprocess.Popen([GUARD], env=self.environment, stdin=subprocess.PIPE, start_new_session=True)

    @property
    def environment(self) -> dict[str, str]:
        """The caller's environment without its own Parley, and with this one."""
        others = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
        counts = {f"PARLEY_{service.upper()}S": str(self.instances) for service in SERVICES}
        return (
            others
            | counts
            | {
                "PARLEY_STATE": str(self.state),
                "PARLEY_HTTP_PORT": str(self.http_port),
                "PARLEY_WS_PORT": str(self.http_port + 1),
                "PARLEY_JWT_SECRET": SECRET,
                "PARLEY_EXECUTABLES": str(EXECUTABLES),
            }
            | ({"PARLEY_DATABASE_URL": self.database} if self.database else {})
            | ({"PARLEY_PARTITIONS": str(self.partitions)} if self.partitions else {})
        )

    def up(self):
        """Starts whatever is not running and returns when everything is ready."""
        done = self.run(DEV / "up")
        assert done.returncode == 0, f"deploy/dev/up failed:\n{done.stdout}"

    def stop(self):
        """Ends all processes in order; the data stays."""
        done = self.run(DEV / "down")
        assert done.returncode == 0, f"deploy/dev/down failed:\n{done.stdout}"

    def run(self, *command, **settings: str) -> subprocess.CompletedProcess:
        """Runs a command for this system and returns how it ended and what it said."""
        return subprocess.run(
            command,
            env=self.environment | settings,
            stdin=subprocess.DEVNULL,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=110,
        )

    def remove(self):
        """Stops the processes and removes their data. Happens also when the test process dies: see Tests/guard."""
        self._guard.stdin.close()
        self._guard.wait()

    def address(self, service: str, number: int = 0) -> str:
        # The WebSockets' port is the one behind the HTTP port.
        base, _, offset = next(each.http for each in services.ALL if each.name == service).partition("+")
        return f"http://127.0.0.1:{self.http_port + (base == 'ws') + int(offset) + 10 * number}"

    def pid(self, service: str, number: int = 0) -> int:
        return int((self.state / "run" / f"{service}-{number}.pid").read_text())

    def signal(self, service: str, number: int, which: signal.Signals):
        os.kill(self.pid(service, number), which)

    def kill(self, service: str, number: int = 0):
        """Ends the process as a crash would: nothing is drained, closed or said goodbye to."""
        self.signal(service, number, signal.SIGKILL)

    def kill_database(self):
        os.kill(self.database_pid(), signal.SIGKILL)

    def database_pid(self) -> int:
        return int((self.state / "postgres" / "postmaster.pid").read_text().split()[0])

    def is_up(self, service: str, number: int = 0) -> bool:
        return is_alive(self.pid(service, number))

    def pids(self) -> dict[str, int]:
        return {f"{service}-{n}": self.pid(service, n) for service in SERVICES for n in range(self.instances)}

    def log_ends(self) -> str:
        logs = sorted((self.state / "logs").glob("*-*.log"))
        return "\n".join(f"── {log.name}\n" + "\n".join(log.read_text().splitlines()[-15:]) for log in logs)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def _free_ports(instances: int) -> int:
    """The first of a range of ports that nobody uses, below those that the kernel hands out by itself."""
    while True:
        base = random.randrange(20_000, 32_000, 100)
        if all(_is_free(base + 10 * n + offset) for n in range(instances) for offset in range(4)):
            return base


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
