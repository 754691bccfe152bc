"""Histories by seed: people of every kind do whatever they can in a few conversations, one thing after the other, and
everything that happened is written down for `knowledge`."""

import asyncio
import base64
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from client import Session, User, eventually, new_id
from knowledge import EVERYTHING, FOR_EVER, LONG_AGO, PERMITTED, Fact, Knowledge, Message, World
from system import earlier
from uploads import Uploader

WORD = "pebble"
"""In every text, and in the name of every file."""
KINDS = ("love", "like", "dislike", "laugh", "emphasize", "question", "\N{PARTY POPPER}")


class Conversation:
    def __init__(self, id: str, kind: str):
        self.id, self.kind = id, kind
        self.path = f"/v1/conversations/{id}"
        self.facts: list[Fact] = []
        self.early: dict[str, str] = {}
        """Messages deleted before they came, and by whom."""
        self.codes: dict[str, str] = {}
        """Of every invitation that there ever was."""

    @property
    def world(self) -> World:
        return World(self.id, self.kind, self.facts)

    def known_to(self, user: User) -> Knowledge:
        return Knowledge(self.id, self.kind, self.facts, user.name)


@dataclass
class File:
    """What somebody uploaded, with the messages that ever carried it."""

    uploader: str
    content: bytes
    shown: dict
    messages: list[tuple[Conversation, str]] = field(default_factory=list)
    is_awaited: bool = False
    """By a message that was refused: it may still be sent, for a day."""

    @property
    def id(self) -> str:
        return self.shown["id"]

    @property
    def is_gone(self) -> bool:
        """No message carries it any more, and none is to."""
        if self.is_awaited or not self.messages:
            return False
        return all(id not in c.world.messages or c.world.messages[id].deleted_at for c, id in self.messages)


