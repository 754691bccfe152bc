"""Creating, listing and reading conversations and their members."""

import pytest

from people import new_id

UNKNOWN = "0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90"
NO_UUIDS = [
    "x",
    UNKNOWN.upper(),
    UNKNOWN[:-1],
    UNKNOWN + "0",
    UNKNOWN.replace("-", ""),
    "%00",
    f"%20{UNKNOWN}",
    "{" + UNKNOWN + "}",
]


def create(person, **body):
    return person.post("/v1/conversations", body)


def test_a_new_group_shows_its_creator_as_the_owner(anna, ben, carla):
    identifier = new_id()
    response = create(anna, id=identifier, kind="group", members=[ben.name, carla.name], title="Climbing 🧗")
    assert response.status_code == 201
    conversation = response.json()
    assert (conversation["id"], conversation["kind"], conversation["title"]) == (identifier, "group", "Climbing 🧗")
    assert (conversation["role"], conversation["memberCount"], conversation["windows"]) == ("owner", 3, [{"from": 1}])
    assert (conversation["lastSeq"], conversation["unreadCount"], "lastMessage" in conversation) == (1, 0, False)
    seen_by_ben = ben.get(f"/v1/conversations/{identifier}").json()
    assert seen_by_ben == conversation | {"role": "member"}


def test_a_repetition_finds_the_group_as_it_is_now(anna, ben):
    group = anna.group(ben)
    anna.send(group, "Hello")
    for person in (anna, ben):
        response = create(person, id=group, kind="group", members=[], title="Another title")
        assert (response.status_code, response.json()["lastSeq"]) == (200, 2)
        assert "title" not in response.json()


def test_anothers_group_is_a_conflict_that_shows_nothing(anna, ben, stranger):
    group = anna.group(ben, title="Secret plan")
    response = create(stranger, id=group, kind="group", members=[])
    assert response.status_code == 409
    assert "Secret" not in response.text and anna.name not in response.text


def test_a_pair_has_one_direct_conversation_whoever_opens_it(anna, ben):
    first = create(anna, kind="direct", members=[ben.name])
    again = create(anna, kind="direct", members=[ben.name], id="ignored", title="ignored")
    other_side = create(ben, kind="direct", members=[anna.name])
    assert [response.status_code for response in (first, again, other_side)] == [201, 200, 200]
    identifiers = {response.json()["id"] for response in (first, again, other_side)}
    assert len(identifiers) == 1 and identifiers.pop()[14] == "8"
    assert first.json()["memberCount"] == 2 and "title" not in first.json()


def test_repeated_names_and_the_callers_own_count_once(anna, ben):
    response = create(anna, id=new_id(), kind="group", members=[ben.name, anna.name, ben.name])
    assert response.json()["memberCount"] == 2


def test_a_group_may_begin_with_its_creator_alone(anna):
    response = create(anna, id=new_id(), kind="group", members=[], title=None)
    assert (response.status_code, response.json()["memberCount"]) == (201, 1)


def test_unknown_fields_are_ignored(anna):
    assert create(anna, id=new_id(), kind="group", members=[], colour={"red": [1]}).status_code == 201


WRONG = {
    "no kind": {"kind": None},
    "kind unknown": {"kind": "channel"},
    "kind a number": {"kind": 1},
    "no id": {"id": None},
    "id a number": {"id": 7},
    "id no UUID": {"id": "x"},
    "id in upper case": {"id": UNKNOWN.upper()},
    "id of version 1": {"id": "0198c2a4-5d10-1c3e-9a41-3f0c5b7e2d90"},
    "id of version 8": {"id": "0198c2a4-5d10-8c3e-9a41-3f0c5b7e2d90"},
    "id of another variant": {"id": "0198c2a4-5d10-7c3e-ca41-3f0c5b7e2d90"},
    "id all zero": {"id": "00000000-0000-0000-0000-000000000000"},
    "no members": {"members": None},
    "members a name": {"members": "ben"},
    "members an object": {"members": {"ben": True}},
    "a member a number": {"members": [1]},
    "a member null": {"members": [None]},
    "a member without a name": {"members": [""]},
    "a member with a space": {"members": ["ben b"]},
    "a member of 65 characters": {"members": ["b" * 65]},
    "a member beyond ASCII": {"members": ["bén"]},
    "title a number": {"title": 1},
    "title empty": {"title": ""},
    "title blank": {"title": " \t\u2003\n"},
    "title with U+0000": {"title": "a\0b"},
    "direct with nobody": {"kind": "direct", "members": []},
    "direct with two": {"kind": "direct", "members": ["ben", "carla"]},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_wrong_field_is_refused_and_named(anna, change):
    body = {"id": new_id(), "kind": "group", "members": ["ben"]} | change
    response = create(anna, **{name: value for name, value in body.items() if value is not None or name not in change})
    assert response.status_code == 400
    field = "members" if "kind" in change and "members" in change else next(iter(change))
    assert field in response.json()["detail"]


def test_nobody_has_a_direct_conversation_with_themselves(anna):
    assert create(anna, kind="direct", members=[anna.name]).status_code == 400


def test_more_than_the_limits_tell_is_too_large(anna):
    too_many = [f"user-{number}" for number in range(1001)]
    assert create(anna, id=new_id(), kind="group", members=too_many).status_code == 413
    assert create(anna, id=new_id(), kind="group", members=[], title="ä" * 201).status_code == 413
    at_the_limit = create(anna, id=new_id(), kind="group", members=too_many[:1000], title="🧗" * 200)
    assert (at_the_limit.status_code, at_the_limit.json()["memberCount"]) == (201, 1001)


BODIES = [
    b"",
    b" ",
    b"null",
    b"[]",
    b'"text"',
    b"{",
    b"{}x",
    b"{'kind':1}",
    b'{"kind":"group",}',
    b"\xef\xbb\xbf{}",
    b"\xff\xfe",
    b'{"kind":"\xff"}',
    b'{"a":01}',
    b'{"a":NaN}',
    b'{"a":+1}',
    b'{"a":1.}',
    b'{"a":"\x01"}',
    b'{"a":"\\x"}',
    b'{"a":"\\ud800"}',
    b'{"kind":"group","kind":"group"}',
    b"[" * 100_000,
    b'{"a":' * 20_000,
    b"\0",
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:20]))
def test_what_is_no_json_object_is_refused(anna, body):
    assert anna.post("/v1/conversations", body).status_code == 400


