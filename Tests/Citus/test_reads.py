"""What stores read on a cluster: of one conversation with what its reader keeps about it, and of all that a user has,
which is in every shard."""

import asyncio
import json
import urllib.request
import uuid

import aiohttp
import pytest
from client import token
from serving import Serving, slot_of
from test_store import move, shards

NEVER = 2**63 - 1


@pytest.fixture(scope="module")
def serving(cluster):
    serving = Serving(cluster)
    yield serving
    serving.stop()


@pytest.fixture
def names():
    """People of this test alone."""
    mark = uuid.uuid4().hex[:8]
    return [f"{name}-{mark}" for name in ("ann", "ben", "cay", "dan")]


def make(serving: Serving, slot: int, *members: str) -> str:
    """A group, which its members have in their lists."""
    conversation = serving.make_conversation(slot, *members)
    list_it(serving, conversation, *members)
    return conversation


def list_it(serving: Serving, conversation: str, *members: str):
    slot = uuid.UUID(conversation).int & 0xFF
    rows = ", ".join(f"({slot_of(member)}, '{member}', '{conversation}', {slot})" for member in members)
    serving.cluster.sql(f"INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot) VALUES {rows}")


def make_many(serving: Serving, count: int, user: str) -> list[str]:
    """Groups of one user in all slots, in the order of their last activity, the latest first."""
    ids = [str(uuid.UUID(int=uuid.uuid4().int & ~0xFF | number % 256)) for number in range(count)]
    rows = ", ".join(f"('{id}'::uuid, {number % 256}, {number})" for number, id in enumerate(ids))
    serving.cluster.sql(f"""
        CREATE TEMPORARY TABLE made (id uuid, slot smallint, number integer);
        INSERT INTO made VALUES {rows};
        INSERT INTO store.conversations (slot, id, kind, creator_id, created_at, last_seq, last_at, member_count)
        SELECT slot, id, 1, '{user}', '2026-01-01', 1, timestamptz '2026-01-01' - number * interval '1 min', 1
        FROM made;
        INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at)
        SELECT slot, id, 1, 8, '{user}', '2026-01-01' FROM made;
        INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
        SELECT slot, id, '{user}', 1, 2 FROM made;
        INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot)
        SELECT {slot_of(user)}, '{user}', id, slot FROM made
    """)
    return ids


def get(serving: Serving, user: str, path: str):
    status, body = serving.request(user, "GET", path)
    assert status == 200, body
    return body


def listed(serving: Serving, user: str, limit: int) -> list[dict]:
    found, path = [], f"/v1/conversations?limit={limit}"
    while path:
        page = get(serving, user, path)
        assert len(page["conversations"]) <= limit
        found += page["conversations"]
        path = "nextCursor" in page and f"/v1/conversations?limit={limit}&before={page['nextCursor']}"
    return found


def test_a_list_has_the_conversations_of_all_shards_in_order_and_to_its_end(serving, names):
    ann, ben, *_ = names
    conversations = [make(serving, slot, ann, ben) for slot in shards(serving.cluster)]
    for conversation in conversations[::2]:
        assert serving.send(ben, conversation, f"in {conversation}")[0] == 201
    found = listed(serving, ann, 3)
    assert sorted(one["id"] for one in found) == sorted(conversations)
    assert [one["lastActivityAt"] for one in found] == sorted((one["lastActivityAt"] for one in found), reverse=True)
    assert found == listed(serving, ann, 100)
    assert {one["id"] for one in found if one["unreadCount"] == 1} == {*conversations[::2]}
    assert {one["lastMessage"]["text"] for one in found if one.get("lastMessage")} == {
        f"in {conversation}" for conversation in conversations[::2]
    }
    counted = get(serving, ann, "/v1/unread")
    assert (counted["conversations"], counted["messages"]) == (8, 8)


def test_a_list_of_hundreds_has_each_conversation_once(serving, names):
    made = make_many(serving, 450, names[0])
    assert [one["id"] for one in listed(serving, names[0], 200)] == made
    assert [one["id"] for one in listed(serving, names[0], 37)] == made


