"""Delivered and read, over HTTP, and what the sender sees of it."""

import time

import pytest

from judged import PATIENCE
from people import new_id


@pytest.fixture
def group(anna, ben, carla):
    return anna.group(ben, carla)


def acknowledge(person, conversation, **body):
    """Says it again where the server is busy, as clients do."""
    deadline = time.monotonic() + PATIENCE
    while (response := person.post(f"/v1/conversations/{conversation}/receipts", body)).status_code == 503:
        assert time.monotonic() < deadline, response.text
        time.sleep(0.2)
    return response


def eventually(condition, timeout=PATIENCE):
    """Receipts are merged for a tenth of a second before they show."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.02)
    return value


def test_a_message_becomes_delivered_and_read_when_the_last_recipient_says_so(anna, ben, carla, group):
    message = anna.send(group, "Hello")

    def seen(**expected):
        now = anna.get(f"/v1/conversations/{group}/messages/{message['id']}").json()
        return expected.items() <= now.items() and now

    assert acknowledge(ben, group, readSeq=2).status_code == 202
    one = eventually(lambda: seen(status="sent", deliveredCount=1, readCount=1))
    assert "dateDelivered" not in one
    assert acknowledge(carla, group, deliveredSeq=2).status_code == 202
    delivered = eventually(lambda: seen(status="delivered", deliveredCount=2, readCount=1))
    assert delivered["dateDelivered"] >= message["createdAt"] and "dateRead" not in delivered
    assert acknowledge(carla, group, deliveredSeq=2, readSeq=2).status_code == 202
    read = eventually(lambda: seen(status="read", readCount=2))
    assert read["dateRead"] >= read["dateDelivered"] == delivered["dateDelivered"]
    for reader in (ben, carla):
        assert "status" not in reader.get(f"/v1/conversations/{group}/messages/{message['id']}").json()


def test_receipts_only_move_forward(anna, ben, group):
    for _ in range(3):
        anna.send(group, "Hello")
    for read in (4, 2, 0):
        assert acknowledge(ben, group, readSeq=read).status_code == 202
    conversation = eventually(lambda: (now := ben.get(f"/v1/conversations/{group}").json())["readSeq"] == 4 and now)
    assert (conversation["deliveredSeq"], conversation["unreadCount"]) == (4, 0)
    members = anna.get(f"/v1/conversations/{group}/members").json()["members"]
    assert {member["userId"]: (member["deliveredSeq"], member["readSeq"]) for member in members}[ben.name] == (4, 4)


def test_a_position_beyond_the_end_counts_as_the_end(anna, ben, group):
    anna.send(group, "Hello")
    assert acknowledge(ben, group, readSeq=9007199254740991).status_code == 202
    eventually(lambda: ben.get(f"/v1/conversations/{group}").json()["readSeq"] == 2)
    anna.send(group, "Unread")
    assert ben.get(f"/v1/conversations/{group}").json()["unreadCount"] == 1


WRONG = [
    {},
    {"readSeq": None},
    {"readSeq": -1},
    {"readSeq": 1.5},
    {"readSeq": "1"},
    {"readSeq": True},
    {"deliveredSeq": 9007199254740992},
    {"deliveredSeq": 10**30},
    {"deliveredSeq": [1]},
    {"readSeq": 1, "deliveredSeq": "x"},
]


@pytest.mark.parametrize("body", WRONG, ids=str)
def test_a_wrong_position_is_refused(anna, group, body):
    response = acknowledge(anna, group, **body)
    assert response.status_code == 400
    assert "Seq" in response.json()["detail"]


RAW = ["1.0", "1e2", "9223372036854775808", "-9223372036854775809", "1e400", "-0.0", "01", "NaN"]


@pytest.mark.parametrize("position", RAW)
def test_a_position_is_a_whole_number_as_it_stands(anna, group, position):
    body = b'{"readSeq": %s}' % position.encode()
    assert anna.post(f"/v1/conversations/{group}/receipts", body).status_code == 400


def test_nobody_but_a_member_acknowledges(stranger, group):
    there, nowhere = acknowledge(stranger, group, readSeq=1), acknowledge(stranger, new_id(), readSeq=1)
    assert there.status_code == nowhere.status_code == 404
    assert there.json() == nowhere.json()


def test_a_body_over_the_limit_is_too_large(anna, group):
    assert acknowledge(anna, group, readSeq=1, padding="x" * 131072).status_code == 413


def receipts(person, conversation, message, **query):
    return person.get(f"/v1/conversations/{conversation}/messages/{message}/receipts", params=query)


def people_of(page, kind):
    return [receipt["userId"] for receipt in page[kind]]


def test_the_sender_is_told_who_has_a_message_and_who_has_read_it_since_when(anna, ben, carla, group):
    message = anna.send(group, "Hello")
    nothing = receipts(anna, group, message["id"]).json()
    assert nothing == {"delivered": [], "read": [], "deliveredCount": 0, "readCount": 0, "recipientCount": 2}
    assert acknowledge(ben, group, readSeq=2).status_code == 202
    assert acknowledge(carla, group, deliveredSeq=2).status_code == 202
    page = receipts(anna, group, message["id"]).json()
    assert people_of(page, "delivered") == sorted([ben.name, carla.name])
    assert people_of(page, "read") == [ben.name]
    assert (page["deliveredCount"], page["readCount"], page["recipientCount"]) == (2, 1, 2)
    assert "nextCursor" not in page
    assert all(receipt["at"] >= message["createdAt"] for receipt in page["delivered"] + page["read"])


def test_the_times_are_those_of_the_message_status(anna, ben, carla, group):
    messages = [anna.send(group, "Hello") for _ in range(3)]
    for person, seqs in ((ben, (2, 4)), (carla, (3, 4))):
        for seq in seqs:
            assert acknowledge(person, group, readSeq=seq).status_code == 202
            time.sleep(0.12)  # Receipts within a tenth of a second are one, at one time.
    for message in messages:
        page = receipts(anna, group, message["id"]).json()
        now = anna.get(f"/v1/conversations/{group}/messages/{message['id']}").json()
        assert now["dateRead"] == max(receipt["at"] for receipt in page["read"])
        assert now["dateDelivered"] == max(receipt["at"] for receipt in page["delivered"])


def test_receipts_come_page_by_page(anna, ben, carla, group):
    message = anna.send(group, "Hello")
    for person in (ben, carla):
        assert acknowledge(person, group, readSeq=2).status_code == 202
    found, query = [], {"limit": 1}
    while True:
        page = receipts(anna, group, message["id"], **query).json()
        assert len(page["delivered"]) == 1 and people_of(page, "read") == people_of(page, "delivered")
        assert (page["deliveredCount"], page["recipientCount"]) == (2, 2)
        found += people_of(page, "delivered")
        if "nextCursor" not in page:
            break
        query["after"] = page["nextCursor"]
    assert found == sorted([ben.name, carla.name])


@pytest.mark.parametrize(
    "query", [{"limit": 0}, {"limit": 1001}, {"limit": "x"}, {"after": ""}, {"after": "a*b"}], ids=str
)
def test_a_wrong_page_of_receipts_is_refused(anna, group, query):
    assert receipts(anna, group, new_id(), **query).status_code == 400


def test_receipts_are_the_senders_alone(anna, ben, stranger, group):
    message = anna.send(group, "Hello")
    refused = receipts(ben, group, message["id"])
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert receipts(stranger, group, message["id"]).status_code == 404
    assert receipts(anna, group, new_id()).status_code == 404


def test_a_system_message_has_no_receipts(anna, dora, group):
    assert anna.http.put(f"/v1/conversations/{group}/members/{dora.name}").status_code == 200
    [system_message] = anna.get(f"/v1/conversations/{group}/messages").json()["messages"]
    assert system_message["kind"] == "system"
    assert receipts(anna, group, system_message["id"]).status_code == 403


def test_a_tombstone_keeps_its_receipts_and_a_hidden_message_has_none_to_show(anna, ben, group):
    message = anna.send(group, "Hello")
    path = f"/v1/conversations/{group}/messages/{message['id']}"
    assert acknowledge(ben, group, readSeq=2).status_code == 202
    before = receipts(anna, group, message["id"]).json()
    assert anna.http.delete(path, params={"scope": "everyone"}).status_code == 204
    assert receipts(anna, group, message["id"]).json() == before
    assert anna.http.delete(path).status_code == 204
    assert receipts(anna, group, message["id"]).status_code == 404


def test_who_left_unread_stays_unread_until_they_come_back_and_read(anna, ben, carla, group):
    message = anna.send(group, "Hello")
    member = f"/v1/conversations/{group}/members/{carla.name}"
    assert acknowledge(ben, group, readSeq=2).status_code == 202
    assert carla.http.delete(member).status_code == 204
    refused = acknowledge(carla, group, readSeq=2)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    page = receipts(anna, group, message["id"]).json()
    assert (page["readCount"], page["recipientCount"]) == (1, 2)
    assert anna.http.put(member).status_code == 200
    assert acknowledge(carla, group, readSeq=4).status_code == 202
    page = receipts(anna, group, message["id"]).json()
    assert people_of(page, "read") == sorted([ben.name, carla.name])


def test_who_joined_later_is_no_recipient(anna, ben, carla, dora, group):
    message = anna.send(group, "Hello")
    assert anna.http.put(f"/v1/conversations/{group}/members/{dora.name}").status_code == 200
    for person in (ben, carla, dora):
        assert acknowledge(person, group, readSeq=3).status_code == 202
    page = receipts(anna, group, message["id"]).json()
    assert people_of(page, "read") == sorted([ben.name, carla.name])
    assert anna.get(f"/v1/conversations/{group}/messages/{message['id']}").json()["status"] == "read"


def read_receipts(person, is_on, conversation=None):
    path = f"/v1/conversations/{conversation}/settings" if conversation else "/v1/settings"
    response = person.http.put(path, json={"readReceipts": is_on})
    assert response.status_code == 200, response.text


def shown_seqs(person, group):
    members = person.get(f"/v1/conversations/{group}/members").json()["members"]
    return {member["userId"]: member["readSeq"] for member in members}


@pytest.mark.parametrize("is_for_conversation", [False, True])
def test_who_sends_no_read_receipts_is_seen_to_have_a_message_and_nowhere_to_read_it(
    anna, ben, carla, group, is_for_conversation
):
    message = anna.send(group, "Hello")
    read_receipts(ben, False, group if is_for_conversation else None)
    with anna.socket() as sender, ben.socket() as tablet:
        assert acknowledge(ben, group, readSeq=2).status_code == 202
        assert acknowledge(carla, group, readSeq=2).status_code == 202
        told = {}
        while carla.name not in told.get("read", {}):
            told = sender.expect("status", where=lambda frame: frame["conversationId"] == group)
            assert ben.name not in told.get("read", {})
        moved = tablet.expect("private", where=lambda frame: frame["kind"] == "read.moved")
        assert (moved["conversationId"], moved["readSeq"]) == (group, 2)
    now = anna.get(f"/v1/conversations/{group}/messages/{message['id']}").json()
    assert (now["status"], now["deliveredCount"], now["readCount"]) == ("delivered", 2, 1)
    page = receipts(anna, group, message["id"]).json()
    assert people_of(page, "delivered") == sorted([ben.name, carla.name])
    assert (people_of(page, "read"), page["readCount"]) == ([carla.name], 1)
    assert (shown_seqs(anna, group)[ben.name], shown_seqs(ben, group)[ben.name]) == (0, 2)
    own = ben.get(f"/v1/conversations/{group}").json()
    assert (own["readSeq"], own["unreadCount"]) == (2, 0)
    with anna.socket(statusVersions={group: 0}) as returned:
        merged = returned.expect("status", where=lambda frame: frame["conversationId"] == group)
        assert (merged["delivered"][ben.name], merged["read"]) == (2, {carla.name: 2})


def test_reading_alone_is_no_movement_for_others_while_receipts_are_off(anna, ben, group):
    anna.send(group, "Hello")
    read_receipts(ben, False)
    with anna.socket() as sender:
        assert acknowledge(ben, group, deliveredSeq=2).status_code == 202
        version = sender.expect("status", where=lambda frame: frame["conversationId"] == group)["statusVersion"]
        assert acknowledge(ben, group, readSeq=2).status_code == 202
        sender.expect_silence("status")
        anna.send(group, "Again")
        assert acknowledge(ben, group, deliveredSeq=3).status_code == 202
        following = sender.expect("status", where=lambda frame: frame["conversationId"] == group)["statusVersion"]
    assert following == version + 1


def test_receipts_turned_on_again_show_what_is_read_from_then_on(anna, ben, group):
    first = anna.send(group, "Hello")
    read_receipts(ben, False)
    assert acknowledge(ben, group, readSeq=2).status_code == 202
    read_receipts(ben, True)
    time.sleep(0.12)
    assert acknowledge(ben, group, readSeq=2).status_code == 202
    assert receipts(anna, group, first["id"]).json()["read"] == []
    second = anna.send(group, "And now?")
    assert acknowledge(ben, group, readSeq=3).status_code == 202
    shown = [receipts(anna, group, message["id"]).json()["read"] for message in (first, second)]
    assert shown[0] == shown[1] != []
    assert shown[0][0]["at"] >= second["createdAt"]
    read_receipts(ben, False)
    assert receipts(anna, group, first["id"]).json()["read"] == shown[0]
