"""What a chat.db holds is in its records: every row is accounted for, with its dates."""

import hashlib
import json
import shutil
import sqlite3
import subprocess
import uuid
from collections import Counter

import pytest
from source import PARLEY, SECOND, START, VERSIONS, Source, archive, rfc3339, rows, summary
from typedstreams import FILE, PART, attributed, body

ME = "me@example.com"
TAPBACKS = {2000: "love", 2001: "like", 2002: "dislike", 2003: "laugh", 2004: "emphasize", 2005: "question"}


@pytest.fixture(params=VERSIONS)
def source(tmp_path, request) -> Source:
    return Source(tmp_path / "chat.db", request.param)


@pytest.fixture
def recent(tmp_path) -> Source:
    return Source(tmp_path / "chat.db", "sequoia")


def direct(source: Source, address: str = "+15550100") -> tuple[int, int]:
    handle = source.handle(address)
    return source.chat(f"iMessage;-;{address}", [handle]), handle


def by_id(result) -> dict[str, dict]:
    return {record["id"]: record for record in result.of("message")}


def faultless(result):
    assert result.report["refused"] == {} and result.report["unaccounted"] == 0 and result.status == 0


def test_every_row_of_a_built_file_is_in_the_records(source):
    """The file as imessage-data-foundry makes it, read again with Python's own sqlite3."""
    builder = source.builder
    people = [builder.add_handle(address) for address in ("+15550100", "Ana@Example.com", "72000")]
    chats = [builder.create_chat([person]) for person in people]
    chats.append(builder.create_chat(people, chat_type="group", display_name="Climbing"))
    for number in range(400):
        chat = number % 4
        sender = None if number % 3 == 0 else people[chat if chat < 3 else number % 3]
        date = START + number * SECOND * 60 + number
        read = {"date_read": date + 2 * SECOND} if number % 2 else {}
        delivered = {"date_delivered": date + SECOND} if sender is None else {}
        builder.add_message(chats[chat], sender, f"text {number}", sender is None, date, **read, **delivered)
    result = archive(source.finish())
    faultless(result)
    messages, counted = by_id(result), 0
    for row in rows(
        source.path, "SELECT m.*, h.id AS address FROM message m LEFT JOIN handle h ON h.ROWID = handle_id"
    ):
        # The builder's GUIDs are no UUIDs.
        found = [message for message in messages.values() if message["text"] == row["text"]]
        assert len(found) == 1
        assert found[0]["createdAt"] == rfc3339(row["date"])
        assert found[0]["senderId"] == (ME if row["is_from_me"] else row["address"].lower())
        for column, kind in (("date_delivered", "delivered"), ("date_read", "read")):
            if row[column]:
                users = [
                    receipt["userId"] for receipt in result.of("receipt", kind=kind, throughMessageId=found[0]["id"])
                ]
                times = [receipt["at"] for receipt in result.of("receipt", kind=kind, throughMessageId=found[0]["id"])]
                assert set(times) <= {rfc3339(row[column])}
                assert users or result.report["notes"]["coveredReceipt"]
                assert ME not in users if row["is_from_me"] else users in ([ME], [])
        counted += 1
    assert counted == len(messages) == 400 == result.report["rows"]
    assert result.report["notes"]["madeMessageID"] == 400
    assert len(result.of("conversation", kind="direct")) == 3
    assert result.of("conversation", kind="group")[0]["title"] == "Climbing"


def test_ids_are_kept_or_made_and_the_same_in_every_run(recent):
    chat, handle = direct(recent)
    kept = recent.message(chat, "kept")[1]
    recent.message(chat, "made", sender=handle, guid="AB12")
    path = recent.finish()
    first, second = archive(path), archive(path)
    assert first.records == second.records
    ids = [record["id"] for record in first.of("message")]
    assert ids[0] == kept.lower() and uuid.UUID(ids[1]).version == 4
    assert first.report["notes"]["madeMessageID"] == 1
    # As the server derives it from the pair.
    digest = bytearray(hashlib.sha256(b"parley.direct\0+15550100\0" + ME.encode()).digest()[:16])
    digest[6], digest[8] = digest[6] & 0x0F | 0x80, digest[8] & 0x3F | 0x80
    assert first.of("conversation")[0]["id"] == str(uuid.UUID(bytes=bytes(digest)))
    assert first.of("conversation")[0]["members"] == [ME, "+15550100"]


