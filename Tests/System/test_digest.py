"""The digest of a conversation: what clients compute from what came to them is what the server says, and what differs
is found."""

import asyncio
import json
from dataclasses import replace

import pytest
from client import new_id
from digests import Copy, change_line, copied, digest, expect_equal_digests, followed, message_line, sha256
from system import EXECUTABLES, REPOSITORY

EXAMPLE = json.loads((REPOSITORY / "Services/Ingest/openapi.json").read_text())["x-parley-digest-example"]


def test_the_documented_example_has_these_lines_and_digests():
    mine = Copy()
    for change in EXAMPLE["changes"]:
        mine.take_change(change)
    assert mine.change_lines(1, 1_000).splitlines() == EXAMPLE["changeLines"]
    assert mine.message_lines(1, 1_000).splitlines() == EXAMPLE["stateLines"]
    assert mine.differing_pages(EXAMPLE["answer"]["pages"]) == []


async def act(user, method, path, body=None, status=(200, 204)):
    answer = await user.request(method, path, body)
    assert answer.status in status, answer
    return answer.body


async def test_whatever_happens_every_client_has_the_digests_of_the_server(system, people):
    alice, bob, carol = people(system, 3)
    sessions = {user: await user.connect() for user in (alice, bob, carol)}
    group = await alice.create_group(bob, title="Before")
    path = f"/v1/conversations/{group}"
    messages = [await alice.sent(group, text) for text in ("one", "two\n \u2028 líne", "three", "🧗🏽 four", "five")]
    at = [f"{path}/messages/{message['id']}" for message in messages]
    await bob.sent(group, "an answer", reply_to=messages[0]["id"], mentions=[alice.name, bob.name])
    await act(alice, "PATCH", at[0], {"text": "one, edited"})
    for user, kind in ((alice, "❤️"), (bob, "🧗🏽"), (bob, "love"), (alice, "dislike")):
        await act(user, "PUT", f"{at[1]}/tapback", {"kind": kind})
    await act(alice, "PUT", f"{at[2]}/tapback", {"kind": "☝️"})
    await act(bob, "PUT", f"{at[2]}/tapback", {"kind": "☝🏽"})
    await act(alice, "DELETE", f"{at[2]}/tapback")
    await act(alice, "PUT", f"{path}/members/{carol.name}", {"role": "owner"})
    await act(alice, "DELETE", f"{at[3]}?scope=everyone")
    await act(bob, "DELETE", at[4])
    await act(carol, "PATCH", path, {"title": "After"})
    await expect_equal_digests(alice, group, sessions[alice])
    await expect_equal_digests(bob, group, sessions[bob])
    await expect_equal_digests(carol, group, sessions[carol])
    hidden = await digest(bob, group)
    assert hidden["useq"] > 0 and hidden["pages"] != (await digest(alice, group))["pages"]

    await act(alice, "DELETE", f"{path}/history?through={messages[2]['seq']}")
    system_message = [message for message in await bob.history(group) if message["kind"] == "system"][-1]
    await act(bob, "DELETE", f"{path}/messages/{system_message['id']}")
    await act(carol, "DELETE", f"{path}/members/{carol.name}")
    await act(bob, "PUT", f"{at[1]}/tapback", {"kind": "laugh"})
    for user in (alice, bob, carol):
        await expect_equal_digests(user, group, sessions[user])


async def test_the_command_line_verifies_what_a_user_reads(system, people):
    alice, bob = people(system, 2)
    group, other = await alice.create_group(bob), await alice.create_group()
    messages = await alice.fill(group, 1_100)
    await act(alice, "DELETE", f"/v1/conversations/{group}/messages/{messages[7]['id']}")
    await act(bob, "DELETE", f"/v1/conversations/{group}/history?through=900")
    for user, conversations in ((alice, [other, group]), (bob, [group])):
        done = await asyncio.to_thread(
            system.run, EXECUTABLES / "parley", "verify", "--user", user.name, "--http", system.address("ingest")
        )
        assert done.returncode == 0, done.stdout
        assert sorted(line.split()[:2] for line in done.stdout.splitlines()) == sorted(
            [conversation, "equal,"] for conversation in conversations
        )
        assert f"{group} equal, 2 pages up to position 1101" in done.stdout


