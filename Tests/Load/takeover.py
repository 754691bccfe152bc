#!/usr/bin/env python3
"""What a takeover looks at, and how many bytes a row of what grows takes.

    Tests/Load/takeover.py 'host=… dbname=…' [--conversations 1000000] [--rows 1000000]

The database is an empty one of its own, and is filled straight into its tables: conversations of ten members, all of
whose devices were told what they have read, all of whose texts are indexed. A `receipt` and a `store` of
PARLEY_EXECUTABLES then take all slots over, twice: the second time after the death of a first owner who had noted some.
"""

import argparse
import os
import subprocess
import time
from pathlib import Path

EXECUTABLES = Path(os.environ.get("PARLEY_EXECUTABLES", Path(__file__).parents[2] / ".build/release")).resolve()
BUS = {"PARLEY_BUS_BIND": "ipc:///tmp/parley-takeover.sock"} | {
    f"PARLEY_BUS_{role}": "ipc:///tmp/parley-takeover-nobody.sock" for role in ("INGEST", "STORE", "RECEIPT", "FANOUT")
}
LOOKED_AT = {
    "receipt": ["receipt.horizons", "receipt.untold", "store.inbox"],
    "store": ["store.conversations", "store.unindexed", "store.search_positions"],
}
FILL = """
SET synchronous_commit = off;
CREATE TEMPORARY TABLE ids AS
    SELECT g AS n, ('00000000-0000-7000-8000-' || lpad(to_hex(g), 12, '0'))::uuid AS id, (g & 255)::smallint AS slot
    FROM generate_series(1, {conversations}) g;
INSERT INTO store.conversations (slot, id, kind, creator_id, created_at, last_seq, last_at, member_count)
    SELECT slot, id, 1, 'user0', now(), 20, now(), 10 FROM ids;
INSERT INTO store.search_positions SELECT slot, id, 20 FROM ids;
INSERT INTO receipt.horizons (slot, conversation_id, user_id, delivered_seq, read_seq, shown_seq, version)
    SELECT slot, id, 'user' || (n * 10 + m) % 100000, 20, 20, 20, 1 FROM ids, generate_series(0, 9) m;
INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot, told_read_seq)
    SELECT 7, 'user' || (n * 10 + m) % 100000, id, slot, 20 FROM ids, generate_series(0, 9) m;
"""
NOTE = """
INSERT INTO receipt.untold SELECT slot, id, 1 FROM store.conversations ORDER BY id LIMIT {noted};
INSERT INTO store.unindexed SELECT slot, id, 1 FROM store.conversations ORDER BY id LIMIT {noted};
"""
ROWS = {
    "store.outcomes": "SELECT 7, {user}, gen_random_uuid(), 4, {id}, {id}, 0, now()",
    "store.user_changes": "SELECT 7, {user}, g, 5, now(), 7, {id}, NULL, g",
    "store.changes": "SELECT 7, {id}, g, 4, {user}, now(), {id}",
    "receipt.receipt_runs": "SELECT 7, {id}, {user}, 3, g, g, now()",
    "store.early_deletions": "SELECT 7, {id}, gen_random_uuid(), {user}",
    "store.unindexed": "SELECT 7, {id}, g",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database")
    parser.add_argument("--conversations", type=int, default=1_000_000)
    parser.add_argument("--noted", type=int, default=1_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    for service in ("store", "receipt"):
        run(service, options.database, "migrate")
    for table, rows in ROWS.items():
        if query(options.database, f"SELECT to_regclass('{table}') IS NULL") == "t":
            continue
        print(f"{table}: {bytes_of_row(options.database, table, rows, options.rows)} bytes a row", flush=True)
    query(options.database, FILL.format(conversations=options.conversations) + "; VACUUM ANALYZE")
    has_notes = query(options.database, "SELECT to_regclass('receipt.untold') IS NOT NULL") == "t"
    for service in ("receipt", "store"):
        for number in (1, 2):
            if number == 2 and has_notes:
                query(options.database, NOTE.format(noted=options.noted) + "; VACUUM ANALYZE")
            print(f"{service}, takeover {number}: {takeover(service, options.database)}", flush=True)


def run(service: str, database: str, *arguments: str, wait=True):
    listen = {"PARLEY_LISTEN": "127.0.0.1:18098", "PARLEY_LOG_LEVEL": "error", "PARLEY_DATABASE_URL": database}
    process = subprocess.Popen([EXECUTABLES / service, *arguments], env=os.environ | BUS | listen)
    return process if not wait else process.wait()


def query(database: str, sql: str) -> str:
    arguments = ["psql", "--no-psqlrc", "--quiet", "-At", "-v", "ON_ERROR_STOP=1", database]
    for part in sql.split("; "):
        out = subprocess.run(arguments, input=part, text=True, check=True, stdout=subprocess.PIPE).stdout
    return out.strip()


def bytes_of_row(database: str, table: str, rows: str, count: int) -> int:
    """With its part of the indexes, as they are when rows come in the order of a day: users and conversations mixed."""
    values = {
        "user": "'user-' || lpad((hashint8(g) & 65535)::text, 10, '0')",
        "id": "('0198c2a4-5d10-7c3e-9a41-' || lpad(to_hex(hashint8(g) & 65535), 12, '0'))::uuid",
    }
    columns = "(slot, conversation_id, seq, kind, actor_id, at, message_id)" if table == "store.changes" else ""
    sql = f"INSERT INTO {table} {columns} {rows.format(**values)} FROM generate_series(1, {count}) g"
    query(database, f"SET synchronous_commit = off; {sql}")
    size = int(query(database, f"SELECT pg_total_relation_size('{table}')"))
    query(database, f"TRUNCATE {table}")
    return round(size / count)


def takeover(service: str, database: str) -> str:
    before = reads(service, database)
    process = run(service, database, wait=False)
    begun = last_change = time.monotonic()
    latest = before
    try:
        # Statistics are written behind a statement, and once a second while a session works.
        while time.monotonic() - last_change < 10:
            time.sleep(0.2)
            now = reads(service, database)
            if now != latest or is_busy(service, database):
                latest, last_change = now, time.monotonic()
    finally:
        process.kill()
        process.wait()
    looked = ", ".join(f"{latest[t] - before[t]:,} of {t}" for t in latest if latest[t] > before[t])
    return f"{last_change - begun:.1f} s, rows read: {looked or 'none'}"


def is_busy(service: str, database: str) -> bool:
    """Whether the connection works that looks for what a former owner left."""
    name = {"receipt": "parley-receipt-queries", "store": "parley-store-indexer"}[service]
    sql = f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}' AND state = 'active'"
    return query(database, sql) != "0"


def reads(service: str, database: str) -> dict[str, int]:
    counts = {}
    for table in LOOKED_AT[service]:
        sql = (
            "SELECT coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::bigint "
            f"FROM pg_stat_user_tables WHERE schemaname || '.' || relname = '{table}'"
        )
        counts[table] = int(query(database, sql))
    return counts


if __name__ == "__main__":
    main()
