"""What members see who came later, and what those still see who have left: nothing from outside their stays."""

import asyncio
import json

import pytest
from client import new_id
from digests import expect_equal_digests


async def put(user, conversation, other):
    answer = await user.request("PUT", f"/v1/conversations/{conversation}/members/{other.name}", {})
    assert answer.status == 200, answer


async def remove(user, conversation, other):
    answer = await user.request("DELETE", f"/v1/conversations/{conversation}/members/{other.name}")
    assert answer.status == 204, answer


async def edit(user, message, text):
    path = f"/v1/conversations/{message['conversationId']}/messages/{message['id']}"
    answer = await user.request("PATCH", path, {"text": text})
    assert answer.status == 200, answer
    return answer.body["changeSeq"]


async def touch(user, message, text):
    """Everything that may happen to a message, and the position of the last of it."""
    path = f"/v1/conversations/{message['conversationId']}/messages/{message['id']}"
    await edit(user, message, text)
    for method in ("PUT", "DELETE"):
        answer = await user.request(method, path + "/tapback", {"kind": "love"} if method == "PUT" else None)
        assert answer.status in (200, 204), answer
    answer = await user.request("DELETE", path + "?scope=everyone")
    assert answer.status == 204, answer
    return (await user.conversation(message["conversationId"]))["lastSeq"]


async def everything(user, conversation) -> str:
    """All that HTTP tells a user about a conversation."""
    history = await user.history(conversation)
    details = [
        await user.request("GET", f"/v1/conversations/{conversation}/messages/{message['id']}{part}")
        for message in history
        for part in ("", "/revisions", "/tapbacks")
    ]
    listed = await user.get("/v1/conversations")
    synchronised = await user.get("/v1/sync")
    pages = [history, await user.changes(conversation), await user.conversation(conversation), listed, synchronised]
    return json.dumps(pages + [detail.body for detail in details if detail.status == 200])


async def test_a_member_who_came_later_learns_nothing_of_older_messages(system, people):
    alice, carol, dave = people(system, 3)
    conversation = await alice.create_group()
    older = [await alice.sent(conversation, f"older {n}") for n in range(2)]
    await put(alice, conversation, carol)
    live, full = await carol.connect(), await alice.connect()
    joined = await dave.connect()
    await put(alice, conversation, dave)

    last = await touch(alice, older[0], "secret of before")
    own = await alice.sent(conversation, "seen by all")
    last = await edit(alice, own, "seen by all, edited")

    replayed = await carol.connect(cursors={conversation: older[-1]["seq"]})
    for session in (live, full, joined, replayed):
        await session.reach(conversation, last)
    assert [change["seq"] for change in replayed.changes(conversation)] == list(range(4, last + 1))
    assert live.positions(conversation) == list(range(5, last + 1))
    assert joined.positions(conversation) == list(range(5, last + 1))
    for seen in (live.frames, joined.frames, replayed.frames, await everything(carol, conversation)):
        seen = json.dumps(seen)
        assert "secret" not in seen and "older" not in seen and older[0]["id"] not in seen
    assert "secret of before" in json.dumps(full.frames), "and everybody else does"

    withheld = [change for change in live.changes(conversation) if 5 < change["seq"] < own["seq"]]
    assert [(change["kind"], change["actorId"], "message" in change) for change in withheld] == [
        (kind, alice.name, False) for kind in ("message.edited", "tapback.set", "tapback.removed", "message.deleted")
    ]
    assert live.changes(conversation)[-1]["message"]["text"] == "seen by all, edited"
    assert withheld == [change for change in await carol.changes(conversation, 5) if change["seq"] < own["seq"]]
    await expect_equal_digests(alice, conversation, full)
    await expect_equal_digests(carol, conversation, live, replayed)
    await expect_equal_digests(dave, conversation, joined)


async def test_who_comes_back_is_told_of_the_messages_of_both_stays(system, people):
    alice, bob = people(system, 2)
    conversation = await alice.create_group(bob)
    first = await alice.sent(conversation, "of the first stay")
    session = await bob.connect()
    await remove(alice, conversation, bob)
    between = await alice.sent(conversation, "in between")
    absent = await bob.connect()
    await put(alice, conversation, bob)
    second = await alice.sent(conversation, "of the second stay", reply_to=between["id"])

    await edit(alice, between, "in between, edited")
    await edit(alice, first, "first, edited")
    last = await edit(alice, second, "second, edited")

    replayed = await bob.connect(cursors={conversation: 1})
    for stream in (session, absent, replayed):
        await stream.reach(conversation, last)
        edits = [change for change in stream.changes(conversation) if change["kind"] == "message.edited"]
        assert [change.get("message", {}).get("text") for change in edits] == [None, "first, edited", "second, edited"]
        assert "in between" not in json.dumps(stream.frames)
    assert "in between" not in await everything(bob, conversation)
    await expect_equal_digests(bob, conversation, session)
    await expect_equal_digests(alice, conversation)


