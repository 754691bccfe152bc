"""What users have written and not sent, for their other devices."""

import json

import pytest

from people import new_id
from test_blocks import block, direct
from test_sync import follow


@pytest.fixture
def group(anna, ben):
    return anna.group(ben)


def path(group):
    return f"/v1/conversations/{group}/draft"


def put(person, group, text, status=204, headers=None, **fields):
    response = person.http.put(path(group), json={"text": text} | fields, headers=headers)
    assert response.status_code == status, response.text
    return response


def remove(person, group, status=204, headers=None):
    response = person.http.delete(path(group), headers=headers)
    assert response.status_code == status, response.text
    return response


def draft(person, group):
    """What the conversation shows, without the time."""
    shown = person.get(f"/v1/conversations/{group}").json().get("draft")
    return shown and {key: value for key, value in shown.items() if key != "at"}


def problem(response):
    return response.status_code, response.json()["code"]


def test_a_draft_is_shown_to_who_wrote_it_in_every_list_and_goes_again(anna, ben, group):
    parent = ben.send(group, "Sunday?")["id"]
    put(anna, group, "N")
    put(anna, group, "Nine is fi", replyTo=parent)
    expected = {"text": "Nine is fi", "replyTo": parent}
    assert draft(anna, group) == expected and draft(ben, group) is None
    listed = next(each for each in anna.get("/v1/conversations").json()["conversations"] if each["id"] == group)
    assert expected.items() <= listed["draft"].items()
    assert listed["draft"] == follow(anna)[0][group]["draft"]
    with anna.socket() as phone:
        welcomed = next(each for each in phone.welcome["conversations"] if each["id"] == group)
        assert welcomed["draft"] == listed["draft"]
    assert "draft" not in follow(ben)[0][group]
    put(anna, group, "Nine is fine", replyTo=None)
    assert draft(anna, group) == {"text": "Nine is fine"}
    for _ in range(2):
        remove(anna, group)
    assert draft(anna, group) is None
    put(anna, group, "Ten")
    put(anna, group, "", replyTo=parent)
    assert draft(anna, group) is None


def test_any_text_comes_back_as_it_was(anna, group, limits):
    for text in (" ", "\n\t \u3000", '"\\\u202e\U0001f9d7 é', "x" * limits["textBytes"]):
        put(anna, group, text)
        assert draft(anna, group) == {"text": text}
    put(anna, group, "x" * (limits["textBytes"] - 1) + "é", 413)
    assert draft(anna, group) == {"text": "x" * limits["textBytes"]}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "text"), ({"text": None}, "text"), ({"text": 7}, "text"), ({"text": "a\0"}, "text"),
        ({"text": "a", "replyTo": "x"}, "replyTo"), ({"text": "a", "replyTo": 7}, "replyTo"), ([], ""), ("", ""),
    ],
)  # fmt: skip
def test_what_is_no_draft_is_refused_and_the_field_named(anna, group, body, field):
    refused = anna.http.put(path(group), content=json.dumps(body).encode())
    assert problem(refused) == (400, "invalid") and field in refused.json()["detail"]
    assert draft(anna, group) is None


def test_other_devices_hear_of_it_live_and_once_more_later(anna, ben, group):
    _, _, cursor = follow(anna)
    parent = new_id()
    with anna.socket() as phone, ben.socket() as other:
        put(anna, group, "Nine", replyTo=parent)
        put(anna, group, "Nine", replyTo=parent)  # nothing new
        remove(anna, group)
        put(anna, group, "Ten")
        live = [phone.expect("private") for _ in range(3)]
        assert {(frame["kind"], frame["conversationId"]) for frame in live} == {("draft", group)}
        assert live[0]["draft"] == {"text": "Nine", "replyTo": parent, "at": live[0]["at"]}
        assert "draft" not in live[1] and live[2]["draft"] == {"text": "Ten", "at": live[2]["at"]}
        other.expect_silence("private", "change", "typing")
    conversations, later, _ = follow(anna, cursor)
    assert [change["kind"] for change in later] == ["draft"] * 3
    assert "draft" not in later[0] and later[2]["draft"] == live[2]["draft"]
    assert conversations == {}, "the conversation did not change"


def test_of_many_drafts_told_again_the_last_one_has_the_text(anna, group, limits):
    """Whoever was away gets what is there now, once: not the same text for each change on the way to it."""
    with anna.socket() as phone:
        before = phone.welcome["useq"]
    for number in range(20):
        put(anna, group, f"{number} " + "x" * (limits["textBytes"] - 3))
    with anna.socket(useq=before) as phone:
        frames = [phone.expect("private") for _ in range(20)]
    assert ["draft" in frame for frame in frames] == [False] * 19 + [True]
    assert frames[-1]["draft"]["text"].startswith("19 ")


