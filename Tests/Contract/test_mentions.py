"""Unread messages that mention their reader are counted apart, and everybody is mentioned by who may."""

import pytest

from people import new_id
from test_groups import permit, refused
from test_users import erase
from test_writes import conversation_of, done, feed, history, put_member, remove_member


@pytest.fixture
def group(anna, ben, carla):
    """Anna is an owner, ben an admin, carla a member."""
    group = anna.group(ben, carla)
    put_member(anna, group, ben, "admin")
    return group


def mentions(person, group) -> int | None:
    """As all calls tell it that have conversations."""
    shown = conversation_of(person, group)
    listed = person.get("/v1/conversations").json()["conversations"]
    synchronised = person.get("/v1/sync").json()["conversations"]
    with person.socket() as socket:
        brought = socket.welcome.get("conversations", [])
    for page in (listed, synchronised, brought):
        for other in page:
            if other["id"] == group:
                assert other.get("unreadMentions") == shown.get("unreadMentions")
    return shown.get("unreadMentions")


def read(person, group, seq):
    assert person.post(f"/v1/conversations/{group}/receipts", {"readSeq": seq}).status_code == 202


def send(person, group, **fields):
    return person.post(f"/v1/conversations/{group}/messages", {"id": new_id(), "text": "@all Hello"} | fields)


def test_unread_messages_that_mention_their_reader_are_counted_until_they_are_read(anna, ben, carla, group):
    assert mentions(ben, group) is None
    anna.send(group, "Nine?")
    first = anna.send(group, "Ben?", mentions=[carla.name, ben.name])
    assert (mentions(ben, group), mentions(carla, group), mentions(anna, group)) == (1, 1, None)
    ben.send(group, "I am Ben", mentions=[ben.name])
    assert mentions(ben, group) == 1, "nobody mentions themselves"
    last = anna.send(group, "And here?", mentions=[ben.name], replyTo=first["id"])
    assert mentions(ben, group) == 2 and conversation_of(ben, group)["unreadCount"] == 3
    read(ben, group, first["seq"])
    assert (mentions(ben, group), mentions(carla, group)) == (1, 1)
    read(ben, group, last["seq"])
    assert mentions(ben, group) is None


def test_what_a_reader_does_not_see_does_not_mention_them(anna, ben, carla, dora, group):
    anna.send(group, "Before you came", mentions=[dora.name])
    put_member(anna, group, dora)
    sent = [anna.send(group, "Dora?", mentions=[dora.name]) for _ in range(4)]
    assert mentions(dora, group) == 4
    path = f"/v1/conversations/{group}"
    assert dora.http.delete(f"{path}/messages/{sent[3]['id']}?scope=me").status_code == 204
    assert mentions(dora, group) == 3
    assert anna.http.delete(f"{path}/messages/{sent[2]['id']}?scope=everyone").status_code == 204
    assert mentions(dora, group) == 2
    assert dora.http.delete(f"{path}/history?through={sent[0]['seq']}").status_code == 204
    assert mentions(dora, group) == 1
    # What is edited mentions whom it did.
    done(anna, "PATCH", f"{path}/messages/{sent[1]['id']}", {"text": "Nobody"})
    assert mentions(dora, group) == 1
    remove_member(dora, group, dora)
    anna.send(group, "Gone?", mentions=[dora.name])
    assert mentions(dora, group) == 1, "as far as they see"


def test_a_hundred_are_counted_and_the_badge_has_their_sum(anna, ben, new_person):
    reader = new_person("reader")
    groups = [anna.group(reader) for _ in range(2)]
    same = {"conversationId": groups[0], "text": "You?", "mentions": [reader.name]}
    texts = [same | {"id": new_id()} for _ in range(105)]
    for part in (texts[:50], texts[50:100], texts[100:]):
        assert anna.post("/v1/messages:batch", {"messages": part}).status_code == 200
    anna.send(groups[1], "You, too", mentions=[reader.name])
    anna.send(groups[1], "Nobody")
    assert [mentions(reader, group) for group in groups] == [100, 1]
    badge = {"conversations": 2, "messages": 102, "mentions": 101, "more": False}
    assert reader.get("/v1/unread").json() == badge
    assert reader.http.put(f"/v1/conversations/{groups[0]}/mute").status_code == 204
    assert mentions(reader, groups[0]) == 100, "it is told where it is muted, too"
    assert reader.get("/v1/unread").json()["mentions"] == 1


# MARK: Everybody


def test_everybody_but_the_sender_is_mentioned_and_everybody_reads_so(anna, ben, carla, group):
    with carla.socket() as socket:
        sent = anna.send(group, "Hello @all", mentions=[ben.name], mentionsAll=True)
        assert socket.expect_change(sent["seq"], group)["message"]["mentionsAll"] is True
    assert (sent["mentions"], sent["mentionsAll"]) == ([ben.name], True)
    assert [mentions(person, group) for person in (anna, ben, carla)] == [None, 1, 1]
    for person in (anna, ben, carla):
        shown = history(person, group)[-1]
        assert (shown["mentions"], shown["mentionsAll"]) == ([ben.name], True)
        assert feed(person, group)[-1]["message"]["mentionsAll"] is True
    for plain in (None, False):
        assert "mentionsAll" not in anna.send(group, "Hello", mentionsAll=plain)
    assert anna.http.delete(f"/v1/conversations/{group}/messages/{sent['id']}?scope=everyone").status_code == 204
    assert "mentionsAll" not in history(carla, group)[-3]
    assert [mentions(person, group) for person in (anna, ben, carla)] == [None] * 3


MAY = [(None, "oa"), ("members", "oam"), ("admins", "oa"), ("owners", "o")]


