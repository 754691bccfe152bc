"""Messages that are kept no longer, while people write, follow, and are away."""

import asyncio

from client import Session, User, eventually, new_id, token
from digests import Copy, digest, expect_equal_digests, followed
from system import earlier


async def set_days(administrator: User, conversation: str, days: int):
    answer = await administrator.request("PUT", f"/v1/conversations/{conversation}/retention", {"days": days})
    assert answer.status == 204, answer


async def age(system, conversation: str, through: int):
    """Has all messages up to a position be 40 days old."""
    await asyncio.to_thread(
        system.sql,
        f"UPDATE store.messages SET created_at = {earlier('created_at', 40 * 86_400)} "
        f"WHERE conversation_id = '{conversation}' AND seq <= {through}",
    )


async def done(user: User, method: str, path: str, body=None):
    answer = await user.request(method, path, body)
    assert answer.status in (200, 201, 204), answer


async def catch_up(copy: Copy, user: User, session: Session, conversation: str, after: int):
    """As a client does that gets `reload`: it reads the pages behind its cursor."""
    frame = await session.next("reload")
    assert frame["conversationId"] == conversation
    for change in await user.changes(conversation, after):
        copy.take_change(change)
    for frame in session.of("change"):
        copy.take_change(frame["change"])


async def test_who_was_away_and_who_followed_have_what_a_new_client_has(system, people):
    alice, bob, carol, administrator = people(system, 4)
    administrator.token = token(administrator.name, adm=True)
    group = await alice.create_group(bob, carol, title="Before")
    path = f"/v1/conversations/{group}"
    session, away = await alice.connect(cursors={group: 1}), await bob.connect(cursors={group: 1})
    messages = await alice.fill(group, 1_500)
    for message in messages[::100]:
        await done(bob, "PUT", f"{path}/messages/{message['id']}/tapback", {"kind": "love"})
        await done(alice, "PATCH", f"{path}/messages/{message['id']}", {"text": "pebble"})
    await done(alice, "PATCH", path, {"title": "After"})
    last = messages[-1]["seq"]
    await away.reach(group, last)
    kept = await followed(away, bob, group)
    cursor = max(change["seq"] for change in kept.changes.values())
    await away.close()
    # Bob is away: members come and go, and messages are written that he never sees.
    await done(alice, "DELETE", f"{path}/members/{carol.name}")
    unseen = await alice.fill(group, 50)
    await done(alice, "PUT", f"{path}/members/{carol.name}", {})
    latest = await alice.fill(group, 7)
    assert (await bob.request("POST", f"{path}/receipts", {"readSeq": 10})).status == 202

    await set_days(administrator, group, 30)
    await age(system, group, unseen[-1]["seq"])
    writing = asyncio.create_task(alice.fill(group, 20))
    kept_from = unseen[-1]["seq"] + 1

    async def is_trimmed() -> bool:
        return (await alice.conversation(group)).get("keptFrom") == kept_from

    await eventually(is_trimmed)
    newest = await writing
    assert await bob.history(group) == [m for m in await bob.history(group) if m["seq"] >= kept_from]
    shown = await bob.conversation(group)
    assert (shown["unreadCount"], shown["title"], shown["readSeq"]) == (len(latest) + len(newest), "After", 10)
    assert (await bob.get("/v1/search", q="pebble", conversationId=group))["results"] == []
    assert (await bob.request("GET", f"{path}/messages/{messages[0]['id']}")).status == 404

    back = await bob.connect(cursors={group: cursor})
    await catch_up(kept, bob, back, group, cursor)
    sent = await alice.sent(group, "Good morning")
    await back.reach(group, sent["seq"])
    kept.take_change(back.changes(group)[-1])
    for message in await bob.history(group):
        kept.take_message(message)
    await back.quiet()
    server = await digest(bob, group)
    assert kept.differing_pages(server["pages"]) == []
    assert min(message["seq"] for message in kept.messages.values()) >= kept_from
    await expect_equal_digests(alice, group, session)
    await expect_equal_digests(carol, group)


async def test_a_repeated_send_is_known_as_long_as_its_message_is_kept(single, people):
    alice, administrator = people(single, 2)
    administrator.token = token(administrator.name, adm=True)
    group, id = await alice.create_group(), new_id()
    body = {"id": id, "text": "once"}
    path = f"/v1/conversations/{group}/messages"
    assert (await alice.request("POST", path, body)).status == 201
    await set_days(administrator, group, 30)
    assert (await alice.request("POST", path, body)).status == 200
    await age(single, group, 2)

    async def is_gone() -> bool:
        return (await alice.request("GET", f"{path}/{id}")).status == 404

    await eventually(is_gone)
    assert (await alice.request("POST", path, body)).status == 201, "another message, at another position"
