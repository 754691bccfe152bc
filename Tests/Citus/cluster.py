"""A coordinator and its workers, as `deploy/dev/up` starts them with PARLEY_CITUS."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "System"))

from system import EXECUTABLES, PATIENCE, REPOSITORY, SERVICES, System, is_alive  # noqa: E402

SCHEMAS = ("store", "receipt", "media")
KNOW_ROLE = """
    CREATE SCHEMA AUTHORIZATION {role};
    CREATE TABLE {role}.known (n integer);
    ALTER TABLE {role}.known OWNER TO {role};
    SELECT create_distributed_table('{role}.known', 'n');
    DROP SCHEMA {role} CASCADE;
"""
"""Of a role that was made before the nodes of this database were joined, Citus does not know that all nodes have it:
the superuser tells it, as an owner of tables cannot."""


def missing() -> str | None:
    """Why no cluster can be started here; nil where one can."""
    if any(Path("/usr/share/postgresql").glob("*/extension/citus.control")):
        return None
    return "PostgreSQL has no extension citus"


class Nodes(System):
    """Without services."""

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {f"PARLEY_{service.upper()}S": "0" for service in SERVICES}


class Cluster:
    """Node 0 is the coordinator. Everything is gone when it is removed, or when the test process ends."""

    def __init__(self, workers: int = 2):
        self.system = Nodes(citus=workers)
        self.system.up()
        self.nodes = [self._socket(number) for number in range(workers + 1)]

    def remove(self):
        self.system.remove()

    def url(self, user: str = "postgres", node: int = 0, database: str = "parley") -> str:
        return f"host={self.nodes[node]} port=5432 dbname={database} user={user}"

    def create_database(self, name: str, distributed: bool = True):
        """Another database on every node, without what a test that is repeated has left of it."""
        for node in range(len(self.nodes)):
            self.sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", node=node, database="postgres")
            # Nobody is ever connected to this template, as CREATE DATABASE demands.
            self.sql(f"CREATE DATABASE {name} TEMPLATE template0", node=node, database="postgres")
            if distributed:
                self.sql("CREATE EXTENSION citus", node=node, database=name)
        if distributed:
            self.sql(f"SELECT citus_set_coordinator_host('{self.nodes[0]}', 5432)", database=name)
            self.sql(";".join(f"SELECT citus_add_node('{worker}', 5432)" for worker in self.nodes[1:]), database=name)
            self.sql("".join(KNOW_ROLE.format(role=role) for role in SCHEMAS), database=name)
        self.sql(f"GRANT CREATE ON DATABASE {name} TO {', '.join(SCHEMAS)}", database=name)

    def sql(self, sql: str, user: str = "postgres", node: int = 0, database: str = "parley") -> list[list[str]]:
        """The rows of the last statement. Raises what psql says of an error."""
        command = ["psql", "-XAtq", "--set=ON_ERROR_STOP=1", "--field-separator=\t", self.url(user, node, database)]
        done = subprocess.run([*command, "--file=-"], input=sql, text=True, capture_output=True, timeout=240)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return [line.split("\t") for line in done.stdout.splitlines()]

    def migrate(
        self, service: str, *options: str, database: str = "parley", owner: str = "postgres", node: int = 0
    ) -> str:
        """What `migrate` says. Raises that if it fails. The tables of a cluster have one owner."""
        return self.run(service, "migrate", *options, database=database, user=owner, node=node, check=True)

    def run(
        self,
        service: str,
        *arguments: str,
        database: str = "parley",
        user: str | None = None,
        node: int = 0,
        check: bool = False,
    ) -> str:
        done = subprocess.run(
            [EXECUTABLES / service, *arguments],
            env=self.environment(service, database, user, node),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=240,
        )
        if check and done.returncode != 0:
            raise RuntimeError(done.stdout)
        return done.stdout

    def grant(self, service: str, database: str = "parley"):
        """As in a deployed system, whose services are not the owners."""
        file = REPOSITORY / f"deploy/database/{service}_owner.sql"
        command = ["psql", "-XAtq", "--set=ON_ERROR_STOP=1", f"--file={file}", self.url(database=database)]
        done = subprocess.run(command, text=True, capture_output=True, timeout=240)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def kill(self, node: int, how: signal.Signals = signal.SIGKILL):
        """Ends the server of a node, as a crash would unless it is told otherwise."""
        pid = int((self.directory(node) / "postmaster.pid").read_text().split()[0])
        os.kill(pid, how)
        while is_alive(pid):
            time.sleep(0.01)

    def stop(self, node: int):
        """Ends the server of a node in order."""
        self.kill(node, signal.SIGINT)

    def revive(self):
        """Starts the nodes that have ended, as `deploy/dev/up` does."""
        self.system.up()

    @contextmanager
    def with_setting(self, node: int, setting: str):
        """A node that runs meanwhile with a setting that a server has from its start on. It ends with this."""
        directory = self.directory(node)
        command = shlex.split((directory / "postmaster.opts").read_text())
        self.kill(node, signal.SIGINT)
        server = subprocess.Popen(
            [*command, "-c", setting],
            user=directory.owner(), env=os.environ | {"PGDATA": str(directory)}, cwd=directory,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            self._wait_for(node)
            yield
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(timeout=60)

    def _wait_for(self, node: int):
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.sql("SELECT", node=node)
                return
            except RuntimeError:
                assert time.monotonic() < deadline
                time.sleep(0.1)

    def environment(
        self, service: str, database: str = "parley", user: str | None = None, node: int = 0
    ) -> dict[str, str]:
        """Of a service that is connected to the coordinator, or another node."""
        return self.system.environment | {"PARLEY_DATABASE_URL": self.url(user or service, node, database)}

    def _socket(self, number: int) -> str:
        """The fifth line of the postmaster's file."""
        return (self.directory(number) / "postmaster.pid").read_text().splitlines()[4].strip()

    def directory(self, node: int) -> Path:
        return self.system.state / (f"postgres-{node}" if node else "postgres")


# Those that all services note their work by have other names than their files.
FILES = {
    name.format(notes): file
    for notes in ("unindexed", "untold")
    for name, file in {
        "note_{}": "note",
        "forget_{}": "forget_notes",
        "noted_{}": "noted",
        "{}_complete": "slots_with_all_noted",
        "{}_completed": "all_is_noted",
    }.items()
}


def statements(service: str, *options: str, environment=None) -> dict[str, tuple[list[tuple[str, str]], str]]:
    """Of each prepared statement the names and types of its parameters, and its text."""

    def ask(*arguments: str) -> str:
        command = [EXECUTABLES / service, "statement", *options, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout

    names = ask().split()
    texts = ask(*names).split("\n;\n")
    return {name: (_parameters(service, name), text) for name, text in zip(names, texts, strict=True)}


def _parameters(service: str, name: str) -> list[tuple[str, str]]:
    """As the head of its file declares them."""
    shared = REPOSITORY / f"Shared/Slots/SQL/{FILES.get(name)}.sql"
    file = shared if name in FILES else REPOSITORY / f"Services/{service.capitalize()}/SQL/{name}.sql"
    return re.findall(r"^-- :(\w+) +([a-z]+(?:\[\])?)", file.read_text(), re.MULTILINE)
