"""Receipts: who has what, told to the sender at once, and kept with their times."""

import asyncio

from client import eventually


async def test_delivery_and_reading_come_back_to_the_sender(system, people):
    alice, bob = people(system, 2)
    conversation = await alice.create_group(bob)
    alices, bobs = await alice.connect(), await bob.connect()
    sent = await alice.sent(conversation, "did you get this?")
    assert (sent["status"], sent["recipientCount"], sent["deliveredCount"], sent["readCount"]) == ("sent", 1, 0, 0)

    await bobs.reach(conversation, sent["seq"])
    await bobs.say("delivered", conversationId=conversation, seq=sent["seq"])
    await alices.next("status", where=lambda frame: frame.get("delivered", {}).get(bob.name) == sent["seq"])
    [message] = await sent_by(alice, conversation)
    assert (message["status"], message["deliveredCount"], message["readCount"]) == ("delivered", 1, 0)
    assert message["dateDelivered"] >= message["createdAt"] and "dateRead" not in message

    await bobs.say("read", conversationId=conversation, seq=sent["seq"])
    await alices.next("status", where=lambda frame: frame.get("read", {}).get(bob.name) == sent["seq"])
    [message] = await sent_by(alice, conversation)
    assert (message["status"], message["deliveredCount"], message["readCount"]) == ("read", 1, 1)
    assert message["dateRead"] >= message["dateDelivered"]
    assert "status" not in (await bob.history(conversation))[-1], "receipts are the sender's"


async def test_a_group_has_read_when_its_last_member_has(system, people):
    alice, bob, carol = people(system, 3)
    conversation = await alice.create_group(bob, carol)
    sent = await alice.sent(conversation, "all of you?")

    await acknowledge(bob, conversation, readSeq=sent["seq"])
    await eventually(lambda: counts_are(alice, conversation, "sent", delivered=1, read=1))
    await acknowledge(carol, conversation, deliveredSeq=sent["seq"])
    await eventually(lambda: counts_are(alice, conversation, "delivered", delivered=2, read=1))
    await acknowledge(carol, conversation, readSeq=sent["seq"])
    await eventually(lambda: counts_are(alice, conversation, "read", delivered=2, read=2))


async def test_receipts_only_move_forward_and_not_beyond_the_end(system, people):
    alice, bob = people(system, 2)
    conversation = await alice.create_group(bob)
    messages = await alice.fill(conversation, 5)

    await acknowledge(bob, conversation, readSeq=messages[3]["seq"])
    await eventually(lambda: horizon_is(bob, conversation, "readSeq", messages[3]["seq"]))
    await acknowledge(bob, conversation, readSeq=messages[1]["seq"])
    await acknowledge(bob, conversation, deliveredSeq=1_000_000)
    await eventually(lambda: horizon_is(bob, conversation, "deliveredSeq", messages[4]["seq"]))
    assert await horizon_is(bob, conversation, "readSeq", messages[3]["seq"])


async def test_many_reads_at_once_are_few_frames(system, people):
    alice, bob = people(system, 2)
    conversation = await alice.create_group(bob)
    alices, bobs = await alice.connect(), await bob.connect()
    messages = await alice.fill(conversation, 100)

    for message in messages:
        await bobs.say("read", conversationId=conversation, seq=message["seq"])
    await alices.next("status", where=lambda frame: frame.get("read", {}).get(bob.name) == messages[-1]["seq"])

    frames = alices.of("status")
    assert len(frames) <= 10
    horizons = [frame["read"][bob.name] for frame in frames if bob.name in frame.get("read", {})]
    assert horizons == sorted(set(horizons))
    versions = [frame["statusVersion"] for frame in frames]
    assert versions == sorted(set(versions))


async def test_signals_for_several_conversations_travel_in_one_frame(system, people):
    alice, bob = people(system, 2)
    conversations = [await alice.create_group(bob) for _ in range(3)]
    positions = [(await alice.sent(conversation, "hello"))["seq"] for conversation in conversations]
    session = await bob.connect()

    await session.say(
        "read",
        items=[{"conversationId": conversation, "seq": seq} for conversation, seq in zip(conversations, positions)],
    )

    for conversation in conversations:
        await eventually(lambda: counts_are(alice, conversation, "read", delivered=1, read=1))


async def test_a_returning_session_is_told_what_it_missed_of_the_receipts(system, people):
    alice, bob, carol = people(system, 3)
    conversation = await alice.create_group(bob, carol)
    sent = await alice.sent(conversation, "read this while I am away")
    await acknowledge(bob, conversation, readSeq=sent["seq"])
    await acknowledge(carol, conversation, deliveredSeq=sent["seq"])
    await eventually(lambda: counts_are(alice, conversation, "delivered", delivered=2, read=1))

    session = await alice.connect(statusVersions={conversation: 0})

    status = await session.next("status")
    assert status["read"][bob.name] == sent["seq"]
    assert status["delivered"][carol.name] == sent["seq"]
    again = await alice.connect(statusVersions={conversation: status["statusVersion"]})
    await again.quiet()
    await asyncio.sleep(0.5)
    assert again.of("status") == []


async def test_a_message_without_recipients_stays_sent(system, people):
    [alice] = people(system, 1)
    conversation = await alice.create_group()
    sent = await alice.sent(conversation, "a note to myself")
    await acknowledge(alice, conversation, readSeq=sent["seq"])
    await eventually(lambda: horizon_is(alice, conversation, "readSeq", sent["seq"]))
    [message] = await sent_by(alice, conversation)
    assert (message["status"], message["recipientCount"]) == ("sent", 0)


async def acknowledge(user, conversation, **horizons):
    answer = await user.request("POST", f"/v1/conversations/{conversation}/receipts", horizons)
    assert answer.status == 202, answer


async def sent_by(user, conversation) -> list[dict]:
    return [message for message in await user.history(conversation) if message["senderId"] == user.name]


async def counts_are(sender, conversation, status, *, delivered, read) -> bool:
    message = (await sent_by(sender, conversation))[-1]
    return (message["status"], message["deliveredCount"], message["readCount"]) == (status, delivered, read)


async def horizon_is(user, conversation, name, seq) -> bool:
    return (await user.conversation(conversation))[name] == seq


async def test_the_other_devices_of_a_user_learn_how_far_they_have_read(system, people):
    alice, bob = people(system, 2)
    conversation = await alice.create_group(bob)
    phone, tablet = await bob.connect(instance=0), await bob.connect(instance=system.instances - 1)
    messages = await alice.fill(conversation, 3)

    await phone.say("read", conversationId=conversation, seq=messages[1]["seq"])

    moved = await tablet.next("private", where=lambda frame: frame["kind"] == "read.moved")
    assert (moved["conversationId"], moved["readSeq"]) == (conversation, messages[1]["seq"])
    assert (await bob.conversation(conversation))["unreadCount"] == 1
    later = await bob.connect(useq=moved["useq"] - 1)
    assert (await later.next("private"))["readSeq"] == messages[1]["seq"]
