"""What this machine's parts do without Parley: the floors that its results are compared with."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from system import EXECUTABLES, REPOSITORY, System

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

SEND_STATEMENT = REPOSITORY / "Services" / "Store" / "Commands" / "SendStatement.swift"


def measure(system: System, seconds: int) -> dict:
    """All floors; None for one whose program is not here."""
    changes, frames = bus(seconds)
    return {
        "rows": pgbench(system, 200, seconds),
        "commits": pgbench(system, 1, seconds),
        "requests": wrk(system, seconds),
        "changes": changes,
        "frames": frames,
    }


# PostgreSQL


def pgbench(system: System, rows: int, seconds: int) -> float | None:
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
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(batch_script(rows))
        script.flush()
        command = [
            *(
                program("pgbench"),
                "--no-vacuum",
                "--protocol=prepared",
                "--client=1",
                f"--time={seconds}",
                f"--file={script.name}",
            ),
            *("-h", socket_directory(system), "-U", "postgres", "parley"),
        ]
        options = " ".join(f"-c {setting}" for setting in WRITER_SETTINGS)
        done = subprocess.run(command, env={"PGOPTIONS": options}, capture_output=True, text=True)
    rate = re.search(r"tps = ([0-9.]+)", done.stdout)
    assert rate, done.stderr
    return float(rate[1]) * rows


def batch_script(rows: int) -> str:
    """The statement as store sends it, but for its arrays, which are made of rows of `floor_senders`."""
    text = re.search(r'send_messages",.*?"""\n(.*?)"""', SEND_STATEMENT.read_text(), re.DOTALL)[1]
    senders = "(SELECT * FROM public.floor_senders WHERE n > :first AND n <= :first + :rows)"
    arrays = f"""(
        SELECT slot, conversation_id, gen_random_uuid(), user_id, repeat('x', 120), NULL::uuid, NULL::text, now(), n
        FROM {senders} f
    )"""
    statement, count = re.subn(r"unnest\(\$1.*?WITH ORDINALITY", lambda _: arrays, text, flags=re.DOTALL)
    assert count == 1, f"{SEND_STATEMENT} has another shape than this script expects"
    return f"""
        \\set rows {rows}
        \\set first random(0, 1000 - {rows})
        BEGIN;
        SELECT FROM store.conversations c WHERE (c.slot, c.id) IN (SELECT slot, conversation_id FROM {senders} f)
            ORDER BY c.id, c.slot FOR NO KEY UPDATE;
        {" ".join(statement.split())};
        COMMIT;
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