async def test_a_former_member_reads_what_was_there_when_they_left(system, people):
    alice, bob = people(system, 2)
    conversation = await alice.create_group(bob, title="Plans of then")
    edited = await alice.sent(conversation, "first text")
    plain = await alice.sent(conversation, "plain")
    await bob.sent(conversation, "an answer", reply_to=edited["id"])
    await edit(alice, edited, "second text")
    await remove(alice, conversation, bob)
    before = await everything(bob, conversation)
    end = (await bob.conversation(conversation))["lastSeq"]

    for message in (edited, plain):
        await edit(alice, message, "secret of after")
        path = f"/v1/conversations/{conversation}/messages/{message['id']}/tapback"
        assert (await alice.request("PUT", path, {"kind": "love"})).status == 200
    assert (await alice.request("PATCH", f"/v1/conversations/{conversation}", {"title": "secret title"})).status == 200
    session = await bob.connect(cursors={conversation: 1})
    await session.reach(conversation, end)
    await session.quiet()

    assert session.positions(conversation) == list(range(2, end + 1))
    after = await everything(bob, conversation)
    for seen in (after, json.dumps(session.frames)):
        assert "secret" not in seen and "love" not in seen
        assert "second text" in seen
    assert texts(before) == texts(after) and "first text" in after
    assert (await bob.conversation(conversation))["title"] == "Plans of then"
    await expect_equal_digests(bob, conversation, session)
    answer = await alice.request("DELETE", f"/v1/conversations/{conversation}/messages/{plain['id']}?scope=everyone")
    assert answer.status == 204
    assert "plain" not in await everything(bob, conversation), "what is deleted is deleted for everyone"


def texts(answers: str) -> list[str]:
    found = []

    def walk(value):
        if isinstance(value, dict):
            found.extend(value[key] for key in ("text", "preview", "title") if key in value)
            value = list(value.values())
        if isinstance(value, list):
            for item in value:
                walk(item)

    walk(json.loads(answers))
    return found


async def test_who_joins_later_is_not_told_who_was_there_before(system, people):
    alice, bob, carol = people(system, 3)
    conversation = await alice.create_group(bob)
    sent = await alice.sent(conversation, "for bob")
    session = await alice.connect()
    for user in (bob, alice):
        await acknowledge(user, conversation, readSeq=sent["seq"])
        await session.next("status", where=lambda frame, user=user: user.name in frame.get("read", {}))
    await remove(alice, conversation, bob)
    await put(alice, conversation, carol)

    joined = await carol.connect(cursors={conversation: 0}, statusVersions={})
    status = await joined.next("status")
    assert (status["delivered"], status["read"]) == ({alice.name: sent["seq"]}, {alice.name: sent["seq"]})
    again = await carol.connect(cursors={conversation: 0}, statusVersions={conversation: status["statusVersion"]})
    await again.quiet()
    assert again.of("status") == []


async def test_when_only_former_members_moved_the_version_alone_is_told(system, people):
    alice, bob, carol = people(system, 3)
    conversation = await alice.create_group(bob)
    sent = await alice.sent(conversation, "for bob")
    session = await alice.connect()
    await acknowledge(bob, conversation, readSeq=sent["seq"])
    version = (await session.next("status"))["statusVersion"]
    await remove(alice, conversation, bob)
    await put(alice, conversation, carol)

    joined = await carol.connect(cursors={conversation: 0}, statusVersions={})
    status = await joined.next("status")
    assert status.keys() == {"type", "conversationId", "statusVersion", "at"} and status["statusVersion"] == version


