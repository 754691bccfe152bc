"""Receipt services that die: nothing goes back, nothing is lost for good."""

import asyncio

import pytest
from client import eventually

pytestmark = pytest.mark.kills

MESSAGES = 60


async def test_receipt_is_killed_again_and_again_while_everybody_reads(double, people):
    """Each service in turn, in the middle of the reading; the last time both at once."""
    alice, *readers = people(double, 5)
    conversations = [await alice.create_group(*readers) for _ in range(4)]
    last = {each: (await alice.fill(each, MESSAGES))[-1]["seq"] for each in conversations}
    watching = await alice.connect()
    devices = [await reader.connect() for reader in readers]

    reading = asyncio.gather(*(read_on(reader, last) for reader in readers))
    watch = asyncio.create_task(never_goes_back(alice, conversations))
    for killed in ([0], [1], [0], [1], [0, 1]):
        await asyncio.sleep(0.4)
        for number in killed:
            double.kill("receipt", number)
        await asyncio.to_thread(double.revive)
    await reading
    assert not watch.done(), watch.exception()
    watch.cancel()

    names = {reader.name for reader in readers}
    for conversation in conversations:
        await eventually(lambda: all_have_read(alice, conversation, names))
        for device in devices:
            await device.next("private", where=lambda frame: tells(frame, conversation, last[conversation]), within=30)
    assert_no_horizon_went_back(watching)


async def read_on(reader, last):
    """Reads every conversation in steps, each repeated until it is accepted."""
    for step in range(1, MESSAGES + 1, 3):
        for conversation, end in last.items():
            seq = min(end, 1 + step) if step < MESSAGES - 3 else end
            while True:
                answer = await reader.request("POST", f"/v1/conversations/{conversation}/receipts", {"readSeq": seq})
                if answer.status == 202:
                    break
                assert answer.status == 503, answer
        await asyncio.sleep(0.05)


async def never_goes_back(alice, conversations):
    """What members have read, and whom a message's receipts name, only grows."""
    before: dict[tuple[str, str], int] = {}
    while True:
        for conversation in conversations:
            page = await alice.get(f"/v1/conversations/{conversation}/members")
            for member in page["members"]:
                place = (conversation, member["userId"])
                assert member["readSeq"] >= before.get(place, 0)
                before[place] = member["readSeq"]
        await asyncio.sleep(0.05)


async def all_have_read(alice, conversation, names) -> bool:
    """Of the first and of the last message, each with the time of the last reader as its date."""
    history = [message for message in await alice.history(conversation) if message["senderId"] == alice.name]
    for message in (history[0], history[-1]):
        page = await alice.get(f"/v1/conversations/{conversation}/messages/{message['id']}/receipts")
        if {receipt["userId"] for receipt in page["read"]} != names:
            return False
        assert message["dateRead"] == max(receipt["at"] for receipt in page["read"])
        assert message["dateDelivered"] == max(receipt["at"] for receipt in page["delivered"])
    return True


def tells(frame, conversation, seq) -> bool:
    return (frame["kind"], frame["conversationId"], frame.get("readSeq")) == ("read.moved", conversation, seq)


def assert_no_horizon_went_back(session):
    latest: dict[tuple[str, str, str], int] = {}
    for frame in session.of("status"):
        for kind in ("delivered", "read"):
            for user, seq in frame.get(kind, {}).items():
                place = (frame["conversationId"], kind, user)
                assert seq >= latest.get(place, 0), frame
                latest[place] = seq