async def test_a_copy_that_differs_is_found_by_its_page(single, people):
    alice, bob = people(single, 2)
    group = await alice.create_group(bob)
    await alice.fill(group, 2_200)
    session = await bob.connect(cursors={group: 2_000})
    server = await digest(bob, group)
    assert [(page["fromSeq"], page["toSeq"]) for page in server["pages"]] == [(1, 1000), (1001, 2000), (2001, 2201)]
    await expect_equal_digests(bob, group, session)
    mine = await copied(bob, group)
    victim = next(message for message in mine.messages.values() if message["seq"] == 1_500)

    for fields in (
        {"text": victim["text"] + " "},
        {"text": None},
        {"editedAt": victim["createdAt"]},
        {"senderId": bob.name},
        {"tapbackCounts": {"love": 1}},
        {"mentions": [bob.name]},
        {"replyTo": {"messageId": new_id()}},
        {"seq": 2_100},
    ):
        other = replace(mine, messages=mine.messages | {victim["id"]: victim | fields})
        moved = [(2001, "state")] if "seq" in fields else []
        assert other.differing_pages(server["pages"]) == [(1001, "state"), *moved], fields

    for seq in (1, 1_000, 1_001, 2_000, 2_001, 2_201):
        page = (seq - 1) // 1_000 * 1_000 + 1
        change = mine.changes[seq]
        for wrong in (change | {"actorId": "x"}, change | {"kind": "message.edited"}, change | {"seq": 3_000}):
            other = replace(mine, changes=mine.changes | {seq: wrong})
            assert other.differing_pages(server["pages"]) == [(page, "changes")]
        lost = replace(mine, changes={at: change for at, change in mine.changes.items() if at != seq})
        assert lost.differing_pages(server["pages"]) == [(page, "changes")]
        kept = {id: message for id, message in mine.messages.items() if message["seq"] != seq}
        lost = replace(mine, messages=kept).differing_pages(server["pages"])
        assert lost == ([(page, "state")] if seq > 1 else []), "the creation of a conversation is no message"


async def test_pages_are_asked_for_from_any_position_in_any_number(system, people):
    alice, bob = people(system, 2)
    group = await alice.create_group()
    await alice.fill(group, 2_200)
    await act(alice, "PUT", f"/v1/conversations/{group}/members/{bob.name}", {})
    await bob.sent(group, "late")
    every = (await digest(alice, group))["pages"]

    async def pages(user=alice, **query):
        answer = await user.get(f"/v1/conversations/{group}/digest", **query)
        return [page["fromSeq"] for page in answer["pages"]], answer["more"]

    assert await pages(limit=1) == ([1], True)
    assert await pages(limit=2) == ([1, 1001], True)
    assert await pages(limit=3) == ([1, 1001, 2001], False)
    assert await pages(after=999, limit=1) == ([1], True)
    assert await pages(after=1000, limit=1) == ([1001], True)
    assert await pages(after=2202, limit=1) == ([2001], False)
    assert await pages(after=2203) == ([], False)
    assert await pages(after=9007199254740991) == ([], False)
    assert (await digest(alice, group, limit=1))["pages"] == every
    assert await pages(bob) == ([2001], False), "what is before a stay is left out"
    theirs = (await digest(bob, group))["pages"]
    added = next(change for change in await bob.changes(group) if change["seq"] == 2202)
    late = next(message for message in await bob.history(group) if message["seq"] == 2203)
    lines = change_line(added) + f"2203 message.created {late['id']} {bob.name}\n"
    assert theirs[0] == {
        "fromSeq": 2001,
        "toSeq": 2203,
        "changes": sha256(lines),
        "state": sha256(message_line(late)),
    }


async def test_who_has_left_and_who_comes_back_compare_what_they_see(system, people):
    alice, bob, stranger = people(system, 3)
    group = await alice.create_group(bob)
    path = f"/v1/conversations/{group}"
    session = await bob.connect(cursors={group: 0})
    first, second = [await alice.sent(group, text) for text in ("first", "second")]
    await act(alice, "DELETE", f"{path}/members/{bob.name}")
    before = await digest(bob, group)
    await expect_equal_digests(bob, group, session)
    await act(alice, "PATCH", f"{path}/messages/{first['id']}", {"text": "not for bob"})
    await act(alice, "PUT", f"{path}/messages/{first['id']}/tapback", {"kind": "love"})
    await alice.sent(group, "nor this")
    assert await digest(bob, group) == before, "what comes after one's stay changes nothing"

    # The one thing that reaches a former member, and no change tells of it: found by its page.
    await act(alice, "DELETE", f"{path}/messages/{second['id']}?scope=everyone")
    after = await digest(bob, group)
    mine = await followed(session, bob, group)
    assert mine.differing_pages(after["pages"]) == [(1, "state")] and mine.differing_pages(before["pages"]) == []
    assert (await copied(bob, group)).differing_pages(after["pages"]) == []

    await act(alice, "PUT", f"{path}/members/{bob.name}", {})
    await bob.sent(group, "back again")
    await expect_equal_digests(bob, group)
    mine = await followed(session, bob, group)
    for message in await bob.history(group):
        mine.messages[message["id"]] = message
    await session.reach(group, (await digest(bob, group))["lastSeq"])
    mine.changes |= {change["seq"]: change for change in session.changes(group)}
    mine.messages = {id: each for id, each in mine.messages.items() if each["kind"] != "system"}
    assert mine.differing_pages((await digest(bob, group))["pages"]) == [], "one reading of the history repairs it"
    answer = await stranger.request("GET", f"{path}/digest")
    assert (answer.status, answer.code) == (404, "notFound")


@pytest.mark.parametrize("query", ["limit=0", "limit=21", "limit=x", "after=-1", "after=", "after=1&after=2"])
async def test_a_wrong_page_is_refused(single, people, query):
    [alice] = people(single, 1)
    answer = await alice.request("GET", f"/v1/conversations/{await alice.create_group()}/digest?{query}")
    assert (answer.status, answer.code) == (400, "invalid")
