"""Who is online: told across processes, kept for those who come later, and ended when a process dies."""

import asyncio

import pytest


def of(session, user) -> dict | None:
    """What the session was told last of a user."""
    frames = [frame for frame in session.of("presence") if frame["userId"] == user.name]
    return frames[-1] if frames else None


def is_online(session, user, *, expected=True):
    return lambda: (frame := of(session, user)) is not None and frame["online"] is expected


async def shows(session, user, online=True):
    # What was lost before the processes knew each other is told again within a minute.
    await session.until(is_online(session, user, expected=online), within=75)


async def test_members_see_each_other_come_and_go(system, people):
    alice, bob, stranger = people(system, 3)
    await alice.create_group(bob)
    watching = await alice.connect()
    aside = await stranger.connect()
    session = await bob.connect()
    await shows(watching, bob)
    await shows(session, alice)

    await session.close()

    await shows(watching, bob, online=False)
    assert of(watching, bob)["lastSeen"].endswith(":00.000Z")
    assert aside.of("presence") == []


async def test_who_comes_later_learns_when_the_other_one_left(system, people):
    alice, bob = people(system, 2)
    answer = await alice.request("POST", "/v1/conversations", {"kind": "direct", "members": [bob.name]})
    assert answer.status == 201, answer
    watching = await alice.connect()
    session = await bob.connect()
    await shows(watching, bob)
    await session.close()
    await shows(watching, bob, online=False)

    later = await alice.connect()

    await shows(later, bob, online=False)
    assert of(later, bob)["lastSeen"].endswith(":00.000Z")


async def test_who_does_not_want_to_be_seen_is_not_from_the_answer_on(system, people):
    alice, bob, carol = people(system, 3)
    await alice.create_group(bob, carol)
    watching, hiding = await alice.connect(), await bob.connect()
    await shows(watching, bob)
    await shows(hiding, alice)

    answer = await bob.request("PUT", "/v1/settings", {"presence": False})
    assert answer.body == {"readReceipts": True, "presence": False}

    await shows(watching, bob, online=False)
    assert "lastSeen" not in of(watching, bob)
    await carol.connect()
    await shows(watching, carol)
    assert of(hiding, carol) is None


@pytest.mark.kills
async def test_users_of_a_killed_fanout_are_gone_and_come_back_elsewhere(double, people):
    alice, bob, carol = people(double, 3)
    await alice.create_group(bob, carol)
    watching = await alice.connect(instance=0)
    await bob.connect(instance=1)
    await carol.connect(instance=1)
    await shows(watching, bob)
    await shows(watching, carol)

    double.kill("fanout", 1)
    again = await carol.connect(instance=0)

    await shows(watching, bob, online=False)
    assert of(watching, bob)["lastSeen"].endswith(":00.000Z")
    await asyncio.sleep(0.5)
    assert is_online(watching, carol)() and is_online(again, alice)()
    assert of(again, bob) is None or not of(again, bob)["online"]
