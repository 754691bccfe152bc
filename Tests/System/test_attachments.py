"""Messages that carry files: who reads them, and what becomes of the bytes."""

import uuid

import pytest
from client import new_id
from test_media import expect_problem
from uploads import TUS, Uploader, eventually, stored_files


@pytest.fixture
def upload(single):
    """Uploads a file of a user and returns its path and id."""
    single.revive()

    def made(user, content: bytes, name: str = "plan.txt") -> tuple[str, str]:
        path = Uploader(single, user.name).upload(content, name)
        return path, path.rpartition("/")[2]

    return made


def status(system, user, path: str) -> int:
    return Uploader(system, user.name).call("GET", path + "/content").status_code


async def test_who_sees_a_message_reads_what_it_carries(single, people, upload):
    alice, bob, carol = people(single, 3)
    path, file = upload(alice, b"the plan")
    conversation = await alice.create_group(bob)
    session = await bob.connect()
    assert status(single, bob, path) == 404

    sent = await alice.request(
        "POST", f"/v1/conversations/{conversation}/messages", {"id": new_id(), "attachments": [{"id": file}]}
    )
    assert sent.status == 201 and not sent.body.get("text"), sent
    [attachment] = sent.body["attachments"]
    expected = {"id": file, "name": "plan.txt", "type": "application/octet-stream", "size": 8}
    assert {key: attachment[key] for key in expected} == expected
    await session.reach(conversation, sent.body["seq"])
    assert session.changes(conversation)[-1]["message"]["attachments"] == [attachment]
    assert (await bob.history(conversation))[-1]["attachments"] == [attachment]
    assert (await bob.changes(conversation))[-1]["message"]["attachments"] == [attachment]

    read = Uploader(single, bob.name).call("GET", path + "/content")
    assert read.status_code == 200 and read.content == b"the plan"
    expect_problem(Uploader(single, carol.name).call("GET", path + "/content"), 404, "notFound")
    conflict = Uploader(single, alice.name).call("DELETE", path, headers=TUS)
    expect_problem(conflict, 409, "conflict")


async def test_a_file_is_found_by_its_name(single, people, upload):
    alice, bob = people(single, 2)
    name = f"report{uuid.uuid4().hex}.txt"
    _, file = upload(alice, b"numbers", name)
    conversation = await alice.create_group(bob)
    sent = await alice.sent(conversation, "as you asked", attachments=[{"id": file}])

    async def hits() -> list[str]:
        found = await bob.get("/v1/search", q=name.removesuffix(".txt"))
        return [result["message"]["id"] for result in found["results"]]

    for _ in range(200):
        if await hits() == [sent["id"]]:
            return
    pytest.fail("the file is not found")


async def test_who_comes_later_or_has_left_reads_no_file_of_the_other_time(single, people, upload):
    alice, bob, carol = people(single, 3)
    conversation = await alice.create_group(bob)
    early, first = upload(alice, b"early")
    await alice.sent(conversation, "early", attachments=[{"id": first}])
    added = await alice.request("PUT", f"/v1/conversations/{conversation}/members/{carol.name}", {})
    assert added.status in (200, 201), added
    removed = await bob.request("DELETE", f"/v1/conversations/{conversation}/members/{bob.name}")
    assert removed.status in (200, 204), removed
    late, second = upload(alice, b"late")
    await alice.sent(conversation, "late", attachments=[{"id": second}])
    assert (status(single, bob, early), status(single, bob, late)) == (200, 404)
    assert (status(single, carol, early), status(single, carol, late)) == (404, 200)


async def test_a_deletion_for_everyone_takes_the_bytes_when_no_other_message_carries_them(single, people, upload):
    alice, bob = people(single, 2)
    path, file = upload(alice, b"twice")
    conversation = await alice.create_group(bob)
    first, second = [await alice.sent(conversation, text, attachments=[{"id": file}]) for text in ("one", "two")]
    assert status(single, bob, path) == 200
    await delete(alice, conversation, first)
    assert (await bob.history(conversation))[-2].get("attachments") in (None, [])
    assert status(single, bob, path) == 200
    await delete(alice, conversation, second)
    eventually(lambda: not stored_files(single, path), "the bytes are removed")
    assert (status(single, alice, path), status(single, bob, path)) == (404, 404)
    # A repetition of the send is still one.
    again = await alice.send(conversation, "two", id=second["id"], attachments=[{"id": file}])
    assert again.status == 200 and again.body["deletedAt"], again


async def delete(user, conversation: str, message: dict):
    done = await user.request("DELETE", f"/v1/conversations/{conversation}/messages/{message['id']}?scope=everyone")
    assert done.status in (200, 204), done


async def test_what_a_message_may_carry(single, people, upload):
    alice, bob = people(single, 2)
    conversation = await alice.create_group(bob)
    _, others = upload(bob, b"bob's")
    unfinished = Uploader(single, alice.name).created(10).rpartition("/")[2]
    for ids, code in [
        ([others], "notFound"),
        ([new_id()], "notFound"),
        ([unfinished], "mediaNotReady"),
        ([others] * 2, "invalid"),
        ([new_id() for _ in range(11)], "tooLarge"),
    ]:
        answer = await alice.send(conversation, "see", attachments=[{"id": id} for id in ids])
        assert answer.code == code, (ids, answer)
    assert [message["text"] for message in await bob.history(conversation) if message["kind"] == "text"] == []


@pytest.mark.kills
async def test_a_deletion_reaches_media_though_everything_is_killed(single, people, upload):
    alice, bob = people(single, 2)
    path, file = upload(alice, b"gone")
    conversation = await alice.create_group(bob)
    message = await alice.sent(conversation, "soon gone", attachments=[{"id": file}])
    single.kill("media")
    await delete(alice, conversation, message)
    single.kill("store")
    single.revive()
    eventually(lambda: not stored_files(single, path), "the bytes are removed")
