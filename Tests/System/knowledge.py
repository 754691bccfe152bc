"""What each person may know of a conversation: a model that is kept naive so that it is obviously right.

A conversation is the list of what happened in it, in order. What somebody may know of it is that list, up to where they
left, read from its beginning each time a question is asked. Nothing is kept up to date, nothing is cut by arithmetic.
"""

from dataclasses import dataclass, field

EVERYTHING = 10**9
"""Behind every position."""
CHANGES = {
    "conversation.created", "conversation.renamed", "member.added", "member.removed", "member.changed",
    "permissions.changed", "lifetime.changed", "message.created",
    "message.edited", "message.deleted", "message.pinned", "message.unpinned", "tapback.set", "tapback.removed",
    "poll.voted", "poll.closed", "history.trimmed",
}  # fmt: skip
OPEN = {"addMembers": "members", "rename": "members", "write": "members"}
"""What a group permits to begin with."""
PERMITTED = {"members": {"member", "admin", "owner"}, "admins": {"admin", "owner"}, "owners": {"owner"}}
SHOWN_IN_HISTORY = {"member.added", "member.removed", "member.changed", "conversation.renamed"}


@dataclass
class Fact:
    """Something that happened. Changes have a position; `receipt`, `hide`, `clear`, `mark`, `draft`, `block`,
    `unblock`, `accept`, `decline`, `lift`, `invite`, `revoke`, `ask`, `refuse`, `withdraw` and `erased` have not."""

    kind: str
    actor: str
    at: str = ""
    seq: int = 0
    about: dict = field(default_factory=dict)


@dataclass
class Message:
    id: str
    seq: int
    sender: str
    kind: str
    texts: list[tuple[int, str, str]]
    """Position, text and time of each."""
    parent: str | None
    parent_seq: int | None
    mentions: list[str]
    sent_at: str
    created_at: str
    change_seq: int
    event: dict | None = None
    deleted_at: str | None = None
    tapbacks: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    """Position, kind and time, by user."""
    files: list[dict] = field(default_factory=list)
    """What it carries, as messages show it."""
    extra: dict | None = None
    pinned: tuple[int, str, str] | None = None
    """Position, user and time."""
    is_over: bool = False
    """Deleted because its time was over."""
    mentions_all: bool = False
    poll: dict | None = None
    """As it was sent."""
    votes: dict[str, tuple[int, list[int]]] = field(default_factory=dict)
    """Position and options, by user."""
    closed: tuple[int, str] | None = None
    """Position and time."""
    forwarded: dict | None = None
    """Who wrote it, and when."""

    def mentions_user(self, user: str) -> bool:
        return self.sender != user and (self.mentions_all or user in self.mentions)

    def forget(self, user: str):
        self.mentions = [name for name in self.mentions if name != user]
        if self.forwarded and self.forwarded["userId"] == user:
            self.forwarded = None


