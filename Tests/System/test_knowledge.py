"""What each person may know: every answer and every frame, for readers of every kind, after histories made by seed, is
field by field what the model in `knowledge` says: nothing is missing, and nothing is there that is not theirs to know.

`KNOWLEDGE_SEEDS=100` tries so many seeds, `KNOWLEDGE_SEED=7` that one; `KNOWLEDGE_STEPS` is the length of a history.
"""

import asyncio
import os
import re
import uuid

import pytest
from client import ACCEPTED, User, eventually, new_id, token
from digests import Copy, digest
from histories import WORD, Conversation, History, profiles_told_by, told_by
from knowledge import FOR_EVER, Knowledge

STEPS = int(os.environ.get("KNOWLEDGE_STEPS", "90"))
SEEDS = (
    [int(os.environ["KNOWLEDGE_SEED"])]
    if "KNOWLEDGE_SEED" in os.environ
    else range(1, 1 + int(os.environ.get("KNOWLEDGE_SEEDS", "4")))
)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.timeout(300)
async def test_everybody_learns_what_they_may_know_and_nothing_else(single, people, seed):
    await expect_knowledge(single, people, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.timeout(300)
async def test_and_so_they_do_where_strangers_have_to_ask(asking, people, seed):
    await expect_knowledge(asking, people, seed, asks=True)


async def expect_knowledge(system, people, seed: int, asks: bool = False):
    print(f"KNOWLEDGE_SEED={seed}")
    *insiders, stranger, administrator = people(system, 9)
    administrator.token = token(administrator.name, adm=True)
    history = await made(seed, insiders, administrator, asks)
    await history.settle()
    await expect_heard(history)
    present = [user for user in insiders if user.name not in history.erased]
    silent, unheard = history.random.sample(present, 2)
    await suspend(administrator, silent, "readOnly")
    await suspend(administrator, unheard, "unheard")
    for reader in present:
        await Reader(history, reader).expect_everything(administrator, is_silent=reader is silent)
    await expect_heard(history)  # Nobody has heard of a suspension.
    await expect_unheard(unheard, stranger)
    await expect_files(history, [*insiders, stranger])
    await expect_profiles(history, stranger, administrator)
    await expect_nothing_for(stranger, history)
    for user in (silent, unheard):
        await suspend(administrator, user, None)
    await expect_repetitions_answered(history)
    await expect_silence_after_leaving(history)


async def suspend(administrator: User, user: User, mode: str | None):
    """`mode` None: no more."""
    path = f"/v1/users/{user.name}/suspension"
    answer = await administrator.request(*(("PUT", path, {"mode": mode}) if mode else ("DELETE", path)))
    assert answer.status == 204, answer

    async def is_known() -> bool:
        sent = await user.request("POST", f"/v1/conversations/{new_id()}/messages", {"id": new_id(), "text": "x"})
        return (sent.status, sent.body["code"]) == ((403, "suspended") if mode == "readOnly" else (404, "notFound"))

    await eventually(is_known)


async def made(seed: int, people: list[User], administrator: User, asks: bool) -> History:
    history = History(seed, people, asks)
    await history.begin()
    owner, *others = people
    await history.create_group(others[:3], "Plans")
    await history.create_group(others[2:4], None)
    await history.open_direct(others[0])
    await history.open_direct(others[-1])
    await history.go_on(STEPS)
    await history.erase(others[-1], administrator)
    await history.go_on(STEPS // 6)
    return history


# What sessions heard that were open all the time


async def expect_heard(history: History):
    for name, session in history.sessions.items():
        for conversation in history.conversations:
            known = conversation.known_to(history.by_name[name])
            if name not in history.erased:
                expected = known.live() if known.is_reader else []
                expect_equal(plain(session.changes(conversation.id)), expected, f"live changes for {name}")
        statuses = [
            {key: value for key, value in frame.items() if key != "statusVersion"} for frame in session.of("status")
        ]
        expect_equal(statuses, history.statuses[name], f"live receipts for {name}")
        heard = [(frame["conversationId"], frame["userId"], frame["active"]) for frame in session.of("typing")]
        expect_equal(heard, history.typing[name], f"typing for {name}")
        if name not in history.erased:
            expect_equal(told_by(session), history.private[name], f"private changes for {name}")
        expect_equal(profiles_told_by(session), history.profile_news[name], f"news of profiles for {name}")
        others = {frame["userId"] for frame in session.of("presence")}
        strangers = {other for other in others if (name, other) not in history.joint}
        expect_equal(strangers, set(), f"presence of people whom {name} never was with")


class Reader:
    """One reader's questions, and what the model says they may learn."""

    def __init__(self, history: History, user: User):
        self.history, self.user = history, user
        self.known: dict[str, Knowledge] = {}
        for conversation in history.conversations:
            known = conversation.known_to(user)
            if known.is_reader:
                self.known[conversation.id] = known
        self.listed = {id: known for id, known in self.known.items() if known.is_listed}

    def where(self, what: str) -> str:
        return f"{what} for {self.user.name},"

    async def expect_everything(self, administrator: User, is_silent: bool):
        """`is_silent`: a suspension lets them write nothing, also no report. They read what they may read."""
        for conversation in self.history.conversations:
            if conversation.id in self.known:
                await self.expect_conversation(conversation, self.known[conversation.id])
            else:
                await expect_not_found(self.user, conversation, is_silent)
        await self.expect_lists()
        await self.expect_private_stream()
        await self.expect_sessions()
        await self.expect_presence()
        await self.expect_profiles()
        await self.expect_same_for_backend(administrator)
        if not is_silent:
            await self.expect_reports(administrator)

    # A conversation

    async def expect_conversation(self, conversation: Conversation, known: Knowledge):
        path, user = conversation.path, self.user
        expect_equal(plain(await user.get(path)), known.conversation(), f"conversation for {user.name}")
        members = await self.pages(path + "/members", "members", limit=2)
        expect_equal(members, known.members(), f"members for {user.name}")
        await self.expect_bans(path, known)
        await self.expect_invitations(path, known)
        await self.expect_join_requests(path, known)
        pinned = await user.get(path + "/pinned?limit=100")
        expect_equal(plain(pinned), {"messages": known.pinned(), "more": False}, f"pinned for {user.name}")
        mentions, after = [], 0
        while after is not None:
            page = await user.get(f"{path}/mentions?limit=2&after={after}")
            mentions, after = mentions + page["messages"], page.get("through")
        expect_equal(plain(mentions), known.mentions(), f"mentions of {user.name}")
        settings = self.history.settings_in(user, conversation)
        expect_equal(await user.get(path + "/settings"), settings, f"settings for {user.name}")
        await self.expect_history(conversation, known)
        await self.expect_changes(conversation, known)
        await self.expect_digest(conversation, known)
        await asyncio.gather(
            *(self.expect_message(conversation, known, message.id) for message in known.now.messages.values()
              if message.kind != "system"),
            *(self.expect_message(conversation, known, id) for id in known.now.gone if not id.startswith("system ")),
        )  # fmt: skip
        await self.expect_found(conversation, known)

    async def expect_bans(self, path: str, known: Knowledge):
        bans = known.bans()
        if bans is None:
            expect_equal((await self.user.request("GET", path + "/bans")).status, 403, self.where("bans"))
        else:
            expect_equal(await self.pages(path + "/bans", "bans", limit=1), bans, self.where("bans"))

    async def expect_join_requests(self, path: str, known: Knowledge):
        requests, path = known.join_requests(), path + "/join-requests"
        if requests is None:
            expect_equal((await self.user.request("GET", path)).status, 403, self.where("requests to join"))
        else:
            expect_equal(await self.pages(path, "requests", limit=1), requests, self.where("requests to join"))

    async def expect_invitations(self, path: str, known: Knowledge):
        invitations, answer = known.invitations(), await self.user.request("GET", path + "/invitations")
        if invitations is None:
            expect_equal(answer.status, 403, self.where("invitations"))
        else:
            expect_equal(answer.body["invitations"], invitations, self.where("invitations"))

    async def expect_history(self, conversation: Conversation, known: Knowledge):
        expected = [known.message(message) for message in known.visible()]
        all = await self.user.page(conversation.id, limit=200)
        expect_equal(plain(all["messages"]), expected, f"history for {self.user.name}")
        expect_equal((all["hasMoreBefore"], all["hasMoreAfter"], all["lastSeq"]), (False, False, known.world.last_seq))
        await asyncio.gather(*(self.expect_system_message(conversation, some) for some in all["messages"]))
        for anchor in self.history.random.choices(range(1, known.now.last_seq + 2), k=3):
            for direction in ("before", "after", "around"):
                await self.expect_page(conversation, known, direction, anchor, expected)

    async def expect_page(self, conversation, known: Knowledge, direction: str, anchor: int, expected: list[dict]):
        page = await self.user.page(conversation.id, **{direction: anchor}, limit=4)
        older = [message for message in expected if message["seq"] < anchor + (direction == "after")]
        newer = expected[len(older) :]
        first, end = {"before": (4, 0), "after": (0, 4), "around": (2, 2)}[direction]
        shown = older[max(0, len(older) - first) :] + newer[:end]
        what = f"history {direction} {anchor} for {self.user.name}"
        expect_equal(plain(page["messages"]), shown, what)
        more = (len(older) > first, len(newer) > end, known.world.last_seq)
        expect_equal((page["hasMoreBefore"], page["hasMoreAfter"], page["lastSeq"]), more, what)

    async def expect_system_message(self, conversation: Conversation, message: dict):
        if message["kind"] == "system":
            path = f"{conversation.path}/messages/{message['id']}"
            expect_equal(await self.user.get(path), message)
            expect_equal((await self.user.request("GET", path + "/receipts")).status, 403)
            expect_equal((await self.user.request("GET", path + "/revisions")).status, 404)
            expect_equal(await self.user.get(path + "/tapbacks"), {"tapbacks": [], "counts": {}})

    async def expect_message(self, conversation: Conversation, known: Knowledge, id: str):
        path = f"{conversation.path}/messages/{id}"
        message = known.world.messages.get(id)
        if not known.sees(message):
            for part in ("", "/revisions", "/tapbacks", "/receipts", "/votes"):
                answer = await self.user.request("GET", path + part)
                expect_equal(answer.status, 404, f"{part} of a message that {self.user.name} does not see")
                assert "seq" not in answer.body and conversation.id not in str(answer.body["detail"])
            return
        what = f"message {message.seq} for {self.user.name}"
        expect_equal(await self.user.get(path), known.message(message), what)
        revisions = await self.user.request("GET", path + "/revisions")
        expected = known.revisions(message)
        expect_equal(revisions.body.get("revisions"), expected, "revisions of " + what)
        expect_equal(revisions.status, 404 if expected is None else 200)
        tapbacks = await self.pages(path + "/tapbacks", "tapbacks", "counts", limit=2)
        expect_equal(tapbacks, known.tapbacks(message), "tapbacks of " + what)
        for option in (None, 0, 1):
            part = path + "/votes" + ("" if option is None else f"?option={option}")
            votes = [{key: vote[key] for key in ("userId", "options")} for vote in (await self.user.get(part))["votes"]]
            expect_equal(votes, known.votes(message, option), f"votes of {what}, option {option}")
        receipts = known.receipts(message)
        if receipts is None:
            expect_equal((await self.user.request("GET", path + "/receipts")).status, 403)
        else:
            expect_equal(await self.user.get(path + "/receipts"), receipts, "receipts of " + what)

    async def expect_reports(self, administrator: User):
        """What may be reported is what is seen, and as it is seen; the rest is not there."""
        for id, known in self.known.items():
            messages = [message for message in known.now.messages.values() if message.kind != "system"]
            for message in self.history.random.sample(messages, k=min(5, len(messages))):
                body = {"id": new_id(), "conversationId": id, "messageId": message.id, "reason": "other"}
                answer = await self.user.request("POST", "/v1/reports", body)
                seen, what = (
                    known.world.messages.get(message.id),
                    f"report of message {message.seq} by {self.user.name}",
                )
                if not known.sees(seen):
                    expect_equal(answer.status, 404, what)
                    continue
                assert answer.status in ACCEPTED, (answer, what)
                report = await administrator.get(f"/v1/conversations/{id}/reports/{body['id']}")
                expect_equal((report["reporterId"], report["message"]), (self.user.name, known.reported(seen)), what)

    async def expect_changes(self, conversation: Conversation, known: Knowledge):
        expected = known.changes()
        for after in (0, self.history.random.randrange(known.now.last_seq + 1)):
            page = await self.user.get(conversation.path + "/changes", after=after, limit=200)
            shown = [change for change in expected if change["seq"] > after]
            what = f"changes after {after} for {self.user.name}"
            expect_equal(plain(page["changes"]), shown, what)
            expect_equal((page["lastSeq"], page["more"]), (known.world.last_seq, False), what)
            few = await self.user.get(conversation.path + "/changes", after=after, limit=3)
            expect_equal((plain(few["changes"]), few["more"]), (shown[:3], len(shown) > 3), what)

    async def expect_digest(self, conversation: Conversation, known: Knowledge):
        copy = Copy()
        for change in known.changes():
            copy.changes[change["seq"]] = change
        for message in known.visible():
            if message.kind != "system":
                copy.messages[message.id] = known.message(message)
        server = await digest(self.user, conversation.id)
        expect_equal(copy.differing_pages(server["pages"]), [], f"digest for {self.user.name}")
        expect_equal(server["lastSeq"], known.world.last_seq)
        expect_equal(len(server["pages"]), 1)

    # Searching

    async def expect_found(self, conversation: Conversation, known: Knowledge):
        if not known.is_listed:
            answer = await self.user.request("GET", "/v1/search", params={"q": WORD, "conversationId": conversation.id})
            expect_equal(answer.status, 404, f"search for {self.user.name}, who is asked")
            return
        found = await self.pages(
            "/v1/search", "results", limit=4, cursor="cursor", q=WORD, conversationId=conversation.id
        )
        expected = self.findable(known)
        expect_equal([result["message"] for result in found], expected, f"search for {self.user.name}")
        assert all(WORD in result["snippet"].replace("\2", "").replace("\3", "") for result in found)
        present = " ".join(shown for message in expected for shown in words_of(message["text"], message))
        past = sorted(
            {
                word
                for fact in known.facts
                for shown in words_of(fact.about.get("text"), {"attachments": fact.about.get("files", [])})
                for word in re.findall(r"w\d+x", shown)
                if word not in present
            }
        )
        for word in self.history.random.sample(past, min(4, len(past))):
            page = await self.user.get("/v1/search", q=word, conversationId=conversation.id)
            expect_equal(page["results"], [], f"what {self.user.name} finds by a text that is not theirs")

    @staticmethod
    def findable(known: Knowledge) -> list[dict]:
        found = ("text", "reply", "poll")
        present = (some for some in reversed(known.visible()) if some.kind in found and not some.deleted_at)
        return [known.message(some) for some in present]

    # Lists

    async def expect_lists(self):
        requests = (await self.user.get("/v1/requests"))["requests"]
        waiting = {id: known.conversation() for id, known in self.known.items() if known.is_asked}
        expect_equal(
            {each["conversation"]["id"]: plain(each["conversation"]) for each in requests}, waiting, "requests"
        )
        expected = [known.conversation() for known in self.listed.values()]
        expected.sort(key=lambda shown: (shown["lastActivityAt"], uuid.UUID(shown["id"]).bytes), reverse=True)
        listed = await self.pages("/v1/conversations", "conversations", limit=1, cursor="before")
        expect_equal(plain(listed), expected, f"list for {self.user.name}")
        counted = [
            some for some in expected if "archived" not in some and some.get("mutedUntil") != FOR_EVER
            and (some["unreadCount"] or "markedUnread" in some)
        ]  # fmt: skip
        total = {
            "conversations": len(counted), "messages": sum(some["unreadCount"] for some in counted),
            "mentions": sum(some.get("unreadMentions", 0) for some in counted), "more": False,
        }  # fmt: skip
        expect_equal(await self.user.get("/v1/unread"), total, f"badge for {self.user.name}")
        synchronised = await self.user.get("/v1/sync")
        assert not synchronised["more"] and synchronised["private"] == []
        listed = sorted(plain(synchronised["conversations"]), key=lambda shown: shown["id"])
        expect_equal(listed, sorted(expected, key=lambda shown: shown["id"]), f"sync for {self.user.name}")
        found = await self.pages("/v1/search", "results", limit=50, cursor="cursor", q=WORD)
        everywhere = [message for known in self.listed.values() for message in self.findable(known)]
        expect_equal(
            sorted((result["message"] for result in found), key=lambda message: message["id"]),
            sorted(everywhere, key=lambda message: message["id"]),
            f"search everywhere for {self.user.name}",
        )

    async def pages(self, path: str, name: str, *others: str, cursor: str = "after", **query):
        """All pages: the list of that name, or a page with the whole list where there is more to it."""
        items, more = [], {}
        while True:
            page = await self.user.get(path, **query | more)
            items += page[name]
            if "nextCursor" not in page:
                return {name: items} | {other: page[other] for other in others} if others else items
            more = {cursor: page["nextCursor"]}

    # The private stream

    def private(self) -> list[dict]:
        """Replayed: a joining tells where the conversation is by now, a setting what is in force now, and a draft comes
        with the change that told of it as it is now."""
        told = []
        for frame in self.history.private[self.user.name]:
            frame = dict(frame)
            if frame["kind"] == "conversation.joined":
                frame["lastSeq"] = self.known[frame["conversationId"]].world.last_seq
            if frame["kind"] == "settings.changed" and "conversationId" in frame:
                [of] = [some for some in self.history.conversations if some.id == frame["conversationId"]]
                frame |= self.history.settings_in(self.user, of)
            elif frame["kind"] == "settings.changed":
                frame |= self.history.settings[self.user.name]
            if frame["kind"] == "profile.changed":
                frame["profileVersion"] = self.history.profiles[self.user.name]["version"]
            if frame["kind"] in ("muted", "pinned", "archived", "markedUnread"):
                frame = {key: frame[key] for key in ("type", "kind", "conversationId", "useq", "at")}
                frame |= self.known[frame["conversationId"]].told(frame["kind"])
            if frame["kind"] == "join.requested" and frame["userId"] in self.history.erased:
                del frame["userId"]
            if frame["kind"] == "scheduled":
                frame.pop("scheduled", None)  # All were sent or cancelled.
            if frame["kind"] == "draft":
                now = self.known[frame["conversationId"]].draft()
                if now != {"draft": frame.get("draft")}:
                    frame.pop("draft", None)
            told.append(frame)
        return told

    async def expect_private_stream(self):
        expect_equal(await self.user.get("/v1/settings"), self.history.settings[self.user.name])
        blocked = [user["userId"] for user in (await self.user.get("/v1/blocks"))["users"]]
        expect_equal(blocked, sorted(other for user, other in self.history.blocks if user == self.user.name))
        changes, cursor, more = [], self.history.cursors[self.user.name], True
        while more:
            page = await self.user.get("/v1/sync", since=cursor)
            changes, cursor, more = changes + page["private"], page["cursor"], page["more"]
        self.expect_private(changes, "private changes by sync")

    def expect_private(self, changes: list[dict], what: str):
        useqs = [change["useq"] for change in changes]
        expect_equal(useqs, list(range(1, len(useqs) + 1)), f"{what} for {self.user.name}")
        shown = [{"type": "private"} | change for change in changes if change["kind"] != "read.moved"]
        expect_equal(shown, self.private(), f"{what} for {self.user.name}")
        for change in changes:
            if change["kind"] == "read.moved":
                assert change["readSeq"] <= self.known[change["conversationId"]].conversation()["readSeq"]

    # Sessions

    async def expect_sessions(self):
        new = await self.user.connect()
        await new.quiet()
        expected = [known.conversation() for known in self.listed.values()]
        welcomed = sorted(plain(new.welcome["conversations"]), key=lambda shown: shown["id"])
        expect_equal(welcomed, sorted(expected, key=lambda shown: shown["id"]), f"welcome for {self.user.name}")
        expect_equal([frame for frame in new.frames if frame["type"] not in ("welcome", "pong", "presence")], [])
        await self.expect_replay({id: 0 for id in self.listed})
        await self.expect_replay(
            {id: self.history.random.randrange(known.world.last_seq) for id, known in self.listed.items()}
        )

    async def expect_replay(self, cursors: dict[str, int]):
        session = await self.user.connect(cursors=cursors, useq=0, statusVersions={})
        for id, after in cursors.items():
            known = self.known[id]
            expected = known.replayed(after)
            if expected:
                await session.reach(id, expected[-1]["seq"])
            moved = known.moved()
            if moved:
                await session.next("status", where=lambda frame, id=id: frame["conversationId"] == id)
            if known.misses(after):
                await session.next("reload", where=lambda frame, id=id: frame["conversationId"] == id)
        await session.until(lambda: len(told_by(session)) >= len(self.history.private[self.user.name]))
        await session.quiet()
        for id, after in cursors.items():
            known = self.known[id]
            changes = plain(session.changes(id))
            expect_equal(changes, known.replayed(after), f"replay after {after} for {self.user.name}")
            self.expect_status([frame for frame in session.of("status") if frame["conversationId"] == id], known)
        reloads = {frame["conversationId"]: frame["lastSeq"] for frame in session.of("reload")}
        missing = {id: self.known[id].world.last_seq for id, after in cursors.items() if self.known[id].misses(after)}
        expect_equal(reloads, missing, f"reloads for {self.user.name}")
        self.expect_private(
            [{key: value for key, value in frame.items() if key != "type"} for frame in session.of("private")],
            "private changes by replay",
        )
        kinds = {frame["type"] for frame in session.frames}
        assert kinds <= {"welcome", "change", "private", "status", "presence", "pong", "reload"}, kinds
        await session.close()

    def expect_status(self, frames: list[dict], known: Knowledge):
        told = [{name: frame[name] for name in ("delivered", "read") if frame.get(name)} for frame in frames]
        moved = known.moved()
        expect_equal([some for some in told if some], [moved] if moved else [], f"receipts for {self.user.name}")
        assert known.is_member or not frames, "receipts for a former member"

    # Who is online

    async def expect_presence(self):
        settings = self.history.settings
        expected = {
            other
            for other in settings
            if other not in (self.user.name, *self.history.erased)
            and settings[other]["presence"]
            and settings[self.user.name]["presence"]
            and any(
                known.is_member and other in known.world.roles and other not in {*known.now.asked, *known.now.closed}
                for known in self.known.values()
            )
            and not {(self.user.name, other), (other, self.user.name)} & self.history.blocks
        }
        session = await self.user.connect()

        def online() -> set[str]:
            latest = {frame["userId"]: frame["online"] for frame in session.of("presence")}
            return {user for user, is_online in latest.items() if is_online}

        await session.until(lambda: online() == expected)
        await session.quiet()
        # Who was erased a moment ago is shown for some seconds longer, like everybody whose last session ends.
        told = {frame["userId"] for frame in session.of("presence")} - self.history.erased
        expect_equal(told, expected, f"presence for {self.user.name}")
        await session.close()

    # What people are called

    def may_read_profile(self, other: str) -> bool:
        return other == self.user.name or any(
            known.meets(other) for known in self.known.values() if known.is_listed or known.is_asked
        )

    async def expect_profiles(self):
        profiles = {name: some for name, some in self.history.profiles.items() if name not in self.history.erased}
        names = sorted(self.history.by_name)
        seen = {name for name in names if self.may_read_profile(name)}
        shown = [profiles[name] for name in names if name in profiles and name in seen]
        expect_equal(await profiles_of(self.user, names), shown, f"profiles for {self.user.name}")
        # Who guesses a version learns nothing by that: it is the same answer as for somebody without a profile.
        versions = [profiles.get(name, {"version": 7})["version"] for name in names]
        gone = [{"userId": name, "version": 0} for name in names if name not in profiles or name not in seen]
        expect_equal(await profiles_of(self.user, names, versions), gone, f"other versions for {self.user.name}")

    # The application's backend

    async def expect_same_for_backend(self, administrator: User):
        acting = {"headers": {"X-Parley-User": self.user.name}}
        path = "/v1/profiles?ids=" + ",".join(self.history.by_name)
        answer = await administrator.request("GET", path, **acting)
        expect_equal(answer.body, await self.user.get(path), f"profiles for the backend as {self.user.name}")
        for known in self.known.values():
            for part in ("", "/members", "/messages", "/changes"):
                path = f"/v1/conversations/{known.now.id}{part}"
                answer = await administrator.request("GET", path, **acting)
                expect_equal(answer.body, await self.user.get(path), f"{part} for the backend as {self.user.name}")


# Files


async def expect_files(history: History, people: list[User]):
    for file in history.files:
        await asyncio.gather(*(history.expect_file(file, user) for user in people if user.name not in history.erased))


def words_of(text: str | None, message: dict) -> list[str]:
    """What a message is found by."""
    return [text or "", *(file["name"] for file in message.get("attachments", []))]


# What people are called


async def profiles_of(user: User, names: list[str], versions: list[int] | None = None) -> list[dict]:
    known = {"versions": ",".join(map(str, versions))} if versions else {}
    return (await user.get("/v1/profiles", ids=",".join(names), **known))["profiles"]


async def expect_profiles(history: History, stranger: User, administrator: User):
    names = sorted(history.by_name)
    expect_equal(await profiles_of(stranger, names), [], "profiles for a stranger")
    all = [history.profiles[name] for name in names if name in history.profiles and name not in history.erased]
    expect_equal(await profiles_of(administrator, names), all, "profiles for the backend")


# Who knows nothing


async def expect_not_found(user: User, conversation: Conversation, is_silent: bool = False):
    """Every question about it gets the very answer that a conversation gets that never was. `is_silent`: as above."""
    message = next((some.id for some in conversation.world.messages.values() if some.kind != "system"), new_id())
    nowhere, nothing = new_id(), new_id()
    for part in (
        "", "/members", "/bans", "/join-requests", "/pinned", "/mentions", "/invitations", "/messages",
        "/messages?around=2", "/changes", "/digest", "/settings",
        f"/messages/{message}", f"/messages/{message}/revisions", f"/messages/{message}/tapbacks",
        f"/messages/{message}/receipts", f"/messages/{message}/votes",
    ):  # fmt: skip
        there = await user.request("GET", f"{conversation.path}{part}")
        elsewhere = await user.request("GET", f"/v1/conversations/{nowhere}{part.replace(message, nothing)}")
        expect_equal(there.status, 404, part)
        expect_equal(raw(there), raw(elsewhere), part)
    there = await user.request("GET", "/v1/search", params={"q": WORD, "conversationId": conversation.id})
    elsewhere = await user.request("GET", "/v1/search", params={"q": WORD, "conversationId": nowhere})
    expect_equal((there.status, raw(there)), (404, raw(elsewhere)))
    await expect_writes_not_found(user, conversation, message, nowhere, nothing, (404, 403) if is_silent else (404,))


async def expect_writes_not_found(
    user, conversation: Conversation, message: str, nowhere: str, nothing: str, statuses: tuple[int, ...]
):
    writes = [
        ("PATCH", "", {"title": "mine"}), ("POST", "/messages", {"id": new_id(), "text": "here I am"}),
        ("POST", "/messages", {"id": message, "text": "here I am"}),
        ("POST", "/messages", {"id": new_id(), "text": "here I am", "replyTo": message}),
        ("PATCH", f"/messages/{message}", {"text": "mine"}), ("DELETE", f"/messages/{message}", None),
        ("DELETE", f"/messages/{message}?scope=everyone", None),
        ("PUT", f"/messages/{message}/tapback", {"kind": "love"}),
        ("PUT", f"/messages/{message}/vote", {"options": [0]}), ("POST", f"/messages/{message}/close", None),
        ("DELETE", f"/messages/{message}/tapback", None), ("PUT", f"/messages/{message}/pin", None),
        ("DELETE", f"/messages/{message}/pin", None), ("PUT", f"/members/{user.name}", {}),
        ("DELETE", f"/members/{user.name}", None), ("POST", "/receipts", {"readSeq": 1}), ("DELETE", "/history", None),
        ("PUT", "/settings", {"readReceipts": False}), ("PUT", "/permissions", {"write": "members"}),
        ("DELETE", f"/join-requests/{new_id()}", None), ("DELETE", f"/bans/{user.name}", None),
        ("POST", "/invitations", {"id": new_id()}),
        ("DELETE", f"/invitations/{new_id()}", None),
    ]  # fmt: skip
    report = {"id": new_id(), "userId": user.name, "reason": "spam"}
    there, elsewhere = [
        await user.request("POST", "/v1/reports", report | {"conversationId": id, "messageId": some})
        for id, some in ((conversation.id, message), (nowhere, nothing))
    ]
    expect_equal((there.status in statuses, raw(there)), (True, raw(elsewhere)), "report")
    for method, part, body in writes:
        there = await user.request(method, conversation.path + part, body)
        path = f"/v1/conversations/{nowhere}{part.replace(message, nothing)}"
        elsewhere = await user.request(method, path, body)
        expect_equal((there.status in statuses, raw(there)), (True, raw(elsewhere)), f"{method} {part}")


def raw(answer) -> tuple:
    headers = {key: value for key, value in answer.headers.items() if key.lower() not in ("date", "x-request-id")}
    return answer.body, headers


async def expect_unheard(user: User, stranger: User):
    """Whom they bring in hears nothing, as `expect_nothing_for` finds; to them it looks as ever."""
    path = f"/v1/conversations/{(group := new_id())}"
    created = await user.request(
        "POST", "/v1/conversations", {"id": group, "kind": "group", "members": [stranger.name]}
    )
    assert created.status == 201, created
    assert stranger.name in [member["userId"] for member in (await user.get(path + "/members"))["members"]]
    sent = await user.request("POST", path + "/messages", {"id": new_id(), "text": WORD})
    assert sent.status == 201, sent
    assert (await stranger.request("GET", path)).status == 404


async def expect_nothing_for(stranger: User, history: History):
    for conversation in history.conversations:
        await expect_not_found(stranger, conversation)
    cursors = {conversation.id: 0 for conversation in history.conversations}
    session = await stranger.connect(cursors=cursors, statusVersions=dict(cursors), useq=0)
    await session.quiet()
    assert [frame for frame in session.frames if frame["type"] not in ("welcome", "pong")] == []
    assert session.welcome["conversations"] == []
    expect_equal(await stranger.get("/v1/conversations"), {"conversations": []})
    expect_equal((await stranger.get("/v1/search", q=WORD))["results"], [])


# Repetitions


async def expect_repetitions_answered(history: History):
    """A keyed write is answered again whoever its actor is by now: with what they may know by now."""
    for actor, conversation, path, request, answer_of in history.repeats:
        known = conversation.known_to(actor)
        if actor.name in history.erased or not known.is_reader:
            continue
        answer = await actor.request(**request)
        expected = answer_of(known)
        what = f"repetition of {request['method']} {path} by {actor.name}"
        if expected is None:
            assert answer.status == 404, answer
        else:
            expect_equal(answer.status, 200, what)
            expect_equal(plain(answer.body), expected, what)


# Silence


async def quiet_list(user: User) -> list[dict]:
    """Without `changeSeq`: it rises to the end of the window when a message is touched later (docs/decisions/0014)."""
    listed = (await user.get("/v1/conversations"))["conversations"]
    for each in listed:
        each.get("lastMessage", {}).pop("changeSeq", None)
    return listed


async def expect_silence_after_leaving(history: History):
    """Nothing tells former members that a conversation goes on: neither sessions, nor `sync`, nor lists."""
    for conversation in history.conversations:
        former = [
            user for user in history.people
            if user.name not in history.erased
            and (known := conversation.known_to(user)).is_reader and not known.is_member and known.is_listed
        ]  # fmt: skip
        heard = {user.name: len(history.sessions[user.name].frames) for user in former}
        before = {user.name: await quiet_list(user) for user in former}
        cursors = {user.name: await quiet_cursor(user) for user in former}
        replays = {user.name: conversation.known_to(user).replayed(0) for user in former}
        catching_up = [await user.open_socket() for user in former]
        await asyncio.gather(
            *(session.say("hello", token=user.token, cursors={conversation.id: 0}, statusVersions={})
              for user, session in zip(former, catching_up))
        )  # fmt: skip
        await history.send(conversation, history.owner)
        await history.rename(conversation, history.owner)
        await history.permit(conversation, history.owner)
        await history.tap(conversation, history.owner)
        await history.read(conversation, history.owner)
        await history.settle()
        for user, session in zip(former, catching_up):
            known = conversation.known_to(user)
            if known.misses(0):
                await session.next("reload")
            else:
                await session.reach(conversation.id, known.end)
            await session.quiet()
            assert session.of("status") == [], "receipts for a former member who catches up"
            for one, *states in zip(
                plain(session.changes(conversation.id)), known.replayed(0), replays[user.name], strict=True
            ):
                assert one in states, "what a former member catches up with, before or behind what goes on"
            quiet = [
                frame for frame in history.sessions[user.name].frames[heard[user.name] :] if frame["type"] != "pong"
            ]
            assert [some for some in quiet if some.get("kind") != "read.moved" and some["type"] != "presence"] == []
            expect_equal(await quiet_list(user), before[user.name], f"list for {user.name}")
            page = await user.get("/v1/sync", since=cursors[user.name])
            expect_equal(page["conversations"], [], f"sync for {user.name}")
            await session.close()


async def quiet_cursor(user: User) -> str:
    """A cursor behind which nothing comes again: a page may repeat what was written while it was read."""
    page = await user.get("/v1/sync")

    async def is_quiet() -> bool:
        nonlocal page
        page = await user.get("/v1/sync", since=page["cursor"])
        return not page["conversations"]

    await eventually(is_quiet)
    return page["cursor"]


# Comparing


def plain(value):
    """With names for the ids of system messages, which the server draws."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    value = {key: plain(item) for key, item in value.items()}
    if value.get("kind") == "system" and "seq" in value:
        value["id"] = f"system {value['seq']}"
    return value


def expect_equal(actual, expected, what: str = ""):
    if actual != expected:
        raise AssertionError("\n".join([what, *differences(actual, expected)][:12]))


def differences(actual, expected, path: str = ""):
    """Where two values differ, one line for each place."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        for key in sorted(actual.keys() | expected.keys(), key=str):
            nothing = "(nothing)"
            yield from differences(actual.get(key, nothing), expected.get(key, nothing), f"{path}.{key}")
    elif isinstance(actual, list) and isinstance(expected, list) and len(actual) == len(expected):
        for n, (one, other) in enumerate(zip(actual, expected)):
            yield from differences(one, other, f"{path}[{n}]")
    elif isinstance(actual, list) and isinstance(expected, list):
        yield f"{path}: {len(actual)} instead of {len(expected)}"
        yield from (f"{path}: only there: {item}" for item in actual if item not in expected)
        yield from (f"{path}: missing: {item}" for item in expected if item not in actual)
    elif actual != expected:
        yield f"{path}: {actual!r} instead of {expected!r}"
