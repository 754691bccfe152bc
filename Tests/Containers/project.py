"""A compose project of the test's own: the real images, networks and volumes, started and removed with the tests."""

import fcntl
import json
import os
import shutil
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from services import SERVICES

REPOSITORY = Path(__file__).resolve().parents[2]
DEPLOY = REPOSITORY / "deploy"
EXECUTABLES = Path(os.environ.get("PARLEY_EXECUTABLES", REPOSITORY / ".build" / "release"))
NAME = "parley-test"
NODES = ("database", "worker-1", "worker-2")
"""The services of docker-compose.citus.yml that are a cluster."""
PREPARING = Path("/tmp") / f"{NAME}-images.lock"
OVERRIDES = Path(__file__).with_name("compose.yml")
PROFILES = ("--profile", "tools", "--profile", "observability")


def run(*command, **options) -> subprocess.CompletedProcess:
    """Runs a command and returns how it ended and what it said."""
    return subprocess.run(
        [str(word) for word in command],
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )


def check(*command, **options) -> str:
    done = run(*command, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))} failed:\n{done.stdout[-4000:]}"
    return done.stdout


def eventually(condition, seconds: float = 60, what: str = "the condition"):
    """Waits until `condition` gives something true and returns that."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what} did not come about within {seconds} s"
        time.sleep(0.25)
    return value


class Project:
    """One system of containers, with ports of its own on this host. The overlays are further compose files."""

    def __init__(self, name: str = NAME, overlays: tuple[Path, ...] = ()):
        self.name = name
        self.files = (REPOSITORY / "docker-compose.yml", OVERRIDES, *overlays)
        self.https_port, self.http_port, self.prometheus_port = _free_port(), _free_port(), _free_port()
        self.certificate = Path("/tmp") / f"{name}-edge.crt"
        self.secret = Path("/tmp") / f"{name}-jwt-secret"
        self._compose = ["docker", "compose"] if run("docker", "compose", "version").returncode == 0 else None
        self._compose = self._compose or [shutil.which("docker-compose")]

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {
            "EXECUTABLES": ".executables",
            "SWIFT_IMAGE": "debian:bookworm-slim",
            "PARLEY_TAG": "test",
            "PARLEY_HTTPS_PORT": str(self.https_port),
            "PARLEY_HTTP_PORT": str(self.http_port),
            "PARLEY_PROMETHEUS_PORT": str(self.prometheus_port),
        }

    def composing(self, *arguments) -> list[str]:
        """A command of compose for this project."""
        files = [word for file in self.files for word in ("--file", str(file))]
        return [*self._compose, *files, "--project-name", self.name, *arguments]

    def compose(self, *arguments, timeout: float = 900, may_fail: bool = False) -> str:
        done = run(*self.composing(*arguments), env=self.environment, timeout=timeout)
        assert may_fail or done.returncode == 0, f"{' '.join(arguments)} failed:\n{done.stdout[-4000:]}"
        return done.stdout

    def build(self):
        """Builds all images. What is there is kept."""
        self.prepare()
        check(DEPLOY / "executables", EXECUTABLES)
        self.compose(*PROFILES, "build", *SERVICES, "parley")

    def prepare(self):
        """Builds the images that hold no executable of Parley. What is there is kept."""
        probe = [["docker", "build", "-t", f"{NAME}-probe", "Tests/Containers/probe"]]
        with PREPARING.open("w") as lock, ThreadPoolExecutor() as at_once:
            fcntl.flock(lock, fcntl.LOCK_EX)  # Tests/run begins while others compile.
            check(DEPLOY / "base-image", timeout=300)
            builds = [self.composing(*PROFILES, "build", name) for name in ("setup", "database", "edge", "prometheus")]
            list(at_once.map(lambda command: check(*command, env=self.environment, timeout=900), probe + builds))

    def up(self, **scale: int):
        """Starts what is not running, with so many containers of each service, and waits until they are ready."""
        counts = {service: 1 for service in SERVICES} | scale
        words = [word for service, count in counts.items() for word in ("--scale", f"{service}={count}")]
        self.compose("up", "--detach", "--no-recreate", "--no-build", *words)
        for service, count in counts.items():
            eventually(lambda s=service, c=count: self.ready(s) == c, 120, f"{count} ready {service}")

    def down(self):
        for network in check("docker", "network", "ls", "--quiet", f"--filter=name=^{self.name}_").split():
            self.disconnect(network)
        self.compose(*PROFILES, "down", "--volumes", "--remove-orphans", "--timeout", "5")

    def disconnect(self, network: str):
        """Forgets the ends that removed containers left: the engine removes no network that has any."""
        there = check("docker", "ps", "--all", "--quiet", "--no-trunc").split()
        [found] = json.loads(check("docker", "network", "inspect", network))
        for container, end in found["Containers"].items():
            if container not in there:
                check("docker", "network", "disconnect", "--force", network, end["Name"])

    # What there is

    def containers(self, service: str, all: bool = False) -> list[str]:
        filters = [
            f"--filter=label=com.docker.compose.project={self.name}",
            f"--filter=label=com.docker.compose.service={service}",
            "--filter=label=com.docker.compose.oneoff=False",
        ]
        return check("docker", "ps", "--quiet", *(["--all"] if all else []), *filters).split()

    def inspect(self, container: str) -> dict:
        return json.loads(check("docker", "inspect", container))[0]

    def ready(self, service: str) -> int:
        """How many containers of a service are ready. Asked as the health check of the image does, but now."""
        ask = (f"/usr/bin/{service}", "health")
        return sum(run("docker", "exec", c, *ask).returncode == 0 for c in self.containers(service))

    def kill(self, container: str):
        """Ends the process as a crash would. Killed through the engine, it would not be started again."""
        os.kill(self.inspect(container)["State"]["Pid"], 9)

    def network(self, name: str) -> str:
        return f"{self.name}_{name}"

    def volume(self, name: str) -> str:
        return f"{self.name}_{name}"

    def stored(self) -> int:
        """How many messages there are."""
        done = self.ask("SELECT count(*) FROM store.messages")
        return int(done.stdout) if done.returncode == 0 else 0

    def ask(self, sql: str, service: str = "database") -> subprocess.CompletedProcess:
        """Asks a database as its superuser, who is only known inside."""
        psql = ("psql", "--quiet", "-XAtc", sql, "dbname=parley options=--statement_timeout=240s")
        return run("docker", "exec", *self.containers(service), *psql)

    # What clients need

    def hand_out_secrets(self):
        """Copies what a client on the host needs: the certificate to trust and the secret that signs tokens."""
        edge = self.containers("edge")[0]
        self.certificate.write_text(check("docker", "exec", edge, "cat", "/run/parley/edge.crt"))
        volume = f"{self.volume('secrets-parley')}:/secrets:ro"
        command = ("docker", "run", "--rm", "--entrypoint", "cat", "-v", volume, "parley-setup:test")
        self.secret.write_text(check(*command, "/secrets/jwt-secret"))

    @property
    def origin(self) -> str:
        return f"https://localhost:{self.https_port}"

    def parley(self, *arguments) -> list[str]:
        """The command line on the host, over TLS, as somebody outside uses it."""
        options = ["--http", self.origin, "--ca-file", self.certificate, "--secret-file", self.secret]
        return [str(word) for word in (EXECUTABLES / "parley", *arguments, *options)]

    # What runs inside

    def psql(
        self, role: str, sql: str, ssl: str = "verify-full", secrets: str = "", host: str = "database"
    ) -> subprocess.CompletedProcess:
        """Asks the database as one of its roles, from a container in its network with the secrets of that role."""
        url = f"host={host} dbname=parley user={role} passfile=/run/parley/pgpass sslmode={ssl}"
        if ssl.startswith("verify"):
            url += " sslrootcert=/run/parley/ca.crt"
        volume = f"{self.volume(f'secrets-{secrets or role}')}:/run/parley:ro"
        command = ["docker", "run", "--rm", "--network", self.network("data"), "-v", volume, "--entrypoint", "psql"]
        return run(*command, "parley-database:test", "-XAtq", "--no-password", "-c", sql, url, timeout=60)

    def probe(self, plan: dict, aliases: list[str] = (), secrets: tuple[str, ...] = ()) -> dict:
        """Runs probe/probe.py in the network of the bus and returns what it found."""
        command = ["docker", "run", "--rm", "--network", self.network("bus")]
        command += [f"--network-alias={alias}" for alias in aliases]
        for name in secrets:
            command += ["-v", f"{self.volume(f'secrets-{name}')}:/keys/{name}:ro"]
        said = check(*command, f"{NAME}-probe", json.dumps(plan), timeout=300)
        result = json.loads(said.splitlines()[-1])
        assert not result["missing"], result
        return result


def write_talk(path: Path) -> Path:
    """Writes made-up conversations for `parley replay`."""
    names = ("ada", "ben", "cleo", "dan")
    with path.open("w") as file:
        for talk in range(30):
            messages = [
                {"n": n, "sender": names[(n * 7 + talk) % 4], "text": f"message {n} of talk {talk}"}
                | ({"replyTo": n - 2} if n % 5 == 4 else {})
                for n in range(1, 101)
            ]
            file.write(json.dumps({"conversation": f"talk-{talk}", "messages": messages}) + "\n")
    return path


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    Project().prepare()
