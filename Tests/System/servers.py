"""PostgreSQL servers and poolers of a test's own, for what one cluster cannot show: failover, pgbouncer."""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from system import POSTGRESQL

GUARD = """
trap '' INT TERM HUP
read -r _ || true
for pid in "$1"/*/data/postmaster.pid "$1"/*/pgbouncer.pid; do
    [ -s "$pid" ] && kill -QUIT "$(head -1 "$pid")" 2>/dev/null
done
sleep 0.5
umount --lazy "$1/disk" 2>/dev/null
rm -rf "$1"
"""
"""Ends what runs and removes the directory when standard input ends, so however the test process ends."""


CITUS = (
    "shared_preload_libraries = 'citus'", "max_connections = 500", "max_prepared_transactions = 500",
    "max_locks_per_transaction = 128", "max_worker_processes = 32", "wal_level = logical",
    "citus.recover_2pc_interval = 5s",
)  # fmt: skip
"""As deploy/dev has it. The last setting of a name holds."""


class Servers:
    """Servers in one directory, all gone with it."""

    def __init__(self):
        self.directory = Path(tempfile.mkdtemp(prefix="parley-servers-"))
        self.directory.chmod(0o755)
        if os.geteuid() == 0:
            shutil.chown(self.directory, "postgres", "postgres")
        self._guard = subprocess.Popen(
            ["sh", "-c", GUARD, "guard", self.directory], stdin=subprocess.PIPE, start_new_session=True
        )

    def remove(self):
        self._guard.stdin.close()
        self._guard.wait()

    def small_disk(self, megabytes: int) -> Path:
        """A file system of this size, in memory. Raises OSError where none can be mounted."""
        disk = self.directory / "disk"
        disk.mkdir()
        options = f"size={megabytes}m,mode=0700" + (",uid=postgres,gid=postgres" if os.geteuid() == 0 else "")
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk], capture_output=True, text=True)
        if done.returncode:
            disk.rmdir()
            raise OSError(done.stderr.strip())
        return disk

    def create(self, name: str, *settings: str) -> "Server":
        """A new, running server with an empty database `parley`."""
        server = Server(self.directory / name)
        server.run("initdb", "-D", server.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        server.configure("listen_addresses = ''", "max_connections = 60", "shared_buffers = 64MB", *settings)
        server.start()
        server.sql("CREATE DATABASE parley", database="postgres")
        return server

    def create_node(self, name: str, *settings: str) -> "Server":
        """One of a cluster of Citus."""
        directory = self.directory / name
        return self.create(name, *CITUS, f"citus.local_hostname = '{directory}'", *settings)

    def clone(self, name: str, primary: "Server") -> "Server":
        """A running standby that replicates `primary` as it is and goes by its name in synchronous_standby_names."""
        return self.clone_of(primary.directory, name)

    def clone_of(self, socket: str | Path, name: str, *settings: str) -> "Server":
        """The same, of a primary whose socket is in a directory, with settings that it does not have."""
        server = Server(self.directory / name)
        source = f"host={socket} port=5432 user=postgres application_name={name}"
        server.run("pg_basebackup", "-D", server.data, "-d", source, "--checkpoint=fast", "--write-recovery-conf")
        if settings:
            server.configure(*settings)
        server.start()
        return server

    def pooler(self, server: "Server") -> str:
        """Starts a pgbouncer in front of `server` and returns where its socket is."""
        directory = self.directory / "pooler"
        _as_postgres("mkdir", "-m", "755", directory)
        settings = [
            "[databases]",
            f"parley = host={server.directory} port=5432 dbname=parley user=postgres",
            "[pgbouncer]",
            "pool_mode = session",
            "default_pool_size = 40",  # Two of each service hold more than the default of 20.
            "auth_type = any",
            "listen_port = 6432",
            f"unix_socket_dir = {directory}",
            f"logfile = {directory}/pgbouncer.log",
            f"pidfile = {directory}/pgbouncer.pid",
        ]
        _as_postgres("tee", directory / "pgbouncer.ini", input="\n".join(settings) + "\n")
        _as_postgres("/usr/sbin/pgbouncer", "--daemon", "--quiet", directory / "pgbouncer.ini")
        return str(directory)


class Server:
    """One PostgreSQL server with its socket in a directory of its own."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.data = directory / "data"
        _as_postgres("mkdir", "-m", "755", directory)

    def run(self, program: str, *arguments) -> str:
        return _as_postgres(POSTGRESQL / program, *arguments)

    def configure(self, *settings: str):
        _as_postgres("tee", "--append", self.data / "postgresql.conf", input="\n".join(settings) + "\n")

    def start(self):
        options = f"-k {self.directory}"
        self.run("pg_ctl", "start", "-s", "-w", "-D", self.data, "-o", options, "-l", self.directory / "log")

    def stop(self):
        self.run("pg_ctl", "stop", "-s", "-w", "-m", "immediate", "-D", self.data)

    def kill(self):
        """Ends the server as a crash of its machine would, as far as one process can be made to."""
        signal_all(self.data, signal.SIGKILL)

    def promote(self):
        self.run("pg_ctl", "promote", "-s", "-w", "-D", self.data)

    def reload(self):
        self.run("pg_ctl", "reload", "-s", "-D", self.data)

    def sql(self, statement: str, database: str = "parley") -> str:
        return self.run(
            "psql", "-XAtq", "-h", self.directory, "-U", "postgres", "-d", database, "-c", statement
        ).strip()


def signal_all(data: Path, which: signal.Signals):
    """To all processes of the server whose directory this is."""
    postmaster = int((data / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    for pid in [postmaster, *map(int, children)]:
        try:
            os.kill(pid, which)
        except ProcessLookupError:
            pass  # it has ended by itself


def _as_postgres(*command, input: str | None = None) -> str:
    """PostgreSQL refuses to run as root, and pgbouncer too."""
    if os.geteuid() == 0:
        command = ("setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command)
    # Into a file: a server that is started keeps its standard output, and would keep a pipe open.
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(
            [str(word) for word in command], input=input, text=True, stdout=output, stderr=subprocess.STDOUT, cwd="/",
            timeout=60,
        )  # fmt: skip
        output.seek(0)
        text = output.read()
    assert done.returncode == 0, f"{command} failed:\n{text}"
    return text
