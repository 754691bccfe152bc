"""Delivered and read, over HTTP, and what the sender sees of it."""

import time

import pytest

from people import new_id


@pytest.fixture
def group(anna, ben, carla):
    return anna.group(ben, carla)


def acknowledge(person, conversation, **body):
    return person.post(f"/v1/conversations/{conversation}/receipts", body)


def eventually(condition, timeout=5.0):
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


def test_nobody_but_a_member_acknowledges(stranger, group):
    there, nowhere = acknowledge(stranger, group, readSeq=1), acknowledge(stranger, new_id(), readSeq=1)
    assert there.status_code == nowhere.status_code == 404
    assert there.json() == nowhere.json()


def test_a_body_over_the_limit_is_too_large(anna, group):
    assert acknowledge(anna, group, readSeq=1, padding="x" * 131072).status_code == 413
