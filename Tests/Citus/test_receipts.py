"""Receipts on a cluster: signals in all shards, what they show, and what becomes of them when services end and shards
move."""

import asyncio
import json
import time
import uuid

import aiohttp
import pytest
from client import token
from serving import Serving, move, shard_of_slots, shards, slot_of, user_in, while_repeating


@pytest.fixture(scope="module")
def serving(cluster):
    serving = Serving(cluster, receipt=2, fanout=1, media=1)  # An erasure waits for media.
    serving.wait(lambda: cluster.system.is_ready("fanout", 0))
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
    assert status == 200 and [receipt["userId"] for receipt in page["read"]] == ["bob"], page
    assert page["delivered"] == page["read"], "it came with the reading"
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
        horizons = serving.cluster.sql(
            f"SELECT delivered_seq, read_seq FROM receipt.horizons WHERE user_id = '{reader}'"
        )
        assert horizons == [["2", "0"]]
    finally:
        for number in (0, 1):
            serving.start("store", number)
        serving.wait_until_owned()
    signal_until_taken(serving, reader, conversation, readSeq=2)
    assert counts(serving, conversation, message) == (1, 1)


def test_who_turns_read_receipts_off_is_not_shown_from_the_answer_on(serving):
    """By the call that clients make. Its answer comes after the commit; what is read then finds it."""
    conversation, message, reader = pair(serving, "another node")
    assert serving.request(reader, "PUT", "/v1/settings", {"readReceipts": False})[0] == 200
    assert signal(serving, reader, conversation, readSeq=2) == 202
    assert counts(serving, conversation, message) == (1, 0)
    assert serving.request(reader, "PUT", "/v1/settings", {"readReceipts": True})[0] == 200
    serving.send("alice", conversation, "and this?")
    assert signal(serving, reader, conversation, readSeq=3) == 202
    assert counts(serving, conversation, message) == (1, 1)


def made(serving, slots, creator: str, *members: str, kind: str = "group") -> str:
    """A conversation that its members have in their lists."""
    id = str(uuid.UUID(int=uuid.uuid4().int & ~0xFF | slots[0], version=4))
    body = {"id": id, "kind": kind, "members": list(members)}
    deadline = time.monotonic() + 60
    while (answer := serving.request(creator, "POST", "/v1/conversations", body))[0] not in (200, 201):
        assert answer[0] == 503 and time.monotonic() < deadline, answer
        time.sleep(0.05)
    return answer[1]["id"]


def test_the_devices_of_who_has_read_are_told_wherever_these_are(serving):
    slot = [*shards(serving.cluster)][4]
    readers = [user_in({other}, "reader") for other in shards(serving.cluster)]
    conversation = made(serving, [slot], "alice", *readers)
    seq = serving.send("alice", conversation, "to all of you")[1]["seq"]
    for reader in readers:
        assert signal(serving, reader, conversation, readSeq=seq) == 202
    serving.wait(lambda: set(told(serving, conversation).values()) == {seq})
    assert told(serving, conversation).keys() == {*readers}


def test_what_was_not_told_when_a_service_ended_is_found_by_the_next_one(serving):
    """With what was told, which is in the shards of the users, so that nobody is told again."""
    slot = [*shards(serving.cluster)][4]
    readers = [user_in({other}, "reader") for other in shards(serving.cluster)]
    conversation = made(serving, [slot], "alice", *readers)
    seq = serving.send("alice", conversation, "to all of you")[1]["seq"]
    for reader in readers:
        assert signal(serving, reader, conversation, readSeq=seq) == 202
    serving.wait(lambda: set(told(serving, conversation).values()) == {seq})
    left_out = {user for user in readers[::3]}
    for number in (0, 1):
        serving.kill("receipt", number)
    # As if the service had ended before: the note is there, which stays for a minute.
    names = ", ".join(f"'{user}'" for user in left_out)
    serving.cluster.sql(f"UPDATE store.inbox SET told_read_seq = 0 WHERE user_id IN ({names})")
    serving.cluster.sql(f"UPDATE store.inbox SET draft_text = 'a secret' WHERE conversation_id = '{conversation}'")
    streams = useqs(serving, readers)
    for number in (0, 1):
        serving.start("receipt", number)
    serving.wait_until_owned()
    serving.wait(lambda: set(told(serving, conversation).values()) == {seq})
    found = sum(serving.metric(number, "parley_receipt_reads_searched_total", "receipt") for number in (0, 1))
    assert found == len(left_out)
    later = useqs(serving, readers)
    assert {user for user in readers if later[user] > streams[user]} == left_out


