"""Messages that disappear by themselves, for everybody, when they are so old."""

import pytest

from people import new_id
from test_blocks import direct
from test_receipts import eventually

DAY = 86_400


@pytest.fixture
def group(anna, ben, carla):
    return anna.group(ben, carla)


def put(person, conversation, seconds, **headers):
    return person.http.put(f"/v1/conversations/{conversation}/lifetime", json={"seconds": seconds}, headers=headers)


def lifetime(person, conversation):
    return person.get(f"/v1/conversations/{conversation}").json().get("messageLifetime")


def history(person, conversation):
    return person.get(f"/v1/conversations/{conversation}/messages", params={"limit": 200}).json()["messages"]


def changes(person, conversation):
    return person.get(f"/v1/conversations/{conversation}/changes").json()["changes"]


@pytest.fixture
def end_of(sql):
    """Has all messages be over that were sent to a conversation with a lifetime, and waits until they are gone."""

    def end(person, conversation):
        where = f"WHERE conversation_id = '{conversation}'"
        sql(f"UPDATE store.messages SET created_at = created_at - interval '2 s' {where}")
        sql(f"UPDATE store.lifetimes SET seconds = 1, due_at = '-infinity' {where}")
        eventually(lambda: not any(entry["text"] in END for entry in history(person, conversation)))

    return end


END = {"soon gone", "gone as well"}


def test_the_lifetime_is_a_change_and_stands_with_the_conversation(anna, ben, group):
    assert lifetime(ben, group) is None
    answer = put(anna, group, DAY)
    assert answer.status_code == 200
    assert answer.json()["messageLifetime"] == lifetime(ben, group) == {"seconds": DAY, "sinceSeq": 2}
    assert put(anna, group, DAY).json()["lastSeq"] == 2, "nothing changed"
    assert put(anna, group, None).status_code == 200 and lifetime(ben, group) is None
    told = changes(ben, group)[1:]
    assert [(change["kind"], change.get("messageLifetime"), change["actorId"]) for change in told] == [
        ("lifetime.changed", {"seconds": DAY, "sinceSeq": 2}, anna.name),
        ("lifetime.changed", None, anna.name),
    ]
    assert history(ben, group) == []


def test_owners_and_admins_of_a_group_decide_and_either_of_two(anna, ben, carla, group):
    refused = put(ben, group, DAY)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert anna.http.put(f"/v1/conversations/{group}/members/{ben.name}", json={"role": "admin"}).status_code == 200
    assert put(ben, group, DAY).status_code == 200
    pair = direct(anna, carla)
    assert put(carla, pair, 3600).status_code == put(anna, pair, DAY).status_code == 200
    assert lifetime(carla, pair)["seconds"] == DAY


def test_what_is_over_is_a_tombstone_for_everybody_and_no_activity(anna, ben, group, end_of):
    before = anna.send(group, "from before")
    put(anna, group, DAY)
    message = anna.send(group, "soon gone", mentions=[ben.name], extra={"place": "here"})
    path = f"/v1/conversations/{group}/messages/{message['id']}"
    assert ben.http.put(f"{path}/tapback", json={"kind": "love"}).status_code == 200
    assert ben.http.put(f"{path}/pin").status_code == 200
    assert anna.http.patch(path, json={"text": "gone as well"}).status_code == 200
    answer = ben.send(group, "gone as well", replyTo=message["id"])
    put(anna, group, None)
    after = anna.send(group, "from after")
    activity = ben.get(f"/v1/conversations/{group}").json()["lastActivityAt"]
    assert ben.get(f"/v1/conversations/{group}").json()["unreadCount"] == 3
    last = ben.get(f"/v1/conversations/{group}").json()["lastSeq"]
    with ben.socket(cursors={group: last}) as socket:
        end_of(ben, group)
        told = [socket.expect_change(seq, group) for seq in (last + 1, last + 2)]
    assert [(change["kind"], change["actorId"], change["message"]["id"]) for change in told] == [
        ("message.deleted", anna.name, message["id"]),
        ("message.deleted", ben.name, answer["id"]),
    ]
    for person in (anna, ben):
        gone = person.get(path).json()
        assert (gone["text"], gone["deletedForEveryone"], gone["expired"]) == (None, True, True)
        assert gone["tapbacks"] == gone["mentions"] == [] and not {"extra", "pinned"} & set(gone)
        assert gone["changeSeq"] == told[0]["seq"] and gone["deletedAt"] == told[0]["at"]
        assert person.get(f"{path}/revisions").status_code == 404
        shown = {entry["id"]: entry["text"] for entry in history(person, group)}
        stay = {before["id"]: "from before", after["id"]: "from after"}
        assert shown == stay | {message["id"]: None, answer["id"]: None}
    conversation = ben.get(f"/v1/conversations/{group}").json()
    assert conversation["lastActivityAt"] == activity and conversation["unreadCount"] == 2
    assert ben.get("/v1/search", params={"q": "gone", "conversationId": group}).json()["results"] == []
    assert anna.http.patch(path, json={"text": "again"}).status_code == 409
    repeated = anna.post(
        f"/v1/conversations/{group}/messages",
        {"id": message["id"], "text": "soon gone", "mentions": [ben.name], "extra": {"place": "here"}},
    )
    assert repeated.status_code == 200 and repeated.json()["expired"] is True


def test_messages_keep_the_lifetime_that_they_were_sent_with(anna, group, sql):
    put(anna, group, 3600)
    first = anna.send(group, "an hour")
    put(anna, group, DAY)
    second = anna.send(group, "a day")
    sql(
        "UPDATE store.messages SET created_at = created_at - interval '2 hours' "
        f"WHERE conversation_id = '{group}' AND id IN ('{first['id']}', '{second['id']}')"
    )
    sql(f"UPDATE store.lifetimes SET due_at = '-infinity' WHERE conversation_id = '{group}'")
    eventually(lambda: "expired" in history(anna, group)[0])
    assert [entry["text"] for entry in history(anna, group)] == [None, "a day"]


def test_more_than_a_step_goes_in_order(anna, ben, group, end_of):
    put(anna, group, DAY)
    sent = [{"conversationId": group, "id": new_id(), "text": "soon gone"} for _ in range(250)]
    assert anna.post("/v1/messages:batch", {"messages": sent}).status_code == 200
    end_of(ben, group)
    last = ben.get(f"/v1/conversations/{group}").json()["lastSeq"]
    gone = ben.get(f"/v1/conversations/{group}/changes", params={"after": last - 250, "limit": 250}).json()["changes"]
    assert [change["message"]["id"] for change in gone] == [message["id"] for message in sent]
    assert {change["kind"] for change in gone} == {"message.deleted"}


def test_a_former_member_learns_that_what_they_saw_is_over_and_not_how_long_messages_stay(anna, ben, group, end_of):
    put(anna, group, DAY)
    message = anna.send(group, "soon gone")
    assert ben.http.delete(f"/v1/conversations/{group}/members/{ben.name}").status_code == 204
    assert lifetime(ben, group) is None
    end_of(anna, group)
    assert ben.get(f"/v1/conversations/{group}/messages/{message['id']}").json()["expired"] is True
    assert put(ben, group, None).status_code == 403


def test_too_many_lifetimes_at_a_time_are_refused(anna, group, end_of):
    for number in range(16):
        assert put(anna, group, DAY + number).status_code == 200
        anna.send(group, "soon gone")
    refused = put(anna, group, 3600)
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert refused.json()["detail"].startswith("messages with 16 lifetimes")
    assert put(anna, group, None).status_code == 200
    end_of(anna, group)
    assert put(anna, group, 3600).status_code == 200
