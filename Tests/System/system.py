"""A Parley system of the test's own: real processes, a real PostgreSQL, started and removed through deploy/dev."""

import http.client
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "Tests"))

import services  # noqa: E402
from services import SERVICES  # noqa: E402

DEV = REPOSITORY / "deploy" / "dev"
GUARD = REPOSITORY / "Tests" / "guard"
EXECUTABLES = Path(os.environ.get("PARLEY_EXECUTABLES", REPOSITORY / ".build" / "release"))
POSTGRESQL = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
READY_SECONDS = 60.0
PATIENCE = 60.0
"""Seconds until something that has to come counts as lost. Never waited for when it comes."""
SECRET = "a secret of the system tests, long enough for HS256"

# Debian's `psql` is a script in Perl that looks for the one here, and takes longer than most statements.
os.environ["PATH"] = f"{POSTGRESQL}:{os.environ['PATH']}"
_open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
"""Whatever proxies the environment names: these are processes of this machine."""


class System:
    """`instances` processes of every service, with a state directory and ports of their own, and with a PostgreSQL of
    their own unless `database` names another; or none and a coordinator with `citus` workers."""

    def __init__(
        self, instances: int = 1, database: str | None = None, partitions: int | None = None, citus: int | None = None
    ):
        self.instances = instances
        self.database = database
        self.partitions = partitions
        # All suites run on a cluster by this: docs/testing.md.
        self.citus = citus or (0 if database else int(os.environ.get("PARLEY_TEST_CITUS", 0)))
        if self.citus:
            self.partitions = None
        self.state = Path(tempfile.mkdtemp(prefix="parley-test-"))
        self.state.chmod(0o755)  # PostgreSQL's user has to get in
        self._reservation, self.http_port = _reserve_ports(instances)
        self._began_with: dict[str, tuple[str, dict[str, str]]] = {}
        """Of every process the executable and the environment with which deploy/dev started it."""
        self._children: list[subprocess.Popen] = []
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
            | ({"PARLEY_CITUS": str(self.citus)} if self.citus else {})
        )

    def up(self):
        """Starts whatever is not running and returns when everything is ready."""
        done = self.run(DEV / "up")
        assert done.returncode == 0, f"deploy/dev/up failed:\n{done.stdout}"
        files = (self.state / "run").glob("*-*.pid")
        self._began_with = {file.stem: _began_with(int(file.read_text())) for file in files}

    def revive(self):
        """Starts the processes that have ended again and returns when everything is ready, as `up` does; milliseconds
        instead of seconds, because there is nothing to find out."""
        if not self.database and not is_alive(self.database_pid()):
            return self.up()
        for service, number in self.names:
            if not self.is_up(service, number):
                self.start(service, number)
        deadline = time.monotonic() + READY_SECONDS
        for service, number in self.names:
            while not self.is_ready(service, number):
                assert time.monotonic() < deadline, f"{service}-{number} is not ready:\n{self.log_ends()}"
                time.sleep(0.02)

    def start(self, service: str, number: int, **extra: str):
        """Starts a process exactly as deploy/dev did. `extra` is added to the environment that it had then."""
        name = f"{service}-{number}"
        executable, environment = self._began_with[name]
        with (self.state / "logs" / f"{name}.log").open("a") as log:
            child = subprocess.Popen(
                [executable], cwd=self.state, env=environment | extra, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        # Ended children are not kept as zombies.
        self._children = [each for each in self._children if each.poll() is None] + [child]
        (self.state / "run" / f"{name}.pid").write_text(f"{child.pid}\n")

    def change(self, service: str, number: int = 0, **extra: str):
        """Starts a process again with `extra` in its environment, from now on whenever it is started."""
        name = f"{service}-{number}"
        if self.is_up(service, number):
            self.kill(service, number)
        executable, environment = self._began_with[name]
        self._began_with[name] = executable, environment | extra
        self.start(service, number)

    def stored_files(self, name: str) -> list[str]:
        """The files that media has of an upload."""
        return [file.name for file in (self.state / "media").rglob(f"{name}*")]

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
            timeout=280,
        )

    def remove(self):
        """Stops the processes and removes their data. Happens also when the test process dies: see Tests/guard."""
        self._guard.stdin.close()
        self._guard.wait()
        self._reservation.close()

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
        pid = self.pid(service, number)
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while is_alive(pid):
            assert time.monotonic() < deadline, f"{service}-{number} does not die"
            time.sleep(0.001)

    @property
    def nodes(self) -> list[str]:
        """The directories of its PostgreSQL, or of all nodes of its cluster, the coordinator's first."""
        return ["postgres", *(f"postgres-{number + 1}" for number in range(self.citus))]

    def owner_url(self, node: str = "postgres") -> str:
        """Of the owner of the tables. Where a server's socket is, the fifth line of this file tells."""
        socket = (self.state / node / "postmaster.pid").read_text().splitlines()[4].strip()
        return f"host={socket} port=5432 dbname=parley user=postgres"

    def sql(self, statement: str) -> str:
        """Makes what takes too long for a test, or looks at what nobody is told: as the owner of the tables."""
        url = (self.state / "run" / "owner-database").read_text().strip()
        command = ["psql", "--no-psqlrc", "-Atqc", statement, url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def kill_database(self):
        """All nodes of a cluster."""
        for node in self.nodes:
            os.kill(self.database_pid(node), signal.SIGKILL)

    def database_pid(self, node: str = "postgres") -> int:
        return int((self.state / node / "postmaster.pid").read_text().split()[0])

    def is_up(self, service: str, number: int = 0) -> bool:
        return is_alive(self.pid(service, number))

    def is_ready(self, service: str, number: int = 0) -> bool:
        try:
            with _open(self.address(service, number) + "/readyz", timeout=2) as answer:
                return answer.status == 200
        except (OSError, http.client.HTTPException):
            return False

    @property
    def names(self) -> list[tuple[str, int]]:
        return [(service, number) for service in SERVICES for number in range(self.instances)]

    def pids(self) -> dict[str, int]:
        return {f"{service}-{number}": self.pid(service, number) for service, number in self.names}

    def environment_of(self, service: str, number: int) -> dict[str, str]:
        return self._began_with[f"{service}-{number}"][1]

    def log_ends(self) -> str:
        logs = sorted((self.state / "logs").glob("*-*.log"))
        return "\n".join(f"── {log.name}\n" + "\n".join(log.read_text().splitlines()[-15:]) for log in logs)


class PatientSystem(System):
    """Where what users say is tested, and not what becomes of requests that wait too long: beside other tests, five
    seconds without a response are nothing unusual."""

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"PARLEY_REQUEST_DEADLINE": "30s"}