async def test_what_has_no_position_ends_with_a_stay_too(system, people):
    """Members, how many, their roles, how far they are, when something happened, the order of lists, own receipts."""
    alice, bob, carol, dave = people(system, 4)
    conversation = await alice.create_group(bob, carol)
    other = await bob.create_group()
    own = await bob.sent(conversation, "of bob")
    session = await alice.connect()
    await acknowledge(carol, conversation, deliveredSeq=own["seq"])
    await session.next("status")
    await remove(alice, conversation, bob)
    left = await bob.conversation(conversation)
    await bob.sent(other, "later, elsewhere")

    async def all_that_bob_sees():
        path = f"/v1/conversations/{conversation}"
        members, page = await bob.get(path + "/members"), await bob.page(conversation)
        receipts = await bob.get(f"{path}/messages/{own['id']}/receipts")
        listed = (await bob.get("/v1/conversations"))["conversations"]
        return members, page, receipts, listed, await bob.conversation(conversation)

    before = await all_that_bob_sees()
    assert [(member["userId"], member["deliveredSeq"], member["readSeq"]) for member in before[0]["members"]] == [
        (alice.name, 0, 0), (carol.name, own["seq"], 0),
    ]  # fmt: skip
    assert (left["memberCount"], left["lastMessage"]["createdAt"]) == (2, left["lastActivityAt"])
    assert [shown["id"] for shown in before[3]] == [other, conversation]
    cursor = (await bob.get("/v1/sync"))["cursor"]
    while (page := await bob.get("/v1/sync", since=cursor))["conversations"]:
        cursor = page["cursor"]

    sent = await alice.sent(conversation, "after bob")
    await put(alice, conversation, dave)
    answer = await alice.request("PUT", f"/v1/conversations/{conversation}/members/{carol.name}", {"role": "owner"})
    assert answer.status == 200, answer
    count = len(session.of("status"))
    for user in (alice, carol):
        await acknowledge(user, conversation, readSeq=sent["seq"])
    await session.until(lambda: {alice.name, carol.name} <= read_by(session.of("status")[count:]))
    assert await all_that_bob_sees() == before
    assert (await bob.get("/v1/sync", since=cursor))["conversations"] == []
    assert (await alice.conversation(conversation))["memberCount"] == 3


async def test_a_reply_to_what_its_sender_hid_or_cleared_brings_no_preview_back(system, people):
    alice, bob = people(system, 2)
    conversation = await alice.create_group(bob)
    hidden, cleared = [await alice.sent(conversation, f"secret {n}") for n in range(2)]
    path = f"/v1/conversations/{conversation}"
    assert (await bob.request("DELETE", f"{path}/messages/{hidden['id']}")).status == 204
    for parent in (hidden, cleared):
        unavailable = {"messageId": parent["id"], "unavailable": True}
        if parent is cleared:
            assert (await bob.request("DELETE", f"{path}/history")).status == 204
        reply = await bob.sent(conversation, "an answer", reply_to=parent["id"])
        assert reply["replyTo"] == unavailable
        bodies = [
            {"conversationId": conversation, "id": new_id(), "text": "two answers", "replyTo": parent["id"]}
            for _ in range(2)
        ]
        for result in (await bob.send_batch(bodies)).body["results"]:
            assert (result["status"], result["message"]["replyTo"]) == (201, unavailable)
        shown = await alice.get(f"{path}/messages/{reply['id']}")
        assert shown["replyTo"]["preview"] == parent["text"], "others see it"


def read_by(frames: list[dict]) -> set[str]:
    return {user for frame in frames for user in frame.get("read", {})}


async def acknowledge(user, conversation, **horizons):
    answer = await user.request("POST", f"/v1/conversations/{conversation}/receipts", horizons)
    assert answer.status == 202, answer


@pytest.mark.kills
async def test_what_is_fetched_after_a_loss_is_cut_to_the_stays_too(double, people):
    """The store that would announce a change dies with it: sessions learn by digests and fetch."""
    alice, carol = people(double, 2)
    conversation = await alice.create_group()
    older = await alice.sent(conversation, "older")
    await put(alice, conversation, carol)
    session, full = await carol.connect(), await alice.connect()
    path = f"/v1/conversations/{conversation}/messages/{older['id']}"
    for n in range(4):
        double.kill("store", n % 2)
        key = {"Idempotency-Key": new_id()}
        answer = None
        while answer is None or answer.status == 503:
            answer = await alice.request("PATCH", path, {"text": f"secret {n}"}, headers=key)
        assert answer.status == 200, answer
        last = answer.body["changeSeq"]
        double.revive()
    for stream in (session, full):
        await stream.reach(conversation, last)
    assert session.positions(conversation) == list(range(4, last + 1))
    assert "secret" not in json.dumps(session.frames) and "secret 3" in json.dumps(full.frames)
    await expect_equal_digests(carol, conversation, session)
    await expect_equal_digests(alice, conversation, full)


async def test_a_session_begun_while_its_user_comes_and_goes_is_told_of_the_stays_alone(system, people):
    """Whatever a session finds when it begins, it is never told what lies between the end of a stay and the next."""
    alice, bob = people(system, 2)
    conversation = await alice.create_group(bob)
    for _ in range(30):
        await alice.create_group(bob)  # so that reading where bob is takes a while
    is_over = False

    async def come_and_go():
        while not is_over:
            await remove(alice, conversation, bob)
            await alice.sent(conversation, "nothing for bob")
            await put(alice, conversation, bob)

    coming_and_going = asyncio.create_task(come_and_go())
    sessions = []
    for _ in range(20):
        sessions += await asyncio.gather(*(bob.connect(instance=n % system.instances) for n in range(4)))
    is_over = True
    await coming_and_going
    last = await alice.sent(conversation, "the last one")
    for session in sessions:
        await session.reach(conversation, last["seq"])
        assert "nothing for bob" not in json.dumps(session.changes(conversation))
