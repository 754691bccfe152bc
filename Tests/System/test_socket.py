"""Sessions: every change after the cursors exactly once and in order, replay and live together."""

import asyncio

import pytest
from client import new_id, token
from digests import expect_equal_digests


async def test_a_session_begins_with_what_the_user_has(system, people):
    alice, bob = people(system, 2)
    conversations = [await alice.create_group(bob) for _ in range(3)]

    welcome = (await bob.connect()).welcome

    assert welcome["userId"] == bob.name
    assert {each["id"] for each in welcome["conversations"]} == set(conversations)
    assert not welcome["more"] and welcome["heartbeatSeconds"] > 0 and welcome["useq"] == 3


async def test_a_session_resumes_from_its_cursors(system, people):
    alice, bob = people(system, 2)
    known, other = await alice.create_group(bob), await alice.create_group(bob)
    await alice.fill(known, 20)
    await alice.fill(other, 20)

    session = await bob.connect(cursors={known: 8})
    await alice.sent(known, "live")
    live = await alice.sent(other, "live")

    await session.reach(known, 22)
    await session.reach(other, live["seq"])
    assert session.positions(known) == list(range(9, 23))
    assert session.positions(other) == [22], "without a cursor a conversation starts live"


async def test_a_resumed_session_misses_and_repeats_nothing_while_others_write(system, people):
    alice, bob = people(system, 2)
    conversation = await alice.create_group(bob)
    seen, cursor = [], 1

    async def write():
        for n in range(300):
            await alice.sent(conversation, f"{n}")

    writing = asyncio.create_task(write())
    while cursor < 301:
        session = await bob.connect(cursors={conversation: cursor}, instance=len(seen) % system.instances)
        await session.until(
            lambda: len(session.positions(conversation)) >= 10 or 301 in session.positions(conversation)
        )
        await session.close()
        seen += session.positions(conversation)
        cursor = seen[-1]
    await writing

    assert seen == list(range(2, 302))


async def test_a_gap_over_the_limit_is_a_reload_and_the_session_goes_on_after_it(system, people):
    alice, bob = people(system, 2)
    conversation = await alice.create_group(bob)
    await alice.fill(conversation, 1_500)

    session = await bob.connect(cursors={conversation: 1})
    reload = await session.next("reload")
    later = await alice.sent(conversation, "after the reload")
    await session.reach(conversation, later["seq"])

    assert (reload["conversationId"], reload["lastSeq"]) == (conversation, 1_501)
    assert session.positions(conversation) == [1_502]
    pages = await bob.changes(conversation, after=1)
    assert [change["seq"] for change in pages] == list(range(2, 1_503))
    await expect_equal_digests(bob, conversation, session)


async def test_a_cursor_beyond_the_end_is_a_reset(system, people):
    [alice] = people(system, 1)
    conversation = await alice.create_group()
    session = await alice.connect(cursors={conversation: 99})
    assert (await session.next("reset"))["conversationId"] == conversation


async def test_another_log_is_a_reset_of_everything(system, people):
    [alice] = people(system, 1)
    await alice.create_group()
    log = (await alice.connect()).welcome["logId"]

    session = await alice.connect(logId=new_id())
    assert "conversationId" not in await session.next("reset")

    same = await alice.connect(logId=log)
    await same.quiet()
    assert same.of("reset") == []


async def test_a_new_conversation_comes_to_those_who_are_online(system, people):
    alice, bob = people(system, 2)
    sessions = [await alice.connect(), await bob.connect()]

    conversation = await alice.create_group(bob)
    sent = await alice.sent(conversation, "welcome")

    for session in sessions:
        joined = await session.next("private", where=lambda frame: frame["kind"] == "conversation.joined")
        assert (joined["conversationId"], joined["useq"]) == (conversation, session.welcome["useq"] + 1)
        await session.reach(conversation, sent["seq"])
        assert session.positions(conversation)[-1] == sent["seq"]
        assert session.positions(conversation) == sorted(set(session.positions(conversation)))


