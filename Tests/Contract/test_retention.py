"""Messages that are kept no longer: removed for everybody, by every road, and what is left behind them."""

import pytest

from people import Person, new_id
from system import earlier
from test_receipts import acknowledge, eventually
from test_writes import conversation_of, feed, history, problem


@pytest.fixture(scope="module")
def backend(system):
    return Person(system, f"backend-{new_id()[-8:]}", adm=True)


@pytest.fixture
def group(anna, ben, carla):
    return anna.group(ben, carla)


def put(person, conversation, days):
    return person.http.put(f"/v1/conversations/{conversation}/retention", json={"days": days})


@pytest.fixture
def trim(sql, backend):
    """Has everything up to a position be older than it is kept, and waits until it is gone."""

    def trim(person, conversation, through):
        assert put(backend, conversation, 30).status_code == 204
        where = f"WHERE conversation_id = '{conversation}' AND seq <= {through}"
        sql(f"UPDATE store.messages SET created_at = {earlier('created_at', 31 * 86_400)} {where}")
        eventually(lambda: conversation_of(person, conversation).get("keptFrom") == through + 1)

    return trim


def test_what_is_gone_is_gone_for_everybody_by_every_road(anna, ben, carla, group, trim):
    first = anna.send(group, "pebble one", mentions=[ben.name])
    path = f"/v1/conversations/{group}/messages/{first['id']}"
    assert ben.http.put(f"{path}/tapback", json={"kind": "love"}).status_code == 200
    assert anna.http.patch(path, json={"text": "pebble one, edited"}).status_code == 200
    assert ben.http.put(f"{path}/pin").status_code == 200
    answer = ben.send(group, "pebble two", replyTo=first["id"])
    acknowledge(carla, group, readSeq=answer["seq"] - 1)
    kept = anna.send(group, "pebble three", replyTo=answer["id"])
    activity = conversation_of(ben, group)["lastActivityAt"]
    with ben.socket(cursors={group: kept["seq"]}) as socket:
        trim(anna, group, answer["seq"])
        told = socket.expect_change(kept["seq"] + 1, group)
    assert (told["kind"], told["actorId"], told["keptFrom"]) == ("history.trimmed", anna.name, answer["seq"] + 1)
    for person in (anna, ben, carla):
        assert [message["id"] for message in history(person, group)] == [kept["id"]]
        assert history(person, group)[0]["replyTo"] == {"messageId": answer["id"], "unavailable": True}
        for part in ("", "/revisions", "/tapbacks", "/receipts", "/votes"):
            assert problem(person.get(path + part)) == (404, "notFound")
        assert [change["kind"] for change in feed(person, group)] == [
            "conversation.created", "message.created", "history.trimmed"
        ]  # fmt: skip
        found = person.get("/v1/search", params={"q": "pebble", "conversationId": group}).json()["results"]
        assert [result["message"]["id"] for result in found] == [kept["id"]]
        assert person.get(f"/v1/conversations/{group}/pinned").json()["messages"] == []
        assert person.get(f"/v1/conversations/{group}/mentions").json()["messages"] == []
        assert conversation_of(person, group)["lastActivityAt"] == activity
    assert [conversation_of(person, group)["unreadCount"] for person in (anna, ben, carla)] == [0, 1, 1]
    # A position of before stays what it was.
    eventually(lambda: conversation_of(carla, group)["readSeq"] == answer["seq"] - 1)
    acknowledge(ben, group, readSeq=first["seq"])
    eventually(lambda: conversation_of(ben, group)["readSeq"] == first["seq"])
    assert conversation_of(ben, group)["unreadCount"] == 1
    refused = anna.http.post(
        f"/v1/conversations/{group}/messages", json={"id": new_id(), "text": "again", "replyTo": first["id"]}
    )
    assert problem(refused) == (422, "notReplyable")
    for method, part, body in (
        ("PATCH", "", {"text": "again"}),
        ("PUT", "/tapback", {"kind": "like"}),
        ("PUT", "/pin", None),
    ):
        assert problem(anna.http.request(method, path + part, json=body)) == (404, "notFound")


def test_a_session_with_a_cursor_before_what_is_kept_gets_reload_and_the_pages_bring_the_rest(anna, ben, group, trim):
    old = [anna.send(group, f"old {number}") for number in range(3)]
    kept = anna.send(group, "kept")
    trim(anna, group, old[-1]["seq"])
    last = conversation_of(ben, group)["lastSeq"]
    with ben.socket(cursors={group: old[0]["seq"]}) as socket:
        frame = socket.expect("reload")
        assert (frame["conversationId"], frame["lastSeq"]) == (group, last)
        next = anna.send(group, "next")
        assert socket.expect_change(next["seq"], group)["message"]["id"] == next["id"]
    shown = feed(ben, group, after=old[0]["seq"])
    assert [change["seq"] for change in shown] == [kept["seq"], last, next["seq"]]
    with ben.socket(cursors={group: old[-1]["seq"]}) as socket:
        assert socket.expect_change(kept["seq"], group)["kind"] == "message.created"


