"""The PostgreSQL of a run, or its cluster, and what can go wrong with it. Every statement of ours comes from another
session."""

import asyncio
import os
import random
import signal
import subprocess
from pathlib import Path

from servers import Server, Servers, signal_all
from system import EXECUTABLES, POSTGRESQL

OTHERS = "FROM pg_stat_activity WHERE usename = 'parley' AND pid <> pg_backend_pid()"


class Database:
    """A server of its own. Its tables are on a disk of their own where one can be made, so that it can be filled."""

    def __init__(self):
        self.servers = Servers()
        self.disk: Path | None = None
        self.why_no_disk = ""
        self.nodes: list[Server] = self._start()
        self.server = self.nodes[0]
        """The one that services are told of."""
        self.hit = self.server
        """The one that the present fault is about."""
        self.holder = self.nodes[-1]
        """One that has rows of conversations, which the present fault is about if it is about rows."""

    def _start(self) -> list[Server]:
        server = self.servers.create("one", "max_connections = 50", CHECKING)
        for statement in (ISOLATED, "CREATE ROLE parley LOGIN", "ALTER DATABASE parley OWNER TO parley"):
            server.sql(statement, database="postgres")
        self._move_to_small_disk(server)
        return [server]

    def _move_to_small_disk(self, server: Server):
        try:
            self.disk = self.servers.small_disk(768)
        except OSError as error:
            self.why_no_disk = str(error)
        if self.disk:
            server.sql(f"CREATE TABLESPACE small LOCATION '{self.disk}'", database="postgres")
            server.sql("ALTER DATABASE parley SET TABLESPACE small", database="postgres")

    def choose(self, choice: random.Random):
        """Decides whom the next fault hits."""

    @property
    def url(self) -> str:
        return f"host={self.server.directory} port=5432 dbname=parley user=parley"

    @property
    def description(self) -> str:
        return f"PostgreSQL {POSTGRESQL.parent.name}"

    async def sql(self, statement: str, database: str = "parley") -> str:
        return await self._on(self.server, statement, database)

    async def _on(self, server: Server, statement: str, database: str = "parley") -> str:
        return await asyncio.to_thread(server.sql, statement, database)

    async def restart(self):
        server = self.hit
        await asyncio.to_thread(
            server.run, "pg_ctl", "restart", "-s", "-w", "-m", "fast", "-D", server.data, "-l", server.directory / "log"
        )

    async def kill(self, server: Server | None = None):
        await asyncio.to_thread((server or self.hit).kill)

    async def start(self, server: Server | None = None):
        """A server that was killed is in the way until its last backends have noticed."""
        async with asyncio.timeout(60):
            while True:
                try:
                    return await asyncio.to_thread((server or self.hit).start)
                except AssertionError:
                    await asyncio.sleep(0.2)

    async def kill_all(self):
        for server in self.nodes:
            await self.kill(server)

    async def start_all(self):
        for server in self.nodes:
            await self.start(server)

    async def terminate_backends(self):
        await self._on(self.hit, f"SELECT pg_terminate_backend(pid) {OTHERS}")

    def stand_still(self):
        signal_all(self.hit.data, signal.SIGSTOP)

    def go_on(self):
        signal_all(self.hit.data, signal.SIGCONT)

    async def set_read_only(self, is_read_only: bool):
        value = "SET default_transaction_read_only = on" if is_read_only else "RESET default_transaction_read_only"
        await self._set(self.hit, value)

    async def _set(self, server: Server, value: str):
        await self._on(server, f"ALTER SYSTEM {value}", "postgres")
        await asyncio.to_thread(server.reload)

    async def fail_now_and_then(self, is_failing: bool):
        """One statement in four that stores messages or tapbacks fails as a conflict between transactions does."""
        for server in self.nodes:
            if is_failing:
                await self._on(server, f"{BY_THEMSELVES}; {FAILING}")
            for table in [*await self._tables(server, "messages"), *await self._tables(server, "changes")]:
                action = f"CREATE TRIGGER conflict BEFORE INSERT ON {table} EXECUTE FUNCTION public.conflict()"
                undo = f"DROP TRIGGER IF EXISTS conflict ON {table}"
                await self._on(server, f"{BY_THEMSELVES}; {action if is_failing else undo}")

    async def _tables(self, server: Server, name: str) -> list[str]:
        """What a server has of a table of conversations."""
        return [f"store.{name}"]

    async def set_isolation(self, level: str | None):
        """Of transactions whose sessions do not name one themselves, open ones too."""
        value = f"SET default_transaction_isolation = '{level}'" if level else "RESET default_transaction_isolation"
        for server in self.nodes:
            await self._set(server, value)

    async def disturb(self, conversations: list[str]):
        """Changes the rows of these conversations to what they are, again and again."""
        await self._be_strange(DISTURBING, conversations)

    async def lock_backwards(self, conversations: list[str]):
        await self._be_strange(LOCKING_BACKWARDS, conversations)

    async def _be_strange(self, statement: str, conversations: list[str]):
        await asyncio.gather(*(self._be_strange_at(server, statement, conversations) for server in self.nodes))

    async def _be_strange_at(self, server: Server, statement: str, conversations: list[str]):
        if tables := await self._tables(server, "conversations"):
            names, ids = (", ".join(f"'{each}'" for each in some) for some in (tables, conversations))
            statement = statement.replace("TABLES", names).replace("IDS", ids)
            try:
                await self._on(server, f"/* stranger */ {statement}")
            except AssertionError:
                pass  # ended by `end_strangers`

    async def end_strangers(self):
        for server in self.nodes:
            strangers = "FROM pg_stat_activity WHERE query LIKE '/* stranger */%'"
            await self._on(server, f"SELECT pg_terminate_backend(pid) {strangers}")

    def said(self, what: str) -> int:
        """How often its log says so."""
        return sum((server.directory / "log").read_text(errors="replace").count(what) for server in self.nodes)

    async def lock_messages(self, seconds: float):
        """Keeps all of them that one server has, for so long, in a session of its own."""
        tables = ", ".join(await self._tables(self.holder, "messages"))
        await self._hold(self.holder, f"{BY_THEMSELVES}; LOCK TABLE {tables}", seconds)

    async def lock_conversation(self, id: str, seconds: float):
        slot = int(id[-2:], 16)
        row = f"FROM store.conversations WHERE slot = {slot} AND id = '{id}'"
        await self._hold(self.server, f"SELECT 1 {row} FOR UPDATE", seconds)

    async def _hold(self, server: Server, statement: str, seconds: float):
        await self._on(server, f"BEGIN; {statement}; SELECT pg_sleep({seconds}); ROLLBACK")

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
        limit = f"ALTER ROLE parley CONNECTION LIMIT {0 if is_refusing else -1}"
        await self._on(self.hit, f"{BY_THEMSELVES}; {limit}")
        if is_refusing:
            await self.terminate_backends()

    def remove(self):
        self.servers.remove()