async def test_the_private_stream_resumes_from_its_position(system, people):
    alice, bob = people(system, 2)
    conversations = [await alice.create_group(bob) for _ in range(6)]
    session = await bob.connect(useq=2)
    conversations.append(await alice.create_group(bob))

    await session.next("private", where=lambda frame: frame["useq"] == 7)
    private = session.of("private")
    assert [frame["useq"] for frame in private] == [3, 4, 5, 6, 7]
    assert [frame["conversationId"] for frame in private] == conversations[2:]


async def test_typing_reaches_the_others_and_nobody_else(system, people):
    alice, bob, stranger = people(system, 3)
    conversation = await alice.create_group(bob)
    sessions = {user: await user.connect() for user in (alice, bob, stranger)}

    await sessions[alice].say("typing", conversationId=conversation, active=True)
    frame = await sessions[bob].next("typing")
    await sessions[stranger].say("typing", conversationId=conversation, active=True)

    assert (frame["conversationId"], frame["userId"], frame["active"]) == (conversation, alice.name, True)
    expired = await sessions[bob].next("typing", where=lambda frame: not frame["active"])
    assert expired["userId"] == alice.name, "typing ends by itself"
    assert sessions[stranger].of("typing") == []
    assert {frame["userId"] for frame in sessions[bob].of("typing")} == {alice.name}


async def test_a_session_ends_with_its_token_after_a_warning(system, people):
    [alice] = people(system, 1)
    session = await alice.connect(token=token(alice.name, lifetime=3))
    await session.next("tokenExpiring")
    bye = await session.next("bye")
    assert bye["code"] == "unauthenticated"
    await session.ended()


async def test_a_fresh_token_keeps_the_session(system, people):
    [alice] = people(system, 1)
    session = await alice.connect(token=token(alice.name, lifetime=3))
    await session.next("tokenExpiring")
    await session.say("auth", token=token(alice.name))
    await asyncio.sleep(4)
    await session.quiet()
    assert session.of("bye") == []


async def test_a_token_of_somebody_else_does_not_renew(system, people):
    alice, bob = people(system, 2)
    session = await alice.connect()
    await session.say("auth", token=token(bob.name))
    assert (await session.next("bye"))["code"] == "unauthenticated"


async def test_a_second_session_of_a_device_supersedes_the_first(system, people):
    [alice] = people(system, 1)
    phone, other = token(alice.name, dev="phone"), token(alice.name, dev="tablet")
    tablet = await alice.connect(token=other)
    unnamed = await alice.connect()
    first = await alice.connect(token=phone)

    second = await alice.connect(token=phone)

    assert (await first.next("bye"))["code"] == "superseded"
    await first.ended()
    for session in (second, tablet, unnamed):
        await session.quiet()
        assert session.of("bye") == []


async def test_a_ping_is_answered(system, people):
    [alice] = people(system, 1)
    session = await alice.connect()
    await session.say("ping", id="42")
    assert (await session.next("pong"))["id"] == "42"
    await session.say("ping")
    assert "id" not in await session.next("pong", where=lambda frame: frame.get("id") != "42")


@pytest.mark.parametrize(
    "make",
    [
        lambda name: "",
        lambda name: "no token at all",
        lambda name: token(name, lifetime=-1),
        lambda name: token(name, secret="another secret, just as long as the right one"),
        lambda name: token(name, algorithm="none"),
        lambda name: token(""),
        lambda name: token(name, nbf=4_000_000_000),
    ],
    ids=["empty", "garbage", "expired", "forged", "unsigned", "nobody", "not yet valid"],
)
async def test_a_wrong_token_ends_the_session(system, people, make):
    [alice] = people(system, 1)
    session = await alice.open_socket()
    await session.say("hello", token=make(alice.name))
    assert (await session.next("bye"))["code"] == "unauthenticated"
    await session.ended()


async def test_the_subprotocol_is_agreed(system, people):
    [alice] = people(system, 1)
    session = await alice.open_socket()
    assert session.socket.protocol == "parley.v1"