def test_members_and_titles_stay_and_so_does_what_former_members_see_of_them(anna, ben, carla, group, trim):
    anna.send(group, "old")
    assert anna.http.patch(f"/v1/conversations/{group}", json={"title": "Before"}).status_code == 200
    assert ben.http.delete(f"/v1/conversations/{group}/members/{ben.name}").status_code == 204
    before = conversation_of(ben, group)
    assert anna.http.patch(f"/v1/conversations/{group}", json={"title": "After"}).status_code == 200
    anna.send(group, "later")
    trim(carla, group, before["lastSeq"] + 1)
    after = conversation_of(ben, group)
    assert after.pop("keptFrom") == before["lastSeq"] + 1, "nothing behind their end"
    assert before.pop("lastMessage")["kind"] == "system" and "lastMessage" not in after
    assert (before.pop("unreadCount"), after.pop("unreadCount")) == (1, 0)
    assert after == before and after["title"] == "Before" and history(ben, group) == []
    assert [change["kind"] for change in feed(ben, group)] == [
        "conversation.created", "conversation.renamed", "member.removed"
    ]  # fmt: skip


def test_administrators_decide_and_the_last_decision_counts(anna, backend, group):
    for days in (1, 36_500, None):
        answer = put(backend, group, days)
        assert (answer.status_code, answer.content) == (204, b"")
    assert problem(put(anna, group, 30)) == (403, "forbidden")
    assert problem(put(backend, new_id(), 30)) == (404, "notFound")
    for body in ({}, {"days": 0}, {"days": 36_501}, {"days": 1.5}, {"days": "30"}):
        answer = backend.http.put(f"/v1/conversations/{group}/retention", json=body)
        assert problem(answer) == (400, "invalid") and "days" in answer.json()["detail"], body


def test_a_repeated_write_to_what_is_gone_says_that_it_is_not_there(anna, group, trim):
    message, key = anna.send(group, "old"), {"Idempotency-Key": new_id()}
    path = f"/v1/conversations/{group}/messages/{message['id']}"
    assert anna.http.patch(path, json={"text": "older"}, headers=key).status_code == 200
    trim(anna, group, message["seq"])
    assert problem(anna.http.patch(path, json={"text": "older"}, headers=key)) == (404, "notFound")


def test_the_deployment_says_how_long_messages_stay(system, anna):
    assert "retentionDays" not in anna.get("/v1/limits").json()
    with system.sibling("ingest", PARLEY_RETENTION="365d") as port, system.http(port) as http:
        assert http.get("/v1/limits").json()["retentionDays"] == 365


def test_the_call_is_refused_as_any_other_is(system, anna, backend, group):
    path, body = f"/v1/conversations/{group}/retention", {"days": 30}
    assert system.http().put(path, json=body).status_code == 401
    assert problem(backend.http.put("/v1/conversations/x/retention", json=body)) == (400, "invalid")
    large = body | {"padding": "x" * anna.get("/v1/limits").json()["bodyBytes"]}
    assert problem(backend.http.put(path, json=large)) == (413, "tooLarge")
    with system.sibling("ingest", PARLEY_RATE_PER_SECOND="1", PARLEY_RATE_BURST="1") as port:
        hasty = Person(system, backend.name, port=port, adm=True)
        assert any(hasty.http.put(path, json=body).status_code == 429 for _ in range(5))
    nobody = {f"PARLEY_BUS_{peer}": f"ipc://{system.state}/nobody-*.sock" for peer in ("STORE", "RECEIPT")}
    with system.sibling("ingest", "/healthz", PARLEY_REQUEST_DEADLINE="300ms", **nobody) as port:
        alone = Person(system, backend.name, port=port, adm=True)
        assert problem(alone.http.put(path, json=body)) == (503, "unavailable")


def test_receipts_go_with_their_messages_and_nobody_sees_a_difference(anna, ben, carla, group, trim, sql):
    def read(message):
        acknowledge(ben, group, readSeq=message["seq"])
        eventually(lambda: conversation_of(ben, group)["readSeq"] == message["seq"])

    def runs_of_ben():
        where = f"WHERE conversation_id = '{group}' AND user_id = '{ben.name}'"
        return [int(seq) for seq in sql(f"SELECT to_seq FROM receipt.receipt_runs {where} ORDER BY to_seq").split()]

    def seen():
        members = [person.get(f"/v1/conversations/{group}/members").json() for person in (anna, carla)]
        receipts = anna.get(f"/v1/conversations/{group}/messages/{kept[0]['id']}/receipts").json()
        pages = [history(person, group) for person in (anna, ben)]
        return members, receipts, pages

    old = [anna.send(group, f"old {number}") for number in range(8)]
    for message in old[:3]:
        read(message)
    assert carla.http.delete(f"/v1/conversations/{group}/members/{carla.name}").status_code == 204
    for message in old[3:]:
        read(message)
    kept = [anna.send(group, f"kept {number}") for number in range(3)]
    for message in kept:
        read(message)
    before, runs = seen(), runs_of_ben()
    assert runs == [message["seq"] for message in old + kept]
    trim(anna, group, old[-1]["seq"])
    # What is kept, the last before, and how far Ben was when Carla left.
    left = [message["seq"] for message in (old[2], old[-1], *kept)]
    eventually(lambda: runs_of_ben() == left)
    members, receipts, pages = seen()
    assert (members, receipts) == before[:2]
    assert pages == [[message for message in page if message["seq"] > old[-1]["seq"]] for page in before[2]]
