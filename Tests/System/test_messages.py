"""Sending: what is acknowledged is committed once, and every member has it."""

import asyncio

from client import new_id
from digests import expect_equal_digests


async def test_a_message_reaches_every_member_and_the_history_says_the_same(system, people):
    alice, bob, carol = people(system, 3)
    conversation = await alice.create_group(bob, carol)
    sessions = [await user.connect() for user in (alice, bob, carol)]

    sent = await alice.sent(conversation, 'Grüße 👋🏽 \u2028 "quoted" \\ end')

    for session in sessions:
        await session.reach(conversation, sent["seq"])
        [change] = session.changes(conversation)
        assert change["kind"] == "message.created" and change["actorId"] == alice.name
        assert shared_part(change["message"]) == shared_part(sent)
    for user in (alice, bob, carol):
        assert shared_part((await user.history(conversation))[-1]) == shared_part(sent)


async def test_a_repeated_send_is_answered_with_the_message_it_made(system, people):
    alice, bob = people(system, 2)
    conversation = await alice.create_group(bob)
    session = await bob.connect()
    first = await alice.sent(conversation, "once", id=(id := new_id()))

    for instance in range(system.instances):
        again = await alice.send(conversation, "once", id=id, instance=instance)
        assert again.status == 200 and again.body["seq"] == first["seq"]

    last = await alice.sent(conversation, "the next")
    await session.reach(conversation, last["seq"])
    assert session.positions(conversation) == [first["seq"], first["seq"] + 1]


async def test_of_racing_copies_of_a_send_one_creates_the_message(system, people):
    [alice] = people(system, 1)
    conversation = await alice.create_group()
    id = new_id()

    answers = await asyncio.gather(
        *(alice.send(conversation, "once", id=id, instance=n % system.instances) for n in range(20))
    )

    assert sorted(answer.status for answer in answers) == [200] * 19 + [201]
    assert len({answer.body["seq"] for answer in answers}) == 1
    assert [message["id"] for message in await texts(alice, conversation)] == [id]


async def test_other_content_under_a_used_id_is_a_conflict(system, people):
    alice, bob = people(system, 2)
    conversation = await alice.create_group(bob)
    parent = await alice.sent(conversation, "a parent")
    await alice.sent(conversation, "original", id=(id := new_id()))

    for answer in (
        await alice.send(conversation, "something else", id=id),
        await alice.send(conversation, "original", id=id, reply_to=parent["id"]),
        await bob.send(conversation, "original", id=id),
    ):
        assert (answer.status, answer.code) == (409, "conflict")
        assert "original" not in str(answer.body)
    assert [message["text"] for message in await texts(bob, conversation)] == ["a parent", "original"]


async def test_one_id_in_two_conversations_is_two_messages(system, people):
    [alice] = people(system, 1)
    here, there = await alice.create_group(), await alice.create_group()
    id = new_id()
    assert (await alice.sent(here, "here", id=id))["conversationId"] == here
    assert (await alice.sent(there, "there", id=id))["conversationId"] == there


async def test_a_stranger_learns_nothing_about_a_conversation(system, people):
    alice, stranger = people(system, 2)
    conversation = await alice.create_group()
    message = await alice.sent(conversation, "private")
    path = f"/v1/conversations/{conversation}"

    answers = (
        [await stranger.send(conversation, "let me in")]
        + [
            await stranger.request("GET", path + rest)
            for rest in ("", "/messages", f"/messages/{message['id']}", "/changes", "/members")
        ]
        + [await stranger.request("POST", path + "/receipts", {"readSeq": 1})]
    )
    unknown = await stranger.request("GET", f"/v1/conversations/{new_id()}")

    assert [(answer.status, answer.code) for answer in answers] == [(404, "notFound")] * len(answers)
    assert answers[1].body == unknown.body, "a conversation of others looks like one that is not there"


# Replies


async def test_a_reply_names_its_parent_with_a_preview_in_history_and_bare_live(system, people):
    alice, bob = people(system, 2)
    conversation = await alice.create_group(bob)
    session = await alice.connect()
    parent = await alice.sent(conversation, "👨‍👩‍👧‍👦" * 60)

    reply = await bob.sent(conversation, "an answer", reply_to=parent["id"])
    await session.reach(conversation, reply["seq"])

    assert reply["kind"] == "reply"
    assert reply["replyTo"] == {
        "messageId": parent["id"],
        "seq": parent["seq"],
        "senderId": alice.name,
        "preview": "👨‍👩‍👧‍👦" * 50,
    }
    assert (await alice.history(conversation))[-1]["replyTo"] == reply["replyTo"]
    live = session.changes(conversation)[-1]["message"]["replyTo"]
    assert live == {"messageId": parent["id"], "seq": parent["seq"]}


