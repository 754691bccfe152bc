"""What a client knows of a conversation, built from changes as they come; and what one knows that starts anew."""

from client import Session, User
from digests import expect_equal_digests


class Replica:
    """By position, what its reader sees. Two replicas of one reader are equal when they show the same."""

    def __init__(self):
        self.items: dict[int, tuple[int, str]] = {}
        self.hidden: set[str] = set()
        self.cleared = 0
        self._seqs: dict[str, int] = {}

    def take_message(self, message: dict):
        """Of two states of a message the one with the higher `changeSeq` is the newer."""
        seq = self._seqs[message["id"]] = message["seq"]
        if message["id"] in self.hidden or seq <= self.cleared:
            return
        if self.items.get(seq, (0,))[0] < message["changeSeq"]:
            event = message.get("event")
            self.items[seq] = (message["changeSeq"], _event(event) if event else _state(message))

    def take_change(self, change: dict):
        if "message" in change:
            self.take_message(change["message"])
        elif change["kind"] != "conversation.created" and change["seq"] > self.cleared:
            if not change["kind"].startswith(("message.", "tapback.")):
                self.items[change["seq"]] = (change["seq"], _event(change))

    def take_private(self, frame: dict):
        if frame["kind"] == "message.hidden":
            self.hidden.add(frame["messageId"])
            self.items.pop(self._seqs.get(frame["messageId"]), None)
        elif frame["kind"] == "history.cleared":
            self.cleared = max(self.cleared, frame["throughSeq"])
            self.items = {seq: item for seq, item in self.items.items() if seq > self.cleared}


def _event(event: dict) -> str:
    return f"{event['kind']} {event.get('userId')} {event.get('title')}"


def _state(message: dict) -> str:
    counts = sorted(message["tapbackCounts"].items())
    return f"{message['text']} {message.get('deletedForEveryone')} {counts}"


def followed(session: Session, conversation: str) -> Replica:
    """What somebody has who followed the conversation on this session from its beginning."""
    replica = Replica()
    for frame in session.frames:
        if frame["type"] == "change" and frame["change"]["conversationId"] == conversation:
            replica.take_change(frame["change"])
        elif frame["type"] == "private" and frame.get("conversationId") == conversation:
            replica.take_private(frame)
    return replica


async def fresh(user: User, conversation: str) -> Replica:
    replica = Replica()
    for message in await user.history(conversation):
        replica.take_message(message)
    return replica


async def expect_agreement(user: User, sessions: list[Session], conversation: str):
    """Every session, a client that pages through all changes, and one that starts anew show the same, and have the
    digests that the server has."""
    state = await user.conversation(conversation)
    paged = Replica()
    for change in await user.changes(conversation):
        paged.take_change(change)
    anew = await fresh(user, conversation)
    for session in sessions:
        await session.reach(conversation, state["lastSeq"])
        await session.quiet()
        positions = session.positions(conversation)
        assert positions == list(range(state["windows"][0]["from"], state["lastSeq"] + 1)), "dense, once, in order"
        replica = followed(session, conversation)
        paged.hidden, paged.cleared = replica.hidden, replica.cleared
        assert replica.items == anew.items
    visible = {
        seq: item
        for seq, item in paged.items.items()
        if seq > paged.cleared and seq not in {paged._seqs.get(id) for id in paged.hidden}
    }
    assert visible == anew.items
    await expect_equal_digests(user, conversation, *sessions)
