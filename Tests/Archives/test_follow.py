"""`parley import chatdb --follow`: what happens in the file of a Mac afterwards is what its people read, once."""

import json
import random
import signal
import sqlite3
import subprocess
import time
import uuid
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from reading import PARLEY, PATIENCE, Eyes, System, direct_id
from source import EPOCH, SECOND, VERSIONS, Source, rfc3339, summary
from test_import_command import PEER, conversation_of_two, imported, new_name
from typedstreams import body


@pytest.fixture(scope="module")
def system():
    system = System(instances=2)
    try:
        system.up()
        yield system
    finally:
        system.remove()


class Mac(Source):
    """A file that Messages has open: in WAL mode, and written row by row."""

    def __init__(self, source: Source):
        self.path = source.finish()
        self.version = source.builder.version
        self.open()

    def open(self):
        self.sql = sqlite3.connect(self.path, isolation_level=None)
        self.sql.execute("PRAGMA journal_mode = WAL")

    def handle(self, address: str, service: str = "iMessage") -> int:
        found = self.sql.execute("SELECT ROWID FROM handle WHERE id = ? AND service = ?", (address, service)).fetchone()
        return found[0] if found else self.insert("handle", {"id": address, "service": service})

    def now(self) -> int:
        return int((datetime.now(UTC) - EPOCH).total_seconds() * 1000) * 1_000_000

    def message(self, *arguments, **columns):
        """A row of this moment, unless it has a date."""
        date = columns.pop("date", None) or self.now()
        self.date = date - SECOND
        with self.at_once():
            return super().message(*arguments, **columns)

    @contextmanager
    def at_once(self):
        """What is written inside is there at one moment."""
        if self.sql.in_transaction:
            yield
            return
        self.sql.execute("BEGIN")
        yield
        self.sql.execute("COMMIT")

    def change(self, row: int, **columns):
        names = ", ".join(f"{name} = ?" for name in columns)
        self.sql.execute(f"UPDATE message SET {names} WHERE ROWID = ?", [*columns.values(), row])

    def edit(self, row: int, *texts: str):
        now = self.now()
        edits = [{"d": now / SECOND - len(texts) + n, "t": body(text)} for n, text in enumerate(texts)]
        self.change(row, text=texts[-1], message_summary_info=summary(ec={"0": edits}), date_edited=now)

    def unsend(self, row: int):
        self.change(row, text=None, message_summary_info=summary(rp=[0], ust=True), date_edited=self.now())

    def chat_row(self, guid: str) -> int:
        return self.sql.execute("SELECT ROWID FROM chat WHERE guid = ?", (guid,)).fetchone()[0]


class Follow:
    """The command on its way."""

    def __init__(self, system: System, path: Path, directory: Path, me: str, *options: str):
        self.report_file = directory / "follow.json"
        self.report_file.unlink(missing_ok=True)
        self.log = directory / "follow.log"
        addresses = ",".join(system.address("ingest", number) for number in range(system.instances))
        command = [PARLEY, "import", "chatdb", path, "--me", me, "--follow", "--state", directory / "state"]
        self.process = subprocess.Popen(
            [*command, "--http", addresses, "--json", self.report_file, *options],
            env=system.environment, text=True, stdout=subprocess.DEVNULL, stderr=self.log.open("w"),
        )  # fmt: skip

    def ready(self) -> "Follow":
        poll(lambda: "following" in self.log.read_text() or self.process.poll() is not None)
        assert self.process.poll() is None, self.log.read_text()
        return self

    def end(self, how=signal.SIGTERM, status=0) -> dict | None:
        self.process.send_signal(how)
        code = self.process.wait(timeout=PATIENCE)
        assert how == signal.SIGKILL or code == status, self.log.read_text()
        return json.loads(self.report_file.read_text()) if self.report_file.exists() else None


