"""Messages that are sent at a time, while processes die around that time."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from client import eventually, new_id
from digests import expect_equal_digests

pytestmark = pytest.mark.kills


def after(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


async def schedule(user, conversation: str, text: str, at: str) -> str:
    message = new_id()
    path = f"/v1/conversations/{conversation}/scheduled/{message}"
    async with asyncio.timeout(60):
        while (answer := await user.request("PUT", path, {"at": at, "text": text})).status == 503:
            await asyncio.sleep(0.1)
    assert answer.status == 204, answer
    return message


async def waits(user) -> list:
    answer = await user.request("GET", "/v1/scheduled?limit=100")
    return answer.body["scheduled"] if answer.status == 200 else [None]


async def test_stores_that_die_at_the_time_lose_and_double_nothing(double, people):
    alice, bob = people(double, 2)
    conversations = [await alice.create_group(bob) for _ in range(6)]
    begin = datetime.now(UTC) + timedelta(seconds=4)
    due = {conversation: [] for conversation in conversations}
    cancelled = {}
    for number in range(90):
        conversation = conversations[number % 6]
        at = (begin + timedelta(milliseconds=70 * number)).isoformat(timespec="milliseconds")
        message = await schedule(alice, conversation, f"{number}", at)
        due[conversation].append(message)
        if number % 9 == 0:
            cancelled[message] = conversation

    async def cancel():
        """Around their times; what is not known is asked again."""
        statuses = {}
        for number, (message, conversation) in enumerate(cancelled.items()):
            left = (begin - datetime.now(UTC)).total_seconds() + 0.63 * number + 0.9
            await asyncio.sleep(max(0, left))
            path = f"/v1/conversations/{conversation}/scheduled/{message}"
            async with asyncio.timeout(60):
                while (answer := await alice.request("DELETE", path)).status == 503:
                    await asyncio.sleep(0.05)
            statuses[message] = answer.status
        return statuses

    cancelling = asyncio.create_task(cancel())
    await asyncio.sleep(max(0, (begin - datetime.now(UTC)).total_seconds() + 0.5))
    for number in (0, 1, 0, 1):
        double.kill("store", number)
        await asyncio.sleep(0.6)
        await asyncio.to_thread(double.revive)
        await bob.send_until_answered(conversations[number], "live", id=new_id())
    statuses = await cancelling

    async def is_over() -> bool:
        return await waits(alice) == []

    await eventually(is_over, within=60)
    assert set(statuses.values()) <= {204, 409}, statuses
    for conversation, messages in due.items():
        history = await bob.history(conversation)
        there = [message["id"] for message in history if message["senderId"] == alice.name]
        assert there == [each for each in messages if statuses.get(each) != 204], conversation
        assert await waits(bob) == []
        await expect_equal_digests(bob, conversation)


async def test_what_came_due_while_no_store_was_there_is_sent_when_one_is(double, people):
    alice, bob = people(double, 2)
    conversation = await alice.create_group(bob)
    messages = [await schedule(alice, conversation, f"{number}", after(2 + number / 100)) for number in range(20)]
    for number in (0, 1):
        double.kill("store", number)
    await asyncio.sleep(4)
    await asyncio.to_thread(double.revive)

    async def is_over() -> bool:
        return await waits(alice) == []

    await eventually(is_over, within=60)
    history = [message for message in await bob.history(conversation) if message["senderId"] == alice.name]
    assert [message["id"] for message in history] == messages