async def test_a_reply_to_a_reply_names_its_immediate_parent(system, people):
    [alice] = people(system, 1)
    conversation = await alice.create_group()
    first = await alice.sent(conversation, "first")
    second = await alice.sent(conversation, "second", reply_to=first["id"])
    third = await alice.sent(conversation, "third", reply_to=second["id"])
    assert third["replyTo"]["messageId"] == second["id"]


async def test_a_reply_needs_a_parent_in_its_conversation(system, people):
    [alice] = people(system, 1)
    conversation, other = await alice.create_group(), await alice.create_group()
    elsewhere = await alice.sent(other, "elsewhere")
    for parent in (new_id(), elsewhere["id"]):
        answer = await alice.send(conversation, "an answer", reply_to=parent)
        assert (answer.status, answer.code) == (422, "notReplyable")
    assert await texts(alice, conversation) == []


# Batches


async def test_a_batch_answers_for_each_message_in_order(system, people):
    alice, stranger = people(system, 2)
    conversation, foreign = await alice.create_group(), await stranger.create_group()
    taken = await alice.sent(conversation, "taken")
    parent, copy = new_id(), new_id()

    def item(text, id=None, conversation=conversation, **fields):
        return {"conversationId": conversation, "id": id or new_id(), "text": text} | fields

    answer = await alice.send_batch(
        [
            item("a parent", id=parent),
            item("its reply", replyTo=parent),
            item("other content", id=taken["id"]),
            item("taken", id=taken["id"]),
            item("not mine", conversation=foreign),
            item(" \n"),
            item("an orphan", replyTo=new_id()),
            item("twice", id=copy),
            item("twice", id=copy),
            item("x" * 16_385),
            item("the last"),
        ]
    )

    assert answer.status == 200
    results = answer.body["results"]
    assert [result["status"] for result in results] == [201, 201, 409, 200, 404, 400, 422, 201, 200, 413, 201]
    assert [result.get("problem", {}).get("code") for result in results] == [
        None,
        None,
        "conflict",
        None,
        "notFound",
        "invalid",
        "notReplyable",
        None,
        None,
        "tooLarge",
        None,
    ]
    assert results[1]["message"]["replyTo"]["messageId"] == parent
    stored = [message["text"] for message in await texts(alice, conversation)]
    assert stored == ["taken", "a parent", "its reply", "twice", "the last"]


async def test_the_order_of_a_batch_is_the_order_of_the_conversation(system, people):
    alice, bob = people(system, 2)
    conversations = [await alice.create_group(bob) for _ in range(5)]
    session = await bob.connect()
    bodies = [{"conversationId": conversations[n % 5], "id": new_id(), "text": str(n)} for n in range(500)]

    answer = await alice.send_batch(bodies)

    assert [result["message"]["text"] for result in answer.body["results"]] == [body["text"] for body in bodies]
    for n, conversation in enumerate(conversations):
        expected = [str(number) for number in range(n, 500, 5)]
        history = await texts(bob, conversation)
        assert [message["text"] for message in history] == expected
        await session.reach(conversation, history[-1]["seq"])
        assert [change["message"]["text"] for change in session.changes(conversation)] == expected


# Many at once


async def test_positions_are_dense_whoever_sends_at_once(system, people):
    users = people(system, 8)
    conversation = await users[0].create_group(*users[1:])
    session = await users[-1].connect()

    async def send_some(user):
        return [(await user.sent(conversation, f"{user.name} {n}"))["seq"] for n in range(25)]

    positions = await asyncio.gather(*map(send_some, users))

    expected = list(range(2, 202))  # 1 is the creation of the conversation
    assert sorted(sum(positions, [])) == expected
    assert all(own == sorted(own) for own in positions)
    await session.reach(conversation, 201)
    assert session.positions(conversation) == expected
    await expect_equal_digests(users[-1], conversation, session)
    times = [message["createdAt"] for message in await texts(users[0], conversation)]
    assert times == sorted(times)


async def texts(user, conversation) -> list[dict]:
    """The history without system messages."""
    return [message for message in await user.history(conversation) if message["kind"] != "system"]


def shared_part(message: dict) -> dict:
    """What is the same for every reader: the receipts are the sender's, the preview is not sent live."""
    own = ("status", "dateDelivered", "dateRead", "deliveredCount", "readCount", "recipientCount", "replyTo")
    return {name: value for name, value in message.items() if name not in own}