class World:
    """A conversation after some of the facts."""

    def __init__(self, id: str, kind: str, facts: list[Fact]):
        self.id, self.kind = id, kind
        self.title: str | None = None
        self.last_seq, self.created_at, self.last_at = 0, "", ""
        self.roles: dict[str, str] = {}
        """Of members."""
        self.stays: dict[str, list[list[int]]] = {}
        """As everybody else sees them."""
        self.views: dict[str, list[list[int]]] = {}
        """As they are to who stays: who blocks the other of two sees nothing while they do."""
        self.closed: dict[str, Fact] = {}
        """Whose view is closed, and when it was."""
        self.reopened: dict[str, Fact] = {}
        """When it was closed before it was opened again."""
        self.asked: set[str] = set()
        """Who is asked about it: a member to everybody else, who reads and nothing more."""
        self.taken: set[str] = set()
        """In whose list it is or was."""
        self.permissions = dict(OPEN)
        self.lifetimes: list[tuple[int, int | None, str]] = []
        """Since which position new messages stay how long, None: they stay; and from when on."""
        self.banned: dict[str, Fact] = {}
        """Who was removed by somebody else, and may not be brought back by members."""
        self.invitations: dict[str, dict] = {}
        """As they are listed."""
        self.wishes: dict[str, dict] = {}
        """Of those who asked to join: `at`, by which `invitation`, and whether it is `declined` or `withdrawn`."""
        self.last_roles: dict[str, str] = {}
        """Of everybody who ever was a member."""
        self.messages: dict[str, Message] = {}
        self.receipts: dict[str, list[tuple[str, int, str]]] = {}
        """Of each user: `delivered`, `shown` or `read`, up to where, and when."""
        self.hidden: dict[str, set[str]] = {}
        self.cleared: dict[str, int] = {}
        self.marks: dict[str, dict] = {}
        """What users keep to themselves: `muted`, `pinned`, `archived`, `markedUnread` (how far they had read)."""
        self.drafts: dict[str, dict] = {}
        """What members have written and not sent."""
        self.changes: list[Fact] = []
        self.kept_from = 1
        self.gone: set[str] = set()
        """Messages that were removed."""
        for fact in facts:
            self.take(fact)

    def take(self, fact: Fact):
        if fact.kind in CHANGES:
            self.changes.append(fact)
            self.last_seq = fact.seq
            if not fact.about.get("isOver") and fact.kind != "history.trimmed":
                self.last_at = fact.at
        if fact.kind in SHOWN_IN_HISTORY:
            event = {"kind": fact.kind} | {key: fact.about[key] for key in ("userId", "title") if key in fact.about}
            self.messages[f"system {fact.seq}"] = Message(
                f"system {fact.seq}", fact.seq, fact.actor, "system", [(fact.seq, "", fact.at)], None, None, [],
                fact.at, fact.at, fact.seq, event,
            )  # fmt: skip
        getattr(self, "_" + fact.kind.replace(".", "_"))(fact)

    def _conversation_created(self, fact: Fact):
        self.created_at, self.title = fact.at, fact.about["title"]
        for user in [fact.actor, *fact.about["members"]]:
            role = "owner" if user == fact.actor or self.kind == "direct" else "member"
            self._join(user, 1, role, user in fact.about["asked"])

    def _join(self, user: str, seq: int, role: str, is_asked: bool):
        self.roles[user] = self.last_roles[user] = role
        self.stays.setdefault(user, []).append([seq, EVERYTHING])
        if is_asked and user in self.closed:
            return  # They had declined, and were taken out: no stranger asks again.
        self.closed.pop(user, None)
        self._view(user, seq)
        (self.asked if is_asked else self.taken).add(user)

    def _view(self, user: str, seq: int):
        """A stay begins. Of those of somebody who was only asked the last one counts."""
        views = self.views.setdefault(user, [])
        if user not in self.taken:
            views.clear()
        views.append([seq, EVERYTHING])

    def _conversation_renamed(self, fact: Fact):
        self.title = fact.about["title"]

    def may(self, user: str, what: str) -> bool:
        return self.roles[user] in PERMITTED[self.permissions.get(what, "admins")]

    def may_mention_all(self, user: str) -> bool:
        return self.kind == "group" and self.may(user, "mentionAll")

    def _permissions_changed(self, fact: Fact):
        self.permissions = dict(fact.about["permissions"])

    def _lifetime_changed(self, fact: Fact):
        self.lifetimes.append((fact.seq, fact.about["seconds"], fact.about["from"]))

    @property
    def lifetime(self) -> dict | None:
        return self.lifetime_told(*self.lifetimes[-1]) if self.lifetimes else None

    @staticmethod
    def lifetime_told(seq: int, seconds: int | None, start: str) -> dict | None:
        if seconds is None:
            return None
        return {"seconds": seconds, "sinceSeq": seq} | ({"from": start} if start != "sending" else {})

    def lifetime_of(self, message: Message) -> tuple[int, int, str] | None:
        """The one that it was sent under."""
        then = [lifetime for lifetime in self.lifetimes if lifetime[0] < message.seq]
        return then[-1] if then and then[-1][1] is not None else None

    def over(self) -> list[Message]:
        """What is still there of all that was sent while messages disappeared, when its time has passed."""
        gone, waiting = [], set()
        for message in sorted(self.messages.values(), key=lambda message: message.seq):
            if not (lifetime := self.lifetime_of(message)):
                continue
            since, _, start = lifetime
            # What has not been read is waited for by all that follows.
            if start == "reading" and not self.is_read(message):
                waiting.add(since)
            if since not in waiting and message.kind != "system" and not message.deleted_at:
                gone.append(message)
        return gone

    def is_read(self, message: Message) -> bool:
        """By all others who are there, as they are shown, and were when it came."""
        there = [
            user for user, stays in self.stays.items() if stays[-1][1] == EVERYTHING and stays[-1][0] <= message.seq
        ]
        return all(self.horizon(user, "shown") >= message.seq for user in there if user != message.sender)

    def _lift(self, fact: Fact):
        del self.banned[fact.about["userId"]]

    def _invite(self, fact: Fact):
        self.invitations = {id: some for id, some in self.invitations.items() if self.is_good(some)}
        self.invitations[fact.about["id"]] = dict(fact.about)

    def _revoke(self, fact: Fact):
        self.invitations.pop(fact.about["id"], None)

    def _ask(self, fact: Fact):
        """A use counts once for each who asks, and what was declined stays so."""
        user, invitation = fact.actor, fact.about["invitation"]
        before = self.wishes.get(user, {})
        if before.get("invitation") != invitation:
            self.invitations[invitation]["uses"] += 1
        self.wishes[user] = {
            "at": fact.at, "invitation": invitation, "declined": before.get("declined", False), "withdrawn": False,
        }  # fmt: skip

    def _refuse(self, fact: Fact):
        self.wishes[fact.about["userId"]]["declined"] = True

    def _withdraw(self, fact: Fact):
        self.wishes[fact.actor]["withdrawn"] = True

    def asks(self, user: str) -> bool:
        """As far as they know."""
        return user in self.wishes and not self.wishes[user]["withdrawn"]

    def waiting(self) -> list[str]:
        """For those who decide."""
        return sorted(user for user in self.wishes if self.asks(user) and not self.wishes[user]["declined"])

    def is_good(self, invitation: dict) -> bool:
        return invitation["uses"] < invitation.get("maxUses", EVERYTHING)

    def opens(self, id: str, user: str) -> bool:
        """Whether an invitation lets somebody in whom its maker has not blocked."""
        invitation = self.invitations.get(id)
        if invitation is None or user in self.banned or not self.is_good(invitation):
            return False
        return self.may(invitation["creatorId"], "addMembers")

    def _member_added(self, fact: Fact):
        self.banned.pop(fact.about["userId"], None)
        self.wishes.pop(fact.about["userId"], None)
        if invitation := fact.about.get("invitation"):
            self.invitations[invitation]["uses"] += 1
        self._join(fact.about["userId"], fact.seq, fact.about["role"], fact.about["asked"])

    def _member_changed(self, fact: Fact):
        self.roles[fact.about["userId"]] = self.last_roles[fact.about["userId"]] = fact.about["role"]

    def _member_removed(self, fact: Fact):
        del self.roles[fact.about["userId"]]
        self.drafts.pop(fact.about["userId"], None)
        self.stays[fact.about["userId"]][-1][1] = fact.seq
        if fact.about["userId"] not in self.closed:
            self.views[fact.about["userId"]][-1][1] = fact.seq
        self.asked.discard(fact.about["userId"])
        self.invitations = {
            id: some for id, some in self.invitations.items() if some["creatorId"] != fact.about["userId"]
        }
        if fact.actor != fact.about["userId"]:
            self.banned[fact.about["userId"]] = fact

    def _message_created(self, fact: Fact):
        about = fact.about
        kind = "poll" if about.get("poll") else "sealed" if about.get("isSealed") else "text"
        self.messages[about["id"]] = Message(
            about["id"], fact.seq, fact.actor, "reply" if about["replyTo"] else kind,
            [(fact.seq, about["text"], fact.at)], about["replyTo"],
            self.messages[about["replyTo"]].seq if about["replyTo"] else None,
            list(about["mentions"]), about["sentAt"], fact.at,
            fact.seq, files=about.get("files", []), extra=about.get("extra"),
            mentions_all=about.get("mentionsAll", False), poll=about.get("poll"), forwarded=about.get("forwarded"),
        )  # fmt: skip
        if about["isDeleted"]:
            self._message_deleted(fact)

    def _message_edited(self, fact: Fact):
        message = self._touched(fact)
        if "text" in fact.about:
            message.texts.append((fact.seq, fact.about["text"], fact.at))

    def _message_deleted(self, fact: Fact):
        message = self._touched(fact)
        message.deleted_at, message.mentions, message.tapbacks, message.pinned = fact.at, [], {}, None
        message.is_over, message.mentions_all, message.votes = fact.about.get("isOver", False), False, {}
        message.forwarded = None

    def _message_pinned(self, fact: Fact):
        self._touched(fact).pinned = (fact.seq, fact.actor, fact.at)

    def _message_unpinned(self, fact: Fact):
        self._touched(fact).pinned = None

    def _poll_voted(self, fact: Fact):
        message = self._touched(fact)
        if options := fact.about.get("options"):
            message.votes[fact.actor] = (fact.seq, sorted(options))
        else:
            message.votes.pop(fact.actor, None)

    def _poll_closed(self, fact: Fact):
        self._touched(fact).closed = (fact.seq, fact.at)

    def _tapback_set(self, fact: Fact):
        self._touched(fact).tapbacks[fact.actor] = (fact.seq, fact.about["kind"], fact.at)

    def _tapback_removed(self, fact: Fact):
        self._touched(fact).tapbacks.pop(fact.actor, None)

    def _touched(self, fact: Fact) -> Message:
        message = self.messages[fact.about["id"]]
        message.change_seq = fact.seq
        if erased := fact.about.get("erasing"):
            message.tapbacks.pop(erased, None)
            message.votes.pop(erased, None)
            message.forget(erased)
        return message

    def _history_trimmed(self, fact: Fact):
        self.trim(fact.about["keptFrom"])

    def trim(self, kept_from: int):
        """Nothing is left of messages before a position, nor of what happened to messages before it."""
        self.kept_from = max(self.kept_from, kept_from)
        self.gone |= {id for id, message in self.messages.items() if message.seq < kept_from}
        self.messages = {id: message for id, message in self.messages.items() if id not in self.gone}
        self.changes = [fact for fact in self.changes if fact.seq >= kept_from or not is_of_messages(fact)]

    def _receipt(self, fact: Fact):
        for what in ("delivered", "shown", "read"):
            if what in fact.about:
                self.receipts.setdefault(fact.actor, []).append((what, fact.about[what], fact.at))

    def _hide(self, fact: Fact):
        self.hidden.setdefault(fact.actor, set()).add(fact.about["id"])

    def _clear(self, fact: Fact):
        self.cleared[fact.actor] = max(self.cleared.get(fact.actor, 0), fact.about["through"])

    def _mark(self, fact: Fact):
        marks = self.marks.setdefault(fact.actor, {})
        kind, value = fact.about["kind"], fact.about["value"]
        end = min(self.last_seq, self.views[fact.actor][-1][1])
        if kind == "muted" and not is_muted(marks) and "archived" in marks:
            if any(marks["archived"] < message.seq <= end for message in self.messages.values()):
                del marks["archived"]  # It had come back.
        if kind == "archived" and value is not None:
            value = min(value, end)
        if kind == "markedUnread" and value is not None:
            value = self.horizon(fact.actor, "read")
        marks.pop(kind, None)
        if value is not None:
            marks[kind] = value

    def _draft(self, fact: Fact):
        self.drafts.pop(fact.actor, None)
        if fact.about["text"]:
            self.drafts[fact.actor] = {key: value for key, value in fact.about.items() if value} | {"at": fact.at}

    def _block(self, fact: Fact):
        self.drafts.pop(fact.actor, None)
        views = self.views[fact.actor]
        if views[-1][0] > self.last_seq:
            views.pop()  # Nothing came since it was opened.
        else:
            views[-1][1] = self.last_seq
            self.closed[fact.actor] = fact
            return
        self.closed[fact.actor] = self.reopened.pop(fact.actor)

    def _unblock(self, fact: Fact):
        self.reopened[fact.actor] = self.closed.pop(fact.actor)
        self.views[fact.actor].append([self.last_seq + 1, EVERYTHING])

    def _accept(self, fact: Fact):
        if fact.actor in self.asked:
            self.asked.remove(fact.actor)
        else:
            del self.closed[fact.actor]
            views, [first, _] = self.views[fact.actor], self.stays[fact.actor][-1]
            if views[-1][0] < first:
                self._view(fact.actor, first)  # They had declined an earlier stay.
            views[-1][1] = EVERYTHING
        self.taken.add(fact.actor)

    def _decline(self, fact: Fact):
        self.asked.remove(fact.actor)
        self.views[fact.actor][-1][1] = self.last_seq
        self.closed[fact.actor] = fact

    def _erased(self, fact: Fact):
        """Nobody is shown any more that they were here, but for their name where they did something."""
        user = fact.actor
        self.stays.pop(user, None)
        self.views.pop(user, None)
        self.banned.pop(user, None)
        self.wishes.pop(user, None)
        self.receipts.pop(user, None)
        for message in self.messages.values():
            message.tapbacks.pop(user, None)
            message.forget(user)

    def horizon(self, user: str, what: str) -> int:
        return max((seq for kind, seq, _ in self.receipts.get(user, []) if kind == what), default=0)

    def when(self, user: str, what: str, seq: int) -> str | None:
        """When somebody got to a position."""
        return min((at for kind, to, at in self.receipts.get(user, []) if kind == what and to >= seq), default=None)


