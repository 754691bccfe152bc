"""The digests of a conversation, computed as docs/api.md ("Comparing copies") tells client authors to: from what came
to a client, never from the endpoint."""

import asyncio
import hashlib
from dataclasses import dataclass, field

from client import PATIENCE, User

PAGE = 1_000
"""Positions of a page."""


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def change_line(change: dict) -> str:
    """A change came with its message, if that is the reader's to see; with a member's name; or with neither."""
    about = change["message"]["id"] if "message" in change else change.get("userId", "-")
    return f"{change['seq']} {change['kind']} {about} {change['actorId']}\n"


def message_line(message: dict) -> str:
    tapbacks = sorted(message["tapbackCounts"].items(), key=lambda item: item[0].encode())
    fields = [
        message["seq"],
        message["id"],
        message["senderId"],
        message["replyTo"]["messageId"] if "replyTo" in message else "-",
        message.get("editedAt", "-"),
        ",".join(message["mentions"]) or "-",
        ",".join(f"{kind}:{count}" for kind, count in tapbacks) or "-",
        "-" if (text := message.get("sealed", message["text"])) is None else sha256(text),
    ]
    if poll := message.get("poll"):
        votes = ",".join(str(option["votes"]) for option in poll["options"])
        fields.append(("closed:" if "closedAt" in poll else "open:") + votes)
    return " ".join(map(str, fields)) + "\n"


@dataclass
class Copy:
    """What one client has of one conversation."""

    changes: dict[int, dict] = field(default_factory=dict)
    messages: dict[str, dict] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    cleared: int = 0

    def take_change(self, change: dict):
        self.changes[change["seq"]] = change
        if "message" in change:
            self.take_message(change["message"])
        if change["kind"] == "history.trimmed":
            self.trim(change["keptFrom"])

    def trim(self, kept_from: int):
        """Messages before this position are kept no longer, nor are the changes there that are about messages."""
        self.messages = {id: message for id, message in self.messages.items() if message["seq"] >= kept_from}
        about_messages = ("message.", "tapback.", "poll.", "history.")
        for seq, change in list(self.changes.items()):
            if seq < kept_from and change["kind"].startswith(about_messages):
                del self.changes[seq]
            elif "message" in change and change["message"]["seq"] < kept_from:
                self.changes[seq] = {key: value for key, value in change.items() if key != "message"}

    def take_message(self, message: dict):
        """Of two states of a message the one with the higher `changeSeq` is the newer."""
        known = self.messages.get(message["id"])
        if message["kind"] != "system" and (known is None or known["changeSeq"] < message["changeSeq"]):
            self.messages[message["id"]] = message

    def take_private(self, frame: dict):
        if frame["kind"] == "message.hidden":
            self.hidden.add(frame["messageId"])
        elif frame["kind"] == "history.cleared":
            self.cleared = max(self.cleared, frame["throughSeq"])

    def change_lines(self, first: int, last: int) -> str:
        return "".join(self.line_of_change(self.changes[seq]) for seq in sorted(self.changes) if first <= seq <= last)

    def message_lines(self, first: int, last: int) -> str:
        visible = [
            message
            for id, message in self.messages.items()
            if first <= message["seq"] <= last and message["seq"] > self.cleared and id not in self.hidden
        ]
        return "".join(map(self.line_of_message, sorted(visible, key=lambda message: message["seq"])))

    line_of_change = staticmethod(change_line)
    line_of_message = staticmethod(message_line)

    def differing_pages(self, pages: list[dict], *parts: str) -> list[tuple[int, str]]:
        """Where a part of this copy is not what the server's pages say: the page's first position, and the part."""
        mine = {"changes": self.change_lines, "state": self.message_lines}
        return [
            (page["fromSeq"], part)
            for page in pages
            for part in parts or ("changes", "state")
            if sha256(mine[part](page["fromSeq"], page["toSeq"])) != page[part]
        ]


class SlimCopy(Copy):
    """The same, of a conversation however long: kept as the lines that the digests are made of."""

    def take_change(self, change: dict):
        self.changes[change["seq"]] = change_line(change)
        if "message" in change:
            self.take_message(change["message"])

    def take_message(self, message: dict):
        known = self.messages.get(message["id"])
        if message["kind"] != "system" and (known is None or known["changeSeq"] < message["changeSeq"]):
            kept = {"seq": message["seq"], "changeSeq": message["changeSeq"], "line": message_line(message)}
            self.messages[message["id"]] = kept

    @staticmethod
    def line_of_change(change: str) -> str:
        return change

    @staticmethod
    def line_of_message(message: dict) -> str:
        return message["line"]


async def digest(user: User, conversation: str, **query) -> dict:
    """The server's: all pages of one state of the conversation, asked for again while it moves."""
    async with asyncio.timeout(PATIENCE):
        while True:
            pages, states = [], set()
            answer = {"more": True}
            while answer["more"]:
                after = {"after": pages[-1]["toSeq"]} if pages else {}
                answer = await user.get(f"/v1/conversations/{conversation}/digest", **query | after)
                pages += answer["pages"]
                states.add((answer["lastSeq"], answer["useq"]))
            if len(states) == 1:
                return answer | {"pages": pages}


async def copied(user: User, conversation: str) -> Copy:
    """What a client has that starts anew: all changes, and the messages of all pages of history."""
    copy = Copy(changes={change["seq"]: change for change in await user.changes(conversation)})
    for message in await user.history(conversation):
        copy.take_message(message)
    return copy


async def followed(session, user: User, conversation: str) -> Copy:
    """What somebody has who followed the conversation on a session, and read in pages what came before it."""
    live = session.changes(conversation)
    copy = Copy()
    for change in await user.changes(conversation):
        if not live or change["seq"] < live[0]["seq"]:
            copy.take_change(change)
    for frame in session.frames:
        if frame["type"] == "change" and frame["change"]["conversationId"] == conversation:
            copy.take_change(frame["change"])
        elif frame["type"] == "private" and frame.get("conversationId") == conversation:
            copy.take_private(frame)
    return copy


async def expect_equal_digests(user: User, conversation: str, *sessions):
    """A client that starts anew, and every one that followed all the time, has what the server says the user has."""
    server = await digest(user, conversation)
    assert server["pages"], "a digest of nothing"
    copies = [await copied(user, conversation)]
    for session in sessions:
        await session.reach(conversation, server["lastSeq"])
        await session.quiet()
        copies.append(await followed(session, user, conversation))
    for copy in copies:
        assert copy.differing_pages(server["pages"]) == []
