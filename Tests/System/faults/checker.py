"""Compares what clients were told with what they find in the end. Knows nothing of how Parley works inside."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator

from faults.book import Ending, Finding, Seen, Write, outline

MADE_BY = {
    "send": "message.created",
    "edit": "message.edited",
    "delete": "message.deleted",
    "react": "tapback.set",
    "rename": "conversation.renamed",
    "add": "member.added",
    "remove": "member.removed",
}
"""The kind of change that each acknowledged write makes exactly once."""


def check(writes: list[Write], seen: list[Seen], endings: list[Ending]) -> list[Finding]:
    by_conversation = defaultdict(list)
    for write in writes:
        by_conversation[write.conversation].append(write)
    found: list[Finding] = [finding for each in seen for finding in each.findings]
    for ending in endings:
        found += _ending(ending, by_conversation[ending.conversation], seen)
    return found


def _ending(ending: Ending, writes: list[Write], seen: list[Seen]) -> Iterator[Finding]:
    yield from _answers(writes)
    yield from _positions(ending)
    yield from _every_write_once(ending, writes)
    yield from _order_of_writers(writes)
    yield from _histories(ending, writes)
    yield from _revisions(ending, writes)
    yield from _receipts(ending, writes)
    yield from _hidden(ending, writes, seen)
    for each in seen:
        yield from _device(ending, each)


def _answers(writes: list[Write]) -> Iterator[Finding]:
    allowed = {"send": (422,), "edit": (409,), "react": (409,), "unreact": (409,), "hide": (404,)}
    for write in writes:
        if not write.is_acknowledged and write.status not in allowed.get(write.kind, ()):
            yield Finding("refused", str(write))


def _positions(ending: Ending) -> Iterator[Finding]:
    """Changes are numbered from 1 without gaps, and time does not go back along them."""
    for expected, change in enumerate(ending.changes, 1):
        if change["seq"] != expected:
            yield Finding("lost", f"position {expected} of {ending.conversation}: {change['seq']} comes next")
            return
    for earlier, later in itertools.pairwise(ending.changes):
        if later["at"] < earlier["at"]:
            yield Finding("reordered", f"times of {later['seq']} and the one before in {ending.conversation}")


def _every_write_once(ending: Ending, writes: list[Write]) -> Iterator[Finding]:
    """An acknowledged write made one change, one that was refused made none, and there are no others."""
    expected = Counter(_mark(write) for write in writes if write.is_acknowledged and write.kind in MADE_BY)
    made = Counter(_mark_of_change(change) for change in ending.changes)
    for mark in expected.keys() | made.keys():
        if mark[0] not in MADE_BY.values():
            continue
        missing = expected[mark] - made[mark]
        if missing > 0:
            yield Finding("lost", f"{missing} × {mark} in {ending.conversation}")
        elif missing < 0:
            category = "duplicated" if expected[mark] else "different"
            yield Finding(category, f"{-missing} × {mark} in {ending.conversation}")
    created = defaultdict(list)
    for change in ending.changes:
        if change["kind"] == "message.created":
            created[change["message"]["id"]].append(change["seq"])
    for write in writes:
        if write.kind == "send" and write.is_acknowledged:
            places = created[write.message]
            if places and places != [write.seq]:
                yield Finding("reordered", f"{write} was acknowledged at {write.seq} and is at {places}")


def _mark(write: Write) -> tuple:
    """What write and change have in common, as exactly as the change tells."""
    what = write.value if write.kind in ("rename", "add", "remove") else write.message
    return (MADE_BY[write.kind], write.user, what)


def _mark_of_change(change: dict) -> tuple:
    kind = change["kind"]
    if kind.startswith("member."):
        what = change["userId"]
    elif kind == "conversation.renamed":
        what = change["title"]
    else:
        what = (change.get("message") or {}).get("id")
    return (kind, change.get("actorId"), what)


def _order_of_writers(writes: list[Write]) -> Iterator[Finding]:
    """Who waits for an answer before sending again finds both in that order."""
    latest: dict[str, Write] = {}
    for write in sorted(writes, key=lambda write: write.begun):
        if write.kind != "send" or not write.is_acknowledged:
            continue
        before = latest.get(write.writer)
        if before and write.seq <= before.seq:
            yield Finding("reordered", f"{write} at {write.seq}, after {before} at {before.seq}")
        latest[write.writer] = write


def _histories(ending: Ending, writes: list[Write]) -> Iterator[Finding]:
    """Every reader finds each acknowledged message once, in order; the deleted ones without their texts."""
    sent = {write.message: write for write in writes if write.kind == "send" and write.is_acknowledged}
    deleted = {write.message for write in writes if write.kind == "delete" and write.is_acknowledged}
    hidden = {(write.user, write.message) for write in writes if write.kind == "hide" and write.status == 204}
    for reader, history in ending.histories.items():
        where = f"in the history of {ending.conversation} for {reader}"
        positions = [message["seq"] for message in history]
        if positions != sorted(set(positions)):
            yield Finding("reordered", f"positions {where}")
        messages = {message["id"]: message for message in history}
        count = Counter(message["id"] for message in history)
        yield from (Finding("duplicated", f"message {id} {where}") for id in count if count[id] > 1)
        for id, write in sent.items():
            message = messages.get(id)
            if (reader, id) in hidden:
                if message:
                    yield Finding("visible", f"hidden message {id} {where}")
            elif not message:
                yield Finding("lost", f"message {id} {where}")
            elif id in deleted:
                if message["text"] is not None or not message.get("deletedForEveryone"):
                    yield Finding("visible", f"deleted message {id} {where}")
            elif message["seq"] != write.seq:
                yield Finding("reordered", f"message {id} {where}: at {message['seq']}, acknowledged at {write.seq}")
    for change in ending.changes:
        message = change.get("message") or {}
        if message.get("id") in deleted and message.get("text") is not None:
            yield Finding(
                "visible", f"the text of a deleted message in change {change['seq']} of {ending.conversation}"
            )


def _revisions(ending: Ending, writes: list[Write]) -> Iterator[Finding]:
    """The texts of a message are the one it was sent with and those of all acknowledged edits, each once."""
    texts = defaultdict(list)
    for write in writes:
        if write.kind in ("send", "edit") and write.is_acknowledged:
            texts[write.message].append(write.value)
    for id, revisions in ending.revisions.items():
        lost, more = Counter(texts[id]) - Counter(revisions), Counter(revisions) - Counter(texts[id])
        yield from (Finding("lost", f"edit {text!r} of {id}") for text in lost)
        yield from (Finding("duplicated", f"edit {text!r} of {id}") for text in more)


def _receipts(ending: Ending, writes: list[Write]) -> Iterator[Finding]:
    furthest: dict[str, int] = {}
    for write in writes:
        if write.kind == "read" and write.is_acknowledged:
            furthest[write.user] = max(furthest.get(write.user, 0), int(write.value))
    for user, seq in furthest.items():
        if ending.read.get(user, 0) < seq:
            yield Finding("lost", f"{user} has read {ending.conversation} up to {seq}, told is {ending.read.get(user)}")


def _hidden(ending: Ending, writes: list[Write], seen: list[Seen]) -> Iterator[Finding]:
    """Hiding a message is told once to each device of who hid it."""
    for write in writes:
        if write.kind != "hide" or write.status != 204:
            continue
        for each in seen:
            if each.user == write.user and (times := each.hidden.count(write.message)) != 1:
                category = "duplicated" if times else "lost"
                yield Finding(category, f"{write} was told {times} times")


def _device(ending: Ending, seen: Seen) -> Iterator[Finding]:
    """A member's device got every change once, in order, and the same as everybody; a guest's those of their stays."""
    positions = seen.positions.get(ending.conversation)
    if positions is None:
        return
    last = len(ending.changes)
    where = f"in {ending.conversation} for {seen.user}"
    for seq in positions:
        told = seen.changes[ending.conversation, seq]
        if not 1 <= seq <= last:
            yield Finding("different", f"position {seq} {where}: the last one is {last}")
        elif not _is_same(told, outline(ending.changes[seq - 1])):
            yield Finding("different", f"position {seq} {where}: {told}, but {outline(ending.changes[seq - 1])}")
    if seen.is_member_throughout:
        if missing := set(range(positions[0] if positions else 2, last + 1)) - set(positions):
            yield Finding("lost", f"positions {sorted(missing)[:5]}… {where} ({len(missing)} in all)")
    else:
        yield from _guest(ending, seen, positions)


def _is_same(told: tuple, final: tuple) -> bool:
    """Those who came later are told of changes to older messages without the message."""
    return told == final or (told[3] is None and told[:3] == final[:3])


def _guest(ending: Ending, seen: Seen, positions: list[int]) -> Iterator[Finding]:
    stays = _stays(ending, seen.user)
    where = f"in {ending.conversation} for {seen.user}"
    for seq in positions:
        if not any(first <= seq <= last for first, last in stays):
            told = seen.changes[ending.conversation, seq]
            yield Finding("visible", f"position {seq} {where}, outside of the stays {stays}: {told}")
    for first, last in stays:
        within = [seq for seq in positions if first <= seq <= last]
        if within and within != list(range(within[0], last + 1)):
            yield Finding("lost", f"positions of the stay from {first} to {last} {where}: {len(within)} came")


def _stays(ending: Ending, user: str) -> list[tuple[int, int]]:
    stays, joined = [], None
    for change in ending.changes:
        if change.get("userId") == user and change["kind"] == "member.added":
            joined = change["seq"]
        elif change.get("userId") == user and change["kind"] == "member.removed":
            stays.append((joined, change["seq"]))
            joined = None
    return stays + ([(joined, len(ending.changes))] if joined else [])
