"""The PostgreSQL of a run, and what can go wrong with it. Every statement of ours comes from another session."""

import asyncio
import os
import signal
from pathlib import Path

from servers import Server, Servers

OTHERS = "FROM pg_stat_activity WHERE usename = 'parley' AND pid <> pg_backend_pid()"


class Database:
    """A server of its own. Its tables are on a disk of their own where one can be made, so that it can be filled."""

    def __init__(self):
        self.servers = Servers()
        self.server: Server = self.servers.create(
            "one", "max_connections = 50", "client_connection_check_interval = 500"
        )
        self.disk: Path | None = None
        self.why_no_disk = ""
        self.server.sql("CREATE ROLE parley LOGIN", database="postgres")
        # Whatever becomes the default for others.
        self.server.sql("ALTER ROLE postgres SET default_transaction_isolation = 'read committed'", database="postgres")
        self.server.sql("ALTER DATABASE parley OWNER TO parley", database="postgres")
        try:
            self.disk = self.servers.small_disk(768)
        except OSError as error:
            self.why_no_disk = str(error)
        if self.disk:
            self.server.sql(f"CREATE TABLESPACE small LOCATION '{self.disk}'", database="postgres")
            self.server.sql("ALTER DATABASE parley SET TABLESPACE small", database="postgres")

    @property
    def url(self) -> str:
        return f"host={self.server.directory} port=5432 dbname=parley user=parley"

    async def sql(self, statement: str, database: str = "parley") -> str:
        return await asyncio.to_thread(self.server.sql, statement, database)

    async def restart(self):
        await asyncio.to_thread(self.server.run, "pg_ctl", "restart", "-s", "-w", "-m", "fast", "-D", self.server.data,
                                "-l", self.server.directory / "log")  # fmt: skip

    async def kill(self):
        await asyncio.to_thread(self.server.kill)

    async def start(self):
        """A server that was killed is in the way until its last backends have noticed."""
        async with asyncio.timeout(60):
            while True:
                try:
                    return await asyncio.to_thread(self.server.start)
                except AssertionError:
                    await asyncio.sleep(0.2)

    async def terminate_backends(self):
        await self.sql(f"SELECT pg_terminate_backend(pid) {OTHERS}")

    def stand_still(self):
        self._signal(signal.SIGSTOP)

    def go_on(self):
        self._signal(signal.SIGCONT)

    def _signal(self, which: signal.Signals):
        postmaster = int((self.server.data / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        for pid in [postmaster, *map(int, children)]:
            try:
                os.kill(pid, which)
            except ProcessLookupError:
                pass  # it has ended by itself

    async def set_read_only(self, is_read_only: bool):
        value = "SET default_transaction_read_only = on" if is_read_only else "RESET default_transaction_read_only"
        await self.sql(f"ALTER SYSTEM {value}", database="postgres")
        await asyncio.to_thread(self.server.reload)

    async def fail_now_and_then(self, is_failing: bool):
        """One statement in four that stores messages or tapbacks fails as a conflict between transactions does."""
        if is_failing:
            await self.sql(FAILING)
        for table in ("messages", "changes"):
            action = f"CREATE TRIGGER conflict BEFORE INSERT ON store.{table} EXECUTE FUNCTION public.conflict()"
            undo = f"DROP TRIGGER IF EXISTS conflict ON store.{table}"
            await self.sql(action if is_failing else undo)

    async def set_isolation(self, level: str | None):
        """Of transactions whose sessions do not name one themselves, open ones too."""
        value = f"SET default_transaction_isolation = '{level}'" if level else "RESET default_transaction_isolation"
        await self.sql(f"ALTER SYSTEM {value}", database="postgres")
        await asyncio.to_thread(self.server.reload)

    async def disturb(self, conversations: list[str]):
        """Changes the rows of these conversations to what they are, again and again."""
        await self._be_strange(DISTURBING, conversations)

    async def lock_backwards(self, conversations: list[str]):
        await self._be_strange(LOCKING_BACKWARDS, conversations)

    async def _be_strange(self, statement: str, conversations: list[str]):
        ids = ", ".join(f"'{id}'::uuid" for id in conversations)
        try:
            await self.sql(f"/* stranger */ {statement.replace('IDS', ids)}")
        except AssertionError:
            pass  # ended by `end_strangers`

    async def end_strangers(self):
        await self.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '/* stranger */%'",
        )

    def said(self, what: str) -> int:
        """How often its log says so."""
        return (self.server.directory / "log").read_text(errors="replace").count(what)

    async def hold(self, statement: str, seconds: float):
        """Keeps what the statement locks for so long, in a session of its own."""
        await self.sql(f"BEGIN; {statement}; SELECT pg_sleep({seconds}); ROLLBACK")

    def fill_disk(self):
        with (self.disk / "ballast").open("wb") as ballast:
            size = 1 << 26
            while size >= 4096:
                try:
                    os.posix_fallocate(ballast.fileno(), ballast.tell(), size)
                    ballast.seek(0, os.SEEK_END)
                except OSError:
                    size //= 2

    def free_disk(self):
        (self.disk / "ballast").unlink(missing_ok=True)

    async def refuse_connections(self, is_refusing: bool):
        """53300, too many connections, is the answer to every new one; the old ones end."""
        await self.sql(f"ALTER ROLE parley CONNECTION LIMIT {0 if is_refusing else -1}")
        if is_refusing:
            await self.terminate_backends()

    def remove(self):
        self.servers.remove()


FAILING = """
CREATE OR REPLACE FUNCTION public.conflict() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF random() < 0.25 THEN
        RAISE EXCEPTION 'conflict' USING ERRCODE = (ARRAY['40001', '40P01'])[1 + (random() < 0.5)::int];
    END IF;
    RETURN NULL;
END $$
"""
DISTURBING = """DO $$
BEGIN
    LOOP
        UPDATE store.conversations SET last_at = last_at WHERE id IN (IDS);
        PERFORM pg_sleep(0.01);
        COMMIT;
        PERFORM pg_sleep(0.05);
    END LOOP;
END $$
"""
LOCKING_BACKWARDS = """DO $$
DECLARE
    this record;
BEGIN
    LOOP
        BEGIN
            FOR this IN SELECT slot, id FROM store.conversations WHERE id IN (IDS) ORDER BY id DESC, slot DESC LOOP
                PERFORM FROM store.conversations WHERE slot = this.slot AND id = this.id FOR UPDATE;
                PERFORM pg_sleep(0.05);
            END LOOP;
        EXCEPTION WHEN deadlock_detected THEN NULL;
        END;
        COMMIT;
        PERFORM pg_sleep(0.2);
    END LOOP;
END $$
"""
