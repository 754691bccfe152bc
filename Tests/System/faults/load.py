"""Clients that write, read and watch while things go wrong, and what they saw of it."""

import asyncio
import itertools
import json
import random
import time
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass

import aiohttp
from client import User, new_id
from digests import SlimCopy, change_line, digest
from replica import Replica

from faults.book import Ending, Finding, Write
from faults.device import Device
from faults.files import ATTEMPT_SECONDS, GIVE_UP_SECONDS, Files

MEMBERS = 4
STAYS_LIMIT = 100
"""Of one user in one conversation (`PutMember.staysLimit`)."""
FILES = 0.06
"""Of what the second member writes, so many messages carry a file."""
KINDS = {0: ("love", "like"), 1: ("dislike", "laugh"), 2: ("emphasize", "question")}
"""The tapbacks of each writer of a conversation: each of their writes changes something."""


@dataclass
class Digests:
    """How much was compared with what the server says: copies of conversations, and their pages of two digests each."""

    copies: int = 0
    pages: int = 0
    differing: int = 0
    """copies with a page that is not as the server says"""


class Talk:
    """A conversation under load: an owner with two devices that write, a member who writes, two who read, a guest."""

    def __init__(self, id: str, members: list[User], guest: User):
        self.id = id
        self.members = members
        self.guest = guest
        self.guest_is_in = False
        self.guest_stays = 0
        self.messages: list[tuple[str, str]] = []
        """Acknowledged and, as far as the clients know, not deleted: id and sender."""
        self.hidden: set[tuple[str, str]] = set()
        """User and message."""
        self.last_seq = 1
        self.writes: list[Write] = []

    @property
    def path(self) -> str:
        return f"/v1/conversations/{self.id}"


