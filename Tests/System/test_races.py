"""Two clients that write at once through two of every service, and requests that are cut off half-way.

Whatever happens: an acknowledged outcome holds, nothing happens twice under one key, and every session sees the same.
"""

import asyncio
import json
import random
import secrets

import aiohttp
import pytest
from client import PATIENCE, User, new_id
from replica import expect_agreement


class Writer:
    """Writes of users under a key each, repeated until they are answered; remembers all of them."""

    def __init__(self, system, choice: random.Random):
        self.system = system
        self.choice = choice
        self.written: list[tuple[User, str, str, dict | None, str, int]] = []

    async def write(self, user: User, method: str, path: str, body=None, *, half: bool = False) -> int:
        """The status of the outcome. `half`: the first attempt is sent, and its connection closed at once."""
        key = new_id()
        if half:
            await send_half(user, method, path, body, key)
        status = await self.repeat(user, method, path, body, key)
        self.written.append((user, method, path, body, key, status))
        return status

    async def repeat(self, user, method, path, body, key) -> int:
        async with asyncio.timeout(2 * PATIENCE):
            while True:
                instance = self.choice.randrange(self.system.instances)
                try:
                    headers = {"Idempotency-Key": key}
                    answer = await user.request(method, path, body, instance=instance, headers=headers)
                    if answer.status not in (429, 503):
                        return answer.status
                except aiohttp.ClientError:
                    pass  # the process it talked to went away
                await asyncio.sleep(0.05)

    async def repeat_all(self):
        """Every outcome is the same when it is asked for again, and nothing happens by that."""
        for user, method, path, body, key, status in self.written:
            assert await self.repeat(user, method, path, body, key) == status, (method, path, body)


async def send_half(user: User, method: str, path: str, body, key: str):
    address = user.system.address("ingest", user.home).removeprefix("http://").split(":")
    content = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {user.token}\r\n"
        f"Idempotency-Key: {key}\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    try:
        _, stream = await asyncio.open_connection(*address)
        stream.write(head.encode() + content)
        await stream.drain()
        stream.transport.abort()
    except OSError:
        pass  # nobody was there: as if it had not been sent


@pytest.fixture(params=range(3))
def choice(request):
    seed = request.param * 1_000_003 + 17
    print(f"seed {seed}")
    return random.Random(seed)


class Group:
    """alice and bob, the owners, and carol, each with a session that was there before the group."""

    def __init__(self, system, users, sessions):
        self.system = system
        self.users = self.alice, self.bob, self.carol = users
        self.sessions = sessions

    @classmethod
    async def of(cls, system, people):
        users = people(system, 3)
        group = cls(system, users, [await user.connect() for user in users])
        group.id = await group.alice.create_group(group.bob, group.carol)
        group.path = f"/v1/conversations/{group.id}"
        answer = await group.alice.request("PUT", group.member(group.bob), {"role": "owner"})
        assert answer.status == 200, answer
        return group

    def member(self, user) -> str:
        return f"{self.path}/members/{user.name}"

    def message(self, message) -> str:
        return f"{self.path}/messages/{message['id']}"

    async def end(self, writer: Writer, *absent):
        """Nothing moves when everything is repeated, and whoever is there sees the same."""
        present = next(user for user in reversed(self.users) if user not in absent)
        before = (await present.conversation(self.id))["lastSeq"]
        await writer.repeat_all()
        assert (await present.conversation(self.id))["lastSeq"] == before, "a repetition happened again"
        for user, session in zip(self.users, self.sessions):
            if user not in absent:
                await expect_agreement(user, [session], self.id)


@pytest.fixture
async def group(double, people):
    return await Group.of(double, people)


async def race(choice, *writes):
    """Both at once, one of them a little earlier; returns what became of each, in the order given."""

    async def later(write, delay):
        await asyncio.sleep(delay)
        return await write

    delays = [choice.choice((0, 0, 0.001, 0.002)) for _ in writes]
    return await asyncio.gather(*(later(write, delay) for write, delay in zip(writes, delays)))


ROUNDS = 5


async def test_of_two_edits_at_once_one_is_the_later_and_both_are_kept(group, choice):
    writer = Writer(group.system, choice)
    for n in range(ROUNDS):
        message = await group.alice.sent(group.id, "first")
        edits = [
            writer.write(group.alice, "PATCH", group.message(message), {"text": text}) for text in (f"a {n}", f"b {n}")
        ]
        assert await race(choice, *edits) == [200, 200]
        revisions = (await group.carol.get(group.message(message) + "/revisions"))["revisions"]
        texts = [revision["text"] for revision in revisions]
        assert texts[0] == "first" and sorted(texts[1:]) == [f"a {n}", f"b {n}"]
        assert (await group.bob.get(group.message(message)))["text"] == texts[-1]
    await group.end(writer)


@pytest.mark.parametrize("other", ["edit", "tapback"])
async def test_a_deletion_for_everyone_wins_over_what_races_it(group, choice, other):
    writer = Writer(group.system, choice)
    for n in range(ROUNDS):
        message = await group.alice.sent(group.id, f"marker {n}")
        path = group.message(message)
        rival = (
            writer.write(group.alice, "PATCH", path, {"text": f"marker edited {n}"})
            if other == "edit"
            else writer.write(group.bob, "PUT", path + "/tapback", {"kind": "love"})
        )
        deleted, rivals = await race(choice, writer.write(group.alice, "DELETE", path + "?scope=everyone"), rival)
        assert deleted == 204 and rivals in (200, 409)
        for user in group.users:
            tombstone = await user.get(path)
            assert (tombstone["text"], tombstone["deletedForEveryone"], tombstone["tapbacks"]) == (None, True, [])
            assert (await user.request("GET", path + "/revisions")).status == 404
    assert "marker" not in json.dumps(await group.carol.changes(group.id))
    await group.end(writer)


