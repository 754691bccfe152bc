"""Messages that the server does not look into."""

import pytest

from people import Person, new_id

SEALED, OTHER = "c2VhbGVk", "b3RoZXI="


@pytest.fixture
def group(anna, ben):
    return anna.group(ben)


def seal(person, group, sealed=SEALED, **fields):
    return person.post(f"/v1/conversations/{group}/messages", {"id": new_id(), "sealed": sealed} | fields)


def test_everybody_gets_what_is_sealed_and_no_text(anna, ben, group):
    sent = seal(anna, group, mentions=[ben.name], extra={"v": 1})
    assert sent.status_code == 201
    message = sent.json()
    assert (message["kind"], message["text"], message["sealed"]) == ("sealed", None, SEALED)
    path = f"/v1/conversations/{group}/messages/{message['id']}"
    assert anna.post(f"/v1/conversations/{group}/messages", {"id": message["id"], "sealed": SEALED}).status_code == 409
    body = {"id": message["id"], "sealed": SEALED, "mentions": [ben.name], "extra": {"v": 1}}
    assert (again := anna.post(f"/v1/conversations/{group}/messages", body)).status_code == 200
    assert again.json() == message
    for seen in (ben.get(path).json(), ben.get(f"/v1/conversations/{group}/messages").json()["messages"][-1]):
        assert (seen["kind"], seen["text"], seen["sealed"]) == ("sealed", None, SEALED)
    listed = ben.get(f"/v1/conversations/{group}").json()
    assert listed["lastMessage"]["sealed"] == SEALED
    assert (listed["unreadCount"], listed["unreadMentions"]) == (1, 1)
    batch = {"messages": [{"conversationId": group, "id": new_id()} | {key: SEALED} for key in ("sealed", "text")]}
    results = anna.post("/v1/messages:batch", batch).json()["results"]
    assert [result["message"]["kind"] for result in results] == ["sealed", "text"]


def test_it_is_edited_by_what_is_sealed_and_keeps_what_it_was(anna, ben, group):
    message = seal(anna, group).json()
    path = f"/v1/conversations/{group}/messages/{message['id']}"
    assert anna.http.patch(path, json={"text": "words"}).status_code == 409
    plain = anna.send(group, "words")
    of_plain = f"/v1/conversations/{group}/messages/{plain['id']}"
    assert anna.http.patch(of_plain, json={"sealed": OTHER}).status_code == 409
    edited = anna.http.patch(path, json={"sealed": OTHER})
    assert edited.status_code == 200 and edited.json()["sealed"] == OTHER and edited.json()["text"] is None
    revisions = ben.get(f"{path}/revisions").json()["revisions"]
    assert [(revision["sealed"], "text" in revision) for revision in revisions] == [(SEALED, False), (OTHER, False)]
    reply = anna.post(f"/v1/conversations/{group}/messages", {"id": new_id(), "text": "yes", "replyTo": message["id"]})
    assert reply.status_code == 422
    assert anna.http.delete(path, params={"scope": "everyone"}).status_code == 204
    gone = ben.get(path).json()
    assert gone["kind"] == "sealed" and "sealed" not in gone


def test_no_search_finds_it_and_a_report_has_no_copy(anna, ben, group, system):
    message = seal(anna, group, "walrus12").json()
    assert anna.send(group, "a walrus12")
    found = ben.get("/v1/search", params={"q": "walrus12"}).json()["results"]
    assert [result["message"]["text"] for result in found] == ["a walrus12"]
    body = {"id": new_id(), "conversationId": group, "messageId": message["id"], "reason": "spam"}
    report = ben.post("/v1/reports", body).json()
    backend = Person(system, f"backend-{new_id()[-8:]}", adm=True)
    copy = backend.get(f"/v1/conversations/{group}/reports/{report['id']}").json()["message"]
    assert copy["senderId"] == anna.name and "text" not in copy


def test_bad_input_names_the_field(anna, group):
    for fields, field in (
        ({"sealed": "no base64"}, "sealed"),
        ({"sealed": "AAA"}, "sealed"),
        ({"sealed": ""}, "sealed"),
        ({"sealed": 7}, "sealed"),
        ({"sealed": "AAAA", "text": "words"}, "text"),
        ({"sealed": "AAAA", "replyTo": new_id()}, "replyTo"),
    ):
        response = anna.post(f"/v1/conversations/{group}/messages", {"id": new_id()} | fields)
        assert response.status_code == 400 and field in response.json()["detail"], fields
    message = seal(anna, group).json()
    path = f"/v1/conversations/{group}/messages/{message['id']}"
    for fields in ({"sealed": "AAA"}, {"sealed": OTHER, "text": "words"}, {}):
        assert anna.http.patch(path, json=fields).status_code == 400
