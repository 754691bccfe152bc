#!/usr/bin/env python3
"""How many bytes a message takes in PostgreSQL: by table, rows and indexes apart, with everything that follows from it.

Conversations are replayed, with what their readers acknowledge, into a system of its own. When the search index has
everything, and the space of old versions of rows was given back, the tables are measured.

    Tests/Load/storage.py [--data FILE] [--json FILE]
"""

import argparse
import json
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "Tests" / "System"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import day  # noqa: E402
import floors  # noqa: E402
from semantics import DATA  # noqa: E402
from system import EXECUTABLES, System  # noqa: E402
from unlimited import UnlimitedSystem  # noqa: E402

# Partitions count as their table. TOAST counts as rows.
SIZES = """
    SELECT json_agg(t) FROM (
        SELECT coalesce(p.inhparent, c.oid)::regclass::text AS name,
            sum(pg_table_size(c.oid)) AS rows, sum(pg_indexes_size(c.oid)) AS indexes
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_inherits p ON p.inhrelid = c.oid
        WHERE c.relkind = 'r' AND n.nspname IN ('store', 'receipt')
        GROUP BY 1 ORDER BY sum(pg_total_relation_size(c.oid)) DESC) t
"""
SMALLEST = 0.5  # bytes a message, below which a table is not shown


def main():
    options = arguments()
    system = UnlimitedSystem()
    try:
        system.up()
        empty = sizes(system)
        messages, text_bytes = replay(system, options.data)
        day.settle(system)
        floors.psql(system, "VACUUM FULL")
        measured = sizes(system)
    finally:
        system.remove()
    tables = {name: [(measured[name][part] - empty[name][part]) / messages for part in (0, 1)] for name in measured}
    report(tables, messages, text_bytes)
    if options.json:
        content = {"messages": messages, "textBytes": text_bytes, "bytesPerMessage": tables}
        Path(options.json).write_text(json.dumps(content, indent=2) + "\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="the conversations that are replayed")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    return parser.parse_args()


def replay(system: System, data: Path) -> tuple[int, int]:
    """How many messages were sent, and the bytes of their texts."""
    done = system.run(EXECUTABLES / "parley", "replay", data)
    if done.returncode:
        raise SystemExit(f"the replay ended with status {done.returncode}\n{done.stdout}{done.stderr}")
    with data.open() as lines:
        texts = [message["text"] for line in lines for message in json.loads(line)["messages"]]
    return len(texts), sum(len(text.encode()) for text in texts)


def sizes(system: System) -> dict[str, tuple[int, int]]:
    return {table["name"]: (table["rows"], table["indexes"]) for table in json.loads(floors.psql(system, SIZES))}


def report(tables: dict[str, list[float]], messages: int, text_bytes: int):
    print(f"{messages} messages with texts of {text_bytes / messages:.0f} bytes; bytes a message:\n")
    print(f"{'table':32}{'rows':>8}{'indexes':>10}{'both':>8}")
    for name, (rows, indexes) in tables.items():
        if rows + indexes >= SMALLEST:
            print(f"{name:32}{rows:8.0f}{indexes:10.0f}{rows + indexes:8.0f}")
    total = [sum(parts) for parts in zip(*tables.values(), strict=True)]
    print(f"{'all':32}{total[0]:8.0f}{total[1]:10.0f}{sum(total):8.0f}")


if __name__ == "__main__":
    main()