def test_a_conversation_shows_what_its_reader_keeps_about_it_and_what_became_of_their_messages(serving, names):
    ann, ben, *_ = names
    for slot in shards(serving.cluster):
        conversation = make(serving, slot, ann, ben)
        assert serving.send(ann, conversation, "good day")[0] == 201
        serving.cluster.sql(f"""
            UPDATE store.inbox
            SET pin_order = 7, draft_text = E'a "draft", {{and}} \\\\ more', draft_at = now(), draft_useq = 1
            WHERE user_slot = {slot_of(ann)} AND user_id = '{ann}' AND conversation_id = '{conversation}'
        """)
        shown = get(serving, ann, f"/v1/conversations/{conversation}")
        assert shown["draft"]["text"] == 'a "draft", {and} \\ more' and shown["pinOrder"] == 7, shown
        assert shown["lastMessage"]["recipientCount"] == 1, shown
        assert "draft" not in get(serving, ben, f"/v1/conversations/{conversation}")
        assert serving.request("mallory", "GET", f"/v1/conversations/{conversation}")[0] == 404


def test_settings_in_a_conversation_follow_those_of_the_user_on_another_node(serving, names):
    ann, ben, *_ = names
    serving.cluster.sql(f"""
        INSERT INTO store.user_settings (user_slot, user_id, read_receipts, presence)
        VALUES ({slot_of(ann)}, '{ann}', false, true)
    """)
    for slot in shards(serving.cluster):
        conversation = make(serving, slot, ann, ben)
        path = f"/v1/conversations/{conversation}/settings"
        assert get(serving, ann, path) == {"readReceipts": False, "inherited": ["readReceipts"]}
        assert get(serving, ben, path)["readReceipts"] is True


class Syncing:
    def __init__(self, serving: Serving, user: str):
        self.serving, self.user, self.cursor = serving, user, None

    def round(self) -> tuple[list[str], list[dict]]:
        """The conversations and the private changes of a whole round."""
        conversations, private, more = [], [], True
        while more:
            page = get(self.serving, self.user, "/v1/sync" + (f"?since={self.cursor}" if self.cursor else ""))
            conversations += [one["id"] for one in page["conversations"]]
            private += page["private"]
            self.cursor, more = page["cursor"], page["more"]
        assert len(conversations) == len(set(conversations))
        return conversations, private


def test_a_round_of_sync_brings_what_has_changed_on_any_node(serving, names):
    ann, ben, *_ = names
    conversations = [make(serving, slot, ann, ben) for slot in shards(serving.cluster)]
    syncing = Syncing(serving, ann)
    assert sorted(syncing.round()[0]) == sorted(conversations)
    assert syncing.round()[0] == []
    for changed in (conversations[:1], conversations[1:2], conversations[3:9]):
        for conversation in changed:
            assert serving.send(ben, conversation, "good day")[0] == 201
        assert syncing.round()[0] == sorted(changed)
        assert syncing.round()[0] == []


def test_a_round_of_sync_has_pages(serving, names):
    made = make_many(serving, 450, names[0])
    syncing = Syncing(serving, names[0])
    assert syncing.round()[0] == sorted(made)
    for conversation in made[:3]:
        assert serving.send(names[0], conversation, "good day")[0] == 201
    assert syncing.round()[0] == sorted(made[:3])


def test_a_round_of_sync_misses_nothing_of_a_shard_that_has_moved(serving, names):
    ann, ben, *_ = names
    slot = [*shards(serving.cluster)][5]
    moved, other = make(serving, slot, ann, ben), make(serving, [*shards(serving.cluster)][6], ann, ben)
    syncing = Syncing(serving, ann)
    assert sorted(syncing.round()[0]) == sorted([moved, other])
    assert serving.send(ben, moved, "before it moves")[0] == 201
    move(serving.cluster, slot)
    serving.wait(lambda: serving.request(ann, "GET", "/v1/sync")[0] == 200)
    assert moved in syncing.round()[0]
    serving.send_until_taken(ben, moved, "behind it")
    assert syncing.round()[0] == [moved]
    assert syncing.round()[0] == []
    # And back.
    move(serving.cluster, slot)
    serving.wait(lambda: serving.request(ann, "GET", "/v1/sync")[0] == 200)
    serving.send_until_taken(ben, other, "from before")
    assert {other} <= {*syncing.round()[0]}
    serving.wait_until_owned()


def test_a_user_who_comes_into_a_conversation_gets_it_whatever_its_node_has_numbered_it(serving, names):
    """The conversation is committed first, and the user's part later: a round between the two has passed its number."""
    ann, ben, *_ = names
    for slot in shards(serving.cluster):
        make(serving, slot, ann)
    syncing = Syncing(serving, ann)
    syncing.round()
    late = serving.make_conversation(77, ben, ann)
    serving.send(ben, late, "you are not here yet")
    assert syncing.round() == ([], [])
    list_it(serving, late, ann)
    tell(serving, ann, 1, late)
    conversations, private = syncing.round()
    assert conversations == [late] and len(private) == 1
    assert syncing.round() == ([], [])


