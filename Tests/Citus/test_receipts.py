"""Receipts on a cluster: signals in all shards, what they show, and what becomes of them when services end and shards move."""

import threading
import time
import uuid

import pytest
from serving import Serving, move, shard_of_slots, shards, slot_of, user_in


@pytest.fixture(scope="module")
def serving(cluster):
    serving = Serving(cluster, receipt=2)
    yield serving
    serving.stop()


def test_two_services_share_the_shards_of_each_worker(serving):
    serving.wait(lambda: [serving.metric(n, "parley_receipt_slots", "receipt") for n in (0, 1)] == [128, 128])
    assert all(serving.cluster.system.is_ready("receipt", number) for number in (0, 1))


def test_signals_are_kept_and_shown_in_every_shard(serving):
    for slot in shards(serving.cluster):
        conversation, message = conversation_with_message(serving, slot)
        assert signal(serving, "bob", conversation, deliveredSeq=2) == 202
        assert counts(serving, conversation, message) == (1, 0)
        assert signal(serving, "bob", conversation, readSeq=2) == 202
        assert counts(serving, conversation, message) == (1, 1)
        assert signal(serving, "bob", conversation, readSeq=100) == 202, "it is clamped to the end"
    [[count]] = serving.cluster.sql(
        "SELECT count(*) FROM receipt.horizons WHERE user_id = 'bob' AND read_seq = 2 AND shown_seq = 2"
    )
    assert int(count) == len(shards(serving.cluster))


def test_the_times_of_receipts_are_told_to_the_sender(serving):
    conversation, message = conversation_with_message(serving, 9)
    assert signal(serving, "bob", conversation, readSeq=2) == 202
    path = f"/v1/conversations/{conversation}/messages/{message}/receipts"
    status, page = serving.request("alice", "GET", path)
    assert status == 200 and [receipt["userId"] for receipt in page["receipts"]] == ["bob"], page
    assert page["receipts"][0]["deliveredAt"] <= page["receipts"][0]["readAt"]
    assert serving.request("bob", "GET", path)[0] == 403


def test_nobody_but_members_signals(serving):
    conversation, _ = conversation_with_message(serving, 9)
    assert signal(serving, "mallory", conversation, readSeq=2) == 404
    serving.cluster.sql(f"""
        INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, left_seq, left_at, role)
        VALUES (9, '{conversation}', 'frank', 1, 1, now(), 1)
    """)
    assert signal(serving, "frank", conversation, readSeq=2) == 403
    assert serving.cluster.sql(f"SELECT count(*) FROM receipt.horizons WHERE conversation_id = '{conversation}'") == [
        ["0"]
    ]


@pytest.mark.parametrize("where", ["the same shard", "another shard of the node", "another node"])
def test_who_shows_no_reading_is_not_shown_as_having_read(serving, where):
    conversation, message, reader = pair(serving, where)
    show(serving, reader, False)
    assert signal(serving, reader, conversation, readSeq=2) == 202
    assert counts(serving, conversation, message) == (1, 0)
    own = serving.cluster.sql(f"SELECT read_seq, shown_seq FROM receipt.horizons WHERE user_id = '{reader}'")
    assert own == [["2", "0"]], "the reader's own position moves"
    # Shown again from the next reading on.
    show(serving, reader, True)
    serving.send("alice", conversation, "and this?")
    assert signal(serving, reader, conversation, readSeq=3) == 202
    assert counts(serving, conversation, message) == (1, 1)


def test_what_was_read_after_the_setting_is_never_shown(serving):
    """Whatever is merged, and however fast one follows the other."""
    conversation, _, reader = pair(serving, "another node")
    for seq in range(3, 23):
        assert serving.send("alice", conversation, "hello")[1]["seq"] == seq
    for seq in range(3, 23):
        show(serving, reader, seq % 2 == 0)
        assert signal(serving, reader, conversation, readSeq=seq) == 202
        [[read, shown]] = serving.cluster.sql(
            f"SELECT read_seq, shown_seq FROM receipt.horizons WHERE user_id = '{reader}'"
        )
        assert (int(read), int(shown)) == (seq, seq if seq % 2 == 0 else max(seq - 1, 0) if seq > 3 else 0)


def test_what_is_decided_for_a_conversation_counts_more(serving):
    conversation, message, reader = pair(serving, "another node")
    slot = int(conversation[-2:], 16)
    serving.cluster.sql(f"""
        INSERT INTO store.conversation_settings (slot, conversation_id, user_id, read_receipts)
        VALUES ({slot}, '{conversation}', '{reader}', false)
    """)
    assert signal(serving, reader, conversation, readSeq=2) == 202
    assert counts(serving, conversation, message) == (1, 0)


