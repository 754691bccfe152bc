"""Statements for a shard: what is sent straight to its worker, past Citus."""

import json
import re
import subprocess

import pytest
from cluster import SCHEMAS, Cluster, statements

PLACES = """
    SELECT slot, nodename FROM generate_series(0, 255) slot
    JOIN pg_dist_placement ON shardid = get_shard_id_for_distribution_column('placement.slots', slot::smallint)
    JOIN pg_dist_node USING (groupid)
"""


@pytest.mark.parametrize("service", SCHEMAS)
def test_every_statement_is_a_plain_one_of_its_worker_by_the_names_of_a_shard(cluster, service):
    slot = next(slot for slot, node in cluster.sql(PLACES) if node == cluster.nodes[1])
    texts = statements(service, "--slot", slot, environment=cluster.environment(service))
    assert len(texts) > 20
    script = ["SET client_min_messages = error;", "SET plan_cache_mode = force_generic_plan;"]
    for name, (parameters, sql) in texts.items():
        types = ", ".join(kind for _, kind in parameters)
        values = ", ".join(["NULL"] * len(parameters))
        script += [
            f"\\echo @{name}",
            f"PREPARE {name} {f'({types})' if types else ''} AS {sql};",
            f"EXPLAIN (FORMAT JSON, COSTS off) EXECUTE {name} {f'({values})' if values else ''};",
        ]
    done = subprocess.run(
        ["psql", "-XAtq", cluster.url(node=1)], input="\n".join(script), text=True, timeout=240,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    answers = re.split(r"^@(\w+)\n", done.stdout, flags=re.MULTILINE)[1:]
    assert answers[::2] == list(texts)
    for name, answer in zip(answers[::2], answers[1::2], strict=True):
        assert "ERROR" not in answer, f"{name}: {answer}"
        used = set(re.findall(r'"Relation Name": "(\w+)"', json.dumps(json.loads(answer))))
        assert "Citus" not in answer and all(re.search(r"_\d+$|^pg_", table) for table in used), f"{name}: {used}"


@pytest.mark.parametrize("service", SCHEMAS)
def test_every_statement_of_a_shard_has_the_rights_of_its_service(cluster, service):
    """PostgreSQL looks when a plan begins."""
    slot = next(slot for slot, node in cluster.sql(PLACES) if node == cluster.nodes[1])
    texts = statements(service, "--slot", slot, environment=cluster.environment(service))
    script = ["SET client_min_messages = error;", "SET plan_cache_mode = force_generic_plan;"]
    for name, (parameters, sql) in texts.items():
        types = ", ".join(kind for _, kind in parameters)
        values = ", ".join(["NULL"] * len(parameters))
        script += [
            f"PREPARE {name} {f'({types})' if types else ''} AS {sql};",
            f"EXPLAIN (COSTS off) EXECUTE {name} {f'({values})' if values else ''};",
        ]
    done = subprocess.run(
        ["psql", "-XAtq", cluster.url(service, 1)], input="\n".join(script), text=True, timeout=240,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert re.findall("ERROR.*", done.stdout) == []


def test_the_places_of_shards_are_those_of_citus(cluster):
    lines = [line.split("\t") for line in cluster.run("store", "placement", check=True).splitlines()]
    assert len(lines) == 16 and {port for _, _, port, _ in lines} == {"5432"}
    told = {(slot, host) for _, host, _, slots in lines for slot in slots.split(",")}
    assert told == {(slot, node) for slot, node in cluster.sql(PLACES)}


def test_a_plain_database_has_no_places(cluster: Cluster):
    cluster.create_database("placeless", distributed=False)
    cluster.migrate("store", database="placeless")
    assert "the database is not distributed" in cluster.run("store", "placement", database="placeless")
