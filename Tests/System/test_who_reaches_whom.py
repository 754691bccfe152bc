"""Strangers, whoever is blocked or was removed, and a moderator, each through all that befalls them."""

from client import eventually, new_id, token
from test_presence import is_online, shows


async def direct(user, other) -> str:
    answer = await user.request("POST", "/v1/conversations", {"kind": "direct", "members": [other.name]})
    assert answer.status in (200, 201), answer
    return answer.body["id"]


async def listed(user) -> list[str]:
    return [conversation["id"] for conversation in (await user.get("/v1/conversations"))["conversations"]]


async def asked(user) -> list[str]:
    return [request["conversation"]["id"] for request in (await user.get("/v1/requests"))["requests"]]


async def texts(user, conversation) -> list[str]:
    return [message["text"] for message in await user.history(conversation) if message["kind"] != "system"]


async def done(user, method, path, body=None, status=204):
    answer = await user.request(method, path, body)
    assert answer.status == status, answer
    return answer.body


async def test_two_strangers(asking, people):
    alice, bob, carol = people(asking, 3)
    phone, screen = await alice.connect(), await bob.connect()
    pair, group = await direct(bob, alice), await bob.create_group(alice, carol, title="Buy now")
    said = await bob.sent(pair, "Hello, I am new here")
    await phone.next("private", where=lambda frame: frame["kind"] == "request" and frame["conversationId"] == pair)
    assert set(await asked(alice)) == {pair, group} and await listed(alice) == []
    assert await texts(alice, pair) == ["Hello, I am new here"], "she looks at it first"
    assert (await alice.get("/v1/unread"))["messages"] == 0
    await done(alice, "DELETE", f"/v1/conversations/{group}/acceptance")
    await bob.sent(group, "Is anybody there?")
    # Nothing of hers has gone out, and what follows is the first that he sees of her.
    assert screen.of("presence") == [] and not [frame for frame in screen.of("status") if alice.name in str(frame)]
    await done(alice, "PUT", f"/v1/conversations/{pair}/acceptance")
    reply = await alice.sent(pair, "Hello, Bob")
    await screen.reach(pair, reply["seq"])
    await phone.say("read", conversationId=pair, seq=said["seq"])
    is_read = lambda frame: frame["conversationId"] == pair and alice.name in frame.get("read", {})  # noqa: E731
    await screen.next("status", where=is_read)
    await shows(screen, alice)
    assert await listed(alice) == [pair] and await asked(alice) == []
    # They know each other now.
    known = await bob.create_group(alice)
    assert known in await listed(alice) and await asked(alice) == []


async def test_whoever_is_blocked(asking, people):
    alice, bob, carol = people(asking, 3)
    pair = await direct(alice, bob)
    group = await alice.create_group(bob, carol)
    await alice.request("PUT", f"/v1/conversations/{pair}/acceptance")
    for conversation in (pair, group):
        await bob.request("PUT", f"/v1/conversations/{conversation}/acceptance")
        await carol.request("PUT", f"/v1/conversations/{conversation}/acceptance")
    watching, screen = await alice.connect(), await bob.connect()
    await shows(screen, alice)
    await done(alice, "PUT", f"/v1/blocks/{bob.name}")
    await shows(screen, alice, online=False)
    unseen = await bob.sent(pair, "Can you see this?")
    assert unseen["seq"] > 0, "he is not told"
    assert "Can you see this?" not in await texts(alice, pair)
    again = await bob.create_group(alice, title="Again")
    assert again not in await listed(alice) + await asked(alice)
    # In the group both stay, and everybody is counted.
    shared = await bob.sent(group, "To all")
    await watching.reach(group, shared["seq"])
    view = await bob.conversation(pair)
    assert view["memberCount"] == 2 and is_online(screen, alice, expected=False)()
    # When it is over he asks again, and what he sent meanwhile is never shown.
    await done(alice, "DELETE", f"/v1/blocks/{bob.name}")
    assert "Can you see this?" not in str((await alice.request("GET", f"/v1/conversations/{pair}/messages")).body)
    await bob.sent(pair, "And this?")
    await eventually(lambda: shown(alice, pair, "And this?"))
    assert "Can you see this?" not in await texts(alice, pair)


