"""Messages that are sent at a time: by whom, by which rules, and who learns of them before."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from people import new_id, soon
from system import earlier
from test_blocks import block, direct
from test_receipts import eventually


@pytest.fixture
def group(anna, ben, carla):
    return anna.group(ben, carla)


def path(conversation, message):
    return f"/v1/conversations/{conversation}/scheduled/{message}"


def schedule(person, conversation, text="Later", status=204, message=None, headers=None, **fields):
    message = message or new_id()
    body = {"at": soon(), "text": text} | fields
    response = person.http.put(path(conversation, message), json=body, headers=headers)
    assert response.status_code == status, response.text
    return message if status == 204 else response.json()


def cancel(person, conversation, message, status=204):
    response = person.http.delete(path(conversation, message))
    assert response.status_code == status, response.text
    return response


def scheduled(person, **params):
    answer = person.get("/v1/scheduled", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["scheduled"]


def history(person, conversation):
    return person.get(f"/v1/conversations/{conversation}/messages", params={"limit": 200}).json()["messages"]


def texts(person, conversation):
    return [message["text"] for message in history(person, conversation) if message["kind"] != "system"]


@pytest.fixture
def come(sql):
    """Has the time come of what a user has scheduled, and waits until nothing of it is left that waits."""

    def come(person):
        where = f"WHERE user_id = '{person.name}' AND problem IS NULL"
        sql(f"UPDATE store.scheduled SET at = {earlier('at', 2 * 3600)} {where}")
        eventually(lambda: all("failure" in each for each in scheduled(person)))

    return come


def test_it_is_sent_at_its_time_like_any_other(anna, ben, group, come):
    parent = anna.send(group, "Sunday?")["id"]
    fields = {"replyTo": parent, "mentions": [anna.name], "extra": {"a": [1]}}
    message = schedule(ben, group, "Later", **fields)
    [waits] = scheduled(ben)
    assert fields.items() <= waits.items() and waits["id"] == message and waits["conversationId"] == group
    assert scheduled(ben, conversationId=group) == [waits] and scheduled(ben, conversationId=new_id()) == []
    assert scheduled(anna) == [] and texts(anna, group) == ["Sunday?"]
    assert anna.get(f"/v1/conversations/{group}/messages/{message}").status_code == 404
    with anna.socket() as desk, ben.socket() as phone:
        come(ben)
        change = desk.expect("change")["change"]
        assert change["kind"] == "message.created" and change["message"]["id"] == message
        told = phone.expect("private")
        assert (told["kind"], told["messageId"]) == ("scheduled", message) and "scheduled" not in told
        assert not [frame for frame in desk.frames if frame["type"] == "private"]
    sent = history(anna, group)[-1]
    assert sent["id"] == message and sent["kind"] == "reply" and sent["senderId"] == ben.name
    assert sent["mentions"] == [anna.name] and sent["extra"] == {"a": [1]}
    assert sent["createdAt"] == sent["sentAt"] and scheduled(ben) == []
    conversation = anna.get(f"/v1/conversations/{group}").json()
    assert conversation["unreadCount"] == 1 and conversation["lastMessage"]["id"] == message
    assert anna.get("/v1/search", params={"q": "Later", "conversationId": group}).json()["results"]


def test_everybody_is_mentioned_by_whom_it_is_permitted_to_then(anna, ben, group, come):
    for person in (anna, ben):
        schedule(person, group, f"All of you, {person.name}", mentionsAll=True)
        come(person)
    assert [each["failure"]["code"] for each in scheduled(ben)] == ["forbidden"] and scheduled(ben)[0]["mentionsAll"]
    [sent] = [message for message in history(ben, group) if message["kind"] != "system"]
    assert sent["senderId"] == anna.name and sent["mentionsAll"]


def test_now_and_in_the_order_of_times(anna, group, come):
    schedule(anna, group, "now", at=None)
    eventually(lambda: texts(anna, group) == ["now"])
    for number in (3, 1, 2):
        schedule(anna, group, str(number), at=soon(3600 + number))
    come(anna)
    assert texts(anna, group) == ["now", "1", "2", "3"]


def test_it_is_changed_until_it_is_sent_and_cancelled(anna, group, come):
    message = schedule(anna, group, "First")
    schedule(anna, group, "Second", message=message, at=soon(7000))
    assert [each["text"] for each in scheduled(anna)] == ["Second"]
    cancel(anna, group, message)
    cancel(anna, group, message)
    assert scheduled(anna) == []
    schedule(anna, group, "Third", message=message)
    come(anna)
    assert texts(anna, group) == ["Third"]
    cancel(anna, group, message, 409)
    assert schedule(anna, group, "Fourth", 409, message=message)["detail"].startswith("messageId: ")


def test_devices_are_told_and_what_is_told_again_has_the_present_state(anna, ben, group):
    with anna.socket() as phone:
        message = schedule(anna, group, "One")
        schedule(anna, group, "Two", message=message)
        other = schedule(anna, group, "Other")
        cancel(anna, group, other)
        live = [phone.expect("private") for _ in range(4)]
        useq = phone.welcome["useq"]
    assert [frame["messageId"] for frame in live] == [message, message, other, other]
    assert [frame.get("scheduled", {}).get("text") for frame in live] == ["One", "Two", "Other", None]
    assert scheduled(anna) == [live[1]["scheduled"]] and live[1]["scheduled"]["useq"] == live[1]["useq"]
    with anna.socket(useq=useq) as again:
        later = [again.expect("private") for _ in range(4)]
    assert [frame.get("scheduled", {}).get("text") for frame in later] == [None, "Two", None, None]
    assert scheduled(ben) == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": "Later"}, "at"),
        ({"at": "tomorrow", "text": "Later"}, "at"),
        ({"at": 7, "text": "Later"}, "at"),
        ({"at": "1970-01-01T00:00:00Z", "text": "Later"}, "at"),
        ({"at": "9999-01-01T00:00:00Z", "text": "Later"}, "at"),
        ({"at": None}, "text"),
        ({"at": None, "text": " "}, "text"),
        ({"at": None, "text": 7}, "text"),
        ({"at": None, "text": "Later", "replyTo": "x"}, "replyTo"),
        ({"at": None, "text": "Later", "mentions": ["a b"]}, "mentions"),
        ({"at": None, "text": "Later", "extra": []}, "extra"),
        ({"at": None, "text": "Later", "attachments": [{"id": "0198c2a5-0f3a-7b52-8d11-6c2f9e4a7b01"}]}, "attachments"),
    ],
)
def test_what_cannot_be_scheduled_is_refused_and_the_field_named(anna, group, body, field):
    answer = anna.http.put(path(group, new_id()), json=body)
    assert answer.status_code == 400 and field in answer.json()["detail"], answer.text
    assert scheduled(anna) == []


def test_what_is_too_large_is_refused(anna, group, limits):
    for fields in (
        {"text": "x" * (limits["textBytes"] + 1)},
        {"text": "x", "extra": {"a": "x" * limits["messageExtraBytes"]}},
        {"text": "x", "mentions": [f"user-{number}" for number in range(limits["mentionsPerMessage"] + 1)]},
    ):
        answer = anna.http.put(path(group, new_id()), json={"at": soon()} | fields)
        assert answer.status_code == 413, answer.text
    assert anna.http.put(path(group, "not-a-uuid"), json={"at": None, "text": "x"}).status_code == 400
    assert anna.get("/v1/scheduled", params={"limit": 0}).status_code == 400


def test_the_rules_are_those_of_its_time_and_failures_are_its_authors(anna, ben, carla, group, come):
    message = schedule(ben, group, "Not yet")
    permissions = f"/v1/conversations/{group}/permissions"
    assert anna.http.put(permissions, json={"write": "admins"}).status_code == 200
    come(ben)
    [failed] = scheduled(ben)
    assert failed["failure"]["code"] == "forbidden" and failed["text"] == "Not yet"
    assert texts(anna, group) == [] and scheduled(anna) == scheduled(carla) == []
    assert anna.http.put(permissions, json={"write": "members"}).status_code == 200
    schedule(ben, group, "Now then", message=message, at=None)
    eventually(lambda: texts(anna, group) == ["Now then"])
    assert scheduled(ben) == []


def test_who_left_sends_nothing_and_cancels(anna, ben, group, come):
    message = schedule(ben, group)
    assert anna.http.delete(f"/v1/conversations/{group}/members/{ben.name}").status_code == 204
    schedule(ben, group, status=403)
    come(ben)
    assert scheduled(ben)[0]["failure"]["code"] == "forbidden"
    cancel(ben, group, message)
    assert scheduled(ben) == [] and texts(anna, group) == []


def test_who_blocks_sends_nothing_and_the_blocked_learn_nothing(anna, ben, come):
    pair = direct(anna, ben)
    schedule(anna, pair, "From Anna")
    schedule(ben, pair, "From Ben")
    block(anna, ben)
    come(anna)
    come(ben)
    assert [each["failure"]["code"] for each in scheduled(anna)] == ["forbidden"]
    assert scheduled(ben) == [], "to him it was sent"
    assert texts(ben, pair)[-1:] == ["From Ben"]


def test_who_is_suspended_sends_nothing_and_schedules_nothing(system, anna, new_person, group, come):
    backend = new_person("backend", adm=True)
    schedule(anna, group, "Suspended")
    suspension = f"/v1/users/{anna.name}/suspension"
    assert backend.http.put(suspension, json={"mode": "readOnly"}).status_code == 204
    assert schedule(anna, group, status=403)["code"] == "suspended"
    come(anna)
    [failed] = scheduled(anna)
    assert failed["failure"]["code"] == "suspended"
    cancel(anna, group, failed["id"])
    assert backend.http.delete(suspension).status_code == 204
    assert scheduled(anna) == [] and texts(anna, group) == []


def test_a_stranger_schedules_nothing_and_does_not_learn_of_what_is(anna, stranger, group):
    message = schedule(anna, group)
    assert schedule(stranger, group, status=404) == schedule(stranger, new_id(), status=404)
    assert cancel(stranger, group, message, 404).json() == cancel(stranger, new_id(), message, 404).json()
    assert len(scheduled(anna)) == 1


def test_of_many_cancellations_at_once_each_says_what_became_of_its_message(anna, ben, group, sql):
    messages = [schedule(anna, group, str(number)) for number in range(60)]
    sql(f"UPDATE store.scheduled SET at = {earlier('at', 2 * 3600)} WHERE user_id = '{anna.name}'")
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda each: anna.http.delete(path(group, each)).status_code, reversed(messages)))
    eventually(lambda: scheduled(anna) == [])
    there = {message["id"] for message in history(ben, group)}
    assert {each for each, status in zip(reversed(messages), statuses, strict=True) if status == 409} == there
    assert set(statuses) <= {204, 409}


def test_pages_miss_nothing(anna, group):
    messages = [schedule(anna, group, str(number)) for number in range(5)]
    found, after, more = [], 0, True
    while more:
        page = anna.get("/v1/scheduled", params={"limit": 2, "after": after}).json()
        found += [each["id"] for each in page["scheduled"]]
        after, more = page["scheduled"][-1]["useq"], page["more"]
    assert found == messages


def test_exports_know_nothing_of_it_and_an_erasure_leaves_nothing(anna, ben, new_person, group, sql):
    backend = new_person("backend", adm=True)
    schedule(ben, group, "Secret words")
    for what in (f"conversations/{group}", f"users/{anna.name}", f"users/{ben.name}"):
        assert "Secret words" not in backend.get(f"/v1/export/{what}").text
    assert backend.http.delete(f"/v1/users/{ben.name}").status_code == 202
    eventually(lambda: backend.http.delete(f"/v1/users/{ben.name}").status_code == 200)
    assert sql(f"SELECT count(*) FROM store.scheduled WHERE user_id = '{ben.name}'").strip() == "0"
