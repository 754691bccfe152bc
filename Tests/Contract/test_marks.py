"""What users keep to themselves about conversations: mutes, pins, the archive, marks as unread; and the badge."""

import uuid

import pytest

from people import new_id
from test_sync import follow

FOR_EVER = "9999-12-31T23:59:59.999Z"
MARKS = {"mute": "until", "pin": "order", "archive": "throughSeq", "unread": None}
KINDS = {"mute": "muted", "pin": "pinned", "archive": "archived", "unread": "markedUnread"}
SHOWN = ("mutedUntil", "pinOrder", "archivedSeq", "archived", "markedUnread")


@pytest.fixture
def group(anna, ben):
    return anna.group(ben)


def put(person, group, mark, body=None, status=204, **headers):
    response = person.http.put(f"/v1/conversations/{group}/{mark}", json=body, headers=headers)
    assert response.status_code == status, response.text
    return response


def remove(person, group, mark):
    assert person.http.delete(f"/v1/conversations/{group}/{mark}").status_code == 204


def marks(person, group):
    shown = person.get(f"/v1/conversations/{group}").json()
    return {name: shown[name] for name in SHOWN if name in shown}


def problem(response):
    return response.status_code, response.json()["code"]


def test_marks_are_shown_to_who_made_them_in_every_list_and_go_again(anna, ben, group):
    put(anna, group, "mute", {"until": "2099-03-08T07:00:00.000Z"})
    put(anna, group, "pin", {"order": -7})
    put(anna, group, "archive")
    put(anna, group, "unread")
    expected = {
        "mutedUntil": "2099-03-08T07:00:00.000Z", "pinOrder": -7, "archivedSeq": 1, "archived": True,
        "markedUnread": True,
    }  # fmt: skip
    assert marks(anna, group) == expected and marks(ben, group) == {}
    listed = next(each for each in anna.get("/v1/conversations").json()["conversations"] if each["id"] == group)
    assert expected.items() <= listed.items()
    with anna.socket() as phone:
        welcomed = next(each for each in phone.welcome["conversations"] if each["id"] == group)
        assert expected.items() <= welcomed.items()
    for mark in MARKS:
        remove(anna, group, mark)
        remove(anna, group, mark)
    assert marks(anna, group) == {}
    put(anna, group, "mute")
    put(anna, group, "pin", {"order": None})
    assert marks(anna, group) == {"mutedUntil": FOR_EVER, "pinOrder": 0}


def test_other_devices_hear_of_marks_live_and_later(anna, ben, group):
    _, _, cursor = follow(anna)
    with anna.socket() as phone, ben.socket() as other:
        for mark in MARKS:
            put(anna, group, mark)
        live = [phone.expect("private") for _ in MARKS]
        assert [frame["kind"] for frame in live] == list(KINDS.values())
        assert [frame["conversationId"] for frame in live] == [group] * 4
        assert live[0]["mutedUntil"] == FOR_EVER and "archivedSeq" not in live[0]
        assert (live[1]["pinOrder"], live[2]["archivedSeq"]) == (0, 1)
        assert (live[3]["markedUnread"], live[3]["readSeq"]) == (True, 0)
        for mark in MARKS:
            put(anna, group, mark)  # nothing new
        remove(anna, group, "pin")
        assert "pinOrder" not in phone.expect("private")
        other.expect_silence("private", "change")
    _, later, _ = follow(anna, cursor)
    assert [change["kind"] for change in later] == [*KINDS.values(), "pinned"]
    assert "pinOrder" not in later[1], "a replayed change tells what is in force now"


def test_a_message_brings_a_conversation_back_unless_it_is_muted(anna, ben, group):
    put(anna, group, "archive")
    ben.send(group, "Nine?")
    assert marks(anna, group) == {"archivedSeq": 1}
    put(anna, group, "archive", {"throughSeq": 1})
    assert "archived" not in marks(anna, group), "the message came after what was shown"
    put(anna, group, "archive")
    put(anna, group, "mute")
    ben.send(group, "Ten?")
    assert marks(anna, group)["archived"] is True
    remove(anna, group, "mute")
    assert "archived" not in marks(anna, group)
    put(anna, group, "mute")
    assert marks(anna, group) == {"mutedUntil": FOR_EVER}, "muting archives nothing"


def test_a_mark_as_unread_ends_when_its_user_reads_on(anna, ben, group):
    read = ben.send(group, "Nine?")["seq"]
    path = f"/v1/conversations/{group}/receipts"
    assert anna.post(path, {"readSeq": read}).status_code == 202
    put(anna, group, "unread")
    assert anna.post(path, {"readSeq": read}).status_code == 202
    assert marks(anna, group) == {"markedUnread": True}, "nothing new was read"
    last = ben.send(group, "Ten?")["seq"]
    assert anna.post(path, {"readSeq": last}).status_code == 202
    assert marks(anna, group) == {}


