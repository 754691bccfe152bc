"""Processes that die or stand still: nothing acknowledged is lost, nothing happens twice."""

import asyncio
import itertools
import signal

import aiohttp
import pytest
from client import eventually, new_id
from crowd import gather_crowd, until
from digests import expect_equal_digests
from system import SERVICES, is_alive

pytestmark = pytest.mark.kills


@pytest.fixture
async def crowd(double, people):
    return await gather_crowd(double, people)


@pytest.mark.parametrize("service", ["store", "ingest", "receipt"])
async def test_others_take_over_when_a_process_is_killed(double, crowd, service):
    sending = crowd.begin()
    await crowd.is_under_way()
    double.kill(service, 1)
    await sending
    await crowd.expect_everything_once()


@pytest.mark.parametrize("service", ["store", "ingest", "receipt", "fanout"])
async def test_a_process_that_stood_still_neither_loses_nor_doubles(double, crowd, service):
    """Its peers think it alive, it thinks no time has passed: what it does next may be long out of date."""
    sending = crowd.begin()
    await crowd.is_under_way()
    double.signal(service, 1, signal.SIGSTOP)
    await asyncio.sleep(3)
    double.signal(service, 1, signal.SIGCONT)
    await sending
    await crowd.expect_everything_once()


async def test_who_stands_still_for_long_is_replaced_meanwhile_and_loses_and_doubles_nothing(double, crowd, people):
    """Their sessions are there, but they are not heard: after 5 s their peers end these and serve their slots."""
    reader, writer = people(double, 2)
    conversations = [await writer.create_group(reader) for _ in range(12)]
    messages = [await writer.sent(conversation, "read me") for conversation in conversations]
    sending = crowd.begin()
    await crowd.is_under_way()

    for service in ("store", "receipt"):
        double.signal(service, 1, signal.SIGSTOP)
    try:
        for service in ("store", "receipt"):
            await eventually(lambda service=service: owns(double, service, 0, 256), within=60)
        for message in messages:
            path = f"/v1/conversations/{message['conversationId']}"
            await until_accepted(reader, "POST", path + "/receipts", {"readSeq": message["seq"]})
            edited = await until_accepted(writer, "PATCH", f"{path}/messages/{message['id']}", {"text": "meanwhile"})
            assert edited["text"] == "meanwhile"
        await sending
    finally:
        for service in ("store", "receipt"):
            double.signal(service, 1, signal.SIGCONT)

    for service, number in itertools.product(("store", "receipt"), (0, 1)):
        await eventually(lambda service=service, number=number: owns(double, service, number, 128), within=60)
    await crowd.expect_everything_once()
    for conversation in conversations:
        [message] = await writer.history(conversation)
        assert (message["text"], message["status"]) == ("meanwhile", "read")
        await writer.sent(conversation, "and on")


async def owns(system, service: str, number: int, slots: int) -> bool:
    async with aiohttp.ClientSession() as http, http.get(system.address(service, number) + "/metrics") as answer:
        return f"parley_{service}_slots {slots}\n" in await answer.text()


async def until_accepted(user, method: str, path: str, body: dict):
    """Repeats a request under one key until it is not refused for the moment."""
    key = new_id()
    async with asyncio.timeout(60):
        while (answer := await user.request(method, path, body, headers={"Idempotency-Key": key})).status == 503:
            await asyncio.sleep(0.1)
    assert answer.status in (200, 202), answer
    return answer.body


async def test_a_store_that_comes_back_shares_the_work_again(double, people):
    [alice] = people(double, 1)
    conversations = [await alice.create_group() for _ in range(20)]
    for killed in (0, 1):
        double.kill("store", killed)
        for conversation in conversations:
            answer = await alice.send_until_answered(conversation, f"after {killed}", id=new_id())
            assert answer.status in (200, 201)
        double.revive()
    for conversation in conversations:
        assert [message["text"] for message in await alice.history(conversation)] == ["after 0", "after 1"]


async def test_a_client_of_a_killed_fanout_resumes_elsewhere_with_nothing_missing(double, people):
    alice, bob = people(double, 2)
    conversation = await alice.create_group(bob)
    session = await bob.connect(instance=1)
    sending = asyncio.create_task(send_numbers(alice, conversation, 400))
    await session.until(lambda: len(session.positions(conversation)) > 50)

    double.kill("fanout", 1)
    await session.ended()
    seen = session.positions(conversation)
    resumed = await bob.connect(instance=0, cursors={conversation: seen[-1]})
    last = await sending
    await resumed.reach(conversation, last)

    assert seen + resumed.positions(conversation) == list(range(2, 402))
    await expect_equal_digests(bob, conversation, resumed)


async def test_a_fanout_that_stood_still_catches_up_in_order(double, people):
    alice, bob = people(double, 2)
    conversations = [await alice.create_group(bob) for _ in range(4)]
    session = await bob.connect(instance=1)

    double.signal("fanout", 1, signal.SIGSTOP)
    try:
        lasts = await asyncio.gather(*(send_batches(alice, conversation, 10) for conversation in conversations))
    finally:
        double.signal("fanout", 1, signal.SIGCONT)

    for conversation, last in zip(conversations, lasts):
        await session.reach(conversation, last, within=30)
        assert session.positions(conversation) == list(range(2, last + 1))
        await expect_equal_digests(bob, conversation, session)