@pytest.mark.parametrize("permitted, may", MAY)
def test_who_may_mention_everybody_does(anna, ben, carla, group, permitted, may):
    if permitted:
        shown = permit(anna, group, mentionAll=permitted).get("permissions", {})
        assert shown.get("mentionAll") == (permitted if permitted != "admins" else None)
    for person, role in ((anna, "o"), (ben, "a"), (carla, "m")):
        answers = [send(person, group, mentionsAll=True), send(person, group, mentionsAll=True, extra={"a": 1})]
        bodies = [{"conversationId": group, "id": new_id(), "text": "Hi", "mentionsAll": all} for all in (True, False)]
        results = person.post("/v1/messages:batch", {"messages": bodies}).json()["results"]
        if role in may:
            assert [answer.status_code for answer in answers] == [201, 201]
            assert [result["status"] for result in results] == [201, 201]
        else:
            assert all(refused(answer) for answer in answers)
            assert [result["status"] for result in results] == [403, 201]
        assert send(person, group, mentions=[anna.name]).status_code == 201


def test_a_permission_is_told_and_admins_are_as_by_default(anna, ben, carla, group):
    last = conversation_of(carla, group)["lastSeq"]
    everyone = {"addMembers": "members", "rename": "members", "write": "members"}
    with carla.socket() as socket:
        permit(anna, group, mentionAll="admins")
        assert permit(anna, group, mentionAll="members")["permissions"] == everyone | {"mentionAll": "members"}
        assert socket.expect_change(last + 1, group)["permissions"] == everyone | {"mentionAll": "members"}
        permit(anna, group, rename="admins")
        assert socket.expect_change(last + 2, group)["permissions"]["mentionAll"] == "members"
        assert "mentionAll" not in permit(anna, group, mentionAll="admins")["permissions"]
        assert "permissions" not in permit(anna, group, rename="members")
    assert len(feed(carla, group, after=last)) == 4


def test_a_sender_who_may_no_more_gets_what_they_sent(anna, carla, group):
    permit(anna, group, mentionAll="members")
    body = {"id": new_id(), "text": "Hello", "mentionsAll": True}
    assert send(carla, group, **body).status_code == 201
    permit(anna, group, mentionAll="owners")
    again = send(carla, group, **body)
    assert (again.status_code, again.json()["mentionsAll"]) == (200, True)
    assert send(carla, group, **body | {"mentionsAll": False}).status_code == 409
    assert refused(send(carla, group, **body | {"id": new_id()}))


def test_in_a_direct_conversation_nobody_does(anna, ben):
    direct = anna.post("/v1/conversations", {"kind": "direct", "members": [ben.name]}).json()["id"]
    for person in (anna, ben):
        assert refused(send(person, direct, mentionsAll=True))
        assert send(person, direct, mentionsAll=False).status_code == 201


def test_an_erasure_leaves_everybody_mentioned(system, anna, ben, carla, group, new_person):
    anna.send(group, "Hello @all", mentions=[carla.name], mentionsAll=True)
    backend = new_person("backend", adm=True)
    assert erase(backend, carla.name)["counts"]["mentions"] == 1
    shown = [message for message in history(ben, group) if message["kind"] == "text"][-1]
    assert (shown["mentions"], shown["mentionsAll"]) == ([], True)
    assert mentions(ben, group) == 1


def test_what_mentions_them_is_found_page_by_page_and_nothing_else(anna, ben, carla, group):
    wanted = [send(anna, group, mentions=[carla.name]).json(), send(anna, group, mentionsAll=True).json()]
    send(anna, group)
    send(anna, group, mentions=[ben.name])
    send(carla, group, mentions=[carla.name])
    wanted.append(send(ben, group, mentionsAll=True, mentions=[anna.name]).json())
    gone = send(anna, group, mentions=[carla.name]).json()
    assert anna.http.delete(f"/v1/conversations/{group}/messages/{gone['id']}?scope=everyone").status_code == 204
    hidden = send(anna, group, mentions=[carla.name]).json()
    assert carla.http.delete(f"/v1/conversations/{group}/messages/{hidden['id']}?scope=me").status_code == 204
    path = f"/v1/conversations/{group}/mentions"
    assert [message["id"] for message in carla.get(path).json()["messages"]] == [message["id"] for message in wanted]
    found, after = [], 0
    while after is not None:
        page = carla.get(path, params={"after": after, "limit": 1}).json()
        assert len(page["messages"]) <= 1
        found += page["messages"]
        after = page.get("through")
    assert [message["id"] for message in found] == [message["id"] for message in wanted]
    later = carla.get(path, params={"after": wanted[1]["seq"]}).json()
    assert [message["id"] for message in later["messages"]] == [wanted[2]["id"]] and "through" not in later
    assert carla.get(path, params={"after": wanted[2]["seq"]}).json() == {"messages": []}
    for wrong in ({"after": -1}, {"after": "x"}, {"limit": 0}, {"limit": 101}):
        assert carla.get(path, params=wrong).status_code == 400


def test_a_page_may_be_empty_and_have_a_next_one(anna, ben, carla, group):
    batch = [
        {"conversationId": group, "id": new_id(), "text": f"{number}", "mentions": [ben.name]} for number in range(300)
    ]
    results = anna.post("/v1/messages:batch", {"messages": batch}).json()["results"]
    assert {result["status"] for result in results} == {201}
    meant = send(anna, group, mentions=[carla.name]).json()
    path = f"/v1/conversations/{group}/mentions"
    first = carla.get(path).json()
    assert first["messages"] == [] and first["through"] == results[255]["message"]["seq"]
    second = carla.get(path, params={"after": first["through"]}).json()
    assert [message["id"] for message in second["messages"]] == [meant["id"]] and "through" not in second
