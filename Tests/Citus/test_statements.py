"""What Citus makes of each prepared statement. `python3 Tests/Citus/test_statements.py` writes the list anew."""

import json
import re
import subprocess
from pathlib import Path

from cluster import SCHEMAS, Cluster, statements

LIST = Path(__file__).with_name("statements.txt")
HEAD = """\
# What Citus makes of each prepared statement, sent to the coordinator as it is: see test_statements.py.
#
#   one       one task, on the node of its slot
#   constant  no table, or small ones that every node has
#   several   more tasks than one, or results that go from node to node
#   spans     refused where its slots are in several shards, one task where they are in one
#   refused   refused, also where its slots are in one shard
"""
OTHERS = {
    "smallint": "1", "integer": "1", "bigint": "1", "boolean": "true", "text": "'{}'", "interval": "'1 second'",
    "uuid": "'00000000-0000-7000-8000-00000000cafe'", "timestamptz": "now()",
    "bytea": "''", "date": "now()",
}  # fmt: skip


def test_each_statement_makes_as_many_tasks_as_the_list_says(cluster):
    assert LIST.read_text() == listed(cluster), f"python3 {LIST.with_name('test_statements.py')} writes it anew"


def listed(cluster: Cluster) -> str:
    slots = {node: slot for slot, node in cluster.sql(NODES)}
    first, second = (slots[node] for node in cluster.nodes[1:])
    lines = []
    for service in SCHEMAS:
        texts = statements(service)
        apart, together = plans(cluster, texts, first, second), plans(cluster, texts, first, first)
        for name in texts:
            reach = apart[name]
            if reach == "refused" and together[name] != "refused":
                reach = "spans" if together[name] == "one" else "several"
            lines.append(f"{service:8}{name:34}{reach}")
    return HEAD + "".join(f"{line}\n" for line in sorted(lines))


NODES = """
    SELECT slot, nodename FROM generate_series(0, 255) slot
    JOIN pg_dist_placement ON shardid = get_shard_id_for_distribution_column('placement.slots', slot::smallint)
    JOIN pg_dist_node USING (groupid)
"""


def plans(cluster: Cluster, texts: dict, slot: int, user_slot: int) -> dict[str, str]:
    """What becomes of each statement, with these slots of conversations and of users."""
    script = ["SET client_min_messages = error;", "\\set VERBOSITY sqlstate"]
    for name, (parameters, sql) in texts.items():
        types = ", ".join(kind for _, kind in parameters)
        values = ", ".join(value(parameter, kind, slot, user_slot) for parameter, kind in parameters)
        script += [
            f"\\echo @{name}",
            f"PREPARE {name} {f'({types})' if types else ''} AS {sql};",
            f"EXPLAIN (FORMAT JSON, COSTS off) EXECUTE {name} {f'({values})' if values else ''};",
        ]
    done = subprocess.run(
        ["psql", "-XAtq", cluster.url()], input="\n".join(script), text=True, timeout=240,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    answers = re.split(r"^@(\w+)\n", done.stdout, flags=re.MULTILINE)[1:]
    return {name: reach(name, answer) for name, answer in zip(answers[::2], answers[1::2], strict=True)}


def value(name: str, kind: str, slot: int, user_slot: int) -> str:
    if kind.endswith("[]"):
        element = kind[:-2]
        pair = [slot, user_slot] if re.search("slots?$", name) else [OTHERS[element]] * 2
        return f"ARRAY[{', '.join(map(str, pair))}]::{kind}"
    if name == "slot":
        return str(slot)
    return str(user_slot) if name.endswith("slot") else OTHERS[kind]


def reach(name: str, answer: str) -> str:
    if "ERROR:" in answer:
        # 25P02: it is planned, but what a node explains of its part fails. Where the slots are together it succeeds.
        assert re.search("ERROR: +(0A000|XX000|25P02)", answer), f"{name}: {answer}"
        return "refused"
    plan = json.loads(answer)[0]["Plan"]
    text = json.dumps(plan)
    tasks = [int(count) for count in re.findall(r'"Task Count": (\d+)', text)]
    if not tasks:
        return "constant"
    return "one" if tasks == [1] and '"Subplans"' not in text else "several"


if __name__ == "__main__":
    cluster = Cluster()
    try:
        LIST.write_text(listed(cluster))
    finally:
        cluster.remove()
