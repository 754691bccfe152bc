#!/usr/bin/env python3
"""What a send costs in each way in which Citus can hold the tables, beside one PostgreSQL.

    PARLEY_EXECUTABLES=… Tests/Load/citus.py [--rounds 5] [--transactions 100] [--ways 'plain|by name']

The statements are those of the store, with its settings, on one connection: locks, messages and commit in one round
trip. The ways take turns; medians of the rounds, in milliseconds for a transaction. What Citus refuses is told. Files
are in TMPDIR.
"""

import argparse
import re
import statistics
import sys
import uuid
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "Citus"))

from cluster import Cluster, missing, statements  # noqa: E402

SETTINGS = """
    SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
    SET enable_mergejoin = off; SET jit = off; SET client_min_messages = error;
"""
USED = ("lock_conversation", "send_message", "lock_conversations", "send_messages")
CONVERSATIONS = 4096
CONVERSATION = "('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid"
FILL = f"""
    INSERT INTO store.conversations (slot, id, kind, creator_id, created_at, last_seq, last_at, member_count)
        SELECT n % 256, {CONVERSATION}, 1, 'alice', now(), 1, now(), 2 FROM generate_series(0, {CONVERSATIONS - 1}) n;
    INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
        SELECT n % 256, {CONVERSATION}, 'alice', 1, 2 FROM generate_series(0, {CONVERSATIONS - 1}) n;
"""
PLACES = """
    SELECT slot, shardid, nodename FROM generate_series(0, 255) slot
    JOIN pg_dist_placement ON shardid = get_shard_id_for_distribution_column('placement.slots', slot::smallint)
    JOIN pg_dist_node USING (groupid)
"""
NAMES = """
    SELECT c.relname, c.relname || '_' || get_shard_id_for_distribution_column(c.oid, {slot}::smallint)
    FROM pg_dist_partition JOIN pg_class c ON c.oid = logicalrelid
    WHERE partmethod = 'h' AND relnamespace = 'store'::regnamespace
"""