def told(serving, conversation: str) -> dict[str, int]:
    rows = serving.cluster.sql(f"""
        SELECT user_id, told_read_seq FROM store.inbox WHERE conversation_id = '{conversation}' AND user_id <> 'alice'
    """)
    return {user: int(seq) for user, seq in rows}


def useqs(serving, users: list[str]) -> dict[str, int]:
    names = ", ".join(f"'{user}'" for user in users)
    rows = serving.cluster.sql(f"SELECT user_id, last_useq FROM store.user_streams WHERE user_id IN ({names})")
    return {user: int(useq) for user, useq in rows}


def test_who_connects_learns_when_peers_of_all_shards_were_online(serving):
    user = user_in({slot_of("alice")}, "watcher")
    peers = [user_in({slot}, "peer") for slot in shards(serving.cluster)]
    for number, peer in enumerate(peers):
        made(serving, [17 * number % 256], user, peer, kind="direct")
        serving.cluster.sql(f"""
            INSERT INTO receipt.last_seen (user_slot, user_id, seen_at)
            VALUES ({slot_of(peer)}, '{peer}', timestamptz '2026-01-01 12:00+00' + {number} * interval '1 min')
        """)
    hidden = peers.pop(5)
    assert serving.request(hidden, "PUT", "/v1/settings", {"presence": False})[0] == 200
    seen = asyncio.run(last_seen(serving, user, len(peers)))
    number = {peer: place if place < 5 else place + 1 for place, peer in enumerate(peers)}
    assert seen == {peer: f"2026-01-01T12:{number[peer]:02}:00.000Z" for peer in peers}
    # Who hides sees nobody either.
    assert serving.request(user, "PUT", "/v1/settings", {"presence": False})[0] == 200
    assert asyncio.run(last_seen(serving, user, 1, within=2)) == {}


async def last_seen(serving, user: str, count: int, within: float = 30) -> dict[str, str]:
    """What a new session is told of when others were online, until it is of so many."""
    url = serving.address("fanout").replace("http", "ws") + "/v1/socket"
    seen: dict[str, str] = {}
    async with aiohttp.ClientSession() as http, http.ws_connect(url, protocols=["parley.v1"]) as socket:
        await socket.send_str(json.dumps({"type": "hello", "token": token(user)}))
        try:
            async with asyncio.timeout(within):
                while len(seen) < count:
                    frame = json.loads((await socket.receive()).data)
                    if frame["type"] == "presence" and "lastSeen" in frame:
                        seen[frame["userId"]] = frame["lastSeen"]
        except TimeoutError:
            pass
    return seen


def test_a_session_is_told_of_readings_and_that_its_user_was_online(serving):
    sender, reader = user_in(range(128), "sender"), user_in(range(128, 256), "reader")
    conversation = made(serving, [[*shards(serving.cluster)][2]], sender, reader)
    seq = serving.send(sender, conversation, "hello")[1]["seq"]

    async def watch() -> dict:
        url = serving.address("fanout").replace("http", "ws") + "/v1/socket"
        async with aiohttp.ClientSession() as http, http.ws_connect(url, protocols=["parley.v1"]) as socket:
            await socket.send_str(json.dumps({"type": "hello", "token": token(sender)}))
            assert json.loads((await socket.receive(timeout=20)).data)["type"] == "welcome"
            assert await asyncio.to_thread(signal, serving, reader, conversation, readSeq=seq) == 202
            async with asyncio.timeout(30):
                while (frame := json.loads((await socket.receive()).data))["type"] != "status":
                    pass
        return frame

    frame = asyncio.run(watch())
    assert (frame["conversationId"], frame["read"]) == (conversation, {reader: seq})
    kept = f"SELECT count(*) FROM receipt.last_seen WHERE user_id = '{sender}' AND user_slot = {slot_of(sender)}"
    serving.wait(lambda: serving.cluster.sql(kept) == [["1"]])


