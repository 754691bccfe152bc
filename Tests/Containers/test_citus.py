"""A system on a cluster: docker-compose.citus.yml, with the files of the extension that this machine has."""

from collections import Counter
from pathlib import Path

import pytest
from playing import playing
from project import NODES, Project, check, eventually

PLACES = """
    SELECT slot, nodename FROM generate_series(0, 255) slot
    JOIN pg_dist_placement ON shardid = get_shard_id_for_distribution_column('placement.slots', slot::smallint)
    JOIN pg_dist_node USING (groupid)
"""

OWNERS = "SELECT DISTINCT relowner::regrole FROM pg_dist_partition JOIN pg_class c ON c.oid = logicalrelid"


@pytest.fixture
def load(cluster: Project, tmp_path: Path):
    yield from playing(cluster, tmp_path)


def rows(cluster: Project, sql: str) -> list[list[str]]:
    done = cluster.ask(sql)
    assert done.returncode == 0, done.stdout
    return [line.split("|") for line in done.stdout.splitlines()]


@pytest.mark.timeout(900)  # Shards are moved twice, beside whatever else this machine does.
def test_nothing_is_lost_when_a_worker_is_restarted_and_when_it_goes_and_comes(cluster: Project, load):
    def restart():
        check("docker", "restart", *cluster.containers("worker-1"))
        eventually(lambda: cluster.ask("SELECT", "worker-1").returncode == 0, 120, "worker-1 that is there again")

    def come():
        rows(cluster, "SELECT citus_set_node_property('worker-1.database', 5432, 'shouldhaveshards', true)")
        rows(cluster, "SELECT rebalance_table_shards()")

    load(
        restart,
        lambda: rows(cluster, "SELECT citus_drain_node('worker-1.database', 5432)"),
        come,
    )
    assert rows(cluster, OWNERS) == [["store_owner"]]
    places = dict(rows(cluster, PLACES))
    assert Counter(places.values()) == {"worker-1.database": 128, "worker-2.database": 128}
    stays = rows(cluster, "SELECT DISTINCT slot, user_slot FROM store.inbox")
    # Created in one transaction of both nodes.
    assert any(places[conversation] != places[user] for conversation, user in stays)
    # Whatever a service or a node does there, its role may do.
    for service in NODES:
        [container] = cluster.containers(service)
        assert "permission denied" not in check("docker", "logs", container)


@pytest.mark.parametrize("service", NODES)
def test_a_node_has_no_rights(cluster: Project, service: str):
    [container] = cluster.containers(service)
    host = cluster.inspect(container)["HostConfig"]
    assert host["ReadonlyRootfs"] and host["CapDrop"] == ["ALL"] and not host["CapAdd"]
    assert "no-new-privileges:true" in host["SecurityOpt"]
    assert host["Memory"] > 0 and host["PidsLimit"] > 0
    assert not any(cluster.inspect(container)["NetworkSettings"]["Ports"].values())


@pytest.mark.parametrize("host", ["database", "worker-1.database"])
def test_only_nodes_are_let_in_as_superuser(cluster: Project, host: str):
    shown = cluster.psql("store", "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()", host=host)
    assert shown.stdout.strip() == "TLSv1.3"
    assert "no encryption" in cluster.psql("store", "SELECT 1", ssl="disable", host=host).stdout
    # Migrations have the secrets of the database, and those of nodes not.
    for secrets in ("store", "database"):
        refused = cluster.psql("parley", "SELECT 1", secrets=secrets, host=host)
        assert refused.returncode != 0 and "requires a valid client certificate" in refused.stdout, refused.stdout
    refused = cluster.psql("receipt", "SELECT body FROM store.messages", host=host)
    assert refused.returncode != 0 and "permission denied" in refused.stdout, refused.stdout


def test_what_was_deleted_is_scrubbed_on_all_nodes(cluster: Project):
    assert cluster.compose("run", "--rm", "scrub").count("scrubbed in ") == len(NODES)


def test_what_is_there_joins_again(cluster: Project):
    """What is started anew, by an update for one, makes nothing twice. Tables of a cluster of before get the owner."""
    before = rows(cluster, "SELECT nodeid, nodename FROM pg_dist_node ORDER BY nodeid")
    rows(cluster, "ALTER TABLE receipt.horizons OWNER TO receipt_owner")
    assert len(rows(cluster, OWNERS)) == 2
    cluster.compose("up", "--no-deps", "--force-recreate", "--no-build", "join", "migrate-store", "grant")
    assert rows(cluster, "SELECT nodeid, nodename FROM pg_dist_node ORDER BY nodeid") == before
    assert rows(cluster, OWNERS) == [["store_owner"]]
    for service in ("join", "migrate-store", "grant"):
        [container] = cluster.containers(service, all=True)
        assert cluster.inspect(container)["State"]["ExitCode"] == 0
