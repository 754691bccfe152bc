"""Sending, repeating, replying and reading back."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from people import new_id

UNKNOWN = "0198c2a5-0f3a-7b52-8d11-6c2f9e4a7b01"


@pytest.fixture
def group(anna, ben, carla):
    return anna.group(ben, carla)


def send(person, conversation, **body):
    return person.post(f"/v1/conversations/{conversation}/messages", body)


# MARK: Sending


def test_a_message_is_answered_with_its_position_and_its_senders_status(anna, ben, group):
    sent = anna.send(group, "Hello")
    assert (sent["seq"], sent["changeSeq"], sent["kind"], sent["senderId"]) == (2, 2, "text", anna.name)
    assert (sent["status"], sent["recipientCount"], sent["deliveredCount"], sent["readCount"]) == ("sent", 2, 0, 0)
    assert anna.get(f"/v1/conversations/{group}/messages/{sent['id']}").json() == sent
    seen_by_ben = ben.get(f"/v1/conversations/{group}/messages/{sent['id']}").json()
    private = {"status", "recipientCount", "deliveredCount", "readCount"}
    assert seen_by_ben == {name: value for name, value in sent.items() if name not in private}


def test_positions_are_dense_and_times_never_decrease(anna, ben, group):
    messages = [person.send(group, f"{number}") for number, person in enumerate([anna, ben] * 5)]
    assert [message["seq"] for message in messages] == list(range(2, 12))
    times = [message["createdAt"] for message in messages]
    assert times == sorted(times)


def test_many_senders_at_once_leave_no_hole(new_person):
    people = [new_person(f"sender-{number}") for number in range(8)]
    group = people[0].group(*people[1:])
    with ThreadPoolExecutor(len(people)) as pool:
        sent = [
            message
            for batch in pool.map(lambda person: [person.send(group, f"{number}") for number in range(20)], people)
            for message in batch
        ]
    assert sorted(message["seq"] for message in sent) == list(range(2, 162))
    history = people[0].get(f"/v1/conversations/{group}/messages", params={"limit": 200}).json()
    assert [message["id"] for message in history["messages"]] == [
        message["id"] for message in sorted(sent, key=lambda message: message["seq"])
    ]


TEXTS = {
    "white space around": "  a\n\tb  ",
    "every plane": "aä€𐍈🧗🏽‍♀️",
    "combining, not normalised": "e\u0301 \u00e9 \ufb01",
    "escapes": '"\\/\b\f\n\r\t\x01\x1f\x7f',
    "looks like escapes": "\\u0000 \\ud800",
    "right to left": "\u202eשלום\u202c",
    "line separators and a byte order mark": "a\u2028\u2029\ufeff",
    "noncharacters": "\ufffe\uffff\U0010ffff",
    "markup": "<script>alert(1)</script> '; drop table messages; --",
    "the limit in one-byte characters": "x" * 16384,
    "the limit in four-byte characters": "🧗" * 4096,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("escaped", [True, False], ids=["escaped", "plain"])
def test_text_comes_back_exactly_as_it_was_sent(anna, group, text, escaped):
    body = json.dumps({"id": new_id(), "text": text}, ensure_ascii=escaped).encode()
    response = anna.post(f"/v1/conversations/{group}/messages", body)
    assert (response.status_code, response.json()["text"]) == (201, text)
    assert anna.get(f"/v1/conversations/{group}/messages").json()["messages"][-1]["text"] == text


@pytest.mark.parametrize(
    "sent_at, told",
    [
        ("2026-03-07T18:04:11.250+01:00", "2026-03-07T17:04:11.250Z"),
        ("2026-03-07T17:04:11Z", "2026-03-07T17:04:11.000Z"),
        ("2026-03-07T17:04:11.1239999Z", "2026-03-07T17:04:11.123Z"),
        ("2024-02-29T23:59:59-23:59", "2024-03-01T23:58:59.000Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_the_clients_time_is_told_in_utc(anna, group, sent_at, told):
    assert anna.send(group, "Hello", sentAt=sent_at)["sentAt"] == told


def test_mentions_are_kept_in_order_once_each(anna, ben, carla, group):
    assert anna.send(group, "Hello", mentions=[carla.name, ben.name, carla.name])["mentions"] == [carla.name, ben.name]


def test_what_the_application_adds_comes_back_without_white_space_to_everyone(anna, ben, group):
    extra = '{ "card":\t{"price" : 1.50,\n"text":"a \\"b\\" \\u00e9 ü"} ,"n":[1,-0E+9,null],"":{} }'
    id, path = new_id(), f"/v1/conversations/{group}/messages"
    body = f'{{"id":"{id}","text":"Look","extra":{extra}}}'.encode()
    sent = anna.post(path, body)
    assert sent.status_code == 201
    kept = '"extra":{"card":{"price":1.50,"text":"a \\"b\\" \\u00e9 ü"},"n":[1,-0E+9,null],"":{}}'
    assert kept in sent.text
    for person in (anna, ben):
        for at in (path, f"{path}/{id}", f"/v1/conversations/{group}/changes"):
            assert kept in person.get(at).text
    assert (repeated := anna.post(path, body)).status_code == 200 and repeated.json() == sent.json()
    for other in (None, {}, {"card": 1}):
        assert send(anna, group, id=id, text="Look", extra=other).status_code == 409
    message = f"{path}/{id}"
    assert kept in anna.http.patch(message, json={"text": "Look here"}).text, "an edit leaves it"
    assert anna.http.delete(message, params={"scope": "everyone"}).status_code == 204
    assert "extra" not in ben.get(message).json()


def test_what_the_application_adds_is_for_any_message_of_a_batch(anna, ben, group):
    other = anna.group(ben)
    extras = [None, {"a": 1}, None, {}]
    batch = [
        {"conversationId": conversation, "id": new_id(), "text": f"{number}", "extra": extra}
        for number, (conversation, extra) in enumerate(zip([group, group, other, other], extras))
    ]
    results = anna.post("/v1/messages:batch", {"messages": batch}).json()["results"]
    assert [result["status"] for result in results] == [201] * 4
    assert [result["message"].get("extra") for result in results] == extras


def test_null_is_the_same_as_leaving_a_field_out(anna, group):
    nothing = dict.fromkeys(("replyTo", "mentions", "mentionsAll", "sentAt", "attachments", "extra"))
    message = anna.send(group, "Hello", **nothing)
    assert (message["kind"], message["mentions"]) == ("text", [])
    assert "extra" not in message and "mentionsAll" not in message


WRONG = {
    "no id": {"id": None},
    "id a number": {"id": 1},
    "id empty": {"id": ""},
    "id in upper case": {"id": UNKNOWN.upper()},
    "id of version 8": {"id": "0198c2a5-0f3a-8b52-8d11-6c2f9e4a7b01"},
    "no text": {"text": None},
    "text a number": {"text": 1},
    "text an object": {"text": {"a": "b"}},
    "text empty": {"text": ""},
    "text blank": {"text": " \n\t\u00a0\u2003\u3000"},
    "text with U+0000": {"text": "a\0b"},
    "text with a lone high surrogate": {"text": "a\ud83ab"},
    "text with a lone low surrogate": {"text": "\udc00"},
    "text with surrogates the wrong way round": {"text": "\udc00\ud83a"},
    "replyTo a number": {"replyTo": 2},
    "replyTo no UUID": {"replyTo": "x"},
    "replyTo an object": {"replyTo": {"messageId": UNKNOWN}},
    "mentions a name": {"mentions": "ben"},
    "a mention a number": {"mentions": [1]},
    "a mention with a space": {"mentions": ["ben b"]},
    "a mention of everybody by a sign": {"mentions": ["*"]},
    "mentionsAll a text": {"mentionsAll": "true"},
    "mentionsAll a list": {"mentionsAll": []},
    "sentAt a number": {"sentAt": 1772902251},
    "sentAt without an offset": {"sentAt": "2026-03-07T17:04:11"},
    "sentAt a date": {"sentAt": "2026-03-07"},
    "sentAt on no day": {"sentAt": "2026-02-29T00:00:00Z"},
    "sentAt at no hour": {"sentAt": "2026-03-07T24:00:00Z"},
    "sentAt too early": {"sentAt": "1969-12-31T23:59:59Z"},
    "sentAt too late": {"sentAt": "9999-12-31T23:59:59-00:01"},
    "attachments an object": {"attachments": {"a": 1}},
    "attachments a list of ids": {"attachments": [UNKNOWN]},
    "an attachment without an id": {"attachments": [{"name": "a.pdf"}]},
    "an attachment with an id in upper case": {"attachments": [{"id": UNKNOWN.upper()}]},
    "extra a list": {"extra": []},
    "extra a string": {"extra": "{}"},
    "extra a number": {"extra": 1},
    "an attachment twice": {"attachments": [{"id": UNKNOWN}, {"id": UNKNOWN}]},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_wrong_field_is_refused_and_named(anna, group, change):
    body = {"id": new_id(), "text": "Hello"} | change
    response = send(anna, group, **{name: value for name, value in body.items() if value is not None})
    assert response.status_code == 400
    assert next(iter(change)) in response.json()["detail"]


def test_more_than_the_limits_tell_is_too_large(anna, group):
    for text in ("x" * 16385, "🧗" * 4096 + "x"):
        assert send(anna, group, id=new_id(), text=text).status_code == 413
    assert (
        send(anna, group, id=new_id(), text="Hello", mentions=[f"user-{number}" for number in range(101)]).status_code
        == 413
    )
    assert send(anna, group, id=new_id(), text="Hello", padding="x" * 131072).status_code == 413
    fits = {"id": new_id(), "text": "Hello", "padding": ""}
    fits["padding"] = "x" * (131072 - len(json.dumps(fits)))
    assert send(anna, group, **fits).status_code == 201


def test_nobody_but_a_member_sends(anna, stranger, group):
    there = send(stranger, group, id=new_id(), text="Hello")
    nowhere = send(stranger, new_id(), id=new_id(), text="Hello")
    assert there.status_code == nowhere.status_code == 404
    assert there.json() == nowhere.json()
    assert send(anna, "x", id=new_id(), text="Hello").status_code == 400


# MARK: Repeating


def test_a_repetition_is_answered_with_the_message_as_it_is(anna, ben, group):
    parent = ben.send(group, "Question")
    body = {"id": new_id(), "text": "Answer", "replyTo": parent["id"], "mentions": [ben.name]}
    first = send(anna, group, **body)
    again = send(anna, group, **body, sentAt="2026-03-07T17:04:11Z")
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert anna.get(f"/v1/conversations/{group}").json()["lastSeq"] == 3


def test_a_hundred_repetitions_at_once_are_one_message(anna, group):
    body = {"id": new_id(), "text": "Hello"}
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: send(anna, group, **body), range(100)))
    assert sorted({answer.status_code for answer in answers}) == [200, 201]
    assert [answer.status_code for answer in answers].count(201) == 1
    assert {answer.json()["seq"] for answer in answers} == {2}


OTHER = [{"text": "Other"}, {"replyTo": None}, {"mentions": []}, {"mentionsAll": True}]


@pytest.mark.parametrize("change", OTHER, ids=str)
def test_other_content_under_the_same_id_is_a_conflict(anna, ben, group, change):
    body = {"id": new_id(), "text": "Answer", "replyTo": ben.send(group, "Question")["id"], "mentions": [ben.name]}
    assert send(anna, group, **body).status_code == 201
    assert send(anna, group, **body | change).status_code == 409


def test_anothers_id_is_a_conflict_that_shows_nothing(anna, ben, group):
    sent = anna.send(group, "For your eyes only")
    response = send(ben, group, id=sent["id"], text="For your eyes only")
    assert response.status_code == 409
    assert "eyes" not in response.text and anna.name not in response.text


def test_one_id_may_be_used_in_two_conversations(anna, ben, group):
    other = anna.group(ben)
    identifier = new_id()
    for conversation in (group, other):
        assert send(anna, conversation, id=identifier, text="Hello").status_code == 201


# MARK: Replying


def test_a_reply_names_its_immediate_parent_with_a_preview(anna, ben, group):
    first = anna.send(group, "First 👨‍👩‍👧‍👦 " + "é" * 100)
    second = ben.send(group, "Second", replyTo=first["id"])
    third = anna.send(group, "Third", replyTo=second["id"])
    assert (second["kind"], third["kind"]) == ("reply", "reply")
    assert second["replyTo"] == {
        "messageId": first["id"],
        "seq": 2,
        "senderId": anna.name,
        "preview": "First 👨‍👩‍👧‍👦 " + "é" * 42,
    }
    assert third["replyTo"] == {"messageId": second["id"], "seq": 3, "senderId": ben.name, "preview": "Second"}


def test_what_is_not_there_for_the_sender_cannot_be_replied_to(anna, ben, group):
    elsewhere = anna.group(ben)
    identifier = new_id()
    for parent in (UNKNOWN, anna.send(elsewhere, "Elsewhere")["id"], identifier):
        assert send(anna, group, id=identifier, text="Answer", replyTo=parent).status_code == 422
    assert send(anna, group, id=identifier, text="Answer").status_code == 201


# MARK: Reading


@pytest.fixture
def long_group(anna, ben):
    """40 messages at the positions 2…41."""
    group = anna.group(ben)
    messages = [{"conversationId": group, "id": new_id(), "text": f"{seq}"} for seq in range(2, 42)]
    assert anna.post("/v1/messages:batch", {"messages": messages}).status_code == 200
    return group


def history(person, conversation, **query):
    page = person.get(f"/v1/conversations/{conversation}/messages", params=query).json()
    return [message["seq"] for message in page["messages"]], page["hasMoreBefore"], page["hasMoreAfter"]


@pytest.mark.parametrize(
    "query, seqs, before, after",
    [
        ({}, range(2, 42), False, False),
        ({"limit": 5}, range(37, 42), True, False),
        ({"limit": 5, "before": 37}, range(32, 37), True, True),
        ({"limit": 5, "before": 7}, range(2, 7), False, True),
        ({"limit": 5, "before": 1}, [], False, True),
        ({"limit": 5, "before": 9007199254740991}, range(37, 42), True, False),
        ({"limit": 5, "after": 0}, range(2, 7), False, True),
        ({"limit": 5, "after": 36}, range(37, 42), True, False),
        ({"limit": 5, "after": 41}, [], True, False),
        ({"limit": 5, "after": 9007199254740991}, [], True, False),
        ({"limit": 1, "around": 20}, [20], True, True),
        ({"limit": 200, "around": 20}, range(2, 42), False, False),
        ({"limit": 10, "around": 20}, range(15, 25), True, True),
        ({"limit": 10, "around": 1}, range(2, 7), False, True),
        ({"limit": 10, "around": 4}, range(2, 9), False, True),
        ({"limit": 10, "around": 41}, range(36, 42), True, False),
        ({"limit": 10, "around": 1000}, range(37, 42), True, False),
    ],
    ids=str,
)
def test_history_pages_in_every_direction(ben, long_group, query, seqs, before, after):
    assert history(ben, long_group, **query) == (list(seqs), before, after)


@pytest.mark.parametrize(
    "query",
    [
        "before=0",
        "before=-1",
        "before=x",
        "before=",
        "before=1.0",
        "before=9007199254740992",
        "after=-1",
        "after=01",
        "around=0",
        "limit=0",
        "limit=201",
        "before=3&after=2",
        "around=3&after=2",
        "before=3&around=2",
        "after=1&after=1",
    ],
)
def test_a_wrong_query_is_refused(anna, group, query):
    response = anna.get(f"/v1/conversations/{group}/messages?{query}")
    assert response.status_code == 400
    assert re.search("before|after|around|limit", response.json()["detail"])


def test_a_page_ends_at_half_a_megabyte_and_says_that_more_follows(anna, group):
    messages = [
        {"conversationId": group, "id": new_id(), "text": f"{number:02} " + "x" * 16000} for number in range(60)
    ]
    assert anna.post("/v1/messages:batch", {"messages": messages}).status_code == 200
    texts, before = [], None
    while True:
        response = anna.get(
            f"/v1/conversations/{group}/messages", params={"limit": 200} | ({"before": before} if before else {})
        )
        page = response.json()
        assert len(response.content) < 600_000 and page["messages"]
        texts = [message["text"] for message in page["messages"]] + texts
        if not page["hasMoreBefore"]:
            break
        before = page["messages"][0]["seq"]
    assert texts == [message["text"] for message in messages]


def test_a_message_that_is_not_there_is_not_found(anna, ben, group):
    elsewhere = anna.send(anna.group(ben), "Elsewhere")
    for message in (UNKNOWN, elsewhere["id"]):
        assert anna.get(f"/v1/conversations/{group}/messages/{message}").status_code == 404
    for message in ("x", UNKNOWN.upper()):
        assert anna.get(f"/v1/conversations/{group}/messages/{message}").status_code == 400


# MARK: Changes


def test_changes_begin_with_the_creation_and_carry_bare_references(anna, ben, group):
    question = anna.send(group, "Question")
    answer = ben.send(group, "Answer", replyTo=question["id"])
    page = ben.get(f"/v1/conversations/{group}/changes").json()
    assert (page["lastSeq"], page["more"]) == (3, False)
    assert [(change["seq"], change["kind"], change["actorId"]) for change in page["changes"]] == [
        (1, "conversation.created", anna.name),
        (2, "message.created", anna.name),
        (3, "message.created", ben.name),
    ]
    assert page["changes"][0]["conversation"]["id"] == group
    assert page["changes"][2]["message"]["replyTo"] == {"messageId": question["id"], "seq": 2}
    assert page["changes"][2]["at"] == answer["createdAt"]


def test_changes_page_to_the_end(ben, long_group):
    seqs, after = [], 0
    while True:
        page = ben.get(f"/v1/conversations/{long_group}/changes", params={"after": after, "limit": 16}).json()
        seqs += [change["seq"] for change in page["changes"]]
        assert page["lastSeq"] == 41
        if not page["more"]:
            break
        after = seqs[-1]
    assert seqs == list(range(1, 42))
    beyond = ben.get(f"/v1/conversations/{long_group}/changes", params={"after": 1000}).json()
    assert beyond == {"changes": [], "lastSeq": 41, "more": False}


@pytest.mark.parametrize("query", ["after=-1", "after=x", "after=", "limit=0", "limit=1001", "limit=2&limit=3"])
def test_a_wrong_query_for_changes_is_refused(anna, group, query):
    assert anna.get(f"/v1/conversations/{group}/changes?{query}").status_code == 400