def test_the_badge_counts_what_is_neither_muted_nor_archived(new_person, ben):
    reader = new_person("reader")
    groups = [ben.group(reader) for _ in range(4)]

    def badge():
        total = reader.get("/v1/unread").json()
        return total["conversations"], total["messages"], total["more"]

    assert badge() == (0, 0, False)
    for group in groups:
        ben.send(group, "Nine?")
    ben.send(groups[0], "Ten?")
    assert badge() == (4, 5, False)
    put(reader, groups[0], "mute")
    put(reader, groups[1], "archive")
    assert badge() == (2, 2, False)
    remove(reader, groups[1], "archive")
    assert reader.post(f"/v1/conversations/{groups[1]}/receipts", {"readSeq": 2}).status_code == 202
    assert badge() == (2, 2, False)
    put(reader, groups[1], "unread")
    assert badge() == (3, 2, False)
    backend = new_person("backend", adm=True)
    headers = {"X-Parley-User": reader.name}
    assert backend.get("/v1/unread", headers=headers).json()["conversations"] == 3
    assert problem(backend.get("/v1/unread", headers={"X-Parley-User": "no name"})) == (400, "invalid")


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_is_set_once_under_its_key_and_the_key_serves_no_other(anna, group, mark):
    key = str(uuid.uuid4())
    put(anna, group, mark, **{"Idempotency-Key": key})
    remove(anna, group, mark)
    put(anna, group, mark, **{"Idempotency-Key": key})
    assert marks(anna, group) == {}, "it was set before it was removed"
    path = f"/v1/conversations/{group}/{mark}"
    assert problem(anna.http.delete(path, headers={"Idempotency-Key": key})) == (409, "conflict")
    other = "pin" if mark != "pin" else "mute"
    assert problem(put(anna, group, other, status=409, **{"Idempotency-Key": key})) == (409, "conflict")
    another = str(uuid.uuid4())
    put(anna, group, other, **{"Idempotency-Key": another})
    assert problem(put(anna, group, mark, status=409, **{"Idempotency-Key": another})) == (409, "conflict")
    for method in ("PUT", "DELETE"):
        refused = anna.http.request(method, path, headers={"Idempotency-Key": "x"})
        assert problem(refused) == (400, "invalid") and "Idempotency-Key" in refused.json()["detail"]


@pytest.mark.parametrize("mark", MARKS)
def test_whoever_is_or_was_in_it_marks_it_and_nobody_else(anna, ben, stranger, group, mark):
    for method in ("PUT", "DELETE"):
        path = f"/v1/conversations/{group}/{mark}"
        assert problem(stranger.http.request(method, path)) == (404, "notFound")
        assert problem(anna.http.request(method, f"/v1/conversations/{new_id()}/{mark}")) == (404, "notFound")
        assert problem(anna.http.request(method, f"/v1/conversations/x/{mark}")) == (400, "invalid")
    assert anna.http.delete(f"/v1/conversations/{group}/members/{ben.name}").status_code == 204
    anna.send(group, "Without ben")
    put(ben, group, mark)
    assert marks(ben, group).get("archivedSeq", 2) == 2, "nothing of what came after they left"


@pytest.mark.parametrize(
    ("mark", "wrong"),
    [
        *(("mute", value) for value in ("", "tomorrow", 7, True, {}, "2026-03-08", "10000-01-01T00:00:00Z")),
        *(("pin", value) for value in ("1", 1.5, True, [], 2**53, -(2**53), 2**70)),
        *(("archive", value) for value in ("1", 0, -1, 1.0, 2**53, [])),
    ],
)
def test_what_could_be_misunderstood_is_refused_by_its_name(anna, group, mark, wrong):
    refused = put(anna, group, mark, {MARKS[mark]: wrong}, 400)
    assert problem(refused) == (400, "invalid") and MARKS[mark] in refused.json()["detail"]
    assert marks(anna, group) == {}


@pytest.mark.parametrize("mark", [mark for mark, field in MARKS.items() if field])
@pytest.mark.parametrize("body", [b"null", b"[]", b"{", b"7"])
def test_a_body_is_an_object_or_nothing(anna, group, mark, body):
    assert problem(anna.http.put(f"/v1/conversations/{group}/{mark}", content=body)) == (400, "invalid")
    assert problem(anna.http.put(f"/v1/conversations/{group}/{mark}", content=b" " * (128 * 1024 + 1)))[0] == 413