class Load:
    """All clients of a run. They are given up to nobody: every write is repeated until it is answered."""

    def __init__(self, system, seed: int, *, conversations: int, users: int, pace_seconds: float):
        self.system = system
        self.seed = seed
        self.pace_seconds = pace_seconds
        self.talks: list[Talk] = []
        self.devices: list[Device] = []
        self.findings: list[Finding] = []
        self.files = Files(self.findings)
        self.deleted: list[tuple[Talk, str, str, float]] = []
        """Acknowledged deletions for everyone: conversation, message, its text, when."""
        self.probes = 0
        self.digests = Digests()
        self._texts: dict[str, str] = {}
        self._reactions: dict[tuple[str, int, str], str] = {}
        self._counts = (conversations, users)
        self._wake = asyncio.Event()
        self._is_over = False
        self._tasks: list[asyncio.Task] = []
        self._homes: dict[str, int] = {}

    @property
    def writes(self) -> list[Write]:
        return [write for talk in self.talks for write in talk.writes]

    # Beginning and ending

    async def begin(self):
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=ATTEMPT_SECONDS)
        self.http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout)
        conversations, count = self._counts
        tag = new_id()[:8]
        users = [User(self.system, f"u{n}-{tag}", self.http, home=n % 2) for n in range(count)]
        guests = [User(self.system, f"g{n}-{tag}", self.http, home=n % 2) for n in range(max(1, count // 3))]
        self.stranger = User(self.system, f"stranger-{tag}", self.http)
        for n in range(conversations):
            members = [users[(n + k * (1 + n // count)) % count] for k in range(MEMBERS)]
            id = await self.create(*members)
            self.talks.append(Talk(id, members, guests[n % len(guests)]))
        for user in users:
            cursors = {talk.id: 1 for talk in self.talks if user in talk.members}
            self.add_device(Device(user, self.http, cursors))
        for guest in guests:
            self.add_device(Device(guest, self.http, {}, is_member=False))
        while not all(device.is_welcome for device in self.devices):
            await asyncio.sleep(0.01)
        for talk in self.talks:
            for number, user in enumerate((talk.members[0], talk.members[0], talk.members[1])):
                self._tasks.append(asyncio.create_task(self._write_on(talk, user, number)))
        self._tasks.append(asyncio.create_task(self._look_for_what_was_deleted()))

    async def create(self, owner: User, *others: User) -> str:
        """A group, asked for under one id until it is there."""
        body = {"id": new_id(), "kind": "group", "members": [user.name for user in others]}
        while True:
            answer = await owner.request("POST", "/v1/conversations", body)
            if answer.status in (200, 201):
                return answer.body["id"]
            assert answer.status in (429, 503), answer
            await asyncio.sleep(0.2)

    def add_device(self, device: Device):
        self.devices.append(device)
        self._tasks.append(asyncio.create_task(device.stay()))

    def hurry(self):
        """Everybody who waits for their time writes now."""
        self._wake.set()
        self._wake = asyncio.Event()

    async def end(self) -> list[Ending]:
        """Lets everybody finish what they began, then reads what there is."""
        self._is_over = True
        self.hurry()
        await asyncio.gather(*(task for task in self._tasks if not task.get_coro().__name__ == "stay"))
        return await self._read_everything()

    async def close(self):
        for device in self.devices:
            await device.leave()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.http.close()

    # Writing

    async def _write_on(self, talk: Talk, user: User, number: int):
        choice = random.Random(f"{self.seed}/{self.talks.index(talk)}/{number}")
        await asyncio.sleep(choice.uniform(0, self.pace_seconds))
        turn = 0
        while not self._is_over:
            await self._write_one(talk, user, number, choice, turn := turn + 1)
            wake = self._wake
            try:
                await asyncio.wait_for(wake.wait(), self.pace_seconds * choice.uniform(0.5, 1.5))
            except TimeoutError:
                pass

    async def _write_one(self, talk: Talk, user: User, number: int, choice: random.Random, turn: int):
        recent = [each for each in talk.messages[-20:] if (user.name, each[0]) not in talk.hidden]
        own = [id for id, sender in recent if sender == user.name]
        mine = choice.choice(own) if own else None
        any_message = choice.choice(recent)[0] if recent else None
        what = choice.random()
        if what < FILES and number == 1:
            await self._send_file(talk, user, number, f"{number}.{turn} {new_id()}", choice)
        elif what < 0.6 or not mine:
            reply_to = any_message if choice.random() < 0.2 and any_message not in self.files.carried else None
            await self.send(talk, user, number, f"{number}.{turn} {new_id()}", reply_to)
        elif what < 0.7:
            await self._edit(talk, user, number, mine, f"edit {number}.{turn} {new_id()}")
        elif what < 0.77:
            await self._delete(talk, user, number, mine)
        elif what < 0.87:
            kind = KINDS[number][turn % 2]
            await self._react(talk, user, number, any_message, None if choice.random() < 0.2 else kind, turn)
        elif number == 0:
            await self._invite_or_remove(talk, user)
        elif number == 1:
            title = f"title {turn} {new_id()}"
            await self._call(talk, user, number, Write("rename", *self._who(talk, user, number), value=title),
                             "PATCH", talk.path, {"title": title})  # fmt: skip
        elif what < 0.9:
            talk.hidden.add((user.name, any_message))
            write = Write("hide", *self._who(talk, user, number), message=any_message)
            await self._call(talk, user, number, write, "DELETE", f"{talk.path}/messages/{any_message}")
        else:
            write = Write("read", *self._who(talk, user, number), value=str(talk.last_seq))
            await self._call(talk, user, number, write, "POST", talk.path + "/receipts", {"readSeq": talk.last_seq})

    def _who(self, talk: Talk, user: User, number: int) -> tuple[str, str, str]:
        return talk.id, user.name, f"{talk.id}/{number}"

    async def _send_file(self, talk: Talk, user: User, number: int, text: str, choice: random.Random):
        if file := await self.files.upload(user, choice):
            self.files.carried[id := new_id()] = file
            await self.send(talk, user, number, text, id=id, attachments=[{"id": file.id}])

    async def send(
        self, talk: Talk, user: User, number: int, text: str, reply_to: str | None = None, *, id: str = "", **fields
    ):
        id = id or new_id()
        self._texts[id] = text
        write = Write("send", *self._who(talk, user, number), message=id, value=text)
        body = {"id": id, "text": text} | ({"replyTo": reply_to} if reply_to else {}) | fields
        answer = await self._call(talk, user, number, write, "POST", talk.path + "/messages", body)
        if write.is_acknowledged:
            write.seq = answer["seq"]
            talk.last_seq = max(talk.last_seq, write.seq)
            talk.messages.append((id, user.name))

    async def _edit(self, talk: Talk, user: User, number: int, id: str, text: str):
        self._texts[id] = text
        write = Write("edit", *self._who(talk, user, number), message=id, value=text)
        await self._call(talk, user, number, write, "PATCH", f"{talk.path}/messages/{id}", {"text": text})

    async def _delete(self, talk: Talk, user: User, number: int, id: str):
        talk.messages = [each for each in talk.messages if each[0] != id]
        write = Write("delete", *self._who(talk, user, number), message=id)
        await self._call(talk, user, number, write, "DELETE", f"{talk.path}/messages/{id}?scope=everyone")
        if write.is_acknowledged:
            self.deleted.append((talk, id, self._texts[id], time.monotonic()))

    async def _react(self, talk: Talk, user: User, number: int, id: str, kind: str | None, turn: int):
        path = f"{talk.path}/messages/{id}/tapback"
        if kind is None:
            write = Write("unreact", *self._who(talk, user, number), message=id)
            await self._call(talk, user, number, write, "DELETE", path)
            return
        if self._reactions.get((talk.id, number, id)) == kind:
            kind = next(each for each in KINDS[number] if each != kind)
        self._reactions[talk.id, number, id] = kind
        write = Write("react", *self._who(talk, user, number), message=id, value=kind)
        await self._call(talk, user, number, write, "PUT", path, {"kind": kind})

    async def _invite_or_remove(self, talk: Talk, user: User):
        if talk.guest_stays == STAYS_LIMIT and not talk.guest_is_in:
            return
        talk.guest_stays += not talk.guest_is_in
        write = Write("remove" if talk.guest_is_in else "add", *self._who(talk, user, 0), value=talk.guest.name)
        method, body = ("DELETE", None) if talk.guest_is_in else ("PUT", {})
        await self._call(talk, user, 0, write, method, f"{talk.path}/members/{talk.guest.name}", body)
        talk.guest_is_in = write.is_acknowledged != talk.guest_is_in

    async def _call(self, talk: Talk, user: User, number: int, write: Write, method: str, path: str, body=None):
        """Repeats the request, under one key, until it is answered; elsewhere when it has to."""
        talk.writes.append(write)
        headers = {"Idempotency-Key": new_id()}
        home = self._homes.setdefault(write.writer, (number + user.home) % 2)
        delay = 0.05
        while time.monotonic() - write.begun < GIVE_UP_SECONDS:
            try:
                async with asyncio.timeout(ATTEMPT_SECONDS):
                    answer = await user.request(method, path, body, instance=home, headers=headers)
                if answer.status not in (429, 503):
                    write.status, write.answered = answer.status, time.monotonic()
                    return answer.body
                delay = min(1.0, float(answer.headers["Retry-After"]))
            except (TimeoutError, aiohttp.ClientError, OSError):
                self._homes[write.writer] = home = 1 - home
            write.repeats.append(time.monotonic())
            await asyncio.sleep(delay * random.uniform(0.5, 1))
            delay = min(1.0, 2 * delay)

    # Looking where nothing must be

    async def _look_for_what_was_deleted(self):
        """Asks again and again for what was deleted, as a member and as a stranger."""
        choice = random.Random(f"{self.seed}/looker")
        while not self._is_over:
            await asyncio.sleep(0.1)
            if not self.deleted:
                continue
            talk, id, text, _ = choice.choice(self.deleted[-50:])
            reader = choice.choice(talk.members)
            seq = next(write.seq for write in talk.writes if write.kind == "send" and write.message == id)
            for path, query in (
                (f"{talk.path}/messages/{id}", {}),
                (f"{talk.path}/messages", {"around": seq, "limit": 10}),
                (f"{talk.path}/changes", {"after": seq - 1, "limit": 5}),
                ("/v1/search", {"q": text.split()[-1]}),
            ):
                await self._expect_nothing_of(text, reader, path, query, choice.randrange(2))
            await self._expect_unknown(talk, choice.randrange(2))

    async def _expect_nothing_of(self, text: str, reader: User, path: str, query: dict, instance: int):
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS):
                answer = await reader.request("GET", path, instance=instance, params=query)
        except (TimeoutError, aiohttp.ClientError, OSError):
            return
        self.probes += answer.status == 200
        if answer.status == 200 and text in json.dumps(answer.body):
            self.findings.append(Finding("visible", f"{text!r}, deleted, in GET {path} {query} of {reader.name}"))

    async def _expect_unknown(self, talk: Talk, instance: int):
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS):
                answer = await self.stranger.request("GET", talk.path, instance=instance)
        except (TimeoutError, aiohttp.ClientError, OSError):
            return
        self.probes += 1
        if answer.status not in (404, 429, 503):
            self.findings.append(Finding("visible", f"a stranger's GET {talk.path}: {answer.status}"))

    # Reading in the end

    async def _read_everything(self) -> list[Ending]:
        turns = asyncio.Semaphore(8)
        endings = [await self._ending(talk, turns) for talk in self.talks]
        await self._devices_catch_up({ending.conversation: len(ending.changes) for ending in endings})
        for talk, ending in zip(self.talks, endings):
            self.findings += self._disagreements(ending)
            await self._compare_digests(talk, ending)
            await self._read_files(talk, ending, turns)
        return endings

    async def _read_files(self, talk: Talk, ending: Ending, turns: asyncio.Semaphore):
        reader = talk.members[-1]
        deleted = {each["id"]: bool(each.get("deletedForEveryone")) for each in ending.histories[reader.name]}

        async def read(id: str):
            async with turns:
                await self.files.check(id, reader, deleted[id])

        await asyncio.gather(*(read(id) for id in deleted.keys() & self.files.carried.keys()))

    async def _ending(self, talk: Talk, turns: asyncio.Semaphore) -> Ending:
        changes = await talk.members[0].changes(talk.id, instance=0)
        histories = {}
        for number, member in enumerate(talk.members):
            histories[member.name] = await member.history(talk.id, instance=number % 2)
        edited = {write.message for write in talk.writes if write.kind == "edit" and write.is_acknowledged}
        visible = [each["id"] for each in histories[talk.members[0].name] if not each.get("deletedForEveryone")]
        texts = await _gather_dict(
            {id: self._revisions(talk, id, turns) for id in visible if id in edited},
        )
        return Ending(talk.id, changes, histories, texts, await self._read_positions(talk))

    async def _revisions(self, talk: Talk, id: str, turns: asyncio.Semaphore) -> list[str]:
        async with turns:
            page = await talk.members[0].get(f"{talk.path}/messages/{id}/revisions")
        return [revision["text"] for revision in page["revisions"]]

    async def _read_positions(self, talk: Talk) -> dict[str, int]:
        """As soon as everybody is told to have read what they were acknowledged to have, within a generous time."""
        expected = {write.user: int(write.value) for write in talk.writes if write.kind == "read"}
        for _ in range(100):
            page = await talk.members[0].get(talk.path + "/members")
            read = {member["userId"]: member["readSeq"] for member in page["members"]}
            if all(read[user] >= seq for user, seq in expected.items()):
                break
            await asyncio.sleep(0.1)
        return read

    async def _devices_catch_up(self, lasts: dict[str, int]):
        """Returns when every member's device is at the end of every conversation, or after a generous time."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if all(device.cursors[id] >= lasts[id] for device in self.devices for id in device.replicas if id in lasts):
                break
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)  # for what comes twice

    async def _compare_digests(self, talk: Talk, ending: Ending):
        """What each member's device followed, and what a client reads that starts anew, has the server's digests; so
        has what the guest reads, whose device may have missed the beginning of a stay."""
        for member in talk.members:
            pages = (await digest(member, talk.id))["pages"]
            for device in self.devices:
                if device.user is member and talk.id in device.copies:
                    copy = device.copies[talk.id]
                    copy.take_change(ending.changes[0])  # A device begins behind it.
                    self._compare(copy, pages, f"the device of {member.name}", talk)
            self._compare(_anew(ending.changes, ending.histories[member.name]), pages, member.name, talk)
        if any(change.get("userId") == talk.guest.name for change in ending.changes):
            read = _anew(await talk.guest.changes(talk.id), await talk.guest.history(talk.id))
            self._compare(read, (await digest(talk.guest, talk.id))["pages"], talk.guest.name, talk)

    def _compare(self, copy: SlimCopy, pages: list[dict], whose: str, talk: Talk):
        self.digests.copies += 1
        self.digests.pages += len(pages)
        differing = copy.differing_pages(pages)
        self.digests.differing += bool(differing)
        for first, part in differing:
            self.findings.append(Finding("different", f"{part} from {first} of {talk.id} for {whose}: the digests"))

    def _disagreements(self, ending: Ending) -> Iterable[Finding]:
        """What a device made of the changes that came is what one sees that starts anew."""
        for device in self.devices:
            history = ending.histories.get(device.user.name)
            if history is None or ending.conversation not in device.replicas:
                continue
            anew = Replica()
            for message in history:
                anew.take_message(message)
            followed = device.replicas[ending.conversation]
            for seq in followed.items.keys() | anew.items.keys():
                if followed.items.get(seq) != anew.items.get(seq):
                    text = f"{device.user.name} shows {followed.items.get(seq)}, the history {anew.items.get(seq)}"
                    yield Finding("different", f"position {seq} of {ending.conversation}: {text}")


def _anew(changes: list[dict], history: list[dict]) -> SlimCopy:
    """What a client has that starts anew and reads everything."""
    copy = SlimCopy(changes={change["seq"]: change_line(change) for change in changes})
    for message in history:
        copy.take_message(message)
    return copy


async def _gather_dict(calls: dict[str, Awaitable]) -> dict:
    return dict(zip(calls, await asyncio.gather(*calls.values())))


def count_repeats(writes: Iterable[Write], start: float, end: float) -> int:
    return sum(start <= at < end for at in itertools.chain.from_iterable(write.repeats for write in writes))