async def shown(user, conversation, text) -> bool:
    return text in await texts(user, conversation)


async def test_whoever_was_removed(single, people):
    alice, bob, carol, dora = people(single, 4)
    group = await alice.create_group(bob, carol, dora)
    members = f"/v1/conversations/{group}/members"
    invitation = await done(carol, "POST", f"/v1/conversations/{group}/invitations", {"id": new_id()}, 201)
    screen = await bob.connect()
    await done(alice, "PUT", f"{members}/{carol.name}", {"role": "admin"}, 200)
    await done(carol, "DELETE", f"{members}/{bob.name}")
    await screen.next("private", where=lambda frame: frame["kind"] == "conversation.left")
    after = await alice.sent(group, "Without Bob")
    assert after["text"] not in await texts(bob, group)
    assert (await bob.send(group, "Let me in")).status == 403
    assert (await bob.request("POST", f"/v1/invitations/{invitation['code']}")).status == 404
    assert (await dora.request("PUT", f"{members}/{bob.name}", {})).status == 403, "a member does not bring him back"
    assert [ban["userId"] for ban in (await alice.get(f"/v1/conversations/{group}/bans"))["bans"]] == [bob.name]
    await done(alice, "DELETE", f"/v1/conversations/{group}/bans/{bob.name}")
    await done(dora, "PUT", f"{members}/{bob.name}", {}, 200)
    assert after["text"] not in await texts(bob, group), "of the time between he sees nothing"
    assert (await bob.send(group, "Thank you")).status == 201


async def test_a_moderator(single, people):
    alice, spammer, victim = people(single, 3)
    (moderator,) = people(single, 1)
    moderator.token = token(moderator.name, adm=True)
    group = await alice.create_group(spammer)
    bad = await spammer.sent(group, "Buy now")
    report = {"id": new_id(), "conversationId": group, "messageId": bad["id"], "userId": spammer.name, "reason": "spam"}
    await done(alice, "POST", "/v1/reports", report, 201)
    waiting = await reported(moderator, report["id"])
    assert (waiting["message"]["text"], waiting["reporterId"]) == ("Buy now", alice.name)
    # Deleted as its sender, who then may only read, and is told until when and not why.
    acting = {"headers": {"X-Parley-User": spammer.name}}
    path = f"/v1/conversations/{group}/messages/{bad['id']}?for=everyone"
    assert (await moderator.request("DELETE", path, **acting)).status == 204
    suspension = f"/v1/users/{spammer.name}/suspension"
    await done(moderator, "PUT", suspension, {"mode": "readOnly", "reason": "Case 7"})
    refused = await spammer.send(group, "Buy more")
    assert (refused.status, refused.body["code"], "Case 7" in str(refused)) == (403, "suspended", False)
    # Unheard, nobody new hears of him, and he goes on as if nothing was.
    await done(moderator, "PUT", suspension, {"mode": "unheard"})
    await eventually(lambda: may_send(spammer, group))
    pair = await direct(spammer, victim)
    assert (await spammer.sent(pair, "Psst"))["text"] == "Psst"
    assert await listed(victim) == [] and await texts(alice, group) != []
    resolution = f"/v1/conversations/{group}/reports/{report['id']}/resolution"
    await done(moderator, "POST", resolution, {"action": "suspended"}, 200)
    log = (await moderator.get("/v1/audit", limit=500))["acts"]
    acts = [act for act in log if act["administratorId"] == moderator.name]
    calls = [act["call"] for act in acts]
    assert calls == ["deleteMessage", "suspendUser", "suspendUser", "resolveReport"], calls
    assert "Buy now" not in str(acts)


async def reported(moderator, id: str) -> dict:
    """From the queue, in which there are those of other tests as well."""
    page = await moderator.get("/v1/reports")
    while not (found := [each for each in page["reports"] if each["id"] == id]):
        page = await moderator.get("/v1/reports", after=page["nextCursor"])
    return found[0]


async def may_send(user, group) -> bool:
    return (await user.send(group, "Am I back?")).status == 201