def test_the_body_is_json_whatever_its_content_type_says(anna):
    for content_type in ("application/x-www-form-urlencoded", "text/plain", "application/json; charset=utf-8"):
        body = {"id": new_id(), "kind": "group", "members": []}
        response = anna.post("/v1/conversations", body, headers={"Content-Type": content_type})
        assert response.status_code == 201


# MARK: Reading


@pytest.mark.parametrize("path", ["", "/members", "/messages", f"/messages/{UNKNOWN}", "/changes"])
def test_a_stranger_learns_nothing(anna, ben, stranger, path):
    group = anna.group(ben)
    there = stranger.get(f"/v1/conversations/{group}{path}")
    nowhere = stranger.get(f"/v1/conversations/{new_id()}{path}")
    assert there.status_code == nowhere.status_code == 404
    assert there.json() == nowhere.json(), "the answers tell that one of the two exists"


@pytest.mark.parametrize("identifier", NO_UUIDS)
@pytest.mark.parametrize("path", ["", "/members", "/messages", "/changes"])
def test_an_id_that_is_no_uuid_is_refused(anna, path, identifier):
    assert anna.get(f"/v1/conversations/{identifier}{path}").status_code == 400


def test_the_list_is_in_order_of_activity_and_pages_without_gap_or_repetition(anna, ben):
    groups = [anna.group(ben, title=f"Group {number}") for number in range(7)]
    for number in (2, 5, 0):
        anna.send(groups[number], f"Hello {number}")
    expected = [groups[number] for number in (0, 5, 2, 6, 4, 3, 1)]
    assert [conversation["id"] for conversation in ben.get("/v1/conversations").json()["conversations"]] == expected
    listed, query = [], {"limit": 3}
    while True:
        page = ben.get("/v1/conversations", params=query).json()
        assert 0 < len(page["conversations"]) <= 3
        listed += [conversation["id"] for conversation in page["conversations"]]
        if "nextCursor" not in page:
            break
        query["before"] = page["nextCursor"]
    assert listed == expected


def test_a_listed_conversation_shows_its_last_message_and_what_is_unread(anna, ben):
    group = anna.group(ben)
    question = anna.send(group, "Nine o'clock?")
    answer = anna.send(group, "Anybody?", replyTo=question["id"])
    for_ben = ben.get("/v1/conversations").json()["conversations"][0]
    for_anna = anna.get("/v1/conversations").json()["conversations"][0]
    assert (for_ben["unreadCount"], for_anna["unreadCount"]) == (2, 0)
    assert for_ben["lastMessage"]["id"] == answer["id"]
    assert for_ben["lastMessage"]["replyTo"]["preview"] == "Nine o'clock?"
    assert "status" not in for_ben["lastMessage"] and for_anna["lastMessage"]["status"] == "sent"
    assert for_ben["lastActivityAt"] == answer["createdAt"]


def test_unread_messages_are_counted_up_to_a_hundred(anna, ben):
    group = anna.group(ben)
    messages = [{"conversationId": group, "id": new_id(), "text": f"{number}"} for number in range(120)]
    assert anna.post("/v1/messages:batch", {"messages": messages}).status_code == 200
    assert ben.get(f"/v1/conversations/{group}").json()["unreadCount"] == 100


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=201",
        "limit=-1",
        "limit=+5",
        "limit=05",
        "limit=5.0",
        "limit=x",
        "limit=",
        "limit",
        "limit=5&limit=5",
        "limit=99999999999999999999",
        "limit=%00",
        "before=",
        "before=!",
        "before=x",
        "before=" + "A" * 201,
    ],
)
def test_a_wrong_query_is_refused(anna, query):
    response = anna.get(f"/v1/conversations?{query}")
    assert response.status_code == 400
    assert query.partition("=")[0] in response.json()["detail"]


def test_unknown_query_parameters_are_ignored(anna):
    assert anna.get("/v1/conversations?limit=200&after=3&colour=red").status_code == 200


def test_members_come_in_the_order_of_their_names_page_by_page(anna, new_person):
    others = [new_person(name) for name in ("Zoe", "ben", "_x", "9", "carla")]
    group = anna.group(*others)
    expected = sorted([anna.name, *(other.name for other in others)])
    members, query = [], {"limit": 2}
    while True:
        page = anna.get(f"/v1/conversations/{group}/members", params=query).json()
        members += page["members"]
        if "nextCursor" not in page:
            break
        query["after"] = page["nextCursor"]
    assert [member["userId"] for member in members] == expected
    assert {member["userId"]: member["role"] for member in members} == dict.fromkeys(expected, "member") | {
        anna.name: "owner"
    }
    assert {member["joinedSeq"] for member in members} == {1}


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "after=", "after=a%20b", "after=" + "a" * 65, "after=a&after=b"]
)
def test_a_wrong_query_for_members_is_refused(anna, query):
    group = anna.group()
    assert anna.get(f"/v1/conversations/{group}/members?{query}").status_code == 400
