"""Conversations: created once, found by their members, listed by activity."""

import asyncio

from client import eventually, new_id, token


async def test_a_group_is_created_once_under_its_id(system, people):
    alice, bob, stranger = people(system, 3)
    body = {"id": new_id(), "kind": "group", "members": [bob.name], "title": "Plans"}

    statuses = [
        (await user.request("POST", "/v1/conversations", body)).status for user in (alice, alice, bob, stranger)
    ]

    assert statuses == [201, 200, 200, 409]
    seen = await bob.conversation(body["id"])
    assert (seen["kind"], seen["title"], seen["memberCount"], seen["role"]) == ("group", "Plans", 2, "member")
    assert (await alice.conversation(body["id"]))["role"] == "owner"
    assert seen["windows"] == [{"from": 1}]


async def test_racing_creations_of_a_direct_conversation_make_one(system, people):
    alice, bob = people(system, 2)

    async def create(user, other, instance):
        body = {"kind": "direct", "members": [other.name]}
        return await user.request("POST", "/v1/conversations", body, instance=instance)

    answers = await asyncio.gather(
        *(create(*pair, n % system.instances) for n in range(10) for pair in ((alice, bob), (bob, alice)))
    )

    assert sorted(answer.status for answer in answers) == [200] * 19 + [201]
    [id] = {answer.body["id"] for answer in answers}
    assert id[14] == "8", "a direct conversation has a version 8 id"
    for user in (alice, bob):
        assert [conversation["id"] for conversation in (await user.get("/v1/conversations"))["conversations"]] == [id]


async def test_the_list_shows_the_latest_activity_first_page_by_page(system, people):
    alice, bob = people(system, 2)
    conversations = [await alice.create_group(bob) for _ in range(7)]
    order = [conversations[n] for n in (3, 0, 6, 2, 5, 1, 4)]
    for conversation in order:
        await bob.sent(conversation, f"latest of {conversation}")
        await asyncio.sleep(0.002)  # two activities of one millisecond have no order

    listed, query = [], {"limit": 3}
    while query:
        page = await alice.get("/v1/conversations", **query)
        listed += page["conversations"]
        query = {"limit": 3, "before": page["nextCursor"]} if "nextCursor" in page else None

    assert [conversation["id"] for conversation in listed] == order[::-1]
    assert all(each["lastMessage"]["text"] == f"latest of {each['id']}" for each in listed)
    assert all((each["lastSeq"], each["unreadCount"]) == (2, 1) for each in listed)


async def test_unread_counts_the_messages_of_others_after_what_was_read(system, people):
    alice, bob = people(system, 2)
    conversation = await alice.create_group(bob)
    theirs = [await bob.sent(conversation, f"{n}") for n in range(3)]
    await alice.sent(conversation, "mine")
    assert (await alice.conversation(conversation))["unreadCount"] == 3

    answer = await alice.request("POST", f"/v1/conversations/{conversation}/receipts", {"readSeq": theirs[1]["seq"]})
    assert answer.status == 202

    async def unread_is(count):
        return (await alice.conversation(conversation))["unreadCount"] == count

    await eventually(lambda: unread_is(1))
    await bob.fill(conversation, 150)
    await eventually(lambda: unread_is(100))


async def test_members_are_listed_page_by_page(system, people):
    users = people(system, 12)
    conversation = await users[0].create_group(*users[1:])

    members, query = [], {"limit": 5}
    while query:
        page = await users[3].get(f"/v1/conversations/{conversation}/members", **query)
        assert len(page["members"]) <= 5
        members += page["members"]
        query = {"limit": 5, "after": page["nextCursor"]} if "nextCursor" in page else None

    assert [member["userId"] for member in members] == sorted(user.name for user in users)
    assert {member["role"] for member in members if member["userId"] == users[0].name} == {"owner"}
    assert {member["joinedSeq"] for member in members} == {1}


async def test_an_administrator_acts_for_a_user(system, people):
    alice, application = people(system, 2)
    application.token = token(application.name, adm=True)
    acting = {"X-Parley-User": alice.name}
    body = {"id": new_id(), "kind": "group", "members": []}

    created = await application.request("POST", "/v1/conversations", body, headers=acting)
    refused = await alice.request("POST", "/v1/conversations", body, headers={"X-Parley-User": application.name})

    assert created.status == 201
    assert (await alice.conversation(body["id"]))["role"] == "owner"
    assert (refused.status, refused.code) == (403, "forbidden")