def test_dates_in_seconds_in_nanoseconds_none_and_in_the_future(recent):
    chat, handle = direct(recent)
    recent.message(chat, "nanoseconds", date=START + 1_234_567_890)
    recent.message(chat, "seconds", date=START // SECOND - 5)
    recent.message(chat, "none", date=0)
    recent.message(chat, "future", date=START * 9)
    recent.message(chat, "late arrival", date=START)
    result = archive(recent.finish())
    faultless(result)
    assert [(record["text"], record["createdAt"]) for record in result.of("message")] == [
        ("none", rfc3339(START - 5 * SECOND)),
        ("seconds", rfc3339(START - 5 * SECOND)),
        ("late arrival", rfc3339(START)),
        ("nanoseconds", rfc3339(START + 1_234_567_890)),
        ("future", rfc3339(START + 1_234_567_890)),
    ]
    assert result.report["notes"]["undated"] == result.report["notes"]["future"] == 1


def test_receipts_have_their_own_dates_and_only_move_forward(source):
    chat, handle = direct(source)
    first = source.message(chat, "1", date_delivered=START + 90 * SECOND, date_read=START + 95 * SECOND)[1].lower()
    second = source.message(chat, "2", date_delivered=START + 80 * SECOND + 7_000_000)[1].lower()
    theirs = source.message(chat, "3", sender=handle, date_read=START + 85 * SECOND, is_read=1)[1].lower()
    last = source.message(chat, "4", sender=handle, is_read=1)[1].lower()
    source.message(chat, "5", is_delivered=1)
    result = archive(source.finish())
    faultless(result)
    receipts = [
        tuple(receipt[key] for key in ("userId", "kind", "throughMessageId", "at")) for receipt in result.of("receipt")
    ]
    assert receipts == [
        ("+15550100", "delivered", second, rfc3339(START + 80 * SECOND + 7_000_000)),
        (ME, "read", theirs, rfc3339(START + 85 * SECOND)),
        ("+15550100", "read", first, rfc3339(START + 95 * SECOND)),
        (ME, "read", last, rfc3339(START + 95 * SECOND)),
    ]
    notes = result.report["notes"]
    assert (notes["coveredReceipt"], notes["undatedRead"], notes["undatedDelivery"]) == (1, 1, 1)


def test_a_receipt_is_not_dated_before_its_message(source):
    chat, _ = direct(source)
    early = source.message(chat, "1", date_delivered=START - 5 * SECOND, date_read=START + 95 * SECOND)[1].lower()
    result = archive(source.finish())
    faultless(result)
    [message] = result.of("message")
    receipts = [tuple(receipt[key] for key in ("kind", "throughMessageId", "at")) for receipt in result.of("receipt")]
    assert receipts == [
        ("delivered", early, message["createdAt"]),
        ("read", early, rfc3339(START + 95 * SECOND)),
    ]
    assert result.report["notes"]["earlyReceipt"] == 1


def test_tapbacks_in_every_form(recent):
    chat, handle = direct(recent)
    guid = recent.message(chat, "asked")[1]
    for number in TAPBACKS:
        target = [f"p:0/{guid}", f"bp:{guid}", guid][number % 3]
        recent.message(chat, sender=handle, associated_message_type=number, associated_message_guid=target)
    emoji = {"associated_message_type": 2006, "associated_message_guid": f"p:1/{guid}"}
    recent.message(chat, associated_message_emoji="🧗🏽", **emoji)
    recent.message(chat, associated_message_emoji="no emoji", **emoji)
    recent.message(chat, associated_message_type=2000, associated_message_guid=f"p:0/{uuid.uuid4()}")
    taken_back = recent.message(chat, "taken back")[1]
    for number in (2001, 3001):
        recent.message(chat, associated_message_type=number, associated_message_guid=f"p:0/{taken_back}")
    early = str(uuid.uuid4())
    recent.message(chat, associated_message_type=2005, associated_message_guid=early)
    recent.message(chat, "comes after its tapback", sender=handle, guid=early)
    result = archive(recent.finish())
    faultless(result)
    kinds = [(record["kind"], record["userId"], record["messageId"]) for record in result.of("tapback")]
    assert kinds == [
        *((kind, "+15550100", guid.lower()) for kind in TAPBACKS.values()),
        ("🧗🏽", ME, guid.lower()),
        ("question", ME, early),
    ]
    assert result.report["outcomes"] == {
        "message": 3,
        "tapback": 8,
        "takenBackTapback": 1,
        "tapbackRemoval": 1,
        "unknownTapback": 1,
        "unreadableTapback": 1,
    }
    assert result.report["notes"]["postponed"] == 1


def test_a_reply_names_the_first_message_of_its_thread(source):
    chat, handle = direct(source)
    first = source.message(chat, "first")[1]
    thread = {"thread_originator_guid": first, "thread_originator_part": "0:0:5"}
    source.message(chat, "second", sender=handle, **thread)
    source.message(chat, "third", reply_to_guid=str(uuid.uuid4()), **thread)
    source.message(chat, "to nothing", thread_originator_guid=str(uuid.uuid4()))
    result = archive(source.finish())
    faultless(result)
    assert [record.get("replyTo") for record in result.of("message")] == [None, first.lower(), first.lower(), None]
    assert result.report["notes"]["lostParent"] == 1


def test_edits_and_unsent_messages(source):
    chat, handle = direct(source)
    start = START // SECOND + 1
    edits = [{"d": float(start + index), "t": body(text)} for index, text in enumerate(("nine?", "ten?", "eleven?"))]
    info = summary(ec={"0": edits}, otr={"0": {"lo": 0, "le": 5}}, ust=True)
    source.message(
        chat, None, attributedBody=body("eleven?"), message_summary_info=info, date_edited=START + 9 * SECOND
    )
    two = attributed([("kept", {PART: 0}), ("changed", {PART: 1})])
    source.message(
        chat,
        None,
        attributedBody=two,
        message_summary_info=summary(
            ec={"1": [{"d": start + 1.5, "t": body("old")}, {"d": start + 60.25, "t": body("changed")}]}
        ),
        date_edited=START + 60 * SECOND,
    )
    source.message(chat, None, message_summary_info=summary(rp=[0], ust=True), date_edited=START + 70 * SECOND)
    rest = attributed([("the rest", {PART: 1})])
    source.message(
        chat, None, attributedBody=rest, message_summary_info=summary(rp=[0]), date_edited=START + 71 * SECOND
    )
    source.message(chat, "damaged", message_summary_info=b"bplist00\xff", date_edited=START + 80 * SECOND)
    result = archive(source.finish())
    faultless(result)
    edited, parted, unsent, partly, damaged = result.of("message")
    assert edited["text"] == "eleven?"
    assert edited["revisions"] == [
        {"text": text, "at": rfc3339((start + index) * SECOND)}
        for index, text in enumerate(("nine?", "ten?", "eleven?"))
    ]
    assert parted["text"] == "kept\nchanged"
    assert parted["revisions"] == [
        {"text": "kept\nold", "at": parted["createdAt"]},
        {"text": "kept\nchanged", "at": rfc3339((start + 60) * SECOND + SECOND // 4)},
    ]
    assert "text" not in unsent and unsent["deletedAt"] == rfc3339(START + 70 * SECOND)
    assert partly["text"] == "the rest" and "deletedAt" not in partly
    assert damaged["text"] == "damaged" and "revisions" not in damaged
    assert result.report["outcomes"] == {"message": 4, "deleted": 1}
    assert result.report["notes"]["partlyUnsent"] == result.report["notes"]["unreadableHistory"] == 1


def test_more_edits_than_messages_allows_are_not_taken(recent):
    chat, _ = direct(recent)
    start = START // SECOND + 1
    edits = [{"d": float(start + index), "t": body(f"text {index}")} for index in range(2_000)]
    recent.message(
        chat,
        None,
        attributedBody=body("text 1999"),
        message_summary_info=summary(ec={"0": edits}),
        date_edited=START + 2_000 * SECOND,
    )
    result = archive(recent.finish())
    faultless(result)
    [message] = result.of("message")
    assert message["text"] == "text 1999" and "revisions" not in message
    assert result.report["notes"]["unreadableHistory"] == 1


def test_a_group_with_its_history(source):
    ana, ben, eve, dan = (source.handle(f"{name}@example.com") for name in ("ana", "ben", "eve", "dan"))
    group = str(uuid.uuid4()).upper()
    chat = source.chat("iMessage;+;chat1", [ana, ben], group_id=group, display_name="Third")
    source.message(chat, "one", sender=dan)  # He is in no list: he has left, and nothing says when.
    source.message(chat, item_type=2, group_title="Second", sender=ana)
    source.message(chat, item_type=1, group_action_type=0, other_handle=ben, sender=ana)
    source.message(chat, item_type=1, group_action_type=0, other_handle=ben, sender=ana)
    source.message(chat, "two", sender=ben, date_read=START + 5 * SECOND + SECOND // 2)
    source.message(chat, "three", date_delivered=START + 99 * SECOND)
    source.message(chat, item_type=1, group_action_type=1, other_handle=eve)
    source.message(chat, item_type=2, group_title="Third")
    source.message(chat, item_type=2, group_title="")
    source.message(chat, item_type=3, group_action_type=1, sender=ana)
    source.message(chat, item_type=3, group_action_type=0)
    result = archive(source.finish())
    faultless(result)
    conversation = result.of("conversation")[0]
    assert conversation["id"] == group.lower() and conversation["kind"] == "group" and "title" not in conversation
    assert conversation["members"] == [ME, "ana@example.com", "dan@example.com", "eve@example.com"]
    changes = [(record["change"], record["userId"], record.get("actorId")) for record in result.of("member")]
    assert changes == [
        ("added", "ben@example.com", "ana@example.com"),
        ("removed", "eve@example.com", ME),
        ("removed", ME, ME),
        ("removed", "dan@example.com", None),
    ]
    assert [(record["title"], record.get("actorId")) for record in result.of("renamed")] == [
        ("Second", "ana@example.com"),
        ("Third", ME),
    ]
    texts = [record["text"] for record in result.of("message")]
    assert texts == ["one", "two", "three", "[Removed the title]", "[Changed the picture of the group]"]
    # Without saying whose, so everybody's who is there then.
    assert [record["userId"] for record in result.of("receipt", kind="delivered")] == [
        "ana@example.com",
        "ben@example.com",
        "dan@example.com",
    ]
    assert result.report["outcomes"]["unchangedMembership"] == 1
    assert result.report["notes"]["groupReceipt"] == 1


def test_one_conversation_over_several_services(recent):
    chats = []
    for service, address in (("iMessage", "+1 (555) 0100"), ("SMS", "+15550100"), ("RCS", "+15550100")):
        chats.append(recent.chat(f"{service};-;{address}", [recent.handle(address, service)]))
    pair = [[recent.handle(address, service) for address in ("a@x.org", "b@x.org")] for service in ("iMessage", "SMS")]
    groups = [
        recent.chat("iMessage;+;chat1", pair[0], display_name="Named"),
        recent.chat("SMS;+;chat2", pair[1]),
        recent.chat("iMessage;+;chat3", pair[0], display_name="Another"),
    ]
    for round in range(3):
        for chat in chats + groups:
            recent.message(chat, f"{round}")
    shared = recent.message(chats[0], "in two chats of one conversation")[0]
    recent.insert("chat_message_join", {"chat_id": chats[1], "message_id": shared})
    result = archive(recent.finish())
    faultless(result)
    sizes = Counter(record["conversationId"] for record in result.of("message"))
    assert sorted(sizes.values()) == [3, 6, 10]
    assert result.report["notes"]["joinedChats"] == 3
    for records in result.conversations().values():
        assert [record["type"] for record in records][0] == "conversation" and records[-1]["type"] == "end"
        times = [record["createdAt"] for record in records if record["type"] == "message"]
        assert times == sorted(times)


def test_what_is_no_text_is_said_in_words(recent):
    chat, handle = direct(recent)
    photo = recent.message(
        chat, None, attributedBody=attributed([("\ufffc", {PART: 0, FILE: "at_0"}), ("Look!", {PART: 1})])
    )[0]
    recent.attachment(photo, transfer_name="other.pdf", mime_type="application/pdf")
    recent.attachment(photo, guid="at_0", filename="~/Library/IMG_1.HEIC", uti="public.heic")
    expected = ["[Photo: IMG_1.HEIC]\nLook!\n[File: other.pdf]"]
    sticker = recent.message(
        chat, "\ufffc", associated_message_type=1000, associated_message_guid=f"p:0/{uuid.uuid4()}"
    )[0]
    recent.attachment(sticker, is_sticker=1, emoji_image_short_description="a wave")
    expected.append("[Sticker: a wave]")
    app = "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.example.app"
    for columns, text in (
        ({"balloon_bundle_id": app.replace("com.example.app", "com.apple.messages.Polls")}, "[Poll]"),
        ({"associated_message_type": 4000, "associated_message_guid": str(uuid.uuid4())}, "[Poll vote]"),
        ({"balloon_bundle_id": app, "text": "\ufffc"}, "[App message: com.example.app]"),
        ({"balloon_bundle_id": "com.apple.messages.URLBalloonProvider", "text": "https://x.org"}, "https://x.org"),
        ({"balloon_bundle_id": "com.apple.Handwriting.HandwritingProvider"}, "[Handwritten message]"),
        ({"item_type": 4, "share_status": 1}, "[Stopped sharing the location]"),
        ({"item_type": 6}, "[SharePlay]"),
        ({"item_type": 9}, "[Event of kind 9, 0]"),
        ({"text": "zero\0there", "subject": "Subject"}, "Subject\nzerothere"),
        ({"attributedBody": b"no typedstream"}, "[Unreadable message]"),
        ({}, "[Empty message]"),
    ):
        recent.message(chat, columns.pop("text", None), **columns)
        expected.append(text)
    result = archive(recent.finish())
    faultless(result)
    assert [record["text"] for record in result.of("message")] == expected
    notes = result.report["notes"]
    assert (notes["attachments"], notes["unreadableBody"], notes["empty"], notes["zeroCharacters"]) == (3, 1, 1, 1)


def test_what_strangers_named_does_not_command_the_terminal(recent):
    chat, _ = direct(recent)
    photo = recent.message(chat, "Look!")[0]
    recent.attachment(photo, transfer_name="photo\x1b]0;title\x07\x9b2J" + "x" * 5000 + ".jpg")
    result = archive(recent.finish())
    assert "photo]0;title2Jxxx" in result.output and "…" in result.output
    assert not any(character in result.output for character in "\x1b\x07\x9b")
    assert max(map(len, result.output.splitlines())) < 300


def test_what_has_no_conversation_is_counted(recent):
    chat, handle = direct(recent)
    recent.message(chat, "there")
    recent.message(None, "nowhere")
    row = recent.message(None, "deleted")[0]
    recent.insert("chat_recoverable_message_join", {"chat_id": chat, "message_id": row, "delete_date": START})
    recent.chat("iMessage;-;+15550199", [])
    result = archive(recent.finish())
    faultless(result)
    assert result.report["outcomes"] == {"message": 1, "withoutConversation": 1, "recoverable": 1}
    assert result.report["notes"]["emptyChats"] == 1


def test_addresses_become_user_ids(recent):
    for address in ("o'hara@example.com", "Wells Fargo", "72000", "ALERTS", "urn:biz:1"):
        chat, handle = direct(recent, address)
        recent.message(chat, "hello", sender=handle)
    result = archive(recent.finish())
    faultless(result)
    senders = [record["senderId"] for record in result.of("message")]
    assert senders[2:] == ["72000", "ALERTS", "urn:biz:1"]
    assert all(sender.startswith("archive-") and len(sender) == 32 for sender in senders[:2])
    assert result.report["notes"]["madeUser"] == 2


def test_a_file_of_an_old_version_lacks_columns(tmp_path):
    path = tmp_path / "chat.db"
    with sqlite3.connect(path) as connection:
        connection.executescript("""
            CREATE TABLE message (ROWID INTEGER PRIMARY KEY, guid TEXT, text TEXT, handle_id INTEGER, date INTEGER,
                date_read INTEGER, date_delivered INTEGER, is_from_me INTEGER, is_read INTEGER);
            CREATE TABLE chat (ROWID INTEGER PRIMARY KEY, guid TEXT, style INTEGER, chat_identifier TEXT);
            CREATE TABLE handle (ROWID INTEGER PRIMARY KEY, id TEXT, service TEXT);
            CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER);
            INSERT INTO handle VALUES (1, '+15550100', 'iMessage');
            INSERT INTO chat VALUES (1, 'iMessage;-;+15550100', 45, '+15550100');
            INSERT INTO message VALUES (1, 'A', 'old', 1, 300000000, 300000007, 0, 0, 1);
            INSERT INTO chat_message_join VALUES (1, 1);
            """)
    connection.close()
    result = archive(path)
    faultless(result)
    assert result.of("message")[0]["createdAt"] == rfc3339(300000000 * SECOND)
    assert result.of("receipt")[0]["at"] == rfc3339(300000007 * SECOND)


def test_a_file_that_messages_writes_is_read_in_one_snapshot_and_not_written(recent):
    chat, handle = direct(recent)
    recent.message(chat, "before")
    path = recent.finish()
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("UPDATE message SET text = 'in the log'")
    writer.commit()
    writer.execute("UPDATE message SET text = 'not committed'")
    before = path.read_bytes(), path.with_name("chat.db-wal").read_bytes()
    assert archive(path).of("message")[0]["text"] == "in the log"
    assert (path.read_bytes(), path.with_name("chat.db-wal").read_bytes()) == before
    writer.rollback()
    writer.close()
    # A copy without its log, as of a backup: SQLite would make one beside it.
    backup = path.parent / "backup" / "a ?%copy.db"
    backup.parent.mkdir()
    shutil.copy(path, backup)
    assert archive(backup).of("message")[0]["text"] == "in the log"
    assert {file.suffix for file in backup.parent.iterdir()} == {".db", ".ndjson", ".json"}


def test_records_are_checked_line_by_line(recent):
    chat, handle = direct(recent)
    target = recent.message(chat, "asked")[1]
    guid = target.lower()
    recent.message(chat, associated_message_type=2000, associated_message_guid=target)
    path = recent.finish()
    records = archive(path).records
    message = next(record for record in records if record["type"] == "message")
    conversation = records[0]["id"]
    receipt = {
        "type": "receipt",
        "conversationId": conversation,
        "userId": ME,
        "kind": "read",
        "throughMessageId": guid,
        "at": message["createdAt"],
    }
    for changed, reason in (
        (records, None),
        (records[1:], "isNotOpen"),
        (records[:-1], "notEnded"),
        ([records[0], *records], "isOpen"),
        ([*records[:2], message, *records[2:]], "doubledMessage"),
        ([*records[:1], message | {"createdAt": "2022-01-01T00:00:00.000Z"}, *records[2:]], "order"),
        ([*records[:1], message | {"createdAt": "2999-01-01T00:00:00.000Z"}, *records[3:]], "future"),
        ([*records[:1], message | {"text": " "}, *records[2:]], "text"),
        ([*records[:1], message | {"senderId": "eve"}, *records[3:]], "notAMember"),
        ([*records[:1], message | {"replyTo": str(uuid.uuid4())}, *records[3:]], "unknownMessage"),
        ([*records[:1], message | {"deletedAt": message["createdAt"]}, *records[2:]], "deletedMessage"),
        ([*records[:2], records[2] | {"kind": "hug"}, *records[3:]], "tapback"),
        ([*records[:2], receipt | {"at": "2999-01-01T00:00:00.000Z"}, *records[3:]], "future"),
        ([*records[:2], receipt | {"at": "2022-01-01T00:00:00.000Z"}, *records[3:]], "order"),
        ([*records[:2], receipt | {"at": "2024-01-01T00:00:00.000Z"}, receipt, *records[3:]], None),
        ([*records[:2], receipt | {"userId": "eve"}, *records[3:]], "notAMember"),
        ([records[0] | {"title": "a pair"}, records[-1]], "title"),
        ([records[0] | {"members": [ME, "eve"]}, records[-1]], "members"),
    ):
        file = path.with_name("changed.ndjson")
        file.write_text("".join(json.dumps(record) + "\n" for record in changed))
        report = path.with_name("changed.json")
        done = subprocess.run(
            [PARLEY, "import", "parley", file, "--dry-run", "--json", report], capture_output=True, text=True
        )
        refused = json.loads(report.read_text())["refused"]
        assert done.returncode == (0 if reason is None else 1)
        assert (reason in refused) if reason else refused == {}, (reason, refused)
    file.write_text(json.dumps(records[0]) + '\n{"type":"message"}\n')
    done = subprocess.run([PARLEY, "import", "parley", file, "--dry-run"], capture_output=True, text=True)
    assert done.returncode == 1 and "line 2: conversationId: is missing" in done.stderr