def earlier(column: str, seconds: int) -> str:
    """A time of a row, moved, by immutable functions: others Citus does not take here."""
    return f"({column} AT TIME ZONE 'UTC' - interval '{seconds} s') AT TIME ZONE 'UTC'"


def _began_with(pid: int) -> tuple[str, dict[str, str]]:
    """The executable of a process and the environment it began with."""
    environment = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return os.readlink(f"/proc/{pid}/exe"), dict(line.split("=", 1) for line in environment if "=" in line)


def is_alive(pid: int) -> bool:
    """Whether it runs, or has yet to let go of its ports: while one of its threads is ending, its files are open."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    state, threads = fields[0], int(fields[17])  # proc(5): the third and the twentieth field.
    return state != "Z" or threads > 1


def _reserve_ports(instances: int) -> tuple[socket.socket, int]:
    """The first of a hundred ports that nobody uses, below those that the kernel hands out by itself. They are reserved
    while the socket is open: it has the last of them, so that systems which start at once, of other processes too, do
    not choose the same."""
    while True:
        base = random.randrange(20_000, 32_000, 100)
        reservation = socket.socket()
        try:
            reservation.bind(("127.0.0.1", base + 99))
        except OSError:
            reservation.close()
            continue
        if all(_is_free(base + 10 * n + offset) for n in range(instances) for offset in range(4)):
            return reservation, base
        reservation.close()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
