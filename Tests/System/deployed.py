"""A system whose services and commands connect to the database as they do where it is deployed: by deploy/database."""

import subprocess
import tempfile
from pathlib import Path

from servers import Server, Servers
from system import EXECUTABLES, REPOSITORY, System

ROLES = REPOSITORY / "deploy" / "database"
# Stands for an executable: connects as the service, and migrates as the owner, who then says who may do what.
EXECUTABLE = """#!/bin/sh
case $1 in
migrate)
    PARLEY_DATABASE_URL="$PARLEY_DATABASE_URL user={name}_owner" "{executable}" "$@" &&
        exec psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --file="{roles}/{name}_owner.sql" \\
            "$PARLEY_DATABASE_URL user={name}_owner"
    ;;
*) PARLEY_DATABASE_URL="$PARLEY_DATABASE_URL user={name}" exec "{executable}" "$@" ;;
esac
"""


class DeployedSystem(System):
    """With a server of its own."""

    def __init__(self):
        self.servers = Servers()
        self.server: Server = self.servers.create("one")
        self._executables = tempfile.TemporaryDirectory(prefix="parley-executables-")
        self._link_executables(Path(self._executables.name))
        self.run_sql_file(ROLES / "roles.sql")
        super().__init__(database=f"host={self.server.directory} port=5432 dbname=parley")

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"PARLEY_EXECUTABLES": self._executables.name}

    def remove(self):
        super().remove()
        self.servers.remove()
        self._executables.cleanup()

    def url(self, role: str) -> str:
        return f"{self.database} user={role}"

    def psql(self, role: str, sql: str) -> subprocess.CompletedProcess:
        command = ["psql", "-XAtq", "-c", sql, self.url(role)]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)

    def run_sql_file(self, path: Path):
        url = f"host={self.server.directory} port=5432 dbname=postgres user=postgres"
        subprocess.run(["psql", "-Xq", "--set=ON_ERROR_STOP=1", f"--file={path}", url], check=True, timeout=60)

    @staticmethod
    def _link_executables(directory: Path):
        for name in ("ingest", "fanout", "media-inspector", "parley", "parley-load"):
            (directory / name).symlink_to(EXECUTABLES / name)
        for name in ("store", "receipt", "media"):
            script = EXECUTABLE.format(name=name, executable=EXECUTABLES / name, roles=ROLES)
            (directory / name).write_text(script)
            (directory / name).chmod(0o755)