def test_what_is_written_last_holds_whichever_device_it_is_from(anna, ben, group):
    put(anna, group, "From the phone")
    put(anna, group, "From the desk")
    assert draft(anna, group) == {"text": "From the desk"}
    anna.send(group, "From the desk")
    assert draft(anna, group) == {"text": "From the desk"}, "it is the client that removes it"


def test_a_draft_is_put_once_under_its_key(anna, group):
    key = {"Idempotency-Key": new_id()}
    put(anna, group, "Nine", headers=key)
    put(anna, group, "Ten")
    put(anna, group, "Nine", headers=key)
    assert draft(anna, group) == {"text": "Ten"}, "it was put before"
    assert problem(remove(anna, group, 409, headers=key)) == (409, "conflict")
    assert problem(anna.http.put(f"/v1/conversations/{group}/pin", headers=key)) == (409, "conflict")
    assert problem(put(anna, anna.group(), "Nine", 409, headers=key)) == (409, "conflict")
    key = {"Idempotency-Key": new_id()}
    remove(anna, group, headers=key)
    put(anna, group, "Ten")
    remove(anna, group, headers=key)
    assert draft(anna, group) == {"text": "Ten"}
    for refused in (
        put(anna, group, "", 400, {"Idempotency-Key": "x"}),
        remove(anna, group, 400, {"Idempotency-Key": "x"}),
    ):
        assert problem(refused) == (400, "invalid") and "Idempotency-Key" in refused.json()["detail"]


def test_members_alone_have_drafts(anna, ben, stranger, group):
    for refused in (put(stranger, group, "Hel", 404), remove(stranger, group, 404), put(anna, new_id(), "Hel", 404)):
        assert problem(refused) == (404, "notFound")
    assert anna.http.delete(f"/v1/conversations/{group}/members/{ben.name}").status_code == 204
    for refused in (put(ben, group, "Hel", 403), remove(ben, group, 403)):
        assert problem(refused) == (403, "forbidden")


@pytest.mark.parametrize("remover", ["anna", "ben"])
def test_it_goes_with_the_stay(anna, ben, group, remover):
    members = f"/v1/conversations/{group}/members/{ben.name}"
    _, _, cursor = follow(ben)
    put(anna, group, "Anna's own")
    put(ben, group, "What I wanted to say")
    who = {"anna": anna, "ben": ben}[remover]
    assert who.http.delete(members).status_code == 204
    assert draft(ben, group) is None and draft(anna, group) == {"text": "Anna's own"}
    assert anna.http.put(members).status_code == 200
    assert draft(ben, group) is None
    _, later, _ = follow(ben, cursor)
    assert [change["kind"] for change in later] == ["draft", "conversation.left", "conversation.joined"]
    assert "draft" not in later[0]


def test_who_blocks_keeps_no_draft_and_the_blocked_keep_theirs(anna, ben, group):
    pair = direct(anna, ben)
    put(anna, pair, "To ben")
    put(ben, pair, "To anna")
    put(anna, group, "To all")
    block(anna, ben)
    assert draft(anna, pair) is None and draft(ben, pair) == {"text": "To anna"}
    assert draft(anna, group) == {"text": "To all"}
    put(anna, pair, "To ben", 403)
    put(ben, pair, "To anna, too")
    block(anna, ben, "DELETE")
    assert draft(anna, pair) is None
    put(anna, pair, "To ben")
    assert draft(anna, pair) == {"text": "To ben"}


def test_clearing_the_history_leaves_what_is_about_to_be_said(anna, ben, group):
    ben.send(group, "Nine?")
    put(anna, group, "Ten")
    assert anna.http.delete(f"/v1/conversations/{group}/history").status_code == 204
    assert draft(anna, group) == {"text": "Ten"}


def test_nobody_else_finds_or_gets_it(system, new_person, anna, ben, group):
    word = f"secret{new_id()[-12:]}"
    anna.send(group, "Nine?")
    put(anna, group, word)
    for person in (anna, ben):
        assert person.get("/v1/search", params={"q": word}).json()["results"] == []
    backend = new_person("backend", adm=True)
    for of in (f"conversations/{group}", f"users/{ben.name}", f"users/{anna.name}"):
        exported = backend.get(f"/v1/export/{of}")
        assert exported.status_code == 200 and "Nine?" in exported.text and word not in exported.text
    assert word not in ben.get("/v1/conversations").text + json.dumps(follow(ben)[0])
    assert backend.get(f"/v1/conversations/{group}").status_code == 404
    assert draft(anna, group) == {"text": word}
    assert word not in system.logs()
