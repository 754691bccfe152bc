"""`parley scrub` of a cluster, by the role that is made for it. What it leaves where: Tests/System/test_erasure.py."""

import re
import subprocess

import pytest
from cluster import SCHEMAS
from system import EXECUTABLES, REPOSITORY

DATABASE = "scrubbed"


@pytest.fixture(scope="module")
def deployed(cluster):
    """As docs/operations.md says: roles behind the nodes, tables of the owners."""
    cluster.create_database(DATABASE)
    roles = (REPOSITORY / "deploy/database/roles.sql").read_text().replace("parley", DATABASE)
    cluster.sql(roles, database=DATABASE)
    for service in SCHEMAS:
        cluster.migrate(service, "--citus", "2", database=DATABASE, owner=f"{service}_owner")
    for service in SCHEMAS:
        cluster.grant(service, DATABASE)
    return cluster


def test_the_role_for_maintenance_rewrites_the_shards_of_all_nodes_and_their_logs(deployed):
    before = files(deployed)
    done = scrub(deployed, "maintenance")
    assert done.returncode == 0, done.stdout
    # One part for each node, under its name.
    parts = re.split(r"^(/.+):$", done.stdout, flags=re.MULTILINE)[1:]
    assert parts[::2] == deployed.nodes
    for part in parts[1::2]:
        assert "store.services: " in part and "scrubbed in " in part, part
    assert not re.search(r"store\.messages", parts[1])
    assert len(re.findall(r"store\.messages_\d+: ", parts[3] + parts[5])) == 2
    after = files(deployed)
    assert after.keys() == before.keys() and all(after[table] != before[table] for table in before)


@pytest.mark.parametrize("role", ["store", "store_owner"])
def test_others_do_not_scrub(deployed, role):
    done = scrub(deployed, role)
    assert done.returncode == 1
    assert "belongs to another role" in done.stdout or "permission denied" in done.stdout, done.stdout


def test_a_node_that_is_away_is_told_of_and_the_others_are_scrubbed(deployed):
    deployed.kill(1)
    try:
        done = scrub(deployed, "maintenance")
        assert done.returncode == 1
        assert f"parley: {deployed.nodes[1]}: " in done.stdout
        assert done.stdout.count("scrubbed in ") == 2, done.stdout
    finally:
        deployed.revive()


def scrub(cluster, role: str) -> subprocess.CompletedProcess:
    command = [EXECUTABLES / "parley", "scrub", "--patience", "2s", "--database", cluster.url(role, database=DATABASE)]
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)


def files(cluster) -> dict[tuple[int, str], str]:
    """The file of each shard and table with rows of people: a new one when it has been rewritten."""
    sql = r"""
        SET citus.override_table_visibility = off;
        SELECT oid::regclass, pg_relation_filenode(oid) FROM pg_class
        WHERE relkind = 'r' AND relnamespace::regnamespace::text IN ('store', 'receipt', 'media') AND relname ~ '_\d+$'
    """
    return {(node, table): file for node in (1, 2) for table, file in cluster.sql(sql, node=node, database=DATABASE)}
