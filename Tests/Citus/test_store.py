"""What stores serve on a cluster: who owns its shards, and what becomes of messages when shards move and nodes end."""

import signal
import uuid

import pytest
from serving import Serving, move, shards, slot_of, while_sending


@pytest.fixture(scope="module")
def serving(cluster):
    serving = Serving(cluster)
    yield serving
    serving.stop()


def test_the_stores_share_the_shards_of_each_worker(serving):
    serving.wait(lambda: [serving.metric(number, "parley_store_slots") for number in (0, 1)] == [128, 128])
    serving.wait(lambda: all(serving.cluster.system.is_ready("store", number) for number in (0, 1)))


def test_the_lock_of_a_shard_is_on_the_worker_that_has_it(serving):
    cluster, places = serving.cluster, shards(serving.cluster)
    for number, node in enumerate(cluster.nodes):
        held = cluster.sql(SLOT_LOCKS, node=number)
        assert sorted(int(key) for (key,) in held) == sorted(key for key in places if places[key] == node)


def test_a_store_has_a_session_with_each_worker_and_six_for_each_of_its_shards_before_it_borrows(serving):
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'parley-store%'"
    for node, count in ((0, "0"), (1, "50"), (2, "50")):
        serving.wait(lambda node=node, count=count: serving.cluster.sql(sessions, node=node) == [[count]])


SLOT_LOCKS = """
    SELECT l.objid FROM pg_locks l JOIN pg_stat_activity USING (pid)
    WHERE l.locktype = 'advisory' AND l.granted AND l.classid = 7101 AND application_name = 'parley-store-owner'
"""


def test_messages_are_sent_and_read_in_every_shard(serving):
    conversations = [serving.make_conversation(slot, "alice", "bob") for slot in shards(serving.cluster)]
    for conversation in conversations:
        status, sent = serving.send("alice", conversation, "hello")
        assert (status, sent["seq"]) == (201, 2), sent
        status, again = serving.send("alice", conversation, "hello", sent["id"])
        assert (status, again["seq"]) == (200, 2), again
        assert serving.send("carol", conversation, "let me in")[0] == 404
        assert serving.texts("bob", conversation) == ["hello"]
        status, page = serving.request("bob", "GET", f"/v1/conversations/{conversation}/members")
        assert [member["userId"] for member in page["members"]] == ["alice", "bob"], page
    ids = ", ".join(f"'{conversation}'" for conversation in conversations)
    stored = serving.cluster.sql(
        f"SELECT count(*) FROM store.messages WHERE body = 'hello' AND conversation_id IN ({ids})"
    )
    assert stored == [[str(len(conversations))]]


def test_a_message_is_edited_pinned_and_deleted_and_gets_tapbacks(serving):
    conversation = serving.make_conversation(200, "alice", "bob")
    message = serving.send("alice", conversation, "Sunday, nine?")[1]["id"]
    path = f"/v1/conversations/{conversation}/messages/{message}"
    status, edited = serving.request("alice", "PATCH", path, {"text": "Sunday, ten?"})
    assert (status, edited["text"]) == (200, "Sunday, ten?")
    status, liked = serving.request("bob", "PUT", f"{path}/tapback", {"kind": "like"})
    assert status == 200 and liked["tapbacks"], liked
    assert serving.request("bob", "GET", f"{path}/revisions")[0] == 200
    assert serving.request("bob", "PUT", f"{path}/pin")[0] == 200
    status, pinned = serving.request("alice", "GET", f"/v1/conversations/{conversation}/pinned")
    assert status == 200 and message in str(pinned), pinned
    assert serving.request("alice", "DELETE", f"{path}?scope=everyone")[0] == 204
    assert serving.texts("bob", conversation) == []


