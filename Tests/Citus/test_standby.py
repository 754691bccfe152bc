"""A node ends for ever, and its synchronous standby takes over, as docs/operations.md says."""

import shutil
import signal
import time

import pytest
from cluster import Cluster, missing
from serving import Serving, move, shards, while_repeating
from servers import CITUS, Servers, signal_all
from test_media import User
from test_writes import create, is_whole, lists, people_in_all_shards, prepared

COORDINATOR, WORKER = 0, 2


class Guarded:
    """A cluster of which one node has a synchronous standby."""

    def __init__(self, cluster: Cluster, servers: Servers, node: int):
        self.cluster = cluster
        self.servers = servers
        self.node = node
        self.former = self.cluster.nodes[node]
        name = f"standby_{node}"
        host = f"citus.local_hostname = '{self.servers.directory / name}'"
        self.standby = self.servers.clone_of(self.former, name, *CITUS, host)
        self.cluster.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'", node=node)
        self.cluster.sql("SELECT pg_reload_conf()", node=node)
        if node == COORDINATOR:  # The services know it by both names.
            self.cluster.nodes[node] = f"{self.former},{self.standby.directory}"

    def lose(self):
        """The machine of the node is gone with all that it had."""
        directory = self.cluster.directory(self.node)
        signal_all(directory, signal.SIGKILL)
        shutil.move(directory, directory.with_name("lost"))

    def promote(self):
        """What an operator does."""
        self.standby.promote()
        new = str(self.standby.directory)
        self.cluster.sql(
            f"SELECT citus_update_node(nodeid, '{new}', 5432) FROM pg_dist_node WHERE nodename = '{self.former}'"
        )
        self.cluster.nodes[self.node] = new


@pytest.fixture(scope="module")
def cluster():
    """One of its own, which loses one node after the other."""
    if reason := missing():
        pytest.skip(reason)
    cluster = Cluster()
    yield cluster
    cluster.remove()


@pytest.fixture(scope="module")
def servers():
    servers = Servers()
    yield servers
    servers.remove()


def test_nothing_that_was_acknowledged_is_lost_when_a_standby_takes_over(cluster, servers):
    guarded = Guarded(cluster, servers, WORKER)
    serving = Serving(cluster, receipt=2, media=2)
    try:
        work = Work(serving)
        lost = {slot for slot, node in shards(cluster).items() if node == guarded.former}
        uploader = User(serving, {min(lost)})
        path = uploader.upload(b"of before")

        def fail_over():
            guarded.lose()
            work.killed = time.monotonic()
            serving.wait(lambda: serving.slots() == 128)
            guarded.promote()
            work.promoted = time.monotonic()
            for service in ("store", "receipt", "media"):
                serving.wait(lambda service=service: serving.slots(service) == 256)

        work.while_under_way(lost, fail_over)
        # With `pytest -s`: the longest of these shards.
        for what, moment in (("lost", work.killed), ("told of", work.promoted)):
            print(f"{max(work.pause(slot, moment) for slot in lost):.1f} s from when the worker was {what}")
        work.is_there()
        assert uploader.content(path) == (200, b"of before")
        assert uploader.content(uploader.upload(b"of after")) == (200, b"of after")
        # The lists of who has connected are of each node, and Citus, too, is told of what has changed.
        serving.end("store", 1, signal.SIGTERM)
        serving.start("store", 1)
        serving.wait(lambda: serving.metric(1, "parley_store_slots") == 128)
        create(serving, work.people)
    finally:
        serving.stop()


def test_messages_are_taken_without_a_coordinator_and_its_standby_takes_over_the_rest(cluster, servers):
    guarded = Guarded(cluster, servers, COORDINATOR)
    serving = Serving(cluster, receipt=2, media=2)
    try:
        work = Work(serving)
        places = work.conversations
        uploader = User(serving, set(places))
        path = uploader.upload(b"of before")

        def fail_over():
            guarded.lose()
            work.killed = time.monotonic()
            serving.wait(lambda: all(work.last(slot) > work.killed for slot in places))
            # What begins meanwhile waits for it.
            serving.end("store", 1, signal.SIGKILL)
            serving.start("store", 1)
            guarded.promote()
            work.promoted = time.monotonic()
            for service in ("store", "receipt", "media"):
                serving.wait(lambda service=service: serving.slots(service) == 256)
            serving.wait(lambda: serving.metric(1, "parley_store_slots") == 128)

        work.while_under_way(set(), fail_over)
        # With `pytest -s`.
        pauses = [work.pause(slot, moment) for slot in places for moment in (work.killed, work.promoted)]
        print(f"{max(pauses):.1f} s until every shard had its next message")
        work.is_there()
        assert uploader.content(path) == (200, b"of before")
        assert uploader.content(uploader.upload(b"of after")) == (200, b"of after")
        # What only a coordinator does.
        move(cluster, min(places))
        serving.send_until_taken("alice", places[min(places)], "moved")
        create(serving, work.people)
    finally:
        serving.stop()


class Work:
    """Messages to all shards, and groups with a member in each, as clients do: each until it is acknowledged."""

    def __init__(self, serving: Serving):
        self.serving = serving
        self.people = people_in_all_shards(serving, 16)
        self.conversations = {slot: serving.make_conversation(slot, "alice", "bob") for slot in shards(serving.cluster)}
        """By the lowest slot of their shards."""
        self.sent: dict[int, list[tuple[float, str]]] = {slot: [] for slot in self.conversations}
        """By slot, with when it was acknowledged."""
        self.created: list[str] = []
        self.killed = self.promoted = 0.0

    def while_under_way(self, slots: set[int], disturb):
        """Each of these slots has somebody who sends there, the others one together, so nobody waits for another's."""

        def sending(*slots: int):
            for slot in slots:
                self._send(slot)
                time.sleep(0.02)

        def creating(number: int):
            self.created.append(create(self.serving, self.people[number:] + self.people[:number], within=120))

        others = set(self.conversations) - slots
        steps = [*(lambda slot=slot: sending(slot) for slot in slots), lambda: sending(*others)]
        steps += [lambda number=number: creating(number) for number in range(0, len(self.people), 5)]
        while_repeating(len(steps), lambda number: steps[number](), disturb)

    def is_there(self):
        """Whether all that was acknowledged is there, once, and nothing half."""
        for slot, conversation in self.conversations.items():
            assert sorted(self.serving.texts("bob", conversation)) == sorted(text for _, text in self.sent[slot])
        self.serving.wait(lambda: not any(prepared(self.serving)))
        listed = {(user, group) for user in self.people for group in self.created}
        assert set(lists(self.serving, self.people)) == listed
        is_whole(self.serving, self.people)

    def _send(self, slot: int):
        text = f"{len(self.sent[slot])} of {slot}"
        self.serving.send_until_taken("alice", self.conversations[slot], text)
        self.sent[slot].append((time.monotonic(), text))

    def last(self, slot: int) -> float:
        """When the last message of a slot was acknowledged."""
        return max((moment for moment, _ in self.sent[slot]), default=0.0)

    def pause(self, slot: int, since: float) -> float:
        return min(moment for moment, _ in self.sent[slot] if moment > since) - since