def tell(serving: Serving, user: str, useq: int, conversation: str, kind: int = 3):
    """A private change: the user was taken into a conversation."""
    slot = uuid.UUID(conversation).int & 0xFF
    serving.cluster.sql(f"""
        INSERT INTO store.user_streams (user_slot, user_id, last_useq) VALUES ({slot_of(user)}, '{user}', {useq})
        ON CONFLICT (user_slot, user_id) DO UPDATE SET last_useq = {useq};
        INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id)
        VALUES ({slot_of(user)}, '{user}', {useq}, {kind}, now(), {slot}, '{conversation}')
    """)


def test_private_changes_are_told_in_their_order_with_what_each_is_about(serving, names):
    ann, ben, *_ = names
    conversations = [make(serving, slot, ann, ben) for slot in [*shards(serving.cluster)][::-1]]
    syncing = Syncing(serving, ann)
    syncing.round()
    for number, conversation in enumerate(conversations):
        serving.send(ben, conversation, "one more")
        tell(serving, ann, number + 1, conversation)
    private = syncing.round()[1]
    assert [change["conversationId"] for change in private] == conversations
    assert [change["useq"] for change in private] == [*range(1, 17)]
    assert all(change["lastSeq"] == 2 for change in private), private


def test_a_search_finds_in_every_shard_and_goes_on_to_its_end(serving, names):
    ann, ben, cay, _ = names
    word = "zeppelin" + uuid.uuid4().hex[:6]
    sent = []
    for slot in shards(serving.cluster):
        conversation = make(serving, slot, ann, ben)
        for number in range(3):
            status, message = serving.send(ben, conversation, f"the {word} number {number}")
            assert status == 201, message
            sent.append(message["id"])
    hidden = make(serving, 9, ben, cay)
    assert serving.send(ben, hidden, f"no {word} for ann")[0] == 201

    def found(limit: int) -> list[str]:
        results, path = [], f"/v1/search?q={word}&limit={limit}"
        while path:
            page = get(serving, ann, path)
            results += [result["message"]["id"] for result in page["results"]]
            path = "nextCursor" in page and f"/v1/search?q={word}&limit={limit}&cursor={page['nextCursor']}"
        return results

    assert found(5) == sent[::-1]
    # Behind the indexer, too.
    own = f"conversation_id IN (SELECT conversation_id FROM store.messages WHERE body LIKE '%{word}%')"
    indexed = f"SELECT count(*) FROM store.search_positions WHERE indexed_seq > 1 AND {own}"
    serving.wait(lambda: serving.cluster.sql(indexed) == [["17"]])
    assert found(5) == sent[::-1] == found(50)
    one = get(serving, ann, f"/v1/search?q={word}&conversationId={conversation}")
    assert [result["message"]["id"] for result in one["results"]] == sent[:-4:-1]


def test_profiles_are_read_by_those_whom_one_meets_in_any_shard(serving, names):
    ann, ben, cay, dan = names
    values = ", ".join(f"({slot_of(name)}, '{name}', 3, '{name} by name')" for name in names)
    serving.cluster.sql(f"INSERT INTO store.profiles (user_slot, user_id, version, display_name) VALUES {values}")
    make(serving, [*shards(serving.cluster)][3], ann, ben)
    make(serving, [*shards(serving.cluster)][4], ann, cay)
    make(serving, [*shards(serving.cluster)][4], cay, dan)
    profiles = get(serving, ann, f"/v1/profiles?ids={dan},{cay},{ben},{ann}")["profiles"]
    assert [one["userId"] for one in profiles] == [cay, ben, ann]
    assert profiles[0]["displayName"] == f"{cay} by name"
    known = get(serving, ann, f"/v1/profiles?ids={dan},{cay},{ben}&versions=3,2,3")["profiles"]
    assert [(one["userId"], one["version"]) for one in known] == [(dan, 0), (cay, 3)]


def test_profiles_of_users_with_very_many_conversations_are_read_alike(serving, names):
    ann, ben, cay, _ = names
    values = ", ".join(f"({slot_of(name)}, '{name}', 3, 'known')" for name in names)
    serving.cluster.sql(f"INSERT INTO store.profiles (user_slot, user_id, version, display_name) VALUES {values}")
    make_many(serving, 300, ben)
    make_many(serving, 300, cay)
    make(serving, [*shards(serving.cluster)][7], ann, ben)
    profiles = get(serving, ann, f"/v1/profiles?ids={ben},{cay}")["profiles"]
    assert [one["userId"] for one in profiles] == [ben]