def is_of_messages(fact: Fact) -> bool:
    return fact.kind.startswith(("message.", "tapback.", "poll.", "history."))


FOR_EVER, LONG_AGO = "9999-12-31T23:59:59.999Z", "2020-03-07T17:04:11.302Z"


def is_muted(marks: dict) -> bool:
    return marks.get("muted") == FOR_EVER


class Knowledge:
    """What one reader may know of one conversation. The rules, and there are no others:

    - Who never was a member knows nothing.
    - A former member knows the conversation as it was when they left. What is deleted for everyone or erased later is
      gone for them too, and so is a tapback that was replaced or taken back.
    - Whoever is or was a member knows what happened during their stays; of changes during their stays to a message from
      outside of them, that there was one and who made it.
    - A file can be read by whom it is from and by whoever sees a message that carries it, and by nobody once no message
      does that did. Its uploader can as long as a message that was refused may still come.
    - What is kept no longer is gone for everybody, former members too, and so is what happened to messages until then.
    - What they hid or cleared is in no answer about messages. (Changes say nothing about one reader.)
    - Who may do what in a group, and how long messages stay, is known to whoever is in it, and who is banned to its
      owners and admins.
    - Who was invited by whom, and how many came, is known to owners and admins, and to who invited.
    - Who asks to join is known to owners and admins, until that is decided, and by whom they were invited as long as
      the invitation is there. They themselves know what they knew before, and when they asked.
    - What they keep to themselves, whether they are a member or were, is in their answers and in no other. So is what a
      member has written and not sent, which goes with their stay.
    - Who blocks the other of two knows the conversation as it was then, until they end that, and nothing of what
      happened meanwhile. To the other they are a member who is away.
    - Who is asked about it knows what a member knows who came when they did, and hears of nothing live. To all others
      they are a member who is away, and still are when they decline. Then they know it as it was when they did, until
      they accept. What they knew from an earlier time ends when they are asked again or come in.
    - Receipts of a message are known to its sender, as far as the recipients show them.
    - What somebody is called is known, as it is now, to everybody who ever was here while they were, as others see it.
    """

    def __init__(self, id: str, kind: str, facts: list[Fact], reader: str):
        self.reader = reader
        self.now = World(id, kind, facts)
        self.is_reader = reader in self.now.views
        if not self.is_reader:
            return
        self.is_asked = reader in self.now.asked
        self.is_listed = reader in self.now.taken
        self.is_member = reader in self.now.roles and reader not in self.now.closed and not self.is_asked
        self.end = self.now.views[reader][-1][1]
        self.closing = self.now.closed.get(reader)
        then = [n for n, fact in enumerate(facts) if fact is self.closing or not self.closing and fact.seq == self.end]
        self.facts = facts
        self.world = self.as_of(facts[: then[0] + 1]) if then else self.now

    def as_of(self, facts: list[Fact]) -> World:
        """The world of then, without what has gone since."""
        world = World(self.now.id, self.now.kind, facts)
        for fact in self.facts[len(facts) :]:
            if fact.kind == "erased":
                world.take(fact)
            if fact.kind == "history.trimmed":
                world.trim(min(fact.about["keptFrom"], world.last_seq + 1))
        for id, message in world.messages.items():
            now = self.now.messages[id]
            if now.change_seq > message.change_seq:
                # Only how far the reader may see is told: not what the change was, nor where.
                message.change_seq = min(now.change_seq, world.last_seq)
            message.tapbacks = {user: set for user, set in message.tapbacks.items() if now.tapbacks.get(user) == set}
            message.votes = {user: vote for user, vote in message.votes.items() if now.votes.get(user) == vote}
            message.pinned = message.pinned if now.pinned == message.pinned else None
            if now.deleted_at and not message.deleted_at:
                message.deleted_at, message.mentions, message.tapbacks = now.deleted_at, [], {}
                message.is_over, message.mentions_all, message.forwarded = now.is_over, False, None
                message.texts = message.texts[:1]  # which of the edits came before is not known any more
        return world

    # What they see

    def covers(self, seq: int) -> bool:
        return any(first <= seq <= last for first, last in self.now.views[self.reader])

    def sees(self, message: Message | None) -> bool:
        return (
            message is not None
            and self.covers(message.seq)
            and message.seq > self.now.cleared.get(self.reader, 0)
            and message.id not in self.now.hidden.get(self.reader, set())
        )

    def visible(self) -> list[Message]:
        return sorted(filter(self.sees, self.world.messages.values()), key=lambda message: message.seq)

    def mentions(self) -> list[dict]:
        """What mentions the reader, in the order of the history."""
        return [self.message(message) for message in self.visible() if message.mentions_user(self.reader)]

    def pinned(self) -> list[dict]:
        """Latest pin first."""
        pinned = [message for message in self.visible() if message.pinned]
        return [self.message(message) for message in sorted(pinned, key=lambda message: message.pinned, reverse=True)]

    def meets(self, other: str) -> bool:
        """Whether somebody was here while they were; behind the last position, too, where a stay may begin."""
        stays = self.now.stays.get(other, [])
        return any(
            self.covers(seq) and any(first <= seq <= last for first, last in stays)
            for seq in range(1, self.now.last_seq + 2)
        )

    def files(self) -> set[str]:
        """What is carried by what they see."""
        return {file["id"] for message in self.visible() for file in self.carried(message)}

    @staticmethod
    def carried(message: Message) -> list[dict]:
        return [] if message.deleted_at else message.files

    # How answers show it

    def message(self, message: Message) -> dict:
        shown = self.bare(message, voter=self.reader)
        if message.parent:
            shown["replyTo"] = self.reference(message.parent)
        return shown | (self.status(message) if message.sender == self.reader and message.kind != "system" else {})

    @staticmethod
    def poll(message: Message, voter: str | None) -> dict:
        chosen = [vote for _, vote in message.votes.values()]
        options = [
            {"text": text, "votes": sum(place in vote for vote in chosen)}
            for place, text in enumerate(message.poll["options"])
        ]
        return (
            {"options": options, "multiple": message.poll["multiple"], "voters": len(chosen)}
            | ({"closedAt": message.closed[1]} if message.closed else {})
            | ({"vote": {"userId": voter, "options": message.votes.get(voter, (0, []))[1]}} if voter else {})
        )

    def votes(self, message: Message, option: int | None = None) -> list[dict]:
        """Without their times."""
        votes = sorted(message.votes.items())
        return [{"userId": user, "options": vote} for user, (_, vote) in votes if option is None or option in vote]

    def bare(self, message: Message, world: World | None = None, voter: str | None = None) -> dict:
        """As changes have it: the same for everybody."""
        world = world or self.world
        is_text = message.kind != "system" and not message.deleted_at
        tapbacks = sorted(message.tapbacks.items(), key=lambda item: (item[1][2], item[0]))
        counts: dict[str, int] = {}
        for _, (_, kind, _) in tapbacks:
            counts[kind] = counts.get(kind, 0) + 1
        return (
            {
                "id": message.id,
                "conversationId": world.id,
                "seq": message.seq,
                "changeSeq": message.change_seq,
                "senderId": message.sender,
                "kind": message.kind,
                "text": (message.texts[-1][1] or None) if is_text and message.kind != "sealed" else None,
                "sentAt": message.sent_at,
                "createdAt": message.created_at,
                "tapbacks": [{"userId": user, "kind": kind} for user, (_, kind, _) in tapbacks],
                "tapbackCounts": counts,
                "mentions": message.mentions,
            }
            | ({"sealed": message.texts[-1][1]} if message.kind == "sealed" and not message.deleted_at else {})
            | ({"poll": self.poll(message, voter)} if message.poll and not message.deleted_at else {})
            | ({"editedAt": message.texts[-1][2]} if len(message.texts) > 1 else {})
            | ({"deletedForEveryone": True, "deletedAt": message.deleted_at} if message.deleted_at else {})
            | ({"expired": True} if message.is_over else {})
            | ({"mentionsAll": True} if message.mentions_all else {})
            | ({"attachments": files} if (files := self.carried(message)) else {})
            | ({"extra": message.extra} if message.extra is not None and not message.deleted_at else {})
            | ({"forwarded": message.forwarded} if message.forwarded else {})
            | ({"pinned": dict(zip(("seq", "userId", "at"), message.pinned))} if message.pinned else {})
            | ({"event": message.event} if message.event else {})
            | ({"replyTo": {"messageId": message.parent, "seq": message.parent_seq}} if message.parent else {})
        )

    def reported(self, message: Message) -> dict:
        """The copy in a report of it."""
        shown = self.bare(message)
        names = ("senderId", "text", "createdAt", "extra")
        copy = {name: shown[name] for name in names if shown.get(name) is not None}
        if message.poll and not message.deleted_at:
            copy["options"] = message.poll["options"]
        return copy | ({"attachmentIds": [file["id"] for file in files]} if (files := shown.get("attachments")) else {})

    def reference(self, id: str) -> dict:
        parent = self.world.messages.get(id)
        if not self.sees(parent) or parent.deleted_at:
            return {"messageId": id, "unavailable": True}
        return {
            "messageId": id,
            "seq": parent.seq,
            "senderId": parent.sender,
            "preview": parent.texts[-1][1][:50],
        }

    def recipients(self, message: Message) -> list[str]:
        return sorted(
            user
            for user, stays in self.world.stays.items()
            if user != message.sender and any(first <= message.seq <= last for first, last in stays)
        )

    def status(self, message: Message) -> dict:
        recipients = self.recipients(message)
        times = {
            what: [at for user in recipients if (at := self.world.when(user, what, message.seq))]
            for what in ("delivered", "shown")
        }
        has = {what: bool(recipients) and len(times[what]) == len(recipients) for what in times}
        return (
            {
                "status": "read" if has["shown"] else "delivered" if has["delivered"] else "sent",
                "deliveredCount": len(times["delivered"]),
                "readCount": len(times["shown"]),
                "recipientCount": len(recipients),
            }
            | ({"dateDelivered": max(times["delivered"])} if has["delivered"] else {})
            | ({"dateRead": max(times["shown"])} if has["shown"] else {})
        )

    def receipts(self, message: Message) -> dict | None:
        """None: not theirs to ask for."""
        if message.sender != self.reader or message.kind == "system":
            return None
        status = self.status(message)

        def list_of(what: str) -> list[dict]:
            times = ((user, self.world.when(user, what, message.seq)) for user in self.recipients(message))
            return [{"userId": user, "at": at} for user, at in times if at]

        return {"delivered": list_of("delivered"), "read": list_of("shown")} | {
            key: status[key] for key in ("deliveredCount", "readCount", "recipientCount")
        }

    def revisions(self, message: Message) -> list[dict] | None:
        if message.deleted_at or message.kind == "system":
            return None
        key = "sealed" if message.kind == "sealed" else "text"
        return [{key: text, "at": at} for _, text, at in message.texts]

    def tapbacks(self, message: Message) -> dict:
        tapbacks = [
            {"userId": user, "kind": kind, "at": at} for user, (_, kind, at) in sorted(message.tapbacks.items())
        ]
        return {"tapbacks": tapbacks, "counts": self.bare(message)["tapbackCounts"]}

    def conversation(self) -> dict:
        world, visible = self.world, self.visible()
        read = self.now.horizon(self.reader, "read")
        unread = [
            message for message in visible
            if message.sender != self.reader and message.kind != "system" and not message.deleted_at
            and message.seq > read
        ]  # fmt: skip
        mentions = sum(message.mentions_user(self.reader) for message in unread)
        return (
            {
                "id": world.id,
                "kind": world.kind,
                "createdAt": world.created_at,
                "lastSeq": world.last_seq,
                "lastActivityAt": self.closing.at if self.closing else world.last_at,
                "memberCount": len(world.roles),
                "role": world.last_roles[self.reader],
                "windows": [
                    {"from": first} | ({"to": last} if last != EVERYTHING else {})
                    for first, last in self.now.views[self.reader]
                ],
                "clearedSeq": self.now.cleared.get(self.reader, 0),
                "unreadCount": len(unread),
                "readSeq": read,
                "deliveredSeq": self.now.horizon(self.reader, "delivered"),
            }
            | ({"unreadMentions": mentions} if mentions else {})
            | ({"title": world.title} if world.title else {})
            | ({"lastMessage": self.message(visible[-1])} if visible else {})
            | self.marks(visible, read)
            | self.draft()
            | ({"request": True} if self.is_asked else {})
            | ({"permissions": world.permissions} if self.knows_permissions else {})
            | ({"messageLifetime": world.lifetime} if self.knows_rules and world.lifetime else {})
            | ({"keptFrom": world.kept_from} if world.kept_from > 1 else {})
        )

    @property
    def knows_permissions(self) -> bool:
        """Of a group that restricts something, as long as they are in it."""
        return self.knows_rules and self.world.permissions != OPEN

    @property
    def knows_rules(self) -> bool:
        return self.is_member or self.is_asked

    def bans(self) -> list[dict] | None:
        """None: not theirs to ask for."""
        if not self.is_member or self.world.roles[self.reader] == "member":
            return None
        banned = sorted(self.world.banned.items())
        return [{"userId": user, "at": fact.at, "actorId": fact.actor} for user, fact in banned]

    def invitations(self) -> list[dict] | None:
        """None: not theirs to ask for."""
        if not self.is_member:
            return None
        sees_all = self.world.roles[self.reader] != "member"
        good = [some for some in self.now.invitations.values() if self.now.is_good(some)]
        mine = [some for some in good if sees_all or some["creatorId"] == self.reader]
        return sorted(mine, key=lambda some: (some["createdAt"], some["id"]))

    def join_requests(self) -> list[dict] | None:
        """None: not theirs to ask for."""
        if self.bans() is None:
            return None
        wishes, invitations = self.now.wishes, self.now.invitations
        return [
            {"userId": user, "requestedAt": wishes[user]["at"]}
            | ({"inviterId": some["creatorId"]} if (some := invitations.get(wishes[user]["invitation"])) else {})
            for user in self.now.waiting()
        ]

    def marks(self, visible: list[Message], read: int) -> dict:
        marks = self.now.marks.get(self.reader, {})
        shown = {"muted": "mutedUntil", "pinned": "pinOrder", "archived": "archivedSeq"}
        latest = visible[-1].seq if visible else 0
        return (
            {name: marks[kind] for kind, name in shown.items() if kind in marks}
            | ({"archived": True} if "archived" in marks and (is_muted(marks) or latest <= marks["archived"]) else {})
            | ({"markedUnread": True} if marks.get("markedUnread", -1) >= read else {})
        )

    def draft(self) -> dict:
        drafts = self.now.drafts
        return {"draft": drafts[self.reader]} if self.reader in drafts else {}

    def told(self, kind: str) -> dict:
        """What a private change about one of the marks says."""
        conversation = self.conversation()
        said = {
            "muted": ("mutedUntil", "archivedSeq"),
            "pinned": ("pinOrder",),
            "archived": ("archivedSeq",),
            "markedUnread": (),
        }[kind]
        fields = {name: conversation[name] for name in said if name in conversation}
        if kind == "markedUnread":
            fields = {"markedUnread": "markedUnread" in conversation, "readSeq": conversation["readSeq"]}
        return fields

    def members(self) -> list[dict]:
        world = self.world

        def horizon(user: str, what: str) -> int:
            return self.now.horizon(user, what) if user == self.reader else world.horizon(user, what)

        return [
            {
                "userId": user,
                "role": world.roles[user],
                "joinedSeq": world.stays[user][-1][0],
                "deliveredSeq": horizon(user, "delivered"),
                "readSeq": horizon(user, "read" if user == self.reader else "shown"),
            }
            for user in sorted(world.roles)
            if user in world.stays
        ]

    # Changes

    def change(self, fact: Fact, world: World) -> dict:
        """A change as this reader is told of it, with the state of a world."""
        told = {"conversationId": world.id, "seq": fact.seq, "kind": fact.kind, "at": fact.at, "actorId": fact.actor}
        if fact.kind == "conversation.created":
            told["conversation"] = {
                "id": world.id,
                "kind": world.kind,
                "createdAt": world.created_at,
                "memberCount": len(world.roles),
            } | ({"title": fact.about["title"]} if fact.about["title"] else {})
        elif fact.kind == "conversation.renamed":
            told["title"] = fact.about["title"]
        elif fact.kind == "permissions.changed":
            told["permissions"] = fact.about["permissions"]
        elif fact.kind == "lifetime.changed":
            lifetime = World.lifetime_told(fact.seq, fact.about["seconds"], fact.about["from"])
            if lifetime:
                told["messageLifetime"] = lifetime
        elif fact.kind.startswith("member."):
            told |= {"userId": fact.about["userId"], "role": fact.about["role"]}
        elif fact.kind == "history.trimmed":
            told["keptFrom"] = fact.about["keptFrom"]
        elif fact.about["id"] in world.messages and self.covers(world.messages[fact.about["id"]].seq):
            voter = fact.actor if fact.kind == "poll.voted" else None
            told["message"] = self.bare(world.messages[fact.about["id"]], world, voter)
        return told

    def changes(self) -> list[dict]:
        """As they are asked for: with the state of now, or of when the reader left."""
        return [self.change(fact, self.world) for fact in self.world.changes if self.covers(fact.seq)]

    def live(self, after: int = 0) -> list[dict]:
        """As they are told when they happen."""
        told = []
        for n, fact in enumerate(self.facts):
            if fact.kind in CHANGES and fact.seq > after and self.covers(fact.seq):
                then = World(self.now.id, self.now.kind, self.facts[: n + 1])
                before = World(self.now.id, self.now.kind, self.facts[:n])
                if not any(self.reader in {*world.asked, *world.closed} for world in (before, then)):
                    told.append(self.change(fact, then))
        return told

    def replayed(self, after: int) -> list[dict]:
        """As a session catches up, until something is missing: as of when the next member left, whoever it was, or the
        reader closed it."""
        told, left = [], {fact.seq for fact in self.now.changes}
        for n, fact in enumerate(self.facts):
            if fact.kind in CHANGES and fact.seq > after and self.covers(fact.seq):
                if fact.seq not in left:
                    break  # The rest is for the pages.
                leaving = (
                    m for m in range(n + 1, len(self.facts))
                    if self.facts[m].kind == "member.removed" or self.facts[m] is self.closing
                )  # fmt: skip
                end = next(leaving, None)
                told.append(self.change(fact, self.now if end is None else self.as_of(self.facts[: end + 1])))
        return told

    def misses(self, after: int) -> bool:
        """Whether something is missing of what a session would catch up with."""
        left = {fact.seq for fact in self.now.changes}
        return any(
            fact.kind in CHANGES and fact.seq > after and fact.seq not in left and self.covers(fact.seq)
            for fact in self.facts
        )

    def moved(self) -> dict[str, dict[str, int]]:
        """Who is where, as a client is told that has no receipts: the members, as far as they show it."""
        if not self.is_member:
            return {}
        where = {
            name: {user: seq for user in self.world.roles if (seq := self.world.horizon(user, what))}
            for name, what in (("delivered", "delivered"), ("read", "shown"))
        }
        return {name: users for name, users in where.items() if users}
