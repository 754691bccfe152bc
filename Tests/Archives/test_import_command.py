"""`parley import`: what an archive holds is afterwards what its people read, whatever happens on the way."""

import itertools
import json
import os
import plistlib
import pty
import signal
import subprocess
import time
import uuid
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from reading import PARLEY, PATIENCE, Eyes, System, direct_id, lines_taken
from source import SECOND, VERSIONS, Source, rfc3339, rows, summary
from typedstreams import body

TAPBACKS = {2000: "love", 2001: "like", 2002: "dislike", 2003: "laugh", 2004: "emphasize", 2005: "question"}
PEER = "+15550100"
DATA = Path(os.environ.get("PARLEY_DATA", Path(__file__).parents[3] / "shared" / "data")) / "ubuntu-irc.jsonl"


@pytest.fixture(scope="module")
def system():
    system = System(instances=2)
    try:
        system.up()
        yield system
    finally:
        system.remove()


class Import:
    """The command on its way, and its report afterwards."""

    def __init__(self, system: System, directory: Path, *arguments):
        self.report_file = directory / "report.json"
        self.report_file.unlink(missing_ok=True)
        addresses = ",".join(system.address("ingest", number) for number in range(system.instances))
        self.process = subprocess.Popen(
            [PARLEY, "import", *map(str, arguments), "--http", addresses, "--json", self.report_file],
            env=system.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def end(self) -> int:
        self.output, _ = self.process.communicate(timeout=100)
        self.report = json.loads(self.report_file.read_text()) if self.report_file.exists() else None
        return self.process.returncode


def imported(system: System, directory: Path, *arguments, status=0) -> Import:
    done = Import(system, directory, *arguments)
    assert done.end() == status, done.output
    return done


def new_name(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex[:12]}"


# MARK: Messages of a Mac


def conversation_of_two(source: Source, count: int, services=("iMessage", "SMS")):
    """Messages in turns, over two services: delivered, read, edited, unsent, answered, with tapbacks."""
    chats = [source.chat(f"{name};-;{PEER}", [source.handle(PEER, name)]) for name in services]
    sender = source.handle(PEER, services[0])
    guids = []
    for number in range(count):
        start, columns = source.date + SECOND, {}
        if number % 4 == 0:
            columns |= {"date_delivered": start + 7_000_000, "is_delivered": 1}
        if number % 8 == 0:
            columns |= {"date_read": start + 90_000_000, "is_read": 1}
        if number % 5 == 3:
            columns |= {"date_read": start + 50_000_000, "is_read": 1}
        if number % 6 == 4 and len(guids) > 3:
            columns |= {"thread_originator_guid": guids[-3], "thread_originator_part": "0:0:1"}
        if number % 10 == 9:
            seconds = start / SECOND
            edits = [{"d": seconds + n / 4, "t": body(text)} for n, text in enumerate(("old", f"text {number} 🧗"))]
            columns |= {"message_summary_info": summary(ec={"0": edits}), "date_edited": start + SECOND // 4}
        text = f"text {number} 🧗"
        is_own = number % 5 != 3
        if number % 20 == 15:
            columns = {"message_summary_info": summary(rp=[0], ust=True), "date_edited": start + SECOND // 2}
            text = None
        guid = source.message(chats[number % 2], text, sender=None if is_own else sender, **columns)[1]
        if text is not None:
            guids.append(guid)
        if number % 7 == 6 and text is not None:
            kind = 2000 + number % 6
            tapback = {"associated_message_type": kind, "associated_message_guid": f"p:0/{guid}"}
            source.message(chats[0], sender=sender, **tapback)
            if number % 3 == 0:
                source.message(chats[0], sender=sender, **tapback | {"associated_message_type": kind + 1000})


def group(source: Source) -> str:
    ana, ben, eve = (source.handle(f"{name}@example.com") for name in ("ana", "ben", "eve"))
    identifier = str(uuid.uuid4()).upper()
    chat = source.chat("iMessage;+;chat1", [ana, ben], group_id=identifier, display_name="Third")
    source.message(chat, "one", sender=ana)
    source.message(chat, item_type=2, group_title="Second", sender=ana)
    source.message(chat, item_type=1, group_action_type=0, other_handle=ben, sender=ana)
    source.message(chat, "two", sender=ben)
    source.message(chat, item_type=1, group_action_type=1, other_handle=eve)
    source.message(chat, item_type=2, group_title="Third")
    source.message(chat, "three")
    return identifier.lower()


@pytest.mark.parametrize("version", VERSIONS)
def test_every_row_of_a_file_is_what_its_people_see(system, tmp_path, version):
    me = new_name("owner")
    source = Source(tmp_path / "chat.db", version)
    conversation_of_two(source, 140)
    room = group(source)
    path = source.finish()
    done = imported(system, tmp_path, "chatdb", path, "--me", me)
    assert done.report["refused"] == {} and done.report["unaccounted"] == 0 and done.report["isComplete"]

    mine, theirs, pair = Eyes(system, me), Eyes(system, PEER), direct_id(me, PEER)
    seen = {message["id"]: message for message in mine.messages(pair) + mine.messages(room)}
    assert [message["id"] for message in theirs.messages(pair)] == [message["id"] for message in mine.messages(pair)]
    happened = Counter((change["kind"], change["at"], change.get("userId")) for change in mine.changes(room))
    accounted = Counter()
    all_rows = rows(
        path,
        """
        SELECT m.*, h.id AS address, other.id AS other_address FROM message m
        LEFT JOIN handle h ON h.ROWID = m.handle_id LEFT JOIN handle other ON other.ROWID = m.other_handle
        ORDER BY m.date, m.ROWID
        """,
    )
    for row in all_rows:
        user = me if row["is_from_me"] else row["address"]
        at = rfc3339(row["date"])
        kind = row["associated_message_type"] or 0
        if 2000 <= kind < 4000:
            target = seen[row["associated_message_guid"].split("/")[1].lower()]
            is_removed = any(
                other["associated_message_type"] == kind % 1000 + 3000
                and other["associated_message_guid"] == row["associated_message_guid"]
                for other in all_rows
            )
            shown = {"userId": user, "kind": TAPBACKS[kind % 1000 + 2000]} in target["tapbacks"]
            assert shown == (not is_removed)
            accounted["tapback"] += 1
        elif row["item_type"] == 1:
            change = "member.removed" if row["group_action_type"] else "member.added"
            assert happened[change, at, row["other_address"]] == 1, happened
            accounted["member"] += 1
        elif row["item_type"] == 2:
            assert happened["conversation.renamed", at, None] == 1, happened
            accounted["title"] += 1
        else:
            compare_message(row, user, seen[row["guid"].lower()], mine, pair)
            accounted["message"] += 1
    assert accounted.total() == len(all_rows) == done.report["rows"]
    assert len(seen) == accounted["message"]
    shown = mine.conversations()
    assert shown[room]["title"] == "Third" and shown[pair]["kind"] == "direct"
    compare_receipts(path, mine.messages(pair), theirs.messages(pair), shown[pair])


def compare_message(row, user: str, message: dict, eyes: Eyes, conversation: str):
    assert (message["senderId"], message["createdAt"]) == (user, rfc3339(row["date"]))
    parent = row["thread_originator_guid"]
    assert message.get("replyTo", {}).get("messageId") == (parent.lower() if parent else None)
    info = plistlib.loads(row["message_summary_info"]) if row["message_summary_info"] else {}
    if info.get("rp"):
        assert message["text"] is None and message["deletedAt"] == rfc3339(row["date_edited"])
        return
    assert message["text"] == row["text"]
    if info.get("ec"):
        path = f"/v1/conversations/{conversation}/messages/{message['id']}/revisions"
        revisions = eyes.get(path)["revisions"]
        assert [revision["at"] for revision in revisions] == [
            rfc3339(round(edit["d"] * 1000) * 1_000_000) for edit in info["ec"]["0"]
        ]
        assert [revision["text"] for revision in revisions] == ["old", row["text"]]
        assert message["editedAt"] == rfc3339(row["date_edited"])
    else:
        assert "editedAt" not in message


def compare_receipts(path: Path, mine: list[dict], theirs: list[dict], conversation: dict):
    """A message is delivered, or read, at the first date of its own or of a later one."""
    dates = {
        row["guid"].lower(): row
        for row in rows(
            path, "SELECT * FROM message WHERE associated_message_type IS NULL OR associated_message_type = 0"
        )
    }
    for own, messages in ((1, mine), (0, theirs)):
        delivered = read = None
        for message in reversed(messages):
            row = dates[message["id"]]
            if row["is_from_me"] == own:
                read = min(filter(None, (read, row["date_read"])), default=None)
                delivered = min(filter(None, (delivered, row["date_delivered"], row["date_read"])), default=None)
                if message["text"] is not None:
                    assert message.get("dateRead") == (rfc3339(read) if read else None)
                    assert message.get("dateDelivered") == (rfc3339(delivered) if delivered else None)
    last = [message for message in mine if message["senderId"] == PEER and dates[message["id"]]["date_read"]][-1]
    assert conversation["readSeq"] == last["seq"]


# MARK: On the way


def moment(second: int) -> str:
    time = datetime(2020, 3, 7, tzinfo=UTC) + timedelta(seconds=second)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def history(count: int, conversations: int = 6) -> tuple[list[dict], list[str], list[str]]:
    """Records of several conversations, one after the other, and their two members."""
    members, ids = [new_name("alice"), new_name("bob")], [str(uuid.uuid4()) for _ in range(conversations)]
    records = []
    for id in ids:
        records.append({"type": "conversation", "id": id, "kind": "group", "members": members, "createdAt": moment(0)})
        records += [
            {"type": "message", "conversationId": id, "id": str(uuid.uuid4()), "senderId": members[second % 2]}
            | {"text": f"message {second}", "createdAt": moment(second)}
            for second in range(count // conversations)
        ]
        read = {"type": "receipt", "conversationId": id, "userId": members[1], "kind": "read"}
        records.append(read | {"throughMessageId": records[-2]["id"], "at": moment(count)})
        records.append({"type": "end", "conversationId": id})
    return records, ids, members


def written(directory: Path, records: list[dict]) -> Path:
    file = directory / "records.ndjson"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def is_whole(system: System, records: list[dict], ids: list[str], members: list[str]):
    """Everything is there, once, in its order and at its time, for whoever reads."""
    eyes = Eyes(system, members[1])
    shown = eyes.conversations()
    assert set(shown) == set(ids)
    for id in ids:
        expected = [
            (record["id"], record["senderId"], record["text"], record["createdAt"])
            for record in records
            if record.get("conversationId") == id and record["type"] == "message"
        ]
        messages = eyes.messages(id)
        assert [tuple(m[k] for k in ("id", "senderId", "text", "createdAt")) for m in messages] == expected
        assert len(eyes.changes(id)) == len(expected) + 1
        assert shown[id]["readSeq"] == messages[-2]["seq"]


def await_lines(system: System, before: int, count: int, running: Import):
    """Until so many lines more have their result."""
    deadline = time.monotonic() + PATIENCE
    while lines_taken(system) < before + count:
        assert time.monotonic() < deadline and running.process.poll() is None
        time.sleep(0.01)


COUNT = 24_000


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_run_that_was_ended_and_one_more_make_one_import(system, tmp_path, how):
    records, ids, members = history(COUNT)
    file = written(tmp_path, records)
    before = lines_taken(system)
    first = Import(system, tmp_path, "parley", file)
    await_lines(system, before, 3_000, first)
    first.process.send_signal(how)
    status = first.end()
    if how == signal.SIGINT:
        assert status == 3 and "the same command continues" in first.output
        assert not first.report["isComplete"] and 0 < first.report["stored"]["message"] < COUNT
    assert len(Eyes(system, members[1]).conversations()) < len(ids)
    second = imported(system, tmp_path, "parley", file)
    assert second.report["stored"] == {"conversation": 6, "message": COUNT, "receipt": 6, "end": 6}
    is_whole(system, records, ids, members)


@pytest.mark.parametrize("service", ["store", "ingest"])
def test_a_process_of_the_system_that_is_killed_costs_nothing(system, tmp_path, service):
    records, ids, members = history(COUNT)
    before = lines_taken(system)
    running = Import(system, tmp_path, "parley", written(tmp_path, records))
    await_lines(system, before, 3_000, running)
    # Both, because nobody knows which of them has the work.
    for number in range(system.instances):
        system.kill(service, number)
    time.sleep(0.5)
    system.revive()
    assert running.end() == 0, running.output
    assert running.report["stored"] == {"conversation": 6, "message": COUNT, "receipt": 6, "end": 6}
    is_whole(system, records, ids, members)


def test_a_system_that_stays_away_is_given_up_and_the_same_command_continues(system, tmp_path):
    records, ids, members = history(600)
    file = written(tmp_path, records)
    for number in range(system.instances):
        system.kill("ingest", number)
    try:
        away = imported(system, tmp_path, "parley", file, "--patience", "1s", status=3)
        assert away.report["stored"] == {} and not away.report["isComplete"]
    finally:
        system.revive()
    imported(system, tmp_path, "parley", file)
    is_whole(system, records, ids, members)


def test_a_terminal_shows_how_far_it_is_and_nothing_else_does(system, tmp_path):
    records, ids, members = history(COUNT)
    file = written(tmp_path, records)
    shown = {}
    for name, options in (("bar", []), ("quiet", ["--quiet"])):
        master, slave = pty.openpty()
        command = [PARLEY, "import", "parley", file, "--http", system.address("ingest"), *options]
        process = subprocess.Popen(command, env=system.environment, stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        shown[name] = b"".join(iter(lambda: terminal_output(master), b"")).decode()
        assert process.wait(timeout=PATIENCE) == 0
        os.close(master)
    assert "░" in shown["bar"] and " records   " in shown["bar"] and shown["bar"].endswith("\r\x1b[K")
    assert shown["quiet"] == ""
    assert "█" not in imported(system, tmp_path, "parley", file).output


def terminal_output(master: int) -> bytes:
    """Nothing when the program has let go of the terminal."""
    try:
        return os.read(master, 65_536)
    except OSError:
        return b""


# MARK: What is refused


def test_a_dry_run_says_what_would_be_refused_and_sends_nothing(system, tmp_path):
    records, ids, members = history(60)
    records[3]["text"] = " "
    records[14]["senderId"] = "stranger"
    before = lines_taken(system)
    done = imported(system, tmp_path, "parley", written(tmp_path, records), "--dry-run", status=1)
    assert done.report["refused"] == {"text": 1, "notAMember": 1}
    assert "line 4: message: the text is missing, blank" in done.output
    assert "line 15: message: the user is not a member" in done.output
    assert done.report["records"] == {"conversation": 6, "message": 60, "receipt": 6, "end": 6}
    assert "stored" not in done.report and lines_taken(system) == before
    assert Eyes(system, members[0]).conversations() == {}


def test_a_refused_record_is_named_and_its_conversation_waits_until_it_is_repaired(system, tmp_path):
    records, ids, members = history(60)
    blank = records[3] | {"text": " "}
    file = written(tmp_path, [*records[:3], blank, *records[4:]])
    done = imported(system, tmp_path, "parley", file, status=1)
    assert done.report["refused"] == {"invalid": 1} and done.report["isComplete"]
    assert (done.report["unopened"], done.report["unsent"]) == (1, 1)
    assert "line 4: message: invalid: text" in done.output and ids[0] in done.output
    eyes = Eyes(system, members[1])
    assert set(eyes.conversations()) == set(ids[1:])
    # Repaired by leaving it out: what came behind it is stored, and time does not go backwards.
    again = imported(system, tmp_path, "parley", written(tmp_path, [*records[:3], *records[4:]]))
    assert again.report["refused"] == {}
    assert len(eyes.messages(ids[0])) == 9 and set(eyes.conversations()) == set(ids)


def test_a_conversation_is_opened_without_what_was_refused_if_that_is_wanted(system, tmp_path):
    records, ids, members = history(12, conversations=2)
    records[1]["senderId"] = "stranger"
    records[10] |= {"createdAt": "2999-01-01T00:00:00.000Z"}
    done = imported(system, tmp_path, "parley", written(tmp_path, records), "--open", status=1)
    assert done.report["refused"] == {"conflict": 1, "invalid": 1} and done.report["unopened"] == 0
    assert set(Eyes(system, members[1]).conversations()) == set(ids)


def test_of_a_conversation_that_cannot_begin_nothing_is_stored(system, tmp_path):
    records, ids, members = history(30, conversations=2)
    records[0]["members"] = []
    done = imported(system, tmp_path, "parley", written(tmp_path, records), status=1)
    assert done.report["unopened"] == 1
    assert done.report["stored"] == {"conversation": 1, "message": 15, "receipt": 1, "end": 1}
    refused, unsent = sum(done.report["refused"].values()), done.report["unsent"]
    assert refused >= 1 and refused + unsent == 18
    assert set(Eyes(system, members[1]).conversations()) == {ids[1]}


def test_a_line_that_is_no_record_ends_the_import_and_keeps_what_came_before(system, tmp_path):
    records, ids, members = history(20, conversations=2)
    file = written(tmp_path, records)
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:15], "{broken", *lines[15:]]))
    done = imported(system, tmp_path, "parley", file, status=1)
    assert "line 16" in done.output and not done.report["isComplete"]
    assert done.report["stored"] == {"conversation": 2, "message": 11, "receipt": 1, "end": 1}
    file.write_text("\n".join(lines))
    imported(system, tmp_path, "parley", file)
    is_whole(system, records, ids, members)


def test_who_is_no_administrator_of_the_system_is_told_so(system, tmp_path):
    records, ids, members = history(2_000)
    secret = tmp_path / "secret"
    secret.write_text("another secret, long enough for HS256")
    arguments = ("parley", written(tmp_path, records), "--secret-file", secret)
    done = imported(system, tmp_path, *arguments, status=1)
    assert "status 401" in done.output and done.report["stored"] == {}


@pytest.mark.parametrize(
    "arguments",
    [
        ["chatdb", "chat.db"],
        ["slack", "file"],
        ["chatdb", "one.db", "two.db", "--me", "alice"],
        ["parley", "file", "--records", "out"],
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused(system, arguments):
    done = system.run(PARLEY, "import", *arguments)
    assert done.returncode == 2 and done.stdout.startswith("parley: ")


# MARK: Logs of channels


@pytest.mark.skipif(not DATA.exists(), reason=f"{DATA} is not here")
def test_logs_of_channels_become_groups(system, tmp_path):
    with DATA.open() as lines:
        logs = [json.loads(line) for line in itertools.islice(lines, 3)]
    prefix = new_name("log")
    files = [tmp_path / f"{number}.jsonl" for number in range(len(logs))]
    for log, file in zip(logs, files):
        log["conversation"] = f"{prefix} {log['conversation']}"
        file.write_text(json.dumps(log))
    done = imported(system, tmp_path, "irc", *files)
    assert done.report["rows"] == done.report["outcomes"]["message"] == sum(len(log["messages"]) for log in logs)
    for log in logs:
        eyes = Eyes(system, f"irc:{log['messages'][0]['sender']}")
        [id] = [id for id, each in eyes.conversations().items() if each.get("title") == log["conversation"]]
        shown = eyes.messages(id)
        numbers = {message["id"]: source["n"] for message, source in zip(shown, log["messages"])}
        day = log["conversation"].split("ubuntu-")[1][:10]
        assert shown[0]["createdAt"] == f"{day}T{log['messages'][0]['time']}:00.000Z"
        assert [message["createdAt"] for message in shown] == sorted(message["createdAt"] for message in shown)
        for message, source in zip(shown, log["messages"], strict=True):
            assert (message["senderId"], message["text"]) == (f"irc:{source['sender']}", source["text"])
            parent = message.get("replyTo", {}).get("messageId")
            assert (numbers[parent] if parent else None) == source.get("replyTo")
            assert message["createdAt"][14:16] == source["time"][3:] or message["createdAt"] > shown[0]["createdAt"]
