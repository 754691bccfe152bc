"""History read in every direction, compared with a model of what a page has to hold."""

import pytest
from client import new_id


def model(seqs: list[int], *, limit: int, before: int | None = None, after: int | None = None) -> list[int]:
    """The positions that a page of a history with these positions (ascending) has to hold."""
    if after is not None:
        return [seq for seq in seqs if seq > after][:limit]
    return [seq for seq in seqs if before is None or seq < before][-limit:]


LENGTH = 23
MEMBERS = "/v1/conversations/{}/members/{}"


@pytest.fixture
async def filled(system, people):
    alice, bob = people(system, 2)
    conversation = await alice.create_group(bob)
    await alice.fill(conversation, LENGTH)
    return bob, conversation


async def test_pages_in_every_direction_hold_what_the_model_says(filled):
    reader, conversation = filled
    seqs = [message["seq"] for message in await reader.history(conversation)]
    assert seqs == list(range(2, LENGTH + 2))

    for limit in (1, 2, 7, LENGTH - 1, LENGTH, LENGTH + 1, 200):
        for position in (1, 2, 3, 12, LENGTH, LENGTH + 1, LENGTH + 2):
            for direction in ("before", "after"):
                page = await reader.page(conversation, limit=limit, **{direction: position})
                expect_page(page, seqs, model(seqs, limit=limit, **{direction: position}), (direction, position, limit))
        page = await reader.page(conversation, limit=limit)
        expect_page(page, seqs, model(seqs, limit=limit), ("latest", limit))


async def newcomer(alice, reader):
    conversation = await alice.create_group()
    await alice.fill(conversation, 8)
    joined = await put(alice, conversation, reader)
    await alice.fill(conversation, 8)
    return conversation, lambda seq: seq >= joined


async def former_member(alice, reader):
    conversation = await alice.create_group(reader)
    message = (await alice.fill(conversation, 8))[3]
    left = await remove(alice, conversation, reader)
    await alice.fill(conversation, 8)
    path = f"/v1/conversations/{conversation}/messages/{message['id']}"
    assert (await alice.request("PATCH", path, {"text": "secret of after"})).status == 200
    return conversation, lambda seq: seq <= left


async def returned_member(alice, reader):
    conversation = await alice.create_group(reader)
    await alice.fill(conversation, 5)
    left = await remove(alice, conversation, reader)
    await alice.fill(conversation, 5)
    returned = await put(alice, conversation, reader)
    await alice.fill(conversation, 5)
    return conversation, lambda seq: seq <= left or seq >= returned


async def clearer(alice, reader):
    conversation = await alice.create_group(reader)
    cleared = (await alice.fill(conversation, 8))[-1]["seq"]
    assert (await reader.request("DELETE", f"/v1/conversations/{conversation}/history")).status == 204
    await alice.fill(conversation, 8)
    return conversation, lambda seq: seq > cleared


async def clearer_of_everything(alice, reader):
    conversation = await alice.create_group(reader)
    await alice.fill(conversation, 8)
    assert (await reader.request("DELETE", f"/v1/conversations/{conversation}/history")).status == 204
    return conversation, lambda seq: False


async def hider(alice, reader):
    conversation = await alice.create_group(reader)
    messages = await alice.fill(conversation, 12)
    hidden = [messages[n] for n in (0, 4, 5, 11)]
    for message in hidden:
        path = f"/v1/conversations/{conversation}/messages/{message['id']}?scope=me"
        assert (await reader.request("DELETE", path)).status == 204
    return conversation, lambda seq: seq not in [message["seq"] for message in hidden]


async def put(alice, conversation, reader) -> int:
    assert (await alice.request("PUT", MEMBERS.format(conversation, reader.name), {})).status in (200, 201)
    return (await alice.conversation(conversation))["lastSeq"]


async def remove(alice, conversation, reader) -> int:
    assert (await alice.request("DELETE", MEMBERS.format(conversation, reader.name))).status == 204
    return (await alice.conversation(conversation))["lastSeq"]


