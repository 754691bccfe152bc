"""Messages that disappear by themselves, for everybody, when they are so old."""

import pytest

from people import new_id
from system import earlier
from test_blocks import direct
from test_receipts import acknowledge, eventually

DAY = 86_400


@pytest.fixture
def group(anna, ben, carla):
    return anna.group(ben, carla)


def put(person, conversation, seconds, **fields):
    return person.http.put(f"/v1/conversations/{conversation}/lifetime", json={"seconds": seconds} | fields)


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
        sql(f"UPDATE store.messages SET created_at = {earlier('created_at', 2)} {where}")
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
        f"UPDATE store.messages SET created_at = {earlier('created_at', 2 * 3600)} "
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


def readers_of(person, message):
    path = f"/v1/conversations/{message['conversationId']}/messages/{message['id']}"
    return person.get(path).json()["readCount"]


@pytest.fixture
def a_day_later(sql):
    """Has all of a conversation be a day older, and waits until the store has looked."""

    def wait(conversation):
        where = f"WHERE conversation_id = '{conversation}'"
        sql(f"UPDATE store.messages SET created_at = {earlier('created_at', 25 * 3600)} {where}")
        sql(f"UPDATE receipt.receipt_runs SET at = {earlier('at', 25 * 3600)} {where}")
        sql(f"UPDATE store.lifetimes SET look_at = '-infinity' {where}")
        eventually(lambda: sql(f"SELECT count(*) FROM store.lifetimes {where} AND look_at < now()").strip() == "0")

    return wait


def test_from_reading_on_is_part_of_the_lifetime(anna, ben, group):
    told = {"seconds": DAY, "from": "reading", "sinceSeq": 2}
    assert put(anna, group, DAY, **{"from": "reading"}).json()["messageLifetime"] == lifetime(ben, group) == told
    assert put(anna, group, DAY, **{"from": "reading"}).json()["lastSeq"] == 2, "nothing changed"
    for start in ("sending", None):
        assert put(anna, group, DAY, **{"from": start}).json()["messageLifetime"] == {"seconds": DAY, "sinceSeq": 3}
    assert put(anna, group, None, **{"from": "reading"}).status_code == 200 and lifetime(ben, group) is None
    starts = [change.get("messageLifetime", {}).get("from") for change in changes(ben, group)[1:]]
    assert starts == ["reading", None, None]
    for start in ("receiving", "", 1, ["reading"]):
        refused = put(anna, group, DAY, **{"from": start})
        assert refused.status_code == 400 and "from" in refused.json()["detail"], start


def test_from_reading_on_messages_go_when_everybody_else_had_read_them(anna, ben, carla, group, a_day_later):
    put(anna, group, DAY, **{"from": "reading"})
    first, second = anna.send(group, "read by both"), anna.send(group, "read by one")
    acknowledge(ben, group, readSeq=second["seq"])
    acknowledge(carla, group, readSeq=first["seq"])
    eventually(lambda: (readers_of(anna, first), readers_of(anna, second)) == (2, 1))
    a_day_later(group)
    for person in (anna, ben, carla):
        assert [entry["text"] for entry in history(person, group)] == [None, "read by one"]
    assert history(anna, group)[0]["expired"] is True
    acknowledge(carla, group, readSeq=second["seq"])
    eventually(lambda: readers_of(anna, second) == 2)
    last = anna.get(f"/v1/conversations/{group}").json()["lastSeq"]
    a_day_later(group)
    [told] = anna.get(f"/v1/conversations/{group}/changes", params={"after": last}).json()["changes"]
    assert (told["kind"], told["actorId"], told["message"]["expired"]) == ("message.deleted", anna.name, True)


def test_whoever_has_left_is_waited_for_no_more_and_whoever_came_later_never_was(
    anna, ben, carla, dora, group, a_day_later
):
    put(anna, group, DAY, **{"from": "reading"})
    message = anna.send(group, "not for Ben")
    assert anna.http.put(f"/v1/conversations/{group}/members/{dora.name}").status_code in (200, 201)
    acknowledge(carla, group, readSeq=message["seq"])
    eventually(lambda: readers_of(anna, message) == 1)
    a_day_later(group)
    assert history(anna, group)[0]["text"] == "not for Ben"
    assert ben.http.delete(f"/v1/conversations/{group}/members/{ben.name}").status_code == 204
    a_day_later(group)
    assert history(anna, group)[0]["text"] is None


def test_a_message_that_stays_tells_of_no_block_and_one_that_goes_of_no_hidden_reading(
    anna, ben, carla, dora, a_day_later
):
    """Who has blocked the sender, or shows nobody what they read, is like somebody who is away."""
    pairs = {person.name: direct(anna, person) for person in (ben, carla, dora)}
    for pair in pairs.values():
        put(anna, pair, DAY, **{"from": "reading"})
    assert ben.http.put(f"/v1/blocks/{anna.name}").status_code == 204
    settings = f"/v1/conversations/{pairs[carla.name]}/settings"
    assert carla.http.put(settings, json={"readReceipts": False}).status_code == 200
    sent = {name: anna.send(pair, "Are you there?") for name, pair in pairs.items()}
    acknowledge(carla, pairs[carla.name], readSeq=sent[carla.name]["seq"])
    eventually(lambda: carla.get(f"/v1/conversations/{pairs[carla.name]}").json()["readSeq"] >= sent[carla.name]["seq"])
    for pair in pairs.values():
        a_day_later(pair)
        assert [entry["text"] for entry in history(anna, pair)] == ["Are you there?"]
