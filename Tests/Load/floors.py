"""What this machine's parts do without Parley: the floors that its results are compared with."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from system import EXECUTABLES, System

TITLES = {
    "rows": "pgbench: rows/s, batch statement, 200 rows a batch",
    "commits": "pgbench: commits/s, batch statement, 1 row a batch",
    "requests": "wrk: GET /healthz, requests/s, 64 connections",
    "changes": "bus: changes/s, 64 a turn",
    "frames": "bus: frames/s, 64 changes a turn over 16 topics",
}

# As in StoreConfiguration.writer.
WRITER_SETTINGS = (
    "plan_cache_mode=force_generic_plan",
    "enable_seqscan=off",
    "enable_hashjoin=off",
    "enable_mergejoin=off",
)


def measure(system: System, seconds: int) -> dict:
    """All floors; None for one whose program is not here."""
    changes, frames = bus(seconds)
    rows = pgbench(system, 200, seconds)
    return {
        "rows": rows,
        "commits": pgbench(system, 1, seconds),
        "latencyMilliseconds": commit_latency(system, seconds),
        "requests": wrk(system, seconds),
        "changes": changes,
        "frames": frames,
    }


# PostgreSQL


def pgbench(system: System, rows: int, seconds: int) -> float:
    """Rows a second of the statement that stores messages, in batches of so many, from one connection.

    It writes as members that the runs before have left behind, so it comes last, into a system that is thrown away.
    """
    psql(
        system,
        """
        CREATE TABLE IF NOT EXISTS public.floor_senders AS
            SELECT row_number() OVER () AS n, slot, conversation_id, user_id FROM (
                SELECT DISTINCT ON (conversation_id) slot, conversation_id, user_id
                FROM store.memberships WHERE left_seq IS NULL ORDER BY conversation_id LIMIT 1000
            ) s;
        CREATE UNIQUE INDEX IF NOT EXISTS floor_senders_n ON public.floor_senders (n)
        """,
    )
    psql(system, functions())
    rate = re.search(r"tps = ([0-9.]+)", run_pgbench(system, rows, seconds, ["--client=1"]))
    assert rate, "pgbench tells no rate"
    return float(rate[1]) * rows


def commit_latency(system: System, seconds: int, rate: int = 1000) -> dict[str, float]:
    """Milliseconds from when one row was due, so many a second, until it was committed. Behind `pgbench`."""
    with tempfile.TemporaryDirectory() as directory:
        log = ["--log", f"--log-prefix={directory}/log"]
        run_pgbench(system, 1, seconds, ["--client=4", f"--rate={rate}", *log])
        lines = [line for file in Path(directory).iterdir() for line in file.read_text().splitlines()]
    # The third column has microseconds, the wait for a connection included.
    times = sorted(int(line.split()[2]) / 1000 for line in lines if line.split()[2].isdigit())
    return {name: times[int(len(times) * share)] for name, share in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999))}


def run_pgbench(system: System, rows: int, seconds: int, options: list[str]) -> str:
    senders = int(psql(system, "SELECT count(*) FROM public.floor_senders"))
    assert senders >= rows, f"{senders} conversations are too few for a batch of {rows}"
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(batch_script(rows, senders))
        script.flush()
        command = [
            *(program("pgbench"), "--no-vacuum", "--protocol=prepared", f"--time={seconds}", f"--file={script.name}"),
            *options,
            *("-h", socket_directory(system), "-U", "postgres", "parley"),
        ]
        settings = " ".join(f"-c {setting}" for setting in WRITER_SETTINGS)
        done = subprocess.run(command, env={"PGOPTIONS": settings}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def batch_script(rows: int, senders: int) -> str:
    """The statements as store sends them, but for their arrays, which are made of rows of `floor_senders`."""
    return f"""
        \\set first random(0, {senders - rows})
        BEGIN;
        SELECT public.floor_lock(a.slots, a.conversations) FROM public.floor_arrays(:first, {rows}) a;
        SELECT public.floor_send(a.slots, a.conversations, a.ordinals::bigint[], a.ordinals, a.senders,
            a.ordinals, a.ids, a.texts, a.times, '{{}}', '{{}}', '{{}}', '{{}}')
        FROM public.floor_arrays(:first, {rows}) a;
        COMMIT;
    """


def statement(name: str) -> str:
    """A prepared statement of store, as PostgreSQL receives it."""
    return subprocess.run([EXECUTABLES / "store", "statement", name], check=True, capture_output=True, text=True).stdout


def functions() -> str:
    """The statements as functions, whose plans are kept like those of prepared statements, and what they are given."""
    return f"""
        CREATE OR REPLACE FUNCTION public.floor_lock(smallint[], uuid[]) RETURNS void LANGUAGE plpgsql AS $f$
            DECLARE row record;
            BEGIN FOR row IN {statement("lock_conversations")} LOOP END LOOP; END $f$;
        CREATE OR REPLACE FUNCTION public.floor_send(smallint[], uuid[], bigint[], integer[], text[], integer[],
            uuid[], text[], timestamptz[], bigint[], uuid[], bigint[], text[]) RETURNS void LANGUAGE plpgsql AS $f$
            DECLARE row record;
            BEGIN FOR row IN {statement("send_messages")} LOOP END LOOP; END $f$;
        CREATE OR REPLACE FUNCTION public.floor_arrays(first bigint, rows bigint, OUT slots smallint[],
            OUT conversations uuid[], OUT ordinals integer[], OUT senders text[], OUT ids uuid[],
            OUT texts text[], OUT times timestamptz[])
            LANGUAGE sql AS $f$
            SELECT array_agg(slot ORDER BY n), array_agg(conversation_id ORDER BY n),
                array_agg((n - first)::integer ORDER BY n), array_agg(user_id ORDER BY n), array_agg(gen_random_uuid()),
                array_agg(repeat('x', 120)), array_agg(now())
            FROM public.floor_senders WHERE n > first AND n <= first + rows $f$
    """


def wal_position(system: System) -> int:
    """Bytes of WAL written since the cluster was made."""
    return int(psql(system, "SELECT pg_current_wal_lsn() - '0/0'"))


def psql(system: System, statement: str) -> str:
    command = [program("psql"), "-h", socket_directory(system), "-U", "postgres", "-qAt", "-c", statement, "parley"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def socket_directory(system: System) -> str:
    """The fifth line of the postmaster's file."""
    return (system.state / "postgres" / "postmaster.pid").read_text().splitlines()[4].strip()


def program(name: str) -> str:
    """One that may be in PostgreSQL's own directory."""
    found = shutil.which(name) or next(
        map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)), None
    )
    assert found, f"{name} is not here"
    return found


# The edge and the bus


def wrk(system: System, seconds: int) -> float | None:
    if not shutil.which("wrk"):
        return None
    url = f"{system.address('fanout')}/healthz"
    done = subprocess.run(["wrk", "-t1", "-c64", f"-d{seconds}s", url], capture_output=True, text=True)
    rate = re.search(r"Requests/sec:\s+([0-9.]+)", done.stdout)
    return float(rate[1]) if rate else None


def bus(seconds: int) -> tuple[float | None, float | None]:
    executable = EXECUTABLES / "BusLoad"
    if not executable.exists():
        return None, None
    done = subprocess.run([executable, "64", str(seconds)], capture_output=True, text=True)
    numbers = re.findall(r"([0-9]+) (?:changes|frames)/s", done.stdout)
    return (float(numbers[0]), float(numbers[1])) if len(numbers) == 2 else (None, None)