@pytest.mark.parametrize(
    "kind", [newcomer, former_member, returned_member, clearer, clearer_of_everything, hider], ids=lambda f: f.__name__
)
async def test_who_does_not_see_everything_gets_full_pages_of_what_they_see(system, people, kind):
    alice, reader = people(system, 2)
    conversation, sees = await kind(alice, reader)
    everything = await alice.history(conversation)
    seqs = [message["seq"] for message in everything if sees(message["seq"])]
    last = (await reader.conversation(conversation))["lastSeq"]

    def expect(page, shown, what):
        assert [message["seq"] for message in page["messages"]] == shown, what
        assert page["lastSeq"] == last, what
        assert "secret" not in str(page), what
        if shown:
            assert page["hasMoreBefore"] == (shown[0] > seqs[0]), what
            assert page["hasMoreAfter"] == (shown[-1] < seqs[-1]), what

    for limit in (1, 2, 5, 50):
        expect(await reader.page(conversation, limit=limit), model(seqs, limit=limit), ("latest", limit))
        for position in range(1, everything[-1]["seq"] + 2):
            for direction in ("before", "after"):
                page = await reader.page(conversation, limit=limit, **{direction: position})
                expect(page, model(seqs, limit=limit, **{direction: position}), (direction, position, limit))
            older = model(seqs, limit=limit // 2, before=position) if limit > 1 else []
            newer = model(seqs, limit=limit - limit // 2, after=position - 1)
            page = await reader.page(conversation, limit=limit, around=position)
            expect(page, older + newer, ("around", position, limit))


async def test_around_shows_the_message_asked_for_and_both_sides(filled):
    reader, conversation = filled
    seqs = [message["seq"] for message in await reader.history(conversation)]
    for limit in (1, 2, 5, 10, 200):
        for position in seqs:
            older = model(seqs, limit=limit // 2, before=position) if limit > 1 else []
            newer = model(seqs, limit=limit - limit // 2, after=position - 1)
            page = await reader.page(conversation, limit=limit, around=position)
            expect_page(page, seqs, older + newer, ("around", position, limit))


def expect_page(page, seqs, expected, what):
    shown = [message["seq"] for message in page["messages"]]
    assert shown == expected, what
    assert page["lastSeq"] == seqs[-1], what
    if shown:
        assert page["hasMoreBefore"] == (shown[0] > seqs[0]), what
        assert page["hasMoreAfter"] == (shown[-1] < seqs[-1]), what


async def test_pages_walk_the_whole_history_in_both_directions(filled):
    reader, conversation = filled
    forwards = await reader.history(conversation)

    backwards, query = [], {}
    while True:
        page = await reader.page(conversation, limit=4, **query)
        backwards = page["messages"] + backwards
        if not page["hasMoreBefore"]:
            break
        query = {"before": page["messages"][0]["seq"]}

    assert backwards == forwards
    assert [message["text"] for message in forwards] == [f"message {n}" for n in range(LENGTH)]


async def test_a_page_of_large_messages_ends_early_and_says_so(system, people):
    [alice] = people(system, 1)
    conversation = await alice.create_group()
    for n in range(60):
        await alice.sent(conversation, f"{n:02} " + "ä" * 8_000)

    page = await alice.page(conversation, after=0, limit=200)
    assert page["hasMoreAfter"] and 25 <= len(page["messages"]) < 60
    assert [message["text"][:2] for message in await alice.history(conversation)] == [f"{n:02}" for n in range(60)]


async def test_changes_are_dense_and_end_at_last_seq(filled):
    reader, conversation = filled
    changes = await reader.changes(conversation)
    assert [change["seq"] for change in changes] == list(range(1, LENGTH + 2))
    assert changes[0]["kind"] == "conversation.created"
    some = await reader.get(f"/v1/conversations/{conversation}/changes", after=5, limit=4)
    assert [change["seq"] for change in some["changes"]] == [6, 7, 8, 9]
    assert some["more"] and some["lastSeq"] == LENGTH + 1


async def test_one_message_is_found_by_its_id(filled):
    reader, conversation = filled
    message = (await reader.history(conversation))[7]
    assert await reader.get(f"/v1/conversations/{conversation}/messages/{message['id']}") == message
    absent = await reader.request("GET", f"/v1/conversations/{conversation}/messages/{new_id()}")
    assert (absent.status, absent.code) == (404, "notFound")


@pytest.mark.parametrize(
    "query",
    [
        "before=2&after=3",
        "before=2&around=3",
        "limit=0",
        "limit=201",
        "limit=x",
        "before=-1",
        "before=1e3",
        "after=9223372036854775808",
        "around=",
        "limit=1&limit=2",
    ],
)
async def test_a_wrong_page_is_refused(filled, query):
    reader, conversation = filled
    answer = await reader.request("GET", f"/v1/conversations/{conversation}/messages?{query}")
    assert (answer.status, answer.code) == (400, "invalid")