async def test_a_change_nobody_announced_again_is_found_by_the_digest(double, people):
    """The store dies right after the commit, before or while it announces: no later change of it tells."""
    alice, bob = people(double, 2)
    conversations = [await alice.create_group(bob) for _ in range(16)]
    session = await bob.connect(instance=0)
    ids = {conversation: new_id() for conversation in conversations}

    sends = [
        asyncio.create_task(alice.send_until_answered(conversation, "the only one", id=id))
        for conversation, id in ids.items()
    ]
    await asyncio.sleep(0.003)
    double.kill("store", 0)
    answers = await asyncio.gather(*sends)

    assert {answer.status for answer in answers} <= {200, 201}
    for conversation, id in ids.items():
        await session.reach(conversation, 2, within=30)
        assert [change["message"]["id"] for change in session.changes(conversation)] == [id]
        await expect_equal_digests(bob, conversation, session)


async def test_receipts_survive_the_death_of_their_service(double, people):
    alice, bob = people(double, 2)
    conversations = [await alice.create_group(bob) for _ in range(12)]
    messages = [await alice.sent(conversation, "read me") for conversation in conversations]
    alices, bobs = await alice.connect(), await bob.connect()

    double.kill("receipt", 0)
    await bobs.say(
        "read", items=[{"conversationId": message["conversationId"], "seq": message["seq"]} for message in messages]
    )

    for message in messages:
        await alices.next(
            "status",
            within=30,
            where=lambda frame: (
                frame["conversationId"] == message["conversationId"]
                and frame.get("read", {}).get(bob.name) == message["seq"]
            ),
        )
    for conversation in conversations:
        assert (await alice.history(conversation))[-1]["status"] == "read"


@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_drains_when_asked_to_stop(double, people, service):
    alice, bob = people(double, 2)
    conversation = await alice.create_group(bob)
    session = await bob.connect(instance=1)
    sending = asyncio.create_task(send_numbers(alice, conversation, 100))
    await until(lambda: len(session.positions(conversation)) > 10)

    double.signal(service, 1, signal.SIGTERM)

    last = await sending
    await until(lambda: not double.is_up(service, 1))
    if service == "fanout":
        assert (await session.next("bye"))["code"] == "draining"
        await session.ended()
    else:
        await session.reach(conversation, last)
        assert session.positions(conversation) == list(range(2, last + 1))


async def test_without_any_store_requests_are_refused_and_accepted_again_later(single, people):
    [alice] = people(single, 1)
    conversation = await alice.create_group()
    single.kill("store")

    # For a moment a session that lost its server's main process may still commit.
    while (refused := await alice.send(conversation, "hello?", id=(id := new_id()))).status == 201:
        pass
    assert (refused.status, refused.code) in [(503, "unavailable"), (503, "overloaded")]
    assert int(refused.headers["Retry-After"]) > 0

    single.revive()
    answer = await alice.send_until_answered(conversation, "hello?", id=id)
    assert answer.status in (200, 201)
    assert [message["id"] for message in await alice.history(conversation)] == [id]


async def test_the_database_may_go_away_and_come_back(single, people):
    [alice] = people(single, 1)
    conversation = await alice.create_group()
    before = await alice.sent(conversation, "before")

    single.kill_database()
    answering = asyncio.create_task(alice.send_until_answered(conversation, "meanwhile", id=new_id()))
    await asyncio.sleep(0.5)
    single.up()

    assert (await answering).status in (200, 201)
    assert [message["seq"] for message in await alice.history(conversation)] == [before["seq"], before["seq"] + 1]


async def test_while_the_database_is_away_services_say_so_and_go_on_afterwards(single, people):
    [alice] = people(single, 1)
    conversation = await alice.create_group()
    before = single.pids()
    single.kill_database()

    # For a moment a session that lost its server's main process may still commit.
    while (refused := await alice.send(conversation, "hello?", id=(id := new_id()))).status == 201:
        pass
    assert (refused.status, refused.code) in [(503, "unavailable"), (503, "overloaded")]
    assert int(refused.headers["Retry-After"]) > 0
    for service in ("store", "receipt"):
        await eventually(lambda: has_readiness(single, service, 503))
    assert single.pids() == before and all(map(is_alive, before.values())), "nobody ends because of that"

    single.up()
    for service in ("store", "receipt"):
        await eventually(lambda: has_readiness(single, service, 200))
    assert (await alice.send_until_answered(conversation, "hello?", id=id)).status in (200, 201)
    assert [message["id"] for message in await alice.history(conversation)].count(id) == 1
    assert single.pids() == before


async def has_readiness(system, service, status) -> bool:
    async with aiohttp.ClientSession() as http, http.get(system.address(service) + "/readyz") as answer:
        return answer.status == status


async def send_numbers(user, conversation, count) -> int:
    """Sends so many messages one after the other and returns the position of the last."""
    for n in range(count):
        answer = await user.send_until_answered(conversation, f"{n}", id=new_id())
        assert answer.status in (200, 201), answer
    return answer.body["seq"]


async def send_batches(user, conversation, count) -> int:
    for _ in range(count):
        messages = await user.fill(conversation, 100)
        await asyncio.sleep(0.2)
    return messages[-1]["seq"]
