"""The checker of the fault suite finds what it is there for: each kind of harm, done to a history that was well."""

import copy

import pytest
from client import Answer
from faults.book import Ending, Seen, Write, outline
from faults.checker import check
from faults.files import File, Files

CONVERSATION = "c"


def change(seq: int, kind: str, actor: str = "alice", *, message: dict | None = None, **fields) -> dict:
    about = {"message": message} if message else {}
    return (
        {"conversationId": CONVERSATION, "seq": seq, "kind": kind, "actorId": actor, "at": f"{seq:03}"} | about | fields
    )


def message(id: str, seq: int, text: str | None, **fields) -> dict:
    return {"id": id, "seq": seq, "text": text} | fields


class Story:
    """alice sends, edits, deletes, renames, reacts and lets a guest in and out; bob hides and reads."""

    def __init__(self):
        tombstone = message("m2", 4, None, deletedForEveryone=True)
        self.changes = [
            change(1, "conversation.created"),
            change(2, "message.created", message=message("m1", 2, "edited")),
            change(3, "message.edited", message=message("m1", 2, "edited")),
            change(4, "message.created", message=tombstone),
            change(5, "message.deleted", message=tombstone),
            change(6, "tapback.set", "bob", message=message("m1", 2, "edited")),
            change(7, "conversation.renamed", title="t"),
            change(8, "member.added", userId="guest"),
            change(9, "message.created", message=message("m3", 9, "three")),
            change(10, "member.removed", userId="guest"),
            change(11, "message.created", message=message("m4", 11, "four")),
        ]
        history = [message("m1", 2, "edited"), tombstone, message("m3", 9, "three"), message("m4", 11, "four")]
        self.ending = Ending(
            CONVERSATION, self.changes, {"alice": history, "bob": history[:-1]}, {"m1": ["one", "edited"]}, {"bob": 9}
        )
        self.writes = [
            self.write("send", "m1", "one", seq=2),
            self.write("edit", "m1", "edited"),
            self.write("send", "m2", "two", seq=4),
            self.write("delete", "m2", status=204),
            self.write("react", "m1", "love", user="bob"),
            self.write("rename", value="t"),
            self.write("add", value="guest"),
            self.write("send", "m3", "three", seq=9),
            self.write("remove", value="guest", status=204),
            self.write("send", "m4", "four", seq=11),
            self.write("hide", "m4", user="bob", status=204),
            self.write("read", value="9", user="bob", status=202),
        ]
        self.bob = self.seen("bob", range(2, 12), hidden=["m4"])
        self.guest = self.seen("guest", range(8, 11), is_member_throughout=False)

    def write(self, kind, message=None, value=None, *, user="alice", status=200, seq=None) -> Write:
        return Write(kind, CONVERSATION, user, user, message, value, status=status, seq=seq)

    def seen(self, user, positions, **fields) -> Seen:
        changes = {(CONVERSATION, seq): outline(self.changes[seq - 1]) for seq in positions}
        return Seen(user, positions={CONVERSATION: list(positions)}, changes=changes, **fields)

    def categories(self) -> set[str]:
        return {finding.category for finding in check(self.writes, [self.bob, self.guest], [self.ending])}


def lose_a_message(story):
    del story.ending.histories["alice"][2]


def lose_a_change(story):
    del story.changes[8]


def lose_a_change_on_the_way(story):
    story.bob.positions[CONVERSATION].remove(6)


def lose_an_edit(story):
    story.ending.revisions["m1"].remove("one")


def lose_a_receipt(story):
    story.ending.read["bob"] = 8


def lose_what_was_hidden(story):
    story.bob.hidden.clear()


def lose_a_part_of_a_stay(story):
    story.guest.positions[CONVERSATION].remove(9)


def double_a_message(story):
    story.ending.histories["alice"].append(story.ending.histories["alice"][-1])


def double_an_edit(story):
    story.changes.append(change(12, "message.edited", message=message("m1", 2, "edited")))


def double_a_title(story):
    story.changes.append(change(12, "conversation.renamed", title="t"))


def tell_twice_what_was_hidden(story):
    story.bob.hidden.append("m4")


def acknowledge_another_position(story):
    story.writes[-3].seq = 10


def swap_two_messages_of_one_writer(story):
    story.writes[0].seq, story.writes[2].seq = 4, 2


def go_back_in_time(story):
    story.changes[5]["at"] = "001"


def show_what_was_deleted(story):
    story.ending.histories["bob"][1] = message("m2", 4, "two")


def show_what_was_deleted_as_a_change(story):
    story.changes[3] = change(4, "message.created", message=message("m2", 4, "two"))


def show_what_was_hidden(story):
    story.ending.histories["bob"] = story.ending.histories["alice"]


def show_a_guest_more(story):
    story.guest.positions[CONVERSATION].append(11)
    story.guest.changes[CONVERSATION, 11] = outline(story.changes[10])


def tell_another_change(story):
    story.bob.changes[CONVERSATION, 6] = outline(story.changes[6])


def do_what_nobody_asked_for(story):
    story.changes.append(change(12, "message.created", message=message("m9", 12, "?")))


def do_what_was_refused(story):
    story.writes[3].status = 409


def refuse(story):
    story.writes[5].status = 500


def never_answer(story):
    story.writes[5].status = 0


HARMS = {
    "lost": [
        lose_a_message, lose_a_change, lose_a_change_on_the_way, lose_an_edit, lose_a_receipt, lose_what_was_hidden,
        lose_a_part_of_a_stay,
    ],
    "duplicated": [double_a_message, double_an_edit, double_a_title, tell_twice_what_was_hidden],
    "reordered": [acknowledge_another_position, swap_two_messages_of_one_writer, go_back_in_time],
    "visible": [show_what_was_deleted, show_what_was_deleted_as_a_change, show_what_was_hidden, show_a_guest_more],
    "different": [tell_another_change, do_what_nobody_asked_for, do_what_was_refused],
    "refused": [refuse, never_answer],
}  # fmt: skip


def test_a_history_that_is_well_has_no_findings():
    assert Story().categories() == set()


@pytest.mark.parametrize(
    "category, harm",
    [(category, harm) for category, harms in HARMS.items() for harm in harms],
    ids=lambda p: getattr(p, "__name__", p),
)
def test_harm_is_found_under_its_name(category, harm):
    story = copy.deepcopy(Story())
    harm(story)
    assert category in story.categories()


@pytest.mark.parametrize(
    "is_deleted, status, content, category",
    [
        (False, 200, b"sent", None),
        (False, 200, b"other", "different"),
        (False, 404, b"", "lost"),
        (True, 404, b"", None),
        (True, 200, b"sent", "visible"),
    ],
)
async def test_a_file_that_is_not_as_it_should_be_is_found(is_deleted, status, content, category):
    class Reader:
        async def request_media(self, *_):
            return Answer(status, content, {})

    files = Files([], patience=0)
    files.carried["message"] = File("file", b"sent")
    await files.check("message", Reader(), is_deleted)
    assert [finding.category for finding in files.findings] == ([category] if category else [])