class Cluster(Database):
    """A coordinator and workers of Citus, with the tables of the services; the disk is the last one's. Each fault hits
    another node, by the run's choice; one that is about rows hits a worker."""

    def __init__(self, workers: int):
        self.workers = workers
        super().__init__()
        for service in WITH_TABLES:
            command = [EXECUTABLES / service, "migrate", "--citus"]
            environment = os.environ | {"PARLEY_DATABASE_URL": self.url}
            done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=240)
            assert done.returncode == 0, done.stderr

    def _start(self) -> list[Server]:
        names = ["coordinator", *(f"worker-{number + 1}" for number in range(self.workers))]
        nodes = [self.servers.create_node(name, CHECKING) for name in names]
        self._move_to_small_disk(nodes[-1])
        for server in nodes:
            server.sql(ISOLATED, database="postgres")
            server.sql("CREATE EXTENSION citus")
        nodes[0].sql(f"SELECT citus_set_coordinator_host('{nodes[0].directory}', 5432)")
        for server in nodes[1:]:
            nodes[0].sql(f"SELECT citus_add_node('{server.directory}', 5432)")
        nodes[0].sql("CREATE ROLE parley LOGIN")
        for server in nodes:
            server.sql(f"{BY_THEMSELVES}; ALTER DATABASE parley OWNER TO parley")
        return nodes

    def choose(self, choice: random.Random):
        self.hit = choice.choice(self.nodes)
        self.holder = self.hit if self.hit is not self.server else choice.choice(self.nodes[1:])

    @property
    def description(self) -> str:
        return f"{super().description} with Citus on a coordinator and {self.workers} workers"

    async def _tables(self, server: Server, name: str) -> list[str]:
        names = await self._on(server, SHARDS.format(table=f"store.{name}"))
        return names.split()

    async def move_a_shard(self, choice: random.Random):
        """To another worker, with all that belongs to it."""
        shards = (await self.sql(PLACES)).split()
        shard, here = choice.choice(shards).split("|")
        there = choice.choice([str(server.directory) for server in self.nodes[1:] if str(server.directory) != here])
        move = f"citus_move_shard_placement({shard}, '{here}', 5432, '{there}', 5432)"
        await self.sql(f"SELECT {move}")


CHECKING = "client_connection_check_interval = 500"
ISOLATED = "ALTER ROLE postgres SET default_transaction_isolation = 'read committed'"
"""Whatever becomes the default for others."""
BY_THEMSELVES = "SET citus.enable_ddl_propagation = off; SET citus.enable_manual_changes_to_shards = on"
"""Before what is done on one node of a cluster, to its shards. One PostgreSQL takes no notice."""
WITH_TABLES = ("store", "receipt", "media")
SHARDS = """
    SELECT shard_name(logicalrelid, shardid) FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
    WHERE logicalrelid = '{table}'::regclass AND groupid = (SELECT groupid FROM pg_dist_local_group) ORDER BY shardid
"""
PLACES = """
    SELECT shardid, nodename FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid)
    WHERE logicalrelid = 'placement.slots'::regclass AND noderole = 'primary' ORDER BY shardid
"""
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
DECLARE
    this text;
BEGIN
    LOOP
        FOREACH this IN ARRAY ARRAY[TABLES] LOOP
            EXECUTE format('UPDATE %s SET last_at = last_at WHERE id = ANY ($1)', this) USING ARRAY[IDS]::uuid[];
        END LOOP;
        PERFORM pg_sleep(0.01);
        COMMIT;
        PERFORM pg_sleep(0.05);
    END LOOP;
END $$
"""
LOCKING_BACKWARDS = """DO $$
DECLARE
    this text;
    found record;
BEGIN
    LOOP
        BEGIN
            FOREACH this IN ARRAY ARRAY[TABLES] LOOP
                FOR found IN EXECUTE
                    format('SELECT slot, id FROM %s WHERE id = ANY ($1) ORDER BY id DESC, slot DESC', this)
                    USING ARRAY[IDS]::uuid[]
                LOOP
                    EXECUTE format('SELECT FROM %s WHERE slot = $1 AND id = $2 FOR UPDATE', this)
                    USING found.slot, found.id;
                    PERFORM pg_sleep(0.05);
                END LOOP;
            END LOOP;
        EXCEPTION WHEN deadlock_detected THEN NULL;
        END;
        COMMIT;
        PERFORM pg_sleep(0.2);
    END LOOP;
END $$
"""
