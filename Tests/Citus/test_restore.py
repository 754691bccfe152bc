"""A cluster is restored to a point that all of its nodes have, as docs/operations.md says."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from cluster import SCHEMAS, Cluster, missing
from serving import Serving
from servers import Servers
from system import EXECUTABLES, PATIENCE, System
from test_writes import create, is_whole, lists, people_in_all_shards

POINT = "evening"


@pytest.fixture(scope="module")
def cluster():
    """One of its own, empty at first, whose nodes are thrown away."""
    if reason := missing():
        pytest.skip(reason)
    cluster = Cluster()
    yield cluster
    cluster.remove()


DUMP = ("--format=custom", "--extension=btree_gin", "--extension=pg_trgm", "--exclude-schema=placement")
"""Without what makes a cluster of it."""
COUNTS = "SELECT count(*) FROM store.messages; SELECT count(*) FROM store.inbox; SELECT count(*) FROM receipt.slots"


def test_a_dump_moves_everything_to_one_postgresql_or_to_another_cluster(cluster):
    serving = Serving(cluster)
    people = people_in_all_shards(serving, 6)
    groups = [create(serving, people[number:] + people[:number]) for number in range(6)]
    for number, group in enumerate(groups):
        serving.send_until_taken(people[0], group, f"message {number}")
    serving.stop()
    dump = cluster.system.state / "dump"
    subprocess.run(["pg_dump", *DUMP, f"--file={dump}", "--dbname", cluster.url()], check=True, timeout=240)
    counted = [int(row[0]) for row in everything(cluster.sql, COUNTS)]
    assert counted[:2] == [6, 36]

    # Another cluster has its extension already, and distributes what it holds.
    cluster.create_database("again")
    restore(cluster.url(database="again"), dump)
    assert "distributed" not in placed(cluster, "again")
    for service in SCHEMAS:
        cluster.migrate(service, "--citus", database="again")
    assert "distributed" in placed(cluster, "again")
    assert [int(row[0]) for row in everything(cluster.sql, COUNTS, database="again")] == counted

    servers = Servers()
    server = servers.create("one")
    for role in SCHEMAS:
        server.sql(f"CREATE ROLE {role} LOGIN")
    url = f"host={server.directory} port=5432 dbname=parley user=postgres"
    system = System(database=url)
    try:
        restore(url, dump)
        assert [int(server.sql(sql)) for sql in COUNTS.split(";")] == counted
        system.up()
        one = Serving.of(system)
        for number, group in enumerate(groups):
            assert one.texts(people[number], group) == [f"message {number}"]
        status, listed = one.request(people[3], "GET", "/v1/conversations?limit=50")
        assert status == 200 and {each["id"] for each in listed["conversations"]} == set(groups)
        create(one, people)
    finally:
        system.remove()
        servers.remove()


def test_all_nodes_go_back_to_one_point(cluster):
    backups = Backups(cluster)
    serving = Serving(cluster)
    people = people_in_all_shards(serving, 6)
    kept = [create(serving, people[number:] + people[:number]) for number in range(3)]
    backups.take()
    kept += [create(serving, people[number:] + people[:number]) for number in range(3, 6)]
    serving.send_until_taken(people[0], kept[-1], "before it")
    cursor = serving.request(people[0], "GET", "/v1/sync")[1]["cursor"]
    cluster.sql(f"SELECT citus_create_restore_point('{POINT}')")
    lost = create(serving, people)
    serving.send_until_taken(people[0], kept[-1], "behind it")
    assert "stop all services" in cluster.run("store", "restored", user="postgres")
    serving.stop()

    backups.restore()
    assert "the history is now" in cluster.run("store", "restored", user="postgres", check=True)
    serving = Serving(cluster)
    try:
        is_whole(serving, people)
        listed = set(lists(serving, people))
        assert listed == {(user, group) for user in people for group in kept}, lost
        assert serving.texts(people[1], kept[-1]) == ["before it"]
        assert serving.request(people[0], "GET", f"/v1/sync?since={cursor}")[0] == 409
        create(serving, people)
        is_whole(serving, people)
    finally:
        serving.stop()


def everything(sql, statements: str, **options) -> list[list[str]]:
    return [sql(statement, **options)[0] for statement in statements.split(";")]


def placed(cluster: Cluster, database: str) -> set[str]:
    return {kind for (kind,) in cluster.sql("SELECT citus_table_type FROM citus_tables", database=database)}


def restore(url: str, dump: Path):
    environment = os.environ | {"PARLEY_DATABASE_URL": url}
    done = subprocess.run(
        [EXECUTABLES / "parley", "restore", dump], env=environment, text=True, timeout=240,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


class Backups:
    """Of each node a base backup, and the WAL from then on."""

    def __init__(self, cluster: Cluster):
        self.cluster = cluster
        self.directories = [cluster.directory(node).resolve() for node in range(len(cluster.nodes))]
        self.places = []
        for node, directory in enumerate(self.directories):
            place = cluster.system.state / f"backup-{node}"
            for path in (place, place / "wal"):
                path.mkdir()
                shutil.chown(path, directory.owner())
            self.places.append(place)
            cluster.sql(
                f"ALTER SYSTEM SET archive_mode = on;ALTER SYSTEM SET archive_command = 'cp %p {place}/wal/%f'",
                node=node,
            )
            cluster.stop(node)
        cluster.revive()

    def take(self):
        for socket, place, directory in zip(self.cluster.nodes, self.places, self.directories, strict=True):
            options = [f"--pgdata={place}/base", f"--host={socket}", "--username=postgres", "--checkpoint=fast"]
            command = ["pg_basebackup", *options]
            subprocess.run(command, check=True, timeout=120, user=directory.owner(), cwd=place)

    def restore(self):
        for node, place in enumerate(self.places):
            name = self.cluster.sql("SELECT pg_walfile_name(pg_current_wal_lsn())", node=node)[0][0]
            self.cluster.sql("SELECT pg_switch_wal()", node=node)
            wait(lambda file=place / "wal" / name: file.exists())
        for node, (place, directory) in enumerate(zip(self.places, self.directories, strict=True)):
            self.cluster.stop(node)
            shutil.rmtree(directory)
            subprocess.run(["cp", "--archive", place / "base", directory], check=True)
            with (directory / "postgresql.auto.conf").open("a") as settings:
                settings.write(
                    f"archive_mode = off\nrestore_command = 'cp {place}/wal/%f %p'\n"
                    f"recovery_target_name = '{POINT}'\nrecovery_target_action = promote\n"
                )
            (directory / "recovery.signal").touch()
            shutil.chown(directory / "recovery.signal", directory.owner())
        self.cluster.revive()
        for node in range(len(self.places)):
            wait(lambda node=node: self.cluster.sql("SELECT pg_is_in_recovery()", node=node) == [["f"]])


def wait(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)