async def test_nothing_is_taken_from_a_member_after_their_removal(group, choice):
    writer = Writer(group.system, choice)
    path = group.member(group.bob)
    for n in range(ROUNDS):
        id = new_id()
        removed, sent = await race(
            choice,
            writer.write(group.alice, "DELETE", path),
            group.bob.send(group.id, f"race {n}", id=id, instance=choice.randrange(2)),
        )
        assert removed == 204 and sent.status in (201, 403)
        changes = await group.alice.changes(group.id)
        removal = [change["seq"] for change in changes if change["kind"] == "member.removed"][-1]
        stored = [change["seq"] for change in changes if change.get("message", {}).get("id") == id]
        assert stored == ([sent.body["seq"]] if sent.status == 201 else []) and all(seq < removal for seq in stored)
        again = await group.bob.send(group.id, f"race {n}", id=id)
        assert again.status == (200 if stored else 403), "the repetition of what was taken is answered"
        assert await writer.write(group.alice, "PUT", path, {"role": "owner"}) == 200
    await group.end(writer, group.bob)


async def test_the_last_owners_may_leave_at_once(double, people, choice):
    for _ in range(2):
        group = await Group.of(double, people)
        writer = Writer(double, choice)
        leaving = (group.alice, group.bob)
        assert await race(choice, *(writer.write(user, "DELETE", group.member(user)) for user in leaving)) == [204, 204]
        members = (await group.carol.get(group.path + "/members"))["members"]
        assert [(member["userId"], member["role"]) for member in members] == [(group.carol.name, "owner")]
        changes = await group.carol.changes(group.id)
        assert [change["userId"] for change in changes if change["kind"] == "member.changed"].count(
            group.carol.name
        ) == 1
        await group.end(writer, *leaving)


async def test_clearing_and_hiding_at_once_leave_nothing_of_either(group, choice):
    writer = Writer(group.system, choice)
    other = await group.bob.connect(instance=1 - group.bob.home)
    for n in range(ROUNDS):
        message = await group.alice.sent(group.id, f"message {n}")
        cleared, hidden = await race(
            choice,
            writer.write(group.bob, "DELETE", group.path + "/history"),
            writer.write(group.bob, "DELETE", group.message(message)),
        )
        assert cleared == 204 and hidden in (204, 404)
        assert (await group.bob.request("GET", group.message(message))).status == 404
        assert (await group.bob.conversation(group.id))["unreadCount"] == 0
        assert (await group.carol.get(group.message(message)))["text"] == f"message {n}"
    await group.end(writer)
    useq = (await group.bob.connect()).welcome["useq"]
    await other.next("private", where=lambda frame: frame["useq"] == useq)
    numbers = [frame["useq"] for frame in other.of("private")]
    assert numbers == sorted(set(numbers)), "each once and in order"


@pytest.mark.kills
async def test_writes_cut_off_half_way_and_repeated_happen_once(group, choice):
    """Clients close right after sending, and stores and ingests are killed meanwhile."""
    writer = Writer(group.system, choice)
    messages = [await group.alice.sent(group.id, "original") for _ in range(6)]
    texts: dict[str, list[str]] = {message["id"]: [] for message in messages}
    titles, reactions, added = [], set(), []
    work = []
    for n in range(60):
        half = choice.random() < 0.6
        match choice.randrange(4):
            case 0 | 1:
                message = choice.choice(messages)
                texts[message["id"]].append(f"edit {n}")
                work.append((group.alice, "PATCH", group.message(message), {"text": f"edit {n}"}, half))
            case 2:
                titles.append(f"title {n}")
                user = choice.choice(group.users)
                work.append((user, "PATCH", group.path, {"title": f"title {n}"}, half))
            case 3:
                user, message = choice.choice(group.users), choice.choice(messages)
                if (user.name, message["id"]) in reactions:
                    continue
                reactions.add((user.name, message["id"]))
                path = group.message(message) + "/tapback"
                work.append((user, "PUT", path, {"kind": choice.choice(("love", "like", "🧗"))}, half))
    for _ in range(4):
        added.append(f"guest-{secrets.token_hex(6)}")
        work.append((group.bob, "PUT", f"{group.path}/members/{added[-1]}", {}, True))
    choice.shuffle(work)

    turns = asyncio.Semaphore(8)

    async def write(user, method, path, body, half):
        async with turns:
            await asyncio.sleep(choice.random() * 0.4)
            return await writer.write(user, method, path, body, half=half)

    async def kill():
        for _ in range(3):
            await asyncio.sleep(choice.random() * 0.2)
            group.system.kill(choice.choice(("store", "ingest")), choice.randrange(2))
            await asyncio.to_thread(group.system.revive)

    statuses, _ = await asyncio.gather(asyncio.gather(*(write(*each) for each in work)), kill())

    assert set(statuses) == {200}
    changes = await group.carol.changes(group.id)
    edits = [change for change in changes if change["kind"] == "message.edited"]
    assert len(edits) == sum(map(len, texts.values()))
    for message in messages:
        revisions = (await group.carol.get(group.message(message) + "/revisions"))["revisions"]
        kept = [revision["text"] for revision in revisions]
        assert kept[0] == "original" and sorted(kept[1:]) == sorted(texts[message["id"]])
    renamed = [change["title"] for change in changes if change["kind"] == "conversation.renamed"]
    assert sorted(renamed) == sorted(titles)
    reacted = [(change["actorId"], change["message"]["id"]) for change in changes if change["kind"] == "tapback.set"]
    assert sorted(reacted) == sorted(reactions)
    joined = [change["userId"] for change in changes if change["kind"] == "member.added"]
    assert sorted(joined) == sorted(added)
    await group.end(writer)