def test_messages_of_all_kinds_are_sent_and_what_is_theirs_is_read(serving):
    conversation = serving.make_conversation(203, "alice", "bob")
    first, sealed, reply = (str(uuid.uuid4()) for _ in range(3))
    messages = [
        {"conversationId": conversation, "id": first, "text": "@bob, look", "mentions": ["bob"], "extra": {"card": 1}},
        {"conversationId": conversation, "id": sealed, "sealed": "AAAA"},
    ]
    status, batch = serving.request("alice", "POST", "/v1/messages:batch", {"messages": messages})
    assert (status, [each["status"] for each in batch["results"]]) == (200, [201, 201]), batch
    path = f"/v1/conversations/{conversation}"
    answer = {"id": reply, "text": "I do", "replyTo": first}
    assert serving.request("bob", "POST", f"{path}/messages", answer)[0] == 201
    shown = serving.request("alice", "GET", f"{path}/messages")[1]["messages"]
    assert {message["id"]: message["kind"] for message in shown} == {first: "text", sealed: "sealed", reply: "reply"}
    assert shown[-1]["replyTo"]["preview"] == "@bob, look" and shown[0]["extra"] == {"card": 1}
    mentions = serving.request("bob", "GET", f"{path}/mentions")[1]
    assert [message["id"] for message in mentions["messages"]] == [first]
    changes = serving.request("bob", "GET", f"{path}/changes")[1]["changes"]
    assert [change["seq"] for change in changes] == [1, 2, 3, 4]
    of_first = f"{path}/messages/{first}"
    for what in (of_first, f"{of_first}/tapbacks", f"{of_first}/receipts", "/v1/settings", "/v1/blocks"):
        assert serving.request("alice", "GET", what)[0] == 200, what


def test_a_poll_is_voted_in_and_closed(serving):
    conversation = serving.make_conversation(202, "alice", "bob")
    messages = f"/v1/conversations/{conversation}/messages"
    question = {"id": str(uuid.uuid4()), "text": "Which day?", "poll": {"options": ["Saturday", "Sunday"]}}
    assert serving.request("alice", "POST", messages, question)[0] == 201
    path = f"{messages}/{question['id']}"
    assert serving.request("bob", "PUT", f"{path}/vote", {"options": [1]})[0] == 200
    assert serving.request("alice", "GET", f"{path}/votes")[1]["votes"][0]["userId"] == "bob"
    assert serving.request("alice", "POST", f"{path}/close")[0] == 200
    [shown] = serving.request("bob", "GET", messages)[1]["messages"]
    assert [option["votes"] for option in shown["poll"]["options"]] == [0, 1]
    assert shown["poll"]["vote"] == {"userId": "bob", "options": [1]} and shown["poll"]["closedAt"]


def test_messages_go_when_their_time_is_over(serving):
    conversation = serving.make_conversation(201, "alice", "bob")
    serving.cluster.sql(f"""
        UPDATE store.conversations SET lifetime = 1, lifetime_seq = 1 WHERE slot = 201 AND id = '{conversation}';
        INSERT INTO store.lifetimes (slot, conversation_id, from_seq, seconds, done_seq, due_at)
        VALUES (201, '{conversation}', 1, 1, 1, now())
    """)
    assert serving.send("alice", conversation, "burn this")[0] == 201
    serving.wait(lambda: serving.texts("bob", conversation) == [])


def test_who_was_suspended_or_erased_before_stays_out(serving):
    slots = {user: slot_of(user) for user in ("mallory", "erin")}
    serving.cluster.sql(f"""
        INSERT INTO store.suspensions (user_slot, user_id, number, mode, since)
        VALUES ({slots["mallory"]}, 'mallory', 1, 2, now());
        INSERT INTO store.erasures (user_slot, user_id, number, requested_at, erased_at)
        VALUES ({slots["erin"]}, 'erin', 1, now(), now())
    """)
    assert serving.end("ingest", 0, signal.SIGTERM) == 0
    serving.start("ingest")
    serving.wait(lambda: serving.cluster.system.is_ready("ingest", 0))
    conversation = serving.make_conversation(7, "alice", *slots)
    assert [serving.send(user, conversation, "hello")[0] for user in ("mallory", "erin")] == [403, 401]


@pytest.mark.parametrize("mode", ["block_writes", "force_logical"])
def test_no_message_is_lost_or_doubled_when_its_shard_moves_to_and_fro(serving, mode):
    slot = next(iter(shards(serving.cluster)))
    conversation = serving.make_conversation(slot, "alice", "bob")
    epoch = epoch_of(serving.cluster, slot)
    sent, _ = while_sending(serving, conversation, lambda: [move(serving.cluster, slot, mode) for _ in range(2)])
    assert sorted(serving.texts("bob", conversation)) == sorted(sent)
    assert epoch_of(serving.cluster, slot) > epoch
    serving.wait(lambda: serving.slots() == 256)


@pytest.mark.parametrize("asked", ["to write", "to read"])
def test_a_store_that_owns_a_shard_no_more_finds_out_when_it_is_asked(serving, asked):
    slot = [*shards(serving.cluster)][2]
    conversation = serving.make_conversation(slot, "alice", "bob")
    epoch = epoch_of(serving.cluster, slot)
    # As its next owner does.
    serving.cluster.sql(f"UPDATE store.slots SET epoch = epoch + 1 WHERE slot = {slot}")
    if asked == "to write":
        serving.send_until_taken("alice", conversation, "hello")
    else:
        assert serving.texts("bob", conversation) == []
    assert epoch_of(serving.cluster, slot) == epoch + 2