def test_an_erased_user_leaves_no_receipts_and_was_never_online(serving):
    places = shards(serving.cluster)
    user = user_in({slot for slot in places if places[slot] != places[0]}, "erased")
    for slot in [*places][:3]:
        conversation = made(serving, [slot], "alice", user)
        seq = serving.send("alice", conversation, "hello")[1]["seq"]
        assert signal(serving, user, conversation, readSeq=seq) == 202
    serving.cluster.sql(f"""
        INSERT INTO receipt.last_seen (user_slot, user_id, seen_at) VALUES ({slot_of(user)}, '{user}', now())
    """)
    kept = " + ".join(
        f"(SELECT count(*) FROM receipt.{table} WHERE user_id = '{user}')"
        for table in ("horizons", "receipt_runs", "last_seen")
    )
    assert int(serving.cluster.sql(f"SELECT {kept}")[0][0]) == 7
    serving.wait(lambda: serving.administer("DELETE", f"/v1/users/{user}")[0] == 200)
    assert serving.cluster.sql(f"SELECT {kept}") == [["0"]]


def test_receipts_are_imported_with_their_times_and_shown_by_the_settings_of_their_users(serving):
    places = shards(serving.cluster)
    readers = [user_in({slot}, "reader") for slot in [*places][:6]]
    hidden = readers[2]
    assert serving.request(hidden, "PUT", "/v1/settings", {"readReceipts": False})[0] == 200
    id, message = (str(uuid.UUID(int=uuid.uuid4().int & ~0xFF | 0x21, version=4)) for _ in range(2))
    receipt = {"type": "receipt", "conversationId": id, "throughMessageId": message, "kind": "read"}
    records = [
        {"type": "conversation", "id": id, "kind": "group", "members": ["alice", *readers]}
        | {"createdAt": "2020-03-07T00:00:00.000Z"},
        {"type": "message", "conversationId": id, "id": message, "senderId": "alice", "text": "long ago"}
        | {"createdAt": "2020-03-07T00:01:00.000Z"},
        *(
            receipt | {"userId": reader, "at": f"2020-03-07T00:02:{number:02}.000Z"}
            for number, reader in enumerate(readers)
        ),
        {"type": "end", "conversationId": id},
    ]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    status, results = serving.administer("POST", "/v1/import", lines)
    assert status == 200 and [result["status"] for result in results] == [200] * len(records), results
    status, page = serving.request("alice", "GET", f"/v1/conversations/{id}/messages/{message}/receipts")
    assert status == 200 and page["deliveredCount"] == 6, page
    assert {receipt["userId"]: receipt["at"] for receipt in page["read"]} == {
        reader: f"2020-03-07T00:02:{number:02}.000Z" for number, reader in enumerate(readers) if reader != hidden
    }


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
    """Members read on, each what was not yet read, while something happens. What was acknowledged is kept and
    counted."""
    members = [f"{name}-{uuid.uuid4()}" for name in ("bob", "carol", "dave")]
    conversation = serving.make_conversation(slot, "alice", *members)
    for _ in range(40):
        serving.send("alice", conversation, "hello")
    reached = dict.fromkeys(members, 2)

    def read(number: int):
        member = members[number]
        seq = min(reached[member] + 1, 41)
        signal_until_taken(serving, member, conversation, readSeq=seq)
        reached[member] = seq
        time.sleep(0.02)

    while_repeating(len(members), read, disturb)
    for number, member in enumerate(members):
        while reached[member] < 4:
            read(number)
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