def poll(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def id_of(guid: str) -> str:
    return guid.lower()


def message(eyes: Eyes, conversation: str, guid: str) -> dict | None:
    return next((each for each in eyes.messages(conversation) if each["id"] == id_of(guid)), None)


def start(system: System, directory: Path, version: str = "sequoia", count: int = 20):
    me = new_name("owner")
    source = Source(directory / "chat.db", version)
    conversation_of_two(source, count)
    mac = Mac(source)
    follow = Follow(system, mac.path, directory, me).ready()
    return me, mac, follow, direct_id(me, PEER)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_happens_in_the_file_is_what_its_people_read(system, tmp_path, version):
    me, mac, follow, pair = start(system, tmp_path, version)
    mine, theirs = Eyes(system, me), Eyes(system, PEER)
    before = len(mine.messages(pair))
    chat, peer = mac.chat_row(f"iMessage;-;{PEER}"), mac.handle(PEER)

    row, sent = mac.message(chat, "sent")
    poll(lambda: message(theirs, pair, sent))
    shown = message(mine, pair, sent)
    date = mac.sql.execute("SELECT date FROM message WHERE ROWID = ?", (row,)).fetchone()[0]
    assert (shown["senderId"], shown["text"], shown["sentAt"], shown["status"]) == (me, "sent", rfc3339(date), "sent")

    mac.change(row, is_delivered=1, date_delivered=mac.now())
    poll(lambda: message(mine, pair, sent)["status"] == "delivered")
    mac.change(row, is_read=1, date_read=mac.now())
    poll(lambda: message(mine, pair, sent)["status"] == "read")

    other, answer = mac.message(
        chat, "answer", sender=peer, thread_originator_guid=sent, thread_originator_part="0:0:4"
    )
    poll(lambda: message(mine, pair, answer))
    assert message(mine, pair, answer)["replyTo"]["messageId"] == id_of(sent)
    assert mine.conversations()[pair]["unreadCount"] == 1
    mac.change(other, is_read=1, date_read=mac.now())
    poll(lambda: mine.conversations()[pair]["unreadCount"] == 0)

    tapback = {"associated_message_type": 2000, "associated_message_guid": f"p:0/{sent}"}
    mac.message(chat, sender=peer, **tapback)
    poll(lambda: message(mine, pair, sent)["tapbacks"] == [{"userId": PEER, "kind": "love"}])
    mac.message(chat, sender=peer, **tapback | {"associated_message_type": 3000})
    poll(lambda: message(mine, pair, sent)["tapbacks"] == [])

    mac.edit(row, "sent", "edited")
    poll(lambda: message(theirs, pair, sent)["text"] == "edited")
    revisions = mine.get(f"/v1/conversations/{pair}/messages/{id_of(sent)}/revisions")["revisions"]
    assert [each["text"] for each in revisions] == ["sent", "edited"]
    mac.unsend(other)
    poll(lambda: message(mine, pair, answer).get("deletedForEveryone"))

    # What iCloud fills in has an old date and a new number; that it was read long ago makes nothing unread.
    old = mac.now() - 10 * 365 * 86_400 * SECOND
    _, filled = mac.message(chat, "filled in", sender=peer, date=old, is_read=1, date_read=old + SECOND)
    poll(lambda: message(mine, pair, filled))
    assert message(mine, pair, filled)["sentAt"] == rfc3339(old)
    poll(lambda: mine.conversations()[pair]["unreadCount"] == 0)
    assert len(theirs.messages(pair)) == before + 3

    # Messages may write a row first, and then say where it belongs.
    late, early = mac.message(None, "of a conversation later")
    _, other = mac.message(chat, "meanwhile")
    poll(lambda: message(mine, pair, other))
    mac.insert("chat_message_join", {"chat_id": chat, "message_id": late, "message_date": mac.now()})
    poll(lambda: message(mine, pair, early))

    report = follow.end()
    assert report["refused"] == {} and report["done"]["send"] == 5
    assert report["outcomes"] == {"message": 5, "tapback": 1, "tapbackRemoval": 1, "withoutConversation": 1}


def test_groups_and_people_that_are_new(system, tmp_path):
    me, mac, follow, _ = start(system, tmp_path)
    ana, ben, eve = (f"{new_name(name)}@example.com" for name in ("ana", "ben", "eve"))
    handles = {name: mac.handle(name) for name in (ana, ben, eve)}
    mine = Eyes(system, me)

    direct = mac.chat(f"iMessage;-;{ana}", [handles[ana]])
    _, first = mac.message(direct, "hello", sender=handles[ana])
    poll(lambda: direct_id(me, ana) in mine.conversations())
    poll(lambda: message(mine, direct_id(me, ana), first))

    room = str(uuid.uuid4())
    chat = mac.chat("iMessage;+;chat9", [handles[ana], handles[ben]], group_id=room.upper(), display_name="First")
    mac.message(chat, "one", sender=handles[ben])
    poll(lambda: room in mine.conversations() and len(mine.messages(room)) == 1)
    assert mine.conversations()[room]["title"] == "First"

    def members():
        return {each["userId"] for each in mine.get(f"/v1/conversations/{room}/members")["members"]}

    assert members() == {me, ana, ben}
    # A change without the row that says who made it would be this user's.
    with mac.at_once():
        mac.insert("chat_handle_join", {"chat_id": chat, "handle_id": handles[eve]})
        mac.message(chat, item_type=1, group_action_type=0, other_handle=handles[eve], sender=handles[ben])
    poll(lambda: members() == {me, ana, ben, eve})
    with mac.at_once():
        mac.sql.execute("UPDATE chat SET display_name = 'Second' WHERE ROWID = ?", (chat,))
        mac.message(chat, item_type=2, group_title="Second", sender=handles[ana])
    poll(lambda: mine.conversations()[room]["title"] == "Second")
    with mac.at_once():
        mac.sql.execute("DELETE FROM chat_handle_join WHERE chat_id = ? AND handle_id = ?", (chat, handles[ben]))
        mac.message(chat, item_type=3, sender=handles[ben])
    poll(lambda: members() == {me, ana, eve})
    # Without a row that says so.
    mac.sql.execute("DELETE FROM chat_handle_join WHERE chat_id = ? AND handle_id = ?", (chat, handles[eve]))
    poll(lambda: members() == {me, ana})

    changes = [(each["kind"], each["actorId"], each.get("userId")) for each in mine.changes(room)]
    assert [each for each in changes if each[0] != "message.created"] == [
        ("conversation.created", me, None),
        ("member.added", ben, eve),
        ("conversation.renamed", ana, None),
        ("member.removed", ben, ben),
        ("member.removed", me, eve),
    ]
    assert follow.end()["refused"] == {}


def test_what_the_contract_refuses_is_named_and_the_rest_goes_on(system, tmp_path):
    me, mac, follow, pair = start(system, tmp_path)
    chat = mac.chat_row(f"iMessage;-;{PEER}")
    imported_row = mac.sql.execute("SELECT ROWID FROM message WHERE is_from_me AND text = 'text 1 🧗'").fetchone()[0]
    mac.edit(imported_row, "text 1 🧗", "too late")
    _, after = mac.message(chat, "after")
    poll(lambda: message(Eyes(system, me), pair, after))
    poll(lambda: "editWindowClosed" in follow.log.read_text())
    assert f"row {imported_row} of message" in follow.log.read_text()
    assert follow.end()["refused"] == {"editWindowClosed": 1}


def test_a_restart_repeats_nothing_and_misses_nothing(system, tmp_path):
    me, mac, follow, pair = start(system, tmp_path)
    mine = Eyes(system, me)
    chat, peer = mac.chat_row(f"iMessage;-;{PEER}"), mac.handle(PEER)
    row, sent = mac.message(chat, "before", is_delivered=1, date_delivered=mac.now())
    poll(lambda: message(mine, pair, sent))
    assert not (tmp_path / "state" / "chat.db").exists()
    follow.end()
    mac.change(row, is_read=1, date_read=mac.now())
    _, meanwhile = mac.message(chat, "meanwhile", sender=peer)
    follow = Follow(system, mac.path, tmp_path, me).ready()
    poll(lambda: message(mine, pair, meanwhile) and message(mine, pair, sent)["status"] == "read")
    count = len(mine.changes(pair))
    report = follow.end()
    assert report["done"]["send"] == 1 and report["outcomes"] == {"message": 1}
    # Nothing at all happens in a third run.
    follow = Follow(system, mac.path, tmp_path, me).ready()
    mac.sql.execute("UPDATE chat SET last_addressed_handle = 'x'")
    _, last = mac.message(chat, "last")
    poll(lambda: message(mine, pair, last))
    assert follow.end()["outcomes"] == {"message": 1}
    assert len(mine.changes(pair)) == count + 1


def test_a_second_one_for_the_same_user_is_refused(system, tmp_path):
    me, mac, follow, _ = start(system, tmp_path)
    other = Follow(system, mac.path, tmp_path, me)
    assert other.process.wait(timeout=PATIENCE) == 1
    follow.end()


def test_a_file_that_was_imported_before_goes_on(system, tmp_path):
    me = new_name("owner")
    source = Source(tmp_path / "chat.db", "sequoia")
    conversation_of_two(source, 20)
    mac = Mac(source)
    imported(system, tmp_path, "chatdb", mac.path, "--me", me)
    pair, chat, peer = direct_id(me, PEER), mac.chat_row(f"iMessage;-;{PEER}"), mac.handle(PEER)
    before = len(Eyes(system, me).messages(pair))
    _, later = mac.message(chat, "later", sender=peer)
    follow = Follow(system, mac.path, tmp_path, me).ready()
    poll(lambda: message(Eyes(system, me), pair, later))
    assert len(Eyes(system, me).messages(pair)) == before + 1
    assert follow.end()["outcomes"] == {"message": 1}


def test_a_file_that_is_locked_or_replaced_is_read_again(system, tmp_path):
    me, mac, follow, pair = start(system, tmp_path)
    mine = Eyes(system, me)
    chat = mac.chat_row(f"iMessage;-;{PEER}")
    # Another file under the same name: of the same history, with other numbers, and a message more.
    copy = tmp_path / "copy.db"
    with sqlite3.connect(copy) as other:
        mac.sql.backup(other)
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("UPDATE chat_message_join SET message_id = message_id + 1000")
        other.execute("UPDATE message SET ROWID = ROWID + 1000")
    other.close()
    count = len(mine.changes(pair))
    mac.sql.close()
    for ending in ("-wal", "-shm"):
        Path(f"{mac.path}{ending}").unlink(missing_ok=True)
    copy.rename(mac.path)
    mac.sql = sqlite3.connect(mac.path, isolation_level=None)
    _, new = mac.message(chat, "in another file")
    poll(lambda: message(mine, pair, new))
    # Without a log everybody waits for whoever writes.
    mac.sql.execute("BEGIN EXCLUSIVE")
    time.sleep(2)
    mac.sql.execute("COMMIT")
    _, last = mac.message(chat, "after the lock")
    poll(lambda: message(mine, pair, last))
    assert len(mine.changes(pair)) == count + 2
    assert follow.end()["refused"] == {}


@pytest.mark.timeout(300)
def test_kills_of_everything_change_nothing(system, tmp_path):
    """Rows of all kinds appear while the command and the stores are killed: each has its effect, once."""
    me, mac, follow, pair = start(system, tmp_path)
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    mine = Eyes(system, me)
    imported_count, imported_changes = len(mine.messages(pair)), len(mine.changes(pair))
    chat, peer = mac.chat_row(f"iMessage;-;{PEER}"), mac.handle(PEER)
    expected: dict[str, dict] = {}
    own: dict[str, int] = {}
    edits = tapbacks = unsent = 0
    for number in range(240):
        if number % 60 == 30:
            follow.end(signal.SIGKILL)
            follow = Follow(system, mac.path, tmp_path, me)
        if number % 80 == 50:
            for instance in range(system.instances):
                system.kill("store", instance)
        if number % 80 == 65:
            system.revive()
        kind = chance.random()
        live = [guid for guid in own if expected[guid]["text"] is not None]
        if kind < 0.6 or not live:
            is_own = chance.random() < 0.5
            row, guid = mac.message(chat, f"text {number}", sender=None if is_own else peer)
            date = mac.sql.execute("SELECT date FROM message WHERE ROWID = ?", (row,)).fetchone()[0]
            expected[guid] = {"text": f"text {number}", "sentAt": rfc3339(date), "tapbacks": []}
            if is_own:
                own[guid] = row
        elif kind < 0.75:
            guid = chance.choice(live)
            old = expected[guid]["text"]
            if "edited" not in old:
                mac.edit(own[guid], old, f"edited {number}")
                expected[guid]["text"] = f"edited {number}"
                edits += 1
        elif kind < 0.9:
            guid = chance.choice(live)
            if not expected[guid]["tapbacks"]:
                tapback = {"associated_message_type": 2001, "associated_message_guid": f"p:0/{guid}"}
                mac.message(chat, sender=peer, **tapback)
                expected[guid]["tapbacks"] = [{"userId": PEER, "kind": "like"}]
                tapbacks += 1
        else:
            guid = chance.choice(live)
            mac.unsend(own[guid])
            expected[guid] |= {"text": None, "tapbacks": []}
            unsent += 1
        time.sleep(0.02)
    system.revive()
    follow.ready()

    def shown():
        return {
            each["id"]: {name: each[name] for name in ("text", "sentAt", "tapbacks")}
            for each in mine.messages(pair)[imported_count:]
        }

    wanted = {id_of(guid): value for guid, value in expected.items()}
    poll(lambda: shown() == wanted)
    follow.end()
    kinds = Counter(each["kind"] for each in mine.changes(pair)[imported_changes:])
    assert kinds["message.edited"] <= edits and kinds["tapback.set"] <= tapbacks and kinds["message.deleted"] <= unsent
    created = [each for each in mine.changes(pair) if each["kind"] == "message.created"]
    assert len(created) == len({each["message"]["id"] for each in created}) == imported_count + len(expected)
