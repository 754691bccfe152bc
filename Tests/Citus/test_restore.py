"""A cluster is restored to a point that all of its nodes have, as docs/operations.md says."""

import os
import shutil
import subprocess
import time

import pytest
from cluster import Cluster, missing
from serving import Serving
from servers import POSTGRESQL
from system import PATIENCE
from test_writes import create, is_whole, lists, people_in_all_shards

POINT = "evening"


@pytest.fixture
def cluster():
    """One of its own, whose nodes are thrown away."""
    if reason := missing():
        pytest.skip(reason)
    cluster = Cluster()
    yield cluster
    cluster.remove()


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
    assert "stop all services" in cluster.run("store", "restored")
    serving.stop()

    backups.restore()
    assert "the history is now" in cluster.run("store", "restored", check=True)
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
            subprocess.run(command, check=True, timeout=120, user=directory.owner(), env=os.environ | PATH, cwd=place)

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


PATH = {"PATH": f"{POSTGRESQL}:{os.environ['PATH']}"}


def wait(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)