def test_requests_are_shown_latest_first_with_who_made_them(serving, names):
    ann, ben, *_ = names
    asked = []
    for number, slot in enumerate(shards(serving.cluster)):
        conversation = serving.make_conversation(slot, ben)
        serving.cluster.sql(f"""
            INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, left_seq, role)
            VALUES ({slot}, '{conversation}', '{ann}', 1, {NEVER}, 1);
            INSERT INTO store.requests
                (user_slot, user_id, conversation_id, slot, is_direct, direct_id, is_waiting, is_declined, at)
            VALUES ({slot_of(ann)}, '{ann}', '{conversation}', {slot}, false, '{conversation}', true, false,
                now() - {number} * interval '1 hour')
        """)
        asked.append(conversation)
    shown = get(serving, ann, "/v1/requests")["requests"]
    assert [one["conversation"]["id"] for one in shown] == asked[: len(shown)] and len(shown) > 10, shown
    assert all(one["userId"] == ben for one in shown), shown


def test_a_digest_names_the_position_of_a_stream_on_another_node(serving, names):
    ann, ben, *_ = names
    tell(serving, ann, 5, make(serving, 1, ann, ben))
    for slot in shards(serving.cluster):
        conversation = make(serving, slot, ann, ben)
        serving.send(ben, conversation, "good day")
        digest = get(serving, ann, f"/v1/conversations/{conversation}/digest")
        assert (digest["lastSeq"], digest["useq"]) == (2, 5), digest


def test_users_and_conversations_are_exported(serving, names):
    ann, ben, *_ = names
    conversations = [make(serving, slot, ann, ben) for slot in shards(serving.cluster)]
    for conversation in conversations:
        serving.send(ben, conversation, f"kept in {conversation}")
    records = exported(serving, f"/v1/export/users/{ann}")
    texts = {record["text"] for record in records if record["type"] == "message"}
    assert texts == {f"kept in {conversation}" for conversation in conversations}
    one = exported(serving, f"/v1/export/conversations/{conversations[0]}")
    assert [record["type"] for record in one][0] == "conversation" and len(one) < len(records)


def exported(serving: Serving, path: str) -> list[dict]:
    request = urllib.request.Request(
        serving.address("ingest") + path, headers={"Authorization": f"Bearer {token('backend', adm=True)}"}
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        return [json.loads(line) for line in answer.read().splitlines()]


def test_blocks_devices_and_scheduled_messages_are_read(serving, names):
    for path in ("/v1/blocks", "/v1/devices", "/v1/scheduled", "/v1/settings"):
        get(serving, names[0], path)


def test_a_session_is_welcomed_with_what_is_in_every_shard(serving, names):
    ann, ben, *_ = names
    conversations = [make(serving, slot, ann, ben) for slot in shards(serving.cluster)]
    for conversation in conversations:
        serving.send(ben, conversation, "good day")
    serving.start("fanout")
    try:
        serving.wait(lambda: serving.cluster.system.is_ready("fanout", 0))
        welcome = asyncio.run(welcomed(serving, ann))
        assert welcome["type"] == "welcome", welcome
        assert [one["id"] for one in welcome["conversations"]] == conversations[::-1]
    finally:
        serving.end("fanout", 0, 15)


async def welcomed(serving: Serving, user: str) -> dict:
    url = serving.address("fanout").replace("http", "ws") + "/v1/socket"
    async with aiohttp.ClientSession() as http, http.ws_connect(url, protocols=["parley.v1"]) as socket:
        await socket.send_str(json.dumps({"type": "hello", "token": token(user)}))
        return json.loads((await socket.receive(timeout=20)).data)


def test_a_list_is_refused_while_a_part_of_it_is_away_and_never_shorter(serving, names):
    ann, ben, *_ = names
    conversations = [make(serving, slot, ann, ben) for slot in shards(serving.cluster)]
    cluster = serving.cluster
    cluster.kill(2)
    try:
        status, problem = serving.request(ann, "GET", "/v1/conversations")
        assert (status, problem["code"]) == (503, "unavailable"), problem
    finally:
        cluster.revive()
    serving.wait(lambda: serving.slots() == 256)
    serving.wait(lambda: serving.request(ann, "GET", "/v1/conversations")[0] == 200)
    assert sorted(one["id"] for one in listed(serving, ann, 100)) == sorted(conversations)