# What begins every batch of a store on Citus: decision 0063.
GUARD = """
    PREPARE hold (bigint) AS SELECT placement.hold($1, true);
    PREPARE prove (bigint, smallint, bigint) AS
        SELECT placement.hold($1, (SELECT s.epoch = $3 FROM store.{slots} s WHERE s.slot = $2 FOR KEY SHARE));
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--transactions", type=int, default=100, help="of each kind in a round")
    parser.add_argument("--ways", default="", help="a pattern of those to measure")
    options = parser.parse_args()
    if reason := missing():
        sys.exit(f"skipped: {reason}")
    cluster = Cluster()
    try:
        Measurement(cluster).run(options.ways, options.rounds, options.transactions)
    finally:
        cluster.remove()


class Measurement:
    def __init__(self, cluster: Cluster):
        self.cluster = cluster
        self.texts = statements("store")
        self.fill()
        # The shards of the first worker, each with its slots.
        self.shards: dict[str, list[int]] = {}
        for slot, shard, node in cluster.sql(PLACES):
            if node == cluster.nodes[1]:
                self.shards.setdefault(shard, []).append(int(slot))
        self.far = next(slot for slot, _, node in cluster.sql(PLACES) if node == cluster.nodes[2])

    def fill(self):
        cluster = self.cluster
        cluster.sql("CREATE DATABASE plain", node=1, database="postgres")
        cluster.sql("GRANT CREATE ON DATABASE plain TO store", node=1, database="postgres")
        cluster.migrate("store", database="plain", node=1)
        cluster.create_database("schemas")
        cluster.migrate("store", database="schemas")
        # A schema with extensions is not distributed.
        for extension in ("pg_trgm", "btree_gin"):
            cluster.sql(f"ALTER EXTENSION {extension} SET SCHEMA public", database="schemas")
        cluster.sql("SELECT citus_schema_distribute('store')", database="schemas")
        for database, node in (("plain", 1), ("schemas", 0), ("parley", 0)):
            cluster.sql(f"{FILL}; VACUUM ANALYZE", database=database, node=node)

    def run(self, ways: str, rounds: int, transactions: int):
        times: dict[tuple[str, str], list[float]] = {}
        refused: dict[tuple[str, str], str] = {}
        for _ in range(rounds):
            for way, kind, where, preparation, transaction in self.cases():
                if (way, kind) in refused or not re.search(ways, way):
                    continue
                try:
                    time = self.time(where, preparation, transaction, transactions)
                    times.setdefault((way, kind), []).append(time)
                except RuntimeError as error:
                    refused[way, kind] = re.search(r"ERROR:  (.*)", str(error))[1]
        for way, kind in times:
            print(f"{kind:24}{way:56}{statistics.median(times[way, kind]):9.2f} ms")
        for (way, kind), reason in refused.items():
            print(f"{kind:24}{way:56}  refused: {reason}")

    def cases(self):
        """Each way and kind of batch, where it is sent, what it needs, and what makes a transaction."""
        everywhere = {
            "plain": (1, "plain"),
            "distributed, coordinator": (0, "parley"),
            "distributed, worker": (1, "parley"),
        }
        everywhere |= {"schema, coordinator": (0, "schemas"), "schema, its worker": (self.schema_node(), "schemas")}
        near = next(iter(self.shards.values()))
        all_near = [slot for slots in self.shards.values() for slot in slots]
        for way, where in everywhere.items():
            # Citus makes no generic plan of a statement whose slots it has yet to know.
            planning = "" if way == "plain" else "SET plan_cache_mode = auto;"
            prepared = planning + self.prepared("", {})
            yield way, "1", where, prepared, lambda: [self.lone("", near[0])]
            for kind, slots in (("200, one shard", near), ("200, all shards here", all_near)):
                yield way, kind, where, prepared, lambda slots=slots: self.batch("", slots, 200)
        direct = (1, "parley")
        names = {shard: self.names(slots[0]) for shard, slots in self.shards.items()}
        first = next(iter(self.shards))
        yield "shards by name", "1", direct, self.prepared("", names[first]), lambda: [self.lone("", near[0])]
        prepared = self.prepared("", names[first])
        yield "shards by name", "200, one shard", direct, prepared, lambda: self.batch("", near, 200)
        prepared += GUARD.format(slots=names[first]["slots"])
        guard = [f"EXECUTE hold ({first})", f"EXECUTE prove ({first}, {near[0]}, 0)"]
        way = "shards by name, held, epoch proved"
        yield way, "1", direct, prepared, lambda: [*guard, self.lone("", near[0])]
        yield way, "200, one shard", direct, prepared, lambda: guard + self.batch("", near, 200)
        prepared = "".join(self.prepared(f"_{shard}", names[shard]) for shard in self.shards)
        yield (
            "shards by name, a statement each", "200, all shards here", direct, prepared,
            lambda: [
                execution
                for shard, slots in self.shards.items()
                for execution in self.batch(f"_{shard}", slots, 200 // len(self.shards))
            ],
        )  # fmt: skip
        yield from self.spanning(near[0], names[first])

    def spanning(self, slot: int, names: dict[str, str]):
        """A conversation's change and a user's, whose slots are on two nodes."""
        kind = "two slots, two nodes"

        def transaction(update: str = "") -> list[str]:
            return [
                update,
                f"EXECUTE change ({slot}, '{uuid.uuid4()}')",
                f"EXECUTE private_change ({self.far}, '{uuid.uuid4()}')",
            ]

        change = """
            PREPARE change (smallint, uuid) AS
                INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at)
                VALUES ($1, $2, 1, 2, 'alice', now());
        """
        private_change = """
            PREPARE private_change (smallint, text) AS
                INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at) VALUES ($1, $2, 1, 1, now());
        """
        proof = """
            PREPARE proof (smallint) AS UPDATE store.slots SET epoch = epoch WHERE slot = $1;
        """
        yield "plain", kind, (1, "plain"), change + private_change, transaction
        yield "distributed, coordinator", kind, (0, "parley"), change + private_change, transaction
        yield "distributed, worker", kind, (1, "parley"), change + private_change, transaction
        by_name = renamed(change, names) + private_change + proof
        yield "own shard by name, the other by Citus", kind, (1, "parley"), by_name, transaction
        yield (
            "the same, behind a write of its own by Citus", kind, (1, "parley"), by_name,
            lambda: transaction(f"EXECUTE proof ({slot})"),
        )  # fmt: skip

    # MARK: Statements

    def prepared(self, suffix: str, names: dict[str, str]) -> str:
        text = ""
        for name in USED:
            parameters, sql = self.texts[name]
            types = ", ".join(kind for _, kind in parameters)
            text += f"PREPARE {name}{suffix} ({types}) AS {renamed(sql, names)};\n"
        return text

    def lone(self, suffix: str, slot: int) -> str:
        conversation = f"{slot}, '{conversation_in(slot, 0)}'"
        send = self.arguments("send_message", slot=slot, conversation=quoted(conversation_in(slot, 0)))
        return f"EXECUTE lock_conversation{suffix} ({conversation})\\; EXECUTE send_message{suffix} ({send})"

    def batch(self, suffix: str, slots: list[int], rows: int) -> list[str]:
        """Two messages in each of half as many conversations."""
        count, rows = rows // 2, rows // 2 * 2
        places = sorted(
            (conversation_in(slots[n % len(slots)], n // len(slots)), slots[n % len(slots)]) for n in range(count)
        )
        conversations = array([name for name, _ in places])
        lock = f"{array([slot for _, slot in places])}, {conversations}"
        send = self.arguments(
            "send_messages",
            slots=array([slot for _, slot in places]),
            conversations=conversations,
            ends=array([2 * n + 2 for n in range(count)]),
            stream_conversations=array(range(1, count + 1)),
            senders=array(["alice"] * count),
            streams=array([n // 2 + 1 for n in range(rows)]),
            ids=array([uuid.uuid4() for _ in range(rows)]),
            texts=array(["word " * 24] * rows),
            sent_times=array(["2026-01-01"] * rows),
            answers_attachments="true",
        )
        return [f"EXECUTE lock_conversations{suffix} ({lock})", f"EXECUTE send_messages{suffix} ({send})"]

    def arguments(self, name: str, **values) -> str:
        given = {
            "id": quoted(uuid.uuid4()),
            "sender": "'alice'",
            "text": f"'{'word ' * 24}'",
            "sent_at": "now()",
        } | values
        return ", ".join(str(given.get(parameter, "'{}'")) for parameter, _ in self.texts[name][0])

    # MARK: Nodes

    def time(self, where: tuple[int, str], preparation: str, transaction, count: int) -> float:
        """Milliseconds for a transaction. Raises what psql says of an error."""
        clock = "SELECT extract(epoch FROM clock_timestamp());"
        lines = ["BEGIN\\; " + "\\; ".join(filter(None, transaction())) + "\\; COMMIT;" for _ in range(count + 10)]
        script = [SETTINGS, preparation, "\\o /dev/null", *lines[:10], "\\o", clock]
        script += ["\\o /dev/null", *lines[10:], "\\o", clock]
        began, ended = (float(row[0]) for row in self.cluster.sql("\n".join(script), node=where[0], database=where[1]))
        return (ended - began) * 1000 / count

    def names(self, slot: int) -> dict[str, str]:
        return dict(self.cluster.sql(NAMES.format(slot=slot)))

    def schema_node(self) -> int:
        node = self.cluster.sql(
            "SELECT DISTINCT nodename FROM citus_shards WHERE citus_table_type = 'schema'", database="schemas"
        )
        return self.cluster.nodes.index(node[0][0])


def renamed(sql: str, names: dict[str, str]) -> str:
    """The statement for one shard: its tables stand for those of the schema."""
    return re.sub(r"\bstore\.(\w+)", lambda found: "store." + names.get(found[1], found[1]), sql)


def conversation_in(slot: int, number: int) -> uuid.UUID:
    return uuid.UUID(f"00000000-0000-7000-8000-{slot + 256 * number:012x}")


def quoted(value) -> str:
    return f"'{value}'"


def array(values) -> str:
    return "'{" + ",".join(f'"{value}"' if " " in str(value) else str(value) for value in values) + "}'"


if __name__ == "__main__":
    main()