class History:
    """What happened, and what the sessions heard that everybody has open all the time."""

    def __init__(self, seed: int, people: list[User], asks: bool = False):
        """`asks`: whom strangers bring into something is asked first."""
        self.asks = asks
        self.random = random.Random(seed)
        self.people = people
        self.owner = people[0]
        """Is in every conversation all the time."""
        self.by_name = {user.name: user for user in people}
        self.conversations: list[Conversation] = []
        self.sessions: dict[str, Session] = {}
        self.cursors: dict[str, str] = {}
        """Of `sync`, before anything happened."""
        self.private: dict[str, list[dict]] = {user.name: [] for user in people}
        """What everybody's private stream has told, but for `read.moved`."""
        self.typing: dict[str, list[tuple]] = {user.name: [] for user in people}
        self.typists: set[tuple[str, str]] = set()
        self.statuses: dict[str, list[dict]] = {user.name: [] for user in people}
        self.settings = {user.name: {"readReceipts": True, "presence": True} for user in people}
        self.decided: dict[tuple[str, str], bool] = {}
        """Whose read receipts are on or off in which conversation."""
        self.erased: set[str] = set()
        self.blocks: set[tuple[str, str]] = set()
        """Who blocks whom."""
        self.profiles: dict[str, dict] = {}
        """Of whom has or had one."""
        self.profile_news: dict[str, set[tuple[str, int]]] = {user.name: set() for user in people}
        """Whose profile everybody was told of while they were online, and which version."""
        self.texts: set[str] = set()
        """The one word of each text and name that no other has."""
        self.files: list[File] = []
        self.repeats: list[tuple[User, Conversation, str, dict, Callable[[Knowledge], dict]]] = []
        self.joint: set[tuple[str, str]] = set()
        """Who was in a conversation together, ever."""

    # Who can do what

    def pick(self, choices):
        return self.random.choice(sorted(choices, key=str)) if choices else None

    def members(self, conversation: Conversation) -> list[User]:
        """Who can do something in it, and hears of it."""
        world = conversation.world
        return [self.by_name[name] for name in sorted(world.roles) if name not in {*world.closed, *world.asked}]

    def is_asked(self, user: User, adder: User, conversation: Conversation | None = None) -> bool:
        """Whether somebody who is brought into a conversation is asked: they were not in it, and there is no direct
        conversation of the two in their list."""
        pair = {user.name, adder.name}
        direct = (
            some for some in self.conversations
            if some.kind == "direct" and {some.facts[0].actor, *some.facts[0].about["members"]} == pair
        )  # fmt: skip
        known = [some for some in (conversation, *direct) if some and user.name in some.world.taken]
        return self.asks and not known

    def text(self) -> str:
        return f"{self.words()} " + "\N{FAMILY}é " * self.random.randrange(40)

    def sealed(self) -> str:
        return base64.b64encode(self.text().encode()).decode()

    def words(self) -> str:
        word = f"w{len(self.texts):04}x"
        self.texts.add(word)
        return f"{WORD} {word}"

    def readable(self, user: User) -> set[str]:
        """The files that somebody may read."""
        seen = {id for conversation in self.conversations for id in files_seen(conversation, user)}
        return {file.id for file in self.files if file.id in seen or file.uploader == user.name and not file.is_gone}

    # Beginning

    async def begin(self):
        for user in self.people:
            answer = await user.get("/v1/sync")
            self.cursors[user.name] = answer["cursor"]
            self.sessions[user.name] = await user.connect(useq=0)

    async def create_group(self, members: list[User], title: str | None):
        id = await self.owner.create_group(*members, title=title)
        await self.created(Conversation(id, "group"), self.owner, members, title)

    async def open_direct(self, other: User):
        answer = await self.owner.request("POST", "/v1/conversations", {"kind": "direct", "members": [other.name]})
        assert answer.status == 201, answer
        await self.created(Conversation(answer.body["id"], "direct"), self.owner, [other], None)

    async def created(self, conversation: Conversation, creator: User, members: list[User], title: str | None):
        names = [member.name for member in members]
        asked = [member.name for member in members if self.is_asked(member, creator)]
        self.conversations.append(conversation)
        await self.happened(conversation, "conversation.created", creator, title=title, members=names, asked=asked)
        for user in [creator, *members]:
            if user.name in asked:
                await self.told(user, "request", conversation, waiting=True)
                continue
            await self.told(user, "conversation.joined", conversation, lastSeq=0)
            await self.sessions[user.name].reach(conversation.id, 1)

    # Writing down

    async def happened(self, conversation: Conversation, kind: str, actor: User, /, **about) -> Fact:
        """A change that was just acknowledged: at the next position, when the actor's session says."""
        seq = conversation.world.last_seq + 1
        session = self.sessions[actor.name]
        await session.reach(conversation.id, seq)
        change = next(change for change in session.changes(conversation.id) if change["seq"] == seq)
        assert (change["kind"], change["actorId"]) == (kind, actor.name), change
        conversation.facts.append(Fact(kind, actor.name, change["at"], seq, about))
        roles = conversation.world.roles
        self.joint |= {(one, other) for one in roles for other in roles}
        return conversation.facts[-1]

    async def told(self, user: User, kind: str, conversation: Conversation | None = None, /, **fields):
        expected = self.private[user.name]
        of = {"conversationId": conversation.id} if conversation else {}
        expected.append({"type": "private", "kind": kind} | of | fields)
        session = self.sessions[user.name]
        await session.until(lambda: len(told_by(session)) >= len(expected))
        expected[-1] |= {key: told_by(session)[len(expected) - 1][key] for key in ("useq", "at")}

    # Doing

    async def go_on(self, count: int):
        actions = [
            (self.send, 9), (self.open_file, 5), (self.reply, 7), (self.batch, 2), (self.edit, 5), (self.tap, 6),
            (self.untap, 2), (self.vote, 6), (self.close_poll, 1), (self.pin, 3), (self.unpin, 1),
            (self.hide, 3), (self.clear, 1), (self.delete, 3), (self.delete_early, 1), (self.read, 9),
            (self.type, 2), (self.decide, 2), (self.add, 5), (self.remove, 4), (self.promote, 2), (self.rename, 2),
            (self.mark, 6), (self.draft, 6), (self.block, 4), (self.put_profile, 4),
            (self.answer_request, 9 if self.asks else 0), (self.permit, 3), (self.lift, 2),
            (self.limit_lifetime, 5), (self.expire, 3), (self.schedule, 4), (self.forward, 6), (self.trim, 2),
            (self.invite, 4), (self.revoke, 1), (self.join, 8), (self.decide_join, 5),
        ]  # fmt: skip
        for _ in range(count):
            [action] = self.random.choices([action for action, _ in actions], [weight for _, weight in actions])
            conversation = self.random.choices(
                self.conversations, [4 if some.kind == "group" else 1 for some in self.conversations]
            )[0]
            members = self.members(conversation)
            await action(conversation, self.random.choice(members))

    async def keyed(self, actor: User, conversation: Conversation, method: str, path: str, body, answer_of):
        """A write that is repeated at the end; `answer_of`: what its actor may know of its outcome by then."""
        key = {"Idempotency-Key": new_id()}
        answer = await actor.request(method, conversation.path + path, body, headers=key)
        assert answer.status in (200, 204), answer
        if answer_of:
            request = {"method": method, "path": conversation.path + path, "body": body, "headers": key}
            self.repeats.append((actor, conversation, path, request, answer_of))

    async def refused(self, actor: User, conversation: Conversation, method: str, path: str, body):
        answer = await actor.request(method, conversation.path + path, body, headers={"Idempotency-Key": new_id()})
        assert answer.status == 403, answer

    async def send(self, conversation: Conversation, actor: User, parent: Message | None = None, id: str | None = None):
        mine = [message for message, user in conversation.early.items() if user == actor.name]
        id = id or (self.pick(mine) if mine and self.random.random() < 0.5 else new_id())
        mentions = [user.name for user in self.random.sample(self.people, self.random.choice((0, 0, 1, 2)))]
        files = await self.some_files(actor)
        body = {"id": id, "text": self.text(), "mentions": mentions} | ({"replyTo": parent.id} if parent else {})
        if self.random.random() < 0.2:
            body["mentionsAll"] = self.random.random() < 0.8
        if self.random.random() < 0.2:
            body["extra"] = self.random.choice(({}, {"label": self.words(), "n": [1, None]}))
        if files:
            body["attachments"] = [{"id": file.id} for file in files]
            body = body if self.random.random() < 0.5 else {key: body[key] for key in body if key != "text"}
        if parent is None and self.random.random() < 0.15:
            body = {key: body[key] for key in body if key != "text"} | {"sealed": self.sealed()}
        if parent is None and not files and "sealed" not in body and self.random.random() < 0.25:
            options = [f"{self.words()} {number}" for number in range(self.random.randint(2, 4))]
            body["poll"] = {"options": options, "multiple": self.random.random() < 0.7}
        answer = await actor.request("POST", conversation.path + "/messages", body)
        is_wrong = parent is not None and not self.may_reply(conversation, actor, parent)
        may_write = conversation.world.may(actor.name, "write")
        may_mention = not body.get("mentionsAll") or conversation.world.may_mention_all(actor.name)
        if is_wrong or not may_write or not may_mention:
            # What carries files is looked at before who may write.
            assert answer.status == (422 if is_wrong and (may_write or files) else 403), answer
            for file in files:
                file.is_awaited = True
            return
        assert answer.status == 201, answer
        await self.sent(conversation, actor, body, answer.body)

    async def forward(self, conversation: Conversation, actor: User):
        """From anywhere, whether the actor may read it or not. Nobody learns from where."""
        source = self.random.choice(self.conversations)
        if not (message := self.some_message(source)):
            return
        known = source.known_to(actor)
        named = {"conversationId": source.id, "messageId": message.id, "origin": self.random.random() < 0.7}
        body = {"id": new_id(), "forward": named}
        answer = await actor.request("POST", conversation.path + "/messages", body)
        if not (known.is_reader and known.sees(message)):
            assert answer.status == 404, answer
            return
        seen = known.world.messages[message.id]
        if seen.deleted_at or seen.kind in ("sealed", "poll") or source.world.lifetime_of(message):
            assert answer.status == 422, answer
            return
        if not conversation.world.may(actor.name, "write"):
            assert answer.status == 403, answer
            return
        assert answer.status == 201, answer
        forwarded = (seen.forwarded or {"userId": seen.sender, "sentAt": seen.sent_at}) if named["origin"] else None
        brought = {"id": body["id"], "text": seen.texts[-1][1], "mentions": [], "forwarded": forwarded}
        copies = self.copies(actor, seen.files, answer.body)
        await self.sent(conversation, actor, brought | {"attachments": copies}, answer.body)
        again = await actor.request("POST", conversation.path + "/messages", body)
        assert (again.status, again.body["id"]) == (200, body["id"]), again

    def copies(self, actor: User, files: list[dict], answer: dict) -> list[dict]:
        """What a forwarded message carries: files of its sender's own, with the same content."""
        ids = [file["id"] for file in answer.get("attachments", [])]
        assert len(ids) == len(files) and not {*ids} & {file.id for file in self.files}
        for id, shown in zip(ids, files):
            [source] = [file for file in self.files if file.id == shown["id"]]
            self.files.append(File(actor.name, source.content, shown | {"id": id}))
        return [{"id": id} for id in ids]

    async def schedule(self, conversation: Conversation, actor: User):
        """Nobody else knows of it before its time. That comes here, unless it is cancelled."""
        id, parent = new_id(), self.some_message(conversation) if self.random.random() < 0.3 else None
        mentions = [user.name for user in self.random.sample(self.people, self.random.choice((0, 0, 1, 2)))]
        body = {"text": self.text(), "mentions": mentions} | ({"replyTo": parent.id} if parent else {})
        if self.random.random() < 0.2:
            body["mentionsAll"] = True
        if self.random.random() < 0.2:
            body["extra"] = self.random.choice(({}, {"label": self.words(), "n": [1, None]}))
        at = (datetime.now(UTC) + timedelta(days=1)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        path = f"/scheduled/{id}"
        await self.keyed(actor, conversation, "PUT", path, body | {"at": at}, None)
        await self.told(actor, "scheduled", conversation, messageId=id)
        frame = self.private[actor.name][-1]
        frame["scheduled"] = body | {"conversationId": conversation.id, "id": id, "useq": frame["useq"], "at": at}
        for user in (actor, self.random.choice(self.members(conversation))):
            listed = (await user.get("/v1/scheduled"))["scheduled"]
            assert listed == ([frame["scheduled"]] if user is actor else []), listed
        if self.random.random() < 0.3:
            await self.keyed(actor, conversation, "DELETE", path, None, None)
            return await self.told(actor, "scheduled", conversation, messageId=id)
        is_wrong = parent is not None and not self.may_reply(conversation, actor, parent)
        may_mention = not body.get("mentionsAll") or conversation.world.may_mention_all(actor.name)
        await self.sql(f"UPDATE store.scheduled SET at = '2020-01-01T00:00:00Z' WHERE message_id = '{id}'")
        await self.told(actor, "scheduled", conversation, messageId=id)
        if is_wrong or not may_mention or not conversation.world.may(actor.name, "write"):
            kept, frame = frame["scheduled"], self.private[actor.name][-1]
            failure = {"code": "notReplyable" if is_wrong else "forbidden", "at": frame["at"]}
            frame["scheduled"] = kept | {"useq": frame["useq"], "at": "2020-01-01T00:00:00.000Z", "failure": failure}
            await self.keyed(actor, conversation, "DELETE", path, None, None)
            return await self.told(actor, "scheduled", conversation, messageId=id)
        shown = await actor.get(f"{conversation.path}/messages/{id}")
        await self.sent(conversation, actor, body | {"id": id}, shown)

    # Files

    async def some_files(self, actor: User) -> list[File]:
        """For a message: mostly none, or new ones, or some that others carry already."""
        mine = [file for file in self.files if file.uploader == actor.name and not file.is_gone]
        old = self.random.sample(mine, min(len(mine), self.random.choice((0, 0, 0, 1))))
        return old + [await self.upload(actor) for _ in range(self.random.choice((0, 0, 0, 0, 1, 2)))]

    async def upload(self, actor: User) -> File:
        name, content = f"{self.words()}.txt", self.random.randbytes(self.random.randrange(1, 2000))
        path = await asyncio.to_thread(Uploader(actor.system, actor.name).upload, content, name)
        shown = {"id": path.rpartition("/")[2], "name": name, "type": "application/octet-stream", "size": len(content)}
        self.files.append(File(actor.name, content, shown))
        return self.files[-1]

    async def open_file(self, _: Conversation, actor: User):
        """By whomever: what it shows is remembered for a while, and must not be when something changes."""
        if self.files:
            file = self.random.choice(self.files[-12:])
            reader = self.random.choice([user for user in self.people if user.name not in self.erased])
            await self.expect_file(file, self.random.choice((actor, reader)))

    async def expect_file(self, file: File, user: User):
        expected = (200, file.content) if file.id in self.readable(user) else (404, None)
        reader = Uploader(user.system, user.name)

        async def is_as_expected() -> bool:
            answer = await asyncio.to_thread(reader.call, "GET", f"/v1/media/{file.id}/content")
            self.last_seen = (answer.status_code, answer.content if answer.status_code == 200 else None)
            return self.last_seen == expected

        try:
            await eventually(is_as_expected)
        except TimeoutError:
            pytest.fail(f"file of {file.uploader} for {user.name}: {self.last_seen[0]} instead of {expected[0]}")

    # Messages

    async def sent(self, conversation: Conversation, actor: User, body: dict, shown: dict):
        is_deleted = conversation.early.pop(body["id"], None) == actor.name
        ids = [carried["id"] for carried in body.get("attachments", [])]
        files = [next(file for file in self.files if file.id == id) for id in ids]
        await self.happened(
            conversation, "message.created", actor, id=body["id"], text=body.get("text", body.get("sealed", "")),
            isSealed="sealed" in body, replyTo=body.get("replyTo"),
            mentions=sorted(set(body["mentions"]), key=body["mentions"].index),
            sentAt=shown["sentAt"], isDeleted=is_deleted, files=[file.shown for file in files], extra=body.get("extra"),
            mentionsAll=body.get("mentionsAll", False), poll=body.get("poll"), forwarded=body.get("forwarded"),
        )  # fmt: skip
        for file in files:
            file.messages.append((conversation, body["id"]))
        known = conversation.known_to(actor)
        assert shown == known.message(known.world.messages[body["id"]]), "what the sender gets back"

    def may_reply(self, conversation: Conversation, actor: User, parent: Message) -> bool:
        known = conversation.known_to(actor)
        is_open = parent.kind in ("text", "reply", "poll") and not parent.deleted_at and not parent.files
        return is_open and known.covers(parent.seq)

    def some_message(self, conversation: Conversation, where=lambda _: True) -> Message | None:
        messages = [message for message in conversation.world.messages.values() if message.kind != "system"]
        chosen = sorted(filter(where, messages), key=lambda message: message.seq)
        return self.random.choice(chosen) if chosen else None

    def seen(self, conversation: Conversation, actor: User) -> Callable[[Message], bool]:
        return conversation.known_to(actor).sees

    async def reply(self, conversation: Conversation, actor: User):
        """To whatever there is: hidden, cleared, deleted, of an earlier stay, of before the first one."""
        known = conversation.known_to(actor)
        gone = self.some_message(conversation, lambda message: not known.sees(message))
        parent = gone if gone and self.random.random() < 0.5 else self.some_message(conversation)
        if parent:
            await self.send(conversation, actor, parent)

    async def batch(self, conversation: Conversation, actor: User):
        bodies = [
            {"conversationId": conversation.id, "id": new_id(), "text": self.text(), "mentions": []} for _ in range(2)
        ]
        known = conversation.known_to(actor)
        parent = self.some_message(conversation, lambda message: self.may_reply(conversation, actor, message))
        gone = self.some_message(
            conversation, lambda message: self.may_reply(conversation, actor, message) and not known.sees(message)
        )
        if parent:
            bodies[0]["replyTo"] = (gone or parent).id
        bodies[1]["replyTo"] = bodies[0]["id"]
        answer = await actor.send_batch(bodies)
        if not conversation.world.may(actor.name, "write"):
            assert [result["status"] for result in answer.body["results"]] == [403, 403], answer
            return
        assert [result["status"] for result in answer.body["results"]] == [201, 201], answer
        before = list(conversation.facts)
        for body, result in zip(bodies, answer.body["results"]):
            shown = result["message"]
            await self.happened(
                conversation, "message.created", actor, id=body["id"], text=body["text"], replyTo=body.get("replyTo"),
                mentions=[], sentAt=shown["sentAt"], isDeleted=False,
            )  # fmt: skip
        assert len(conversation.facts) == len(before) + 2
        known = conversation.known_to(actor)
        for body, result in zip(bodies, answer.body["results"]):
            assert result["message"] == known.message(known.world.messages[body["id"]]), "what the sender gets back"

    async def edit(self, conversation: Conversation, actor: User):
        sees = self.seen(conversation, actor)
        message = self.some_message(
            conversation,
            lambda some: (
                some.sender == actor.name and not (some.deleted_at or some.poll or some.forwarded) and sees(some)
            ),
        )
        if not message:
            return
        is_sealed, path = message.kind == "sealed", f"/messages/{message.id}"
        text = self.sealed() if is_sealed else self.text()
        body = {"sealed" if is_sealed else "text": text}
        if not conversation.world.may(actor.name, "write"):
            return await self.refused(actor, conversation, "PATCH", path, body)
        await self.keyed(actor, conversation, "PATCH", path, body, shown(message.id))
        await self.happened(conversation, "message.edited", actor, id=message.id, text=text)

    async def tap(self, conversation: Conversation, actor: User):
        sees = self.seen(conversation, actor)
        message = self.some_message(conversation, lambda message: not message.deleted_at and sees(message))
        kind = self.random.choice(KINDS)
        if not message or message.tapbacks.get(actor.name, (0, ""))[1] == kind:
            return
        path = f"/messages/{message.id}/tapback"
        await self.keyed(actor, conversation, "PUT", path, {"kind": kind}, shown(message.id))
        await self.happened(conversation, "tapback.set", actor, id=message.id, kind=kind)

    async def untap(self, conversation: Conversation, actor: User):
        sees = self.seen(conversation, actor)
        message = self.some_message(conversation, lambda message: actor.name in message.tapbacks and sees(message))
        if message:
            await self.keyed(actor, conversation, "DELETE", f"/messages/{message.id}/tapback", None, None)
            await self.happened(conversation, "tapback.removed", actor, id=message.id)

    async def vote(self, conversation: Conversation, actor: User):
        sees = self.seen(conversation, actor)
        message = self.some_message(
            conversation,
            lambda message: message.poll and not message.deleted_at and not message.closed and sees(message),
        )
        if not message:
            return
        most = len(message.poll["options"]) if message.poll["multiple"] else 1
        options = self.random.sample(range(len(message.poll["options"])), self.random.randint(0, most))
        if message.votes.get(actor.name, (0, []))[1] == sorted(options):
            return
        path = f"/messages/{message.id}/vote"
        await self.keyed(actor, conversation, "PUT", path, {"options": options}, shown(message.id))
        await self.happened(conversation, "poll.voted", actor, id=message.id, options=options)

    async def close_poll(self, conversation: Conversation, actor: User):
        sees = self.seen(conversation, actor)
        message = self.some_message(
            conversation,
            lambda message: message.poll and not message.deleted_at and not message.closed and sees(message),
        )
        if not message:
            return
        path = f"/messages/{message.id}/close"
        leads = conversation.kind == "group" and conversation.world.roles.get(actor.name) in ("owner", "admin")
        if message.sender != actor.name and not leads:
            return await self.refused(actor, conversation, "POST", path, None)
        await self.keyed(actor, conversation, "POST", path, None, shown(message.id))
        await self.happened(conversation, "poll.closed", actor, id=message.id)

    async def pin(self, conversation: Conversation, actor: User):
        sees = self.seen(conversation, actor)
        message = self.some_message(conversation, lambda message: not message.deleted_at and sees(message))
        if not message or message.pinned:
            return
        path = f"/messages/{message.id}/pin"
        if not conversation.world.may(actor.name, "write"):
            return await self.refused(actor, conversation, "PUT", path, None)
        await self.keyed(actor, conversation, "PUT", path, None, shown(message.id))
        await self.happened(conversation, "message.pinned", actor, id=message.id)

    async def unpin(self, conversation: Conversation, actor: User):
        sees = self.seen(conversation, actor)
        message = self.some_message(conversation, lambda message: message.pinned and sees(message))
        if not message:
            return
        path = f"/messages/{message.id}/pin"
        if not conversation.world.may(actor.name, "write"):
            return await self.refused(actor, conversation, "DELETE", path, None)
        await self.keyed(actor, conversation, "DELETE", path, None, None)
        await self.happened(conversation, "message.unpinned", actor, id=message.id)

    async def hide(self, conversation: Conversation, actor: User):
        message = self.some_message(conversation, self.seen(conversation, actor))
        if message:
            await self.keyed(actor, conversation, "DELETE", f"/messages/{message.id}", None, None)
            conversation.facts.append(Fact("hide", actor.name, about={"id": message.id}))
            await self.told(actor, "message.hidden", conversation, messageId=message.id)

    async def clear(self, conversation: Conversation, actor: User):
        world = conversation.world
        through = self.random.randrange(1, world.last_seq + 1)
        if through <= world.cleared.get(actor.name, 0):
            return
        await self.keyed(actor, conversation, "DELETE", f"/history?through={through}", None, None)
        conversation.facts.append(Fact("clear", actor.name, about={"through": through}))
        await self.told(actor, "history.cleared", conversation, throughSeq=through)

    async def delete(self, conversation: Conversation, actor: User):
        message = self.some_message(
            conversation, lambda message: message.sender == actor.name and not message.deleted_at
        )
        if message:
            await self.keyed(actor, conversation, "DELETE", f"/messages/{message.id}?scope=everyone", None, None)
            await self.happened(conversation, "message.deleted", actor, id=message.id)

    async def delete_early(self, conversation: Conversation, actor: User):
        id = new_id()
        await self.keyed(actor, conversation, "DELETE", f"/messages/{id}?scope=everyone", None, None)
        conversation.early[id] = actor.name

    async def read(self, conversation: Conversation, actor: User, all_of_it: bool = False):
        world = conversation.world
        what = "read" if all_of_it else self.random.choice(("delivered", "read", "read"))
        seq = world.last_seq if all_of_it else self.random.randrange(1, world.last_seq + 1)
        old = {kind: world.horizon(actor.name, kind) for kind in ("delivered", "read", "shown")}
        new = dict(old)
        new["delivered"] = max(old["delivered"], seq)
        new["read"] = max(old["read"], seq if what == "read" else 0)
        shows = self.decided.get((actor.name, conversation.id), self.settings[actor.name]["readReceipts"])
        if new["read"] > old["read"] and shows:
            new["shown"] = new["read"]
        moved = {kind: seq for kind, seq in new.items() if seq > old[kind]}
        session = self.sessions[actor.name]
        count = len(session.of("status"))
        if self.random.random() < 0.5:
            answer = await actor.request("POST", conversation.path + "/receipts", {what + "Seq": seq})
            assert answer.status == 202, answer
        else:
            await session.say(what, conversationId=conversation.id, seq=seq)
        await eventually(lambda: self.is_at(actor, conversation, new))
        visible = {name: moved[kind] for name, kind in (("delivered", "delivered"), ("read", "shown")) if kind in moved}
        if not moved:
            return
        fact = Fact("receipt", actor.name, about=moved)
        if visible:
            # Somebody else's may come in between: theirs waited for their own session alone.
            def told() -> list[dict]:
                frames = session.of("status")[count:]
                return [frame for frame in frames if any(actor.name in frame.get(name, {}) for name in visible)]

            fact.at = (await session.until(told))[0]["at"]
        conversation.facts.append(fact)
        for user in self.members(conversation) if visible else ():
            frame = {"type": "status", "conversationId": conversation.id, "at": fact.at}
            frame |= {name: {actor.name: seq} for name, seq in visible.items()}
            self.statuses[user.name].append(frame)

    async def is_at(self, actor: User, conversation: Conversation, horizons: dict[str, int]) -> bool:
        shown = await actor.conversation(conversation.id)
        return (shown["deliveredSeq"], shown["readSeq"]) == (horizons["delivered"], horizons["read"])

    async def type(self, conversation: Conversation, actor: User):
        if (conversation.id, actor.name) in self.typists:
            return  # It might not be told so soon.
        self.typists.add((conversation.id, actor.name))
        others = [user for user in self.members(conversation) if user is not actor]
        for is_active in (True, False):
            await self.sessions[actor.name].say("typing", conversationId=conversation.id, active=is_active)
            for user in others:
                heard = (conversation.id, actor.name, is_active)
                self.typing[user.name].append(heard)
                session = self.sessions[user.name]
                count = len(self.typing[user.name])
                await session.until(lambda session=session, count=count: len(session.of("typing")) >= count)

    async def decide(self, conversation: Conversation, actor: User):
        """About read receipts and presence, globally or in one conversation."""
        settings, choice = self.settings[actor.name], self.random.choice(("readReceipts", "presence", "here", "here"))
        key = {"Idempotency-Key": new_id()}
        if choice == "here":
            value = self.random.choice((True, False, None))
            if value == self.decided.get((actor.name, conversation.id)):
                return
            path, body = conversation.path + "/settings", {"readReceipts": value}
            if value is None:
                del self.decided[actor.name, conversation.id]
            else:
                self.decided[actor.name, conversation.id] = value
        else:
            settings[choice] = value = not settings[choice]
            path, body = "/v1/settings", {choice: value}
        answer = await actor.request("PUT", path, body, headers=key)
        assert answer.status == 200, answer
        expected = self.settings_in(actor, conversation) if choice == "here" else dict(settings)
        assert answer.body == expected
        await self.told(actor, "settings.changed", conversation if choice == "here" else None, **expected)

    def settings_in(self, user: User, conversation: Conversation) -> dict:
        decision = self.decided.get((user.name, conversation.id))
        value = self.settings[user.name]["readReceipts"] if decision is None else decision
        return {"readReceipts": value, "inherited": ["readReceipts"] if decision is None else []}

    async def mark(self, conversation: Conversation, actor: User):
        """Whoever is or was a member keeps something to themselves."""
        world = conversation.world
        former = [name for name in sorted(world.taken) if name not in world.roles and name not in self.erased]
        actor = self.by_name[self.random.choice(former)] if former and self.random.random() < 0.3 else actor
        through = self.random.choice((None, self.random.randrange(1, world.last_seq + 1)))
        until, order = self.random.choice((FOR_EVER, LONG_AGO)), self.random.randrange(-3, 4)
        kind, path, body, value = self.random.choice((
            ("muted", "/mute", {"until": until}, until),
            ("pinned", "/pin", {"order": order}, order),
            ("archived", "/archive", {"throughSeq": through}, through or EVERYTHING),
            ("markedUnread", "/unread", None, 0),
        ))  # fmt: skip
        before = dict(world.marks.get(actor.name, {}))
        if kind in before and self.random.random() < 0.5:
            await self.keyed(actor, conversation, "DELETE", path, None, None)
            value = None
        else:
            await self.keyed(actor, conversation, "PUT", path, body, None)
        conversation.facts.append(Fact("mark", actor.name, about={"kind": kind, "value": value}))
        if conversation.world.marks[actor.name] != before:
            await self.told(actor, kind, conversation, **conversation.known_to(actor).told(kind))

    async def draft(self, conversation: Conversation, actor: User):
        """A member writes, goes on, or lets it be."""
        parent = self.some_message(conversation) if self.random.random() < 0.5 else None
        body = {"text": self.text(), "replyTo": parent.id if parent else None}
        if actor.name in conversation.world.drafts and self.random.random() < 0.4:
            body["text"] = ""
        if body["text"] or self.random.random() < 0.5:
            await self.keyed(actor, conversation, "PUT", "/draft", body, None)
        else:
            await self.keyed(actor, conversation, "DELETE", "/draft", None, None)
        await self.told(actor, "draft", conversation)
        frame = self.private[actor.name][-1]
        conversation.facts.append(Fact("draft", actor.name, frame["at"], about=body))
        frame |= conversation.known_to(actor).draft()

    async def put_profile(self, _: Conversation, __: User):
        """Whoever it is, wherever they are or were. Those who have a conversation with them open are told."""
        actor = self.random.choice([user for user in self.people if user.name not in self.erased])
        named = {"displayName": self.words()}
        profile = self.random.choice(({}, named, named | {"extra": {"a": []}}))
        before = self.profiles.get(actor.name, {"userId": actor.name, "version": 0})
        is_new = before != profile | {"userId": actor.name, "version": before["version"]}
        shown = profile | {"userId": actor.name, "version": before["version"] + is_new}
        answer = await actor.request("PUT", "/v1/profile", profile, headers={"Idempotency-Key": new_id()})
        assert (answer.status, answer.body) == (200, shown)
        if not is_new:
            return
        self.profiles[actor.name] = shown
        news = (actor.name, shown["version"])
        await self.told(actor, "profile.changed", profileVersion=shown["version"])
        with_actor = [some for some in self.conversations if actor.name in some.world.roles]
        for user in {user.name: user for some in with_actor for user in self.members(some)}.values():
            if user is not actor:
                self.profile_news[user.name].add(news)
                session = self.sessions[user.name]
                await session.until(lambda session=session: news in profiles_told_by(session))

    async def block(self, _: Conversation, __: User):
        """One of those who have a direct conversation with the owner blocks them, or ends that."""
        conversation = self.random.choice([some for some in self.conversations if some.kind == "direct"])
        world = conversation.world
        names = [
            name for name in sorted(world.taken) if name in world.roles and name not in (self.owner.name, *self.erased)
        ]
        if not names:
            return
        actor = self.by_name[names[0]]
        is_blocked = (actor.name, self.owner.name) not in self.blocks
        for _ in range(self.random.choice((1, 2))):
            method = "PUT" if is_blocked else "DELETE"
            answer = await actor.request(method, f"/v1/blocks/{self.owner.name}", headers={"Idempotency-Key": new_id()})
            assert answer.status == 204, answer
        self.blocks ^= {(actor.name, self.owner.name)}
        await self.told(actor, "blocked", conversation, userId=self.owner.name, blocked=is_blocked)
        at = self.private[actor.name][-1]["at"]
        conversation.facts.append(Fact("block" if is_blocked else "unblock", actor.name, at))

    async def answer_request(self, _: Conversation, __: User):
        """Somebody who is asked, or has declined, decides, or writes something."""
        choices = []
        for some in self.conversations:
            world = some.world
            blockers = {user for user, _ in self.blocks} if some.kind == "direct" else set()
            choices += [(some, name) for name in sorted({*world.asked, *world.closed} & {*world.roles} - blockers)]
        if not choices:
            return
        conversation, name = self.random.choice(choices)
        world, actor = conversation.world, self.by_name[name]
        if name not in world.asked:
            await self.accept(conversation, actor)
            return
        how = self.random.choice(("accept", "decline", "send"))
        if how == "decline":
            await self.keyed(actor, conversation, "DELETE", "/acceptance", None, None)
            await self.told(actor, "request", conversation, waiting=False)
            conversation.facts.append(Fact("decline", name, self.private[name][-1]["at"]))
        elif how == "accept":
            await self.accept(conversation, actor)
        else:
            body = {"id": new_id(), "text": self.text(), "mentions": []}
            answer = await actor.request("POST", conversation.path + "/messages", body)
            await self.accepted(conversation, actor)
            if not conversation.world.may(actor.name, "write"):
                assert answer.status == 403, answer
                return
            assert answer.status == 201, answer
            await self.sent(conversation, actor, body, answer.body)

    async def accept(self, conversation: Conversation, actor: User):
        await self.keyed(actor, conversation, "PUT", "/acceptance", None, None)
        await self.accepted(conversation, actor)

    async def accepted(self, conversation: Conversation, actor: User):
        """What came before is history."""
        await self.told(actor, "conversation.joined", conversation, lastSeq=conversation.world.last_seq)
        conversation.facts.append(Fact("accept", actor.name, self.private[actor.name][-1]["at"]))

    async def add(self, conversation: Conversation, actor: User, user: User | None = None):
        roles = conversation.world.roles
        # Who is added by somebody they block is no member to themselves: Tests/Contract/test_blocks.py.
        blockers = {name for name, other in self.blocks if other == actor.name}
        outside = [user for user in self.people if user.name not in {*roles, *self.erased, *blockers}]
        if conversation.kind == "direct" or not outside:
            return
        user = user or self.random.choice(outside)
        path, world = f"/members/{user.name}", conversation.world
        may_lift = roles[actor.name] != "member"
        if not world.may(actor.name, "addMembers") or user.name in world.banned and not may_lift:
            return await self.refused(actor, conversation, "PUT", path, {})
        await self.keyed(actor, conversation, "PUT", path, {}, member(user.name))
        # Whoever has asked to join is not asked.
        asked = self.is_asked(user, actor, conversation) and not world.asks(user.name)
        has_declined = user.name in world.closed
        fact = await self.happened(conversation, "member.added", actor, userId=user.name, role="member", asked=asked)
        if asked:
            if not has_declined:
                await self.told(user, "request", conversation, waiting=True)
            return
        await self.told(user, "conversation.joined", conversation, lastSeq=fact.seq - 1)
        await self.sessions[user.name].reach(conversation.id, fact.seq)

    async def invite(self, conversation: Conversation, actor: User):
        """Mostly twice: the second response has another code, and the one before is no code any more."""
        body = {"id": new_id()} | self.random.choice(({}, {"maxUses": 1}, {"maxUses": 2}))
        asks = self.random.random() < 0.5
        if asks:
            body["approval"] = True
        if conversation.kind == "direct":
            return
        world = conversation.world
        if not world.may(actor.name, "addMembers") or asks and world.roles[actor.name] == "member":
            return await self.refused(actor, conversation, "POST", "/invitations", body)
        for _ in range(self.random.choice((1, 2))):
            answer = await actor.request("POST", conversation.path + "/invitations", body)
            assert answer.status == 201, answer
        made = dict(answer.body)
        conversation.codes[made["id"]] = made.pop("code")
        conversation.facts.append(Fact("invite", actor.name, about=made))

    async def revoke(self, conversation: Conversation, actor: User):
        world = conversation.world
        # What is used up may be gone already, which anybody may revoke.
        good = sorted(id for id, some in world.invitations.items() if world.is_good(some))
        if not good:
            return
        id = self.random.choice(good)
        path, maker = f"/invitations/{id}", world.invitations[id]["creatorId"]
        if world.roles[actor.name] == "member" and maker != actor.name:
            return await self.refused(actor, conversation, "DELETE", path, None)
        await self.keyed(actor, conversation, "DELETE", path, None, None)
        conversation.facts.append(Fact("revoke", actor.name, about={"id": id}))

    async def join(self, conversation: Conversation, _: User):
        """Somebody from outside comes by any code that there ever was."""
        world = conversation.world
        outside = [user for user in self.people if user.name not in {*world.roles, *self.erased}]
        if not conversation.codes or not outside:
            return
        user, id = self.random.choice(outside), self.random.choice(sorted(conversation.codes))
        path = f"/v1/invitations/{conversation.codes[id]}"
        seen = await user.request("GET", path)
        answer = await user.request("POST", path, headers={"Idempotency-Key": new_id()})
        invitation = world.invitations.get(id, {})
        maker, approval = invitation.get("creatorId"), invitation.get("approval", False)
        opens = world.opens(id, user.name) and (maker, user.name) not in self.blocks
        if opens:
            about = ({"title": world.title} if world.title else {}) | ({"approval": True} if approval else {})
            assert seen.body == {"memberCount": len(world.roles)} | about, seen
        else:
            assert seen.status == 404, seen
        if world.asks(user.name) and not (opens and not approval):
            asked = {"conversationId": conversation.id, "requestedAt": world.wishes[user.name]["at"]}
            assert (answer.status, answer.body) == (202, asked), answer
            return
        if not opens:
            assert answer.status == 404 and seen.body == answer.body, (seen, answer)
            return
        if approval:
            return await self.asked_to_join(conversation, user, id, self.by_name[maker], answer)
        assert answer.status == 200, answer
        fact = await self.happened(
            conversation, "member.added", user, userId=user.name, role="member", asked=False, invitation=id
        )
        await self.told(user, "conversation.joined", conversation, lastSeq=fact.seq - 1)

    async def asked_to_join(self, conversation: Conversation, user: User, id: str, maker: User, answer):
        world = conversation.world
        assert answer.status == 202 and answer.body["conversationId"] == conversation.id, answer
        conversation.facts.append(Fact("ask", user.name, answer.body["requestedAt"], about={"invitation": id}))
        if user.name not in world.wishes and world.roles[maker.name] != "member":
            await self.told(maker, "join.requested", conversation, userId=user.name)

    async def decide_join(self, conversation: Conversation, actor: User):
        """Somebody who asks is let in or declined, or takes it back."""
        world = conversation.world
        asking = [name for name in sorted(world.wishes) if world.asks(name)]
        if not asking:
            return
        user = self.by_name[self.random.choice(asking)]
        path, how = f"/join-requests/{user.name}", self.random.choice(("let in", "let in", "decline", "withdraw"))
        if how == "withdraw":
            await self.keyed(user, conversation, "DELETE", path, None, None)
            conversation.facts.append(Fact("withdraw", user.name))
        elif how == "let in":
            await self.add(conversation, actor, user)
        elif world.roles[actor.name] == "member":
            await self.refused(actor, conversation, "DELETE", path, None)
        else:
            await self.keyed(actor, conversation, "DELETE", path, None, None)
            conversation.facts.append(Fact("refuse", actor.name, about={"userId": user.name}))

    async def remove(self, conversation: Conversation, actor: User):
        roles = conversation.world.roles
        others = [name for name in sorted(roles) if name not in (self.owner.name, actor.name)]
        removable = [name for name in others if roles[actor.name] == "owner" or roles[name] == "member"]
        mine = removable if roles[actor.name] != "member" else []
        leaver = self.by_name[self.random.choice(mine)] if mine else actor
        if conversation.kind == "direct" or leaver is self.owner:
            return
        if others and roles[actor.name] != "owner" and self.random.random() < 0.3:
            name = self.random.choice(others)
            if name not in mine:
                return await self.refused(actor, conversation, "DELETE", f"/members/{name}", None)
        role, has_declined = roles[leaver.name], leaver.name in conversation.world.closed
        await self.keyed(actor, conversation, "DELETE", f"/members/{leaver.name}", None, None)
        await self.happened(conversation, "member.removed", actor, userId=leaver.name, role=role)
        if not has_declined:
            await self.told(leaver, "conversation.left", conversation)

    async def promote(self, conversation: Conversation, actor: User):
        roles = conversation.world.roles
        others = [name for name in sorted(roles) if name != self.owner.name]
        if conversation.kind == "direct" or not others:
            return
        name = self.random.choice(others)
        role = self.random.choice([role for role in ("member", "admin", "owner") if role != roles[name]])
        await self.keyed(self.owner, conversation, "PUT", f"/members/{name}", {"role": role}, member(name))
        await self.happened(conversation, "member.changed", self.owner, userId=name, role=role)

    async def permit(self, conversation: Conversation, actor: User):
        """The owner decides what is open to whom, and mostly it is open to all."""
        world = conversation.world
        what = self.random.choice(("addMembers", "mentionAll", "rename", "write"))
        who = self.random.choice(["members", *PERMITTED])
        if conversation.kind == "direct":
            return
        if world.roles[actor.name] != "owner":
            return await self.refused(actor, conversation, "PUT", "/permissions", {what: who})
        await self.keyed(actor, conversation, "PUT", "/permissions", {what: who}, Knowledge.conversation)
        permissions = world.permissions | {what: who}
        if permissions.get("mentionAll") == "admins":
            del permissions["mentionAll"]  # by default
        if permissions != world.permissions:
            await self.happened(conversation, "permissions.changed", actor, permissions=permissions)

    async def limit_lifetime(self, conversation: Conversation, actor: User):
        """Far longer than a history lasts: `expire` ends it."""
        world, seconds = conversation.world, self.random.choice((None, 86_400, 604_800))
        start = "reading" if seconds and self.random.random() < 0.5 else "sending"
        body = {"seconds": seconds} | ({"from": start} if start == "reading" else {})
        if conversation.kind == "group" and world.roles[actor.name] == "member":
            return await self.refused(actor, conversation, "PUT", "/lifetime", body)
        await self.keyed(actor, conversation, "PUT", "/lifetime", body, Knowledge.conversation)
        if body != {key: value for key, value in (world.lifetime or {"seconds": None}).items() if key != "sinceSeq"}:
            await self.happened(conversation, "lifetime.changed", actor, seconds=seconds, **{"from": start})

    async def expire(self, conversation: Conversation, _: User):
        """The time of all messages is over that were sent with a lifetime, or were read since."""
        limited = [some for some in self.conversations if some.world.lifetime and self.owner in self.members(some)]
        conversation = self.random.choice(limited or [conversation])
        where = f"WHERE conversation_id = '{conversation.id}'"
        kept = await self.sql(f"SELECT from_seq, seconds FROM store.lifetimes {where}")
        if not kept:
            return
        for member in self.members(conversation):
            if self.random.random() < 0.8:
                await self.read(conversation, member, all_of_it=True)
        world = conversation.world
        over = {message.id: message for message in world.over()}
        tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()  # Citus takes no now() in a CASE.
        at_once, later = (looks_at(f"timestamptz '{time}'") for time in ("-infinity", tomorrow))
        await self.sql(f"UPDATE store.lifetimes SET seconds = 1, {at_once} {where}")
        session, last = self.sessions[self.owner.name], world.last_seq + len(over)
        await session.reach(conversation.id, last)
        rest = f"SELECT count(*) FROM store.lifetimes {where} AND least(due_at, look_at) = '-infinity'"
        await eventually(lambda: self.said(rest, "0"))  # What has not been read is looked at, too, and stays.
        for row in kept.split():
            seq, seconds = row.split("|")
            await self.sql(f"UPDATE store.lifetimes SET seconds = {seconds}, {later} {where} AND from_seq = {seq}")
        told = {change["seq"]: change for change in session.changes(conversation.id)}
        order = await self.sql(f"SELECT message_id FROM store.changes {where} AND seq > {world.last_seq} ORDER BY seq")
        assert sorted(order.split()) == sorted(over)
        for seq, message in enumerate(map(over.get, order.split()), world.last_seq + 1):
            assert told[seq]["kind"] == "message.deleted", told[seq]
            about = {"id": message.id, "isOver": True}
            conversation.facts.append(Fact("message.deleted", message.sender, told[seq]["at"], seq, about))

    async def trim(self, conversation: Conversation, _: User):
        """The first messages are older than they are kept: up to a third of them."""
        world = conversation.world
        seqs = sorted(message.seq for message in world.messages.values())
        if len(seqs) < 3 or self.owner.name not in {user.name for user in self.members(conversation)}:
            return
        through = self.random.choice(seqs[: len(seqs) // 3])
        where = f"conversation_id = '{conversation.id}'"
        await self.sql(
            f"UPDATE store.messages SET created_at = {earlier('created_at', 40 * 86_400)} "
            f"WHERE {where} AND seq <= {through};"
            f"INSERT INTO store.retentions SELECT slot, id, 30 FROM store.conversations WHERE id = '{conversation.id}'"
            " ON CONFLICT DO NOTHING"
        )
        await self.happened(conversation, "history.trimmed", self.owner, keptFrom=through + 1)

    async def lift(self, conversation: Conversation, actor: User):
        world = conversation.world
        if conversation.kind == "direct" or not world.banned:
            return
        name = self.random.choice(sorted(world.banned))
        if world.roles[actor.name] == "member":
            return await self.refused(actor, conversation, "DELETE", f"/bans/{name}", None)
        await self.keyed(actor, conversation, "DELETE", f"/bans/{name}", None, None)
        conversation.facts.append(Fact("lift", actor.name, about={"userId": name}))

    async def rename(self, conversation: Conversation, actor: User):
        if conversation.kind == "group":
            title = f"Title {len(conversation.facts)}"
            if not conversation.world.may(actor.name, "rename"):
                return await self.refused(actor, conversation, "PATCH", "", {"title": title})
            await self.keyed(actor, conversation, "PATCH", "", {"title": title}, Knowledge.conversation)
            await self.happened(conversation, "conversation.renamed", actor, title=title)

    async def erase(self, user: User, administrator: User):
        """The positions that an erasure takes are read from the owner's session, who sees them all."""
        count = {some.id: some.world.last_seq for some in self.conversations}

        async def is_erased() -> bool:
            answer = await administrator.request("DELETE", f"/v1/users/{user.name}")
            assert answer.status in (200, 202), answer
            return answer.status == 200

        await eventually(is_erased)
        self.erased.add(user.name)
        for conversation in self.conversations:
            last = (await self.owner.conversation(conversation.id))["lastSeq"]
            session = self.sessions[self.owner.name]
            for seq in range(count[conversation.id] + 1, last + 1):
                await session.reach(conversation.id, seq)
                change = next(change for change in session.changes(conversation.id) if change["seq"] == seq)
                about = {key: change[key] for key in ("userId", "role") if key in change}
                about |= {"id": change["message"]["id"], "erasing": user.name} if "message" in change else {}
                conversation.facts.append(Fact(change["kind"], change["actorId"], change["at"], seq, about))
            conversation.facts.append(Fact("erased", user.name))

    async def sql(self, statement: str) -> str:
        return await asyncio.to_thread(self.owner.system.sql, statement)

    async def said(self, statement: str, expected: str) -> bool:
        return await self.sql(statement) == expected

    async def settle(self):
        """Returns when every session has heard what there is to hear."""
        await asyncio.gather(*(session.quiet() for name, session in self.sessions.items() if name not in self.erased))
        # Decisions about presence, and blocks, that follow each other within a second are told of together, after it.
        await asyncio.sleep(1)


def looks_at(time: str) -> str:
    """SQL that has a store look for messages whose time is over."""
    return (
        f"due_at = CASE WHEN look_at IS NULL THEN {time} ELSE due_at END, "
        f"look_at = CASE WHEN look_at IS NOT NULL THEN {time} END"
    )


def files_seen(conversation: Conversation, user: User) -> set[str]:
    known = conversation.known_to(user)
    return known.files() if known.is_reader else set()


def told_by(session: Session) -> list[dict]:
    return [frame for frame in session.of("private") if frame["kind"] != "read.moved"]


def profiles_told_by(session: Session) -> set[tuple[str, int]]:
    return {(frame["userId"], frame["version"]) for frame in session.of("profile")}


def shown(id: str) -> Callable[[Knowledge], dict]:
    """Who wrote is told what became of it, though they hid or cleared it since."""
    return lambda known: known.message(known.world.messages[id]) if id in known.world.messages else None


def member(name: str) -> Callable[[Knowledge], dict | None]:
    """By their last stay that the reader knows of."""

    def answer(known: Knowledge) -> dict | None:
        world = known.world
        if name not in world.stays:
            return None
        return {
            "userId": name,
            "role": world.last_roles[name],
            "joinedSeq": world.stays[name][-1][0],
            "deliveredSeq": world.horizon(name, "delivered"),
            "readSeq": world.horizon(name, "read" if name == known.reader else "shown"),
        }

    return answer