def test_a_reading_is_refused_for_now_where_nobody_says_whether_it_is_shown(serving):
    """Rather than shown or hidden by a guess. What is only delivered is taken."""
    conversation, message, reader = pair(serving, "another node")
    for number in (0, 1):
        serving.kill("store", number)
    try:
        assert signal(serving, reader, conversation, deliveredSeq=2) == 202
        assert signal(serving, reader, conversation, readSeq=2) == 503
        horizons = serving.cluster.sql(f"SELECT delivered_seq, read_seq FROM receipt.horizons WHERE user_id = '{reader}'")
        assert horizons == [["2", "0"]]
    finally:
        for number in (0, 1):
            serving.start("store", number)
        serving.wait_until_owned()
    signal_until_taken(serving, reader, conversation, readSeq=2)
    assert counts(serving, conversation, message) == (1, 1)


def test_no_signal_is_lost_when_a_service_ends(serving):
    slot = [*shards(serving.cluster)][1]

    def end_one():
        serving.kill("receipt", 1)
        serving.wait(lambda: serving.slots("receipt") == 256)
        serving.start("receipt", 1)
        serving.wait(lambda: serving.metric(1, "parley_receipt_slots", "receipt") == 128)

    nothing_is_lost(serving, slot, end_one)


def test_no_signal_is_lost_when_its_shard_moves_to_and_fro(serving):
    slot = next(iter(shards(serving.cluster)))
    nothing_is_lost(serving, slot, lambda: [move(serving.cluster, slot) for _ in range(2)])
    serving.wait_until_owned()


def nothing_is_lost(serving, slot: int, disturb):
    """Members read on, each what was not yet read, while something happens. What was acknowledged is kept and counted."""
    members = [f"{name}-{uuid.uuid4()}" for name in ("bob", "carol", "dave")]
    conversation = serving.make_conversation(slot, "alice", *members)
    for _ in range(40):
        serving.send("alice", conversation, "hello")
    ended = threading.Event()
    reached = dict.fromkeys(members, 2)

    def read(member: str):
        while not ended.is_set() or reached[member] < 4:
            seq = min(reached[member] + 1, 41)
            signal_until_taken(serving, member, conversation, readSeq=seq)
            reached[member] = seq
            time.sleep(0.02)

    threads = [threading.Thread(target=read, args=(member,)) for member in members]
    for thread in threads:
        thread.start()
    try:
        time.sleep(0.3)
        disturb()
        time.sleep(0.3)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    kept = serving.cluster.sql(f"""
        SELECT user_id, read_seq, shown_seq FROM receipt.horizons WHERE conversation_id = '{conversation}'
    """)
    assert {user: (int(read), int(shown)) for user, read, shown in kept} == {
        member: (seq, seq) for member, seq in reached.items()
    }
    # Each position is passed once by the runs of the readings.
    runs = serving.cluster.sql(f"""
        SELECT user_id, sum(to_seq - from_seq + 1), max(to_seq) FROM receipt.receipt_runs
        WHERE conversation_id = '{conversation}' AND kind IN (2, 3) GROUP BY 1
    """)
    assert {user: (int(count), int(last)) for user, count, last in runs} == {
        member: (seq, seq) for member, seq in reached.items()
    }


def conversation_with_message(serving, slot: int, reader: str = "bob") -> tuple[str, str]:
    conversation = serving.make_conversation(slot, "alice", reader)
    status, sent = serving.send("alice", conversation, "did you get this?")
    assert (status, sent["seq"]) == (201, 2), sent
    return conversation, sent["id"]


def pair(serving, where: str) -> tuple[str, str, str]:
    """A conversation with a message, and its reader, whose slot is in this place by the conversation's."""
    cluster, slot = serving.cluster, 9
    places, of_slots = shards(cluster), shard_of_slots(cluster)
    own = of_slots[slot]
    slots = {
        other
        for other, shard in of_slots.items()
        if {
            "the same shard": shard == own,
            "another shard of the node": shard != own and places[shard] == places[own],
            "another node": places[shard] != places[own],
        }[where]
    }
    reader = user_in(slots, "reader")
    return *conversation_with_message(serving, slot, reader), reader


def show(serving, user: str, shows: bool):
    serving.cluster.sql(f"""
        INSERT INTO store.user_settings (user_slot, user_id, read_receipts, presence)
        VALUES ({slot_of(user)}, '{user}', {str(shows).lower()}, true)
        ON CONFLICT (user_id, user_slot) DO UPDATE SET read_receipts = excluded.read_receipts
    """)


def signal(serving, user: str, conversation: str, **positions: int) -> int:
    return serving.request(user, "POST", f"/v1/conversations/{conversation}/receipts", positions)[0]


def signal_until_taken(serving, user: str, conversation: str, **positions: int):
    deadline = time.monotonic() + 60
    while (status := signal(serving, user, conversation, **positions)) != 202:
        assert status == 503 and time.monotonic() < deadline, (status, serving.log_ends())
        time.sleep(0.05)


def counts(serving, conversation: str, message: str) -> tuple[int, int]:
    """How many have the message, and how many have read it, by its sender's page."""
    status, page = serving.request("alice", "GET", f"/v1/conversations/{conversation}/messages?limit=100")
    assert status == 200, page
    [found] = [each for each in page["messages"] if each["id"] == message]
    return found["deliveredCount"], found["readCount"]