def test_no_message_is_lost_or_doubled_when_a_store_ends(serving):
    slot = [*shards(serving.cluster)][1]
    conversation = serving.make_conversation(slot, "alice", "bob")

    def end_one():
        serving.kill("store", 1)
        serving.wait(lambda: serving.slots() == 256)
        serving.start("store", 1)
        serving.wait(lambda: serving.metric(1, "parley_store_slots") == 128)

    sent, _ = while_sending(serving, conversation, end_one)
    assert sorted(serving.texts("bob", conversation)) == sorted(sent)


def test_no_message_is_lost_or_doubled_when_a_store_stands_still(serving):
    """First one, then the other, so whichever has the shard. It goes on with sessions and an epoch of before."""
    conversation = serving.make_conversation([*shards(serving.cluster)][3], "alice", "bob")

    def stand_still(number: int):
        store = serving.processes["store", number]
        store.send_signal(signal.SIGSTOP)
        try:
            serving.wait(lambda: serving.metric(1 - number, "parley_store_slots") == 256)
        finally:
            store.send_signal(signal.SIGCONT)
        serving.wait(lambda: serving.metric(number, "parley_store_slots") == 128)

    sent, _ = while_sending(serving, conversation, lambda: [stand_still(number) for number in (0, 1)])
    assert sorted(serving.texts("bob", conversation)) == sorted(sent)


def test_a_worker_that_comes_back_is_served_again_and_the_other_one_all_the_time(serving):
    cluster = serving.cluster
    conversations = conversation_of_each_worker(serving)
    cluster.kill(2)
    serving.wait(lambda: serving.slots() == 128)
    assert serving.send("alice", conversations[1], "still here")[0] == 201
    assert serving.send("alice", conversations[2], "nobody takes this")[0] == 503
    cluster.revive()
    serving.wait(lambda: serving.slots() == 256)
    serving.send_until_taken("alice", conversations[2], "back again")
    assert serving.texts("bob", conversations[1]) == ["still here"]
    assert serving.texts("bob", conversations[2]) == ["back again"]


def test_messages_need_no_node_but_the_one_of_their_shard(serving):
    conversations = conversation_of_each_worker(serving)
    serving.cluster.kill(0)
    try:
        for conversation in conversations.values():
            assert serving.send("alice", conversation, "without the coordinator")[0] == 201
            assert serving.texts("bob", conversation) == ["without the coordinator"]
        assert serving.slots() == 256
    finally:
        serving.cluster.revive()


def conversation_of_each_worker(serving) -> dict[int, str]:
    places = shards(serving.cluster)
    return {
        number: serving.make_conversation(next(slot for slot in places if places[slot] == node), "alice", "bob")
        for number, node in enumerate(serving.cluster.nodes)
        if number > 0
    }


def test_stores_that_end_in_order_leave_their_shards_to_the_others_at_once(serving):
    assert serving.end("store", 1, signal.SIGTERM) == 0
    serving.wait(lambda: serving.slots() == 256)
    serving.start("store", 1)
    serving.wait(lambda: serving.metric(1, "parley_store_slots") == 128)


def test_a_store_does_not_start_where_a_shard_that_moves_could_lose_messages(serving):
    cluster = serving.cluster
    serving.stop()
    cluster.sql("GRANT CREATE ON SCHEMA media TO media; ALTER TABLE media.objects OWNER TO media")
    try:
        assert "the tables of the cluster have several owners" in cluster.run("store")
        # With another level it does, and Citus refuses to move shards beside traffic.
        with cluster.with_setting(1, "wal_level=replica"), cluster.with_setting(2, "wal_level=replica"):
            serving.start("store")
            serving.wait(lambda: serving.metric(0, "parley_store_slots") == 256)
            with pytest.raises(AssertionError, match="wal_level"):
                move(cluster, 0)
            serving.stop()
    finally:
        cluster.revive()
        cluster.sql("CALL citus_cleanup_orphaned_resources()")  # What the move had begun.
        cluster.sql("ALTER TABLE media.objects OWNER TO postgres; REVOKE CREATE ON SCHEMA media FROM media")
        cluster.grant("media")  # What an owner was granted goes with its ownership.


def epoch_of(cluster, slot: int) -> int:
    return int(cluster.sql(f"SELECT epoch FROM store.slots WHERE slot = {slot}")[0][0])
