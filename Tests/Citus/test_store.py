"""What stores serve on a cluster: who owns its shards, and what becomes of messages when shards move and nodes end."""

import signal
import threading
import time

import pytest
from serving import Serving, at_once
from test_names import PLACES


@pytest.fixture(scope="module")
def serving(cluster):
    serving = Serving(cluster)
    yield serving
    serving.stop()


def slots_of_shards(cluster) -> list[int]:
    """The lowest slot of each shard."""
    lines = [line.split("\t") for line in cluster.run("store", "placement", check=True).splitlines()]
    return [int(slots.split(",")[0]) for *_, slots in lines]


def test_the_stores_share_the_shards_of_each_worker(serving):
    serving.wait(lambda: [serving.metric(number, "parley_store_slots") for number in (0, 1)] == [128, 128])


def test_messages_are_sent_and_read_in_every_shard(serving):
    conversations = [serving.make_conversation(slot, "alice", "bob") for slot in slots_of_shards(serving.cluster)]
    for conversation in conversations:
        status, sent = serving.send("alice", conversation, "hello")
        assert (status, sent["seq"]) == (201, 2), sent
        status, again = serving.send("alice", conversation, "hello", sent["id"])
        assert (status, again["seq"]) == (200, 2), again
        assert serving.send("carol", conversation, "let me in")[0] == 404
        assert serving.texts("bob", conversation) == ["hello"]
        status, page = serving.request("bob", "GET", f"/v1/conversations/{conversation}/members")
        assert [member["userId"] for member in page["members"]] == ["alice", "bob"], page
    stored = serving.cluster.sql("SELECT count(*) FROM store.messages WHERE body = 'hello'")
    assert stored == [[str(len(conversations))]]


def test_a_message_is_edited_and_gets_tapbacks_and_is_deleted_without_a_key(serving):
    conversation = serving.make_conversation(200, "alice", "bob")
    message = serving.send("alice", conversation, "Sunday, nine?")[1]["id"]
    path = f"/v1/conversations/{conversation}/messages/{message}"
    status, edited = serving.request("alice", "PATCH", path, {"text": "Sunday, ten?"})
    assert (status, edited["text"]) == (200, "Sunday, ten?")
    status, liked = serving.request("bob", "PUT", f"{path}/tapback", {"kind": "like"})
    assert status == 200 and liked["tapbacks"], liked
    assert serving.request("bob", "GET", f"{path}/revisions")[0] == 200
    assert serving.request("alice", "DELETE", f"{path}?scope=everyone")[0] == 204
    assert serving.texts("bob", conversation) == []


@pytest.mark.parametrize(
    "method, path, body",
    [
        (
            "POST",
            "/v1/conversations",
            {"id": "01900000-0000-7000-8000-00000000beef", "kind": "group", "members": ["bob"]},
        ),
        ("GET", "/v1/conversations", None),
        ("PATCH", "/v1/conversations/{}", {"title": "a title"}),
        ("PUT", "/v1/settings", {"presence": False}),
    ],
)
def test_what_may_need_another_shard_is_refused_before_anything_is_written(serving, method, path, body):
    conversation = serving.make_conversation(7, "alice", "bob")
    before = everything(serving.cluster)
    status, problem = serving.request("alice", method, path.format(conversation), body)
    assert (status, problem["code"]) == (503, "unavailable"), problem
    assert everything(serving.cluster) == before


def everything(cluster) -> list:
    tables = (
        "conversations",
        "changes",
        "memberships",
        "inbox",
        "user_streams",
        "user_changes",
        "user_settings",
        "outcomes",
    )
    return [cluster.sql(f"SELECT count(*), max(t::text) FROM store.{table} t") for table in tables]


def test_no_message_is_lost_or_doubled_when_its_shard_moves_away_and_back(serving):
    slot = slots_of_shards(serving.cluster)[0]
    conversation = serving.make_conversation(slot, "alice", "bob")
    epoch = epoch_of(serving.cluster, slot)
    sent = while_sending(serving, conversation, lambda: [move(serving.cluster, slot) for _ in range(2)])
    assert sorted(serving.texts("bob", conversation)) == sorted(sent)
    assert epoch_of(serving.cluster, slot) > epoch
    serving.wait(lambda: serving.slots() == 256)


def test_no_message_is_lost_or_doubled_when_a_store_ends(serving):
    slot = slots_of_shards(serving.cluster)[1]
    conversation = serving.make_conversation(slot, "alice", "bob")

    def end_one():
        serving.kill("store", 1)
        serving.wait(lambda: serving.slots() == 256)
        serving.start("store", 1)
        serving.wait(lambda: serving.metric(1, "parley_store_slots") == 128)

    sent = while_sending(serving, conversation, end_one)
    assert sorted(serving.texts("bob", conversation)) == sorted(sent)


def test_a_worker_that_comes_back_is_served_again_and_the_other_one_all_the_time(serving):
    cluster = serving.cluster
    places = {int(slot): cluster.nodes.index(node) for slot, node in cluster.sql(PLACES)}
    conversations = {
        node: serving.make_conversation(next(slot for slot in places if places[slot] == node), "alice", "bob")
        for node in (1, 2)
    }
    cluster.kill(2)
    serving.wait(lambda: serving.slots() == 128)
    assert serving.send("alice", conversations[1], "still here")[0] == 201
    assert serving.send("alice", conversations[2], "nobody takes this")[0] == 503
    cluster.revive(2)
    serving.wait(lambda: serving.slots() == 256)
    serving.send_until_taken("alice", conversations[2], "back again")
    assert serving.texts("bob", conversations[1]) == ["still here"]
    assert serving.texts("bob", conversations[2]) == ["back again"]


def test_stores_that_end_in_order_leave_their_shards_to_the_others_at_once(serving):
    assert serving.end("store", 1, signal.SIGTERM) == 0
    serving.wait(lambda: serving.slots() == 256)
    serving.start("store", 1)
    serving.wait(lambda: serving.metric(1, "parley_store_slots") == 128)


def while_sending(serving: Serving, conversation: str, disturb) -> list[str]:
    """Sends from four at once while something happens, and returns the texts that were acknowledged."""
    ended = threading.Event()
    sent: list[str] = []

    def work(number: int):
        if number == 0:
            try:
                time.sleep(0.3)
                disturb()
                time.sleep(0.3)
            finally:
                ended.set()
            return
        count = 0
        while not ended.is_set():
            text = f"{number} says {count}"
            serving.send_until_taken("alice", conversation, text)
            sent.append(text)
            count += 1

    at_once(5, work)
    assert len(sent) > 20
    return sent


def epoch_of(cluster, slot: int) -> int:
    return int(cluster.sql(f"SELECT epoch FROM store.slots WHERE slot = {slot}")[0][0])


def move(cluster, slot: int):
    """To the other worker, with all that belongs to it."""
    [[shard, here]] = cluster.sql(f"""
        SELECT shardid, nodename FROM pg_dist_placement JOIN pg_dist_node USING (groupid)
        WHERE shardid = get_shard_id_for_distribution_column('placement.slots', {slot}::smallint)
    """)
    there = next(node for node in cluster.nodes[1:] if node != here)
    cluster.sql(f"SELECT citus_move_shard_placement({shard}, '{here}', 5432, '{there}', 5432, 'block_writes')")
