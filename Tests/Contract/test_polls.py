"""Messages that are polls, and votes."""

import pytest

from people import new_id
from test_reports import backend, path_of, report

__all__ = ["backend"]

OPTIONS = ["Saturday", "Sunday", "Neither"]


@pytest.fixture
def group(anna, ben, carla):
    return anna.group(ben, carla)


def ask(person, group, **fields):
    body = {"id": new_id(), "text": "Which day?", "poll": {"options": OPTIONS} | fields}
    response = person.post(f"/v1/conversations/{group}/messages", body)
    assert response.status_code == 201, response.text
    return f"/v1/conversations/{group}/messages/{body['id']}"


def vote(person, path, *options):
    return person.http.put(f"{path}/vote", json={"options": list(options)})


def counts(message):
    return [option["votes"] for option in message["poll"]["options"]]


def test_members_vote_and_everybody_sees_who_chose_what(anna, ben, carla, group):
    path = ask(anna, group, multiple=True)
    shown = anna.get(path).json()
    assert (shown["kind"], shown["text"]) == ("poll", "Which day?")
    assert shown["poll"] == {
        "options": [{"text": text, "votes": 0} for text in OPTIONS],
        "multiple": True,
        "voters": 0,
        "vote": {"userId": anna.name, "options": []},
    }
    voted = vote(ben, path, 2, 0)
    assert voted.status_code == 200 and counts(voted.json()) == [1, 0, 1]
    assert voted.json()["poll"]["vote"] == {"userId": ben.name, "options": [0, 2]}
    assert vote(ben, path, 0, 2).json() == voted.json(), "the same again changes nothing"
    assert vote(carla, path, 1).status_code == 200
    pages = [anna.get(f"{path}/votes", params=query).json() for query in ({}, {"option": 0}, {"limit": 1})]
    assert [(vote["userId"], vote["options"]) for vote in pages[0]["votes"]] == [(ben.name, [0, 2]), (carla.name, [1])]
    assert [vote["userId"] for vote in pages[1]["votes"]] == [ben.name]
    assert pages[2]["nextCursor"] == ben.name
    rest = anna.get(f"{path}/votes", params={"after": ben.name}).json()
    assert [vote["userId"] for vote in rest["votes"]] == [carla.name] and "nextCursor" not in rest
    assert counts(vote(ben, path).json()) == [0, 1, 0]
    listed = ben.get(f"/v1/conversations/{group}").json()["lastMessage"]
    assert counts(listed) == [0, 1, 0] and listed["poll"]["vote"] == {"userId": ben.name, "options": []}
    changes = anna.get(f"/v1/conversations/{group}/changes").json()["changes"]
    voters = [change["message"]["poll"].get("vote") for change in changes[1:]]
    assert [change["kind"] for change in changes[1:]] == ["message.created"] + ["poll.voted"] * 3
    assert voters == [
        None,
        {"userId": ben.name, "options": []},
        {"userId": carla.name, "options": [1]},
        {"userId": ben.name, "options": []},
    ]


def test_who_is_not_to_vote_or_close_may_not(anna, ben, carla, stranger, group):
    path = ask(ben, group)
    for wrong in ({"options": [0, 1]}, {"options": [3]}, {"options": [-1]}, {"options": "0"}, {}):
        assert ben.http.put(f"{path}/vote", json=wrong).status_code == 400, wrong
    assert ben.get(f"{path}/votes", params={"option": 12}).status_code == 400
    assert vote(stranger, path, 0).status_code == 404
    plain = anna.send(group, "no poll")
    of_plain = f"/v1/conversations/{group}/messages/{plain['id']}"
    assert vote(ben, of_plain, 0).json()["code"] == "conflict"
    assert ben.get(f"{of_plain}/votes").json() == {"votes": []}
    assert vote(carla, path, 1).status_code == 200
    assert carla.http.post(f"{path}/close").status_code == 403
    assert anna.http.put(f"/v1/conversations/{group}/members/{carla.name}", json={"role": "admin"}).status_code == 200
    closed = carla.http.post(f"{path}/close")
    assert closed.status_code == 200 and counts(closed.json()) == [0, 1, 0] and closed.json()["poll"]["closedAt"]
    refused = vote(carla, path, 0)
    assert (refused.status_code, refused.json()["code"]) == (409, "pollClosed")
    assert ben.http.post(f"{path}/close").json()["poll"]["closedAt"] == closed.json()["poll"]["closedAt"]
    assert ben.http.patch(path, json={"text": "Which?"}).status_code == 409
    reply = {"id": new_id(), "text": "yes", "replyTo": path.rpartition("/")[2]}
    assert carla.post(f"/v1/conversations/{group}/messages", reply).json()["replyTo"]["preview"] == "Which day?"
    assert ben.http.delete(path, params={"scope": "everyone"}).status_code == 204
    assert "poll" not in carla.get(path).json()


def test_it_is_sent_alone_and_at_once(anna, group):
    poll = {"options": ["a", "b"]}
    files = [{"id": new_id()}]
    for fields in ({"sealed": "c2VhbGVk"}, {"text": "x", "replyTo": new_id()}, {"text": "x", "attachments": files}, {}):
        refused = anna.post(f"/v1/conversations/{group}/messages", {"id": new_id(), "poll": poll} | fields)
        assert refused.status_code == 400, fields
    later = {"at": None, "text": "x", "poll": poll}
    scheduled = anna.http.put(f"/v1/conversations/{group}/scheduled/{new_id()}", json=later)
    assert scheduled.status_code == 400 and scheduled.json()["detail"].startswith("poll")
    items = ({"conversationId": group, "id": new_id(), "text": "x"} | more for more in ({"poll": poll}, {}))
    batch = {"messages": list(items)}
    results = anna.post("/v1/messages:batch", batch).json()["results"]
    assert [result["message"]["kind"] for result in results] == ["poll", "text"]


def test_a_report_has_question_and_options(anna, ben, group, backend):
    path = ask(anna, group)
    made = report(ben, group, messageId=path.rpartition("/")[2])
    found = backend.get(path_of(made)).json()
    assert (found["message"]["text"], found["message"]["options"]) == ("Which day?", OPTIONS)
