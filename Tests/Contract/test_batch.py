"""Many messages in one request."""

import json

from people import new_id


def batch(person, *messages):
    return person.post("/v1/messages:batch", {"messages": list(messages)})


def item(conversation, text="Hello", **fields):
    return {"conversationId": conversation, "id": new_id(), "text": text} | fields


def statuses(response):
    assert response.status_code == 200, response.text
    return [result["status"] for result in response.json()["results"]]


def test_the_order_within_a_conversation_is_kept(anna, ben):
    groups = [anna.group(ben), anna.group(ben)]
    messages = [item(groups[number % 2], f"{number}") for number in range(100)]
    response = batch(anna, *messages)
    assert statuses(response) == [201] * 100
    results = [result["message"] for result in response.json()["results"]]
    assert [message["id"] for message in results] == [message["id"] for message in messages]
    for group in groups:
        seqs = [message["seq"] for message in results if message["conversationId"] == group]
        assert seqs == list(range(2, 52))


def test_a_reply_may_name_an_earlier_item_and_no_later_one(anna, ben):
    group = anna.group(ben)
    parent = item(group, "Question")
    late = item(group, "Later")
    response = batch(
        anna, parent, item(group, "Answer", replyTo=parent["id"]), item(group, "Too early", replyTo=late["id"]), late
    )
    assert statuses(response) == [201, 201, 422, 201]
    assert response.json()["results"][1]["message"]["replyTo"]["preview"] == "Question"


def test_an_item_that_is_wrong_is_refused_alone(anna, ben, stranger):
    group, foreign = anna.group(ben), stranger.group()
    taken = ben.send(group, "Taken")["id"]
    wrong = [
        (400, item(group, "")),
        (400, item(group, "a\0b")),
        (400, item(group, 7)),
        (400, item(group, id="x")),
        (400, item("x")),
        (400, {"id": new_id(), "text": "No conversation"}),
        (400, "no object"),
        (400, None),
        (404, item(foreign)),
        (404, item(new_id())),
        (409, item(group, id=taken)),
        (413, item(group, "x" * 16385)),
        (422, item(group, replyTo=new_id())),
    ]
    response = batch(anna, item(group, "first"), *(entry for _, entry in wrong), item(group, "last"))
    assert statuses(response) == [201, *(status for status, _ in wrong), 201]
    results = response.json()["results"]
    assert [result["problem"]["status"] for result in results[1:-1]] == [status for status, _ in wrong]
    assert results[-1]["message"]["seq"] == results[0]["message"]["seq"] + 1


def test_a_repeated_batch_and_a_repeated_item_are_stored_once(anna, ben):
    group = anna.group(ben)
    messages = [item(group, f"{number}") for number in range(3)]
    assert statuses(batch(anna, *messages, messages[0])) == [201, 201, 201, 200]
    assert statuses(batch(anna, *messages)) == [200, 200, 200]
    assert statuses(batch(anna, messages[0] | {"text": "other"})) == [409]


def test_an_empty_batch_has_no_results(anna):
    assert batch(anna).json() == {"results": []}


def test_a_list_that_cannot_be_read_is_refused_as_a_whole(anna):
    for body in (b"{}", b'{"messages":{}}', b'{"messages":null}', b'{"messages":"x"}', b"[]", b'{"messages":[}'):
        response = anna.post("/v1/messages:batch", body)
        assert response.status_code == 400


def test_more_than_the_limits_tell_is_too_large(anna, ben):
    group = anna.group(ben)
    assert batch(anna, *(item(group) for _ in range(501))).status_code == 413
    assert statuses(batch(anna, *(item(group) for _ in range(500)))) == [201] * 500
    padding = "x" * (4 << 20)
    assert anna.post("/v1/messages:batch", {"messages": [], "padding": padding}).status_code == 413
    fits = json.dumps({"messages": [], "padding": padding})[: 4 << 20][:-2] + '"}'
    assert len(fits) == 4 << 20
    assert anna.post("/v1/messages:batch", fits.encode()).status_code == 200
