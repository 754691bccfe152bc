"""What clients saw: every write with its answer, every frame of every session, and how all of it ended."""

import time
from dataclasses import dataclass, field

CATEGORIES = ("lost", "duplicated", "reordered", "visible", "different", "refused")
"""What can be wrong: `visible` is what its reader must not see; `different` what two readers saw differently, or what
nobody asked for; `refused` an answer, or a silence, that a client repeating its request must not get."""


@dataclass(frozen=True)
class Finding:
    category: str
    text: str

    def __str__(self) -> str:
        return f"{self.category}: {self.text}"


@dataclass
class Write:
    """One write of one client, repeated under its id or key until it was answered."""

    kind: str
    """send, edit, delete, hide, react, unreact, rename, add, remove or read"""
    conversation: str
    user: str
    writer: str
    message: str | None = None
    value: str | None = None
    begun: float = field(default_factory=time.monotonic)
    answered: float | None = None
    status: int = 0
    seq: int | None = None
    repeats: list[float] = field(default_factory=list)

    @property
    def is_acknowledged(self) -> bool:
        return self.status in (200, 201, 202, 204)

    def __str__(self) -> str:
        return f"{self.kind} of {self.message or self.value} by {self.user} in {self.conversation}: {self.status}"


@dataclass
class Seen:
    """What came to one user's device over all its sessions, each resumed where the one before ended."""

    user: str
    is_member_throughout: bool = True
    positions: dict[str, list[int]] = field(default_factory=dict)
    changes: dict[tuple[str, int], tuple] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    reconnections: int = 0
    frames: int = 0


@dataclass
class Ending:
    """A conversation as its readers find it when all is quiet again."""

    conversation: str
    changes: list[dict]
    """as its owner pages through them"""
    histories: dict[str, list[dict]]
    """of each reader: all messages, as HTTP gives them"""
    revisions: dict[str, list[str]] = field(default_factory=dict)
    """of each message that was edited and is not deleted: its texts"""
    read: dict[str, int] = field(default_factory=dict)
    """how far each member has read, as the list of members tells"""


def outline(change: dict) -> tuple:
    """What of a change is the same for everybody who sees it, whenever they do."""
    message = change.get("message") or {}
    return (change["kind"], change.get("actorId"), change["at"], message.get("id"), change.get("userId"))
