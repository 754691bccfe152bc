"""What users do beyond sending: edits, deletions, tapbacks, members, titles, clearing; and what others see of it."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from people import new_id, soon

UNKNOWN = "0198c2a5-0f3a-7b52-8d11-6c2f9e4a7b01"
CLASSIC = ["love", "like", "dislike", "laugh", "emphasize", "question"]


@pytest.fixture
def group(anna, ben, carla):
    return anna.group(ben, carla)


@pytest.fixture
def message(anna, group, request):
    """The path of a message by anna at position 2, which is a poll for what is done to polls."""
    name = getattr(request.node, "callspec", None) and request.node.callspec.params.get("name")
    poll = {"poll": {"options": ["yes", "no"]}} if name in ("vote", "closePoll") else {}
    return path_of(anna.send(group, "Nine o'clock?", **poll))


def path_of(message):
    return f"/v1/conversations/{message['conversationId']}/messages/{message['id']}"


def write(person, method, path, body=None, key=None, **options):
    headers = {"Idempotency-Key": key} if key else {}
    return person.http.request(method, path, json=body, headers=headers, **options)


def done(person, method, path, body=None, status=200, **options):
    """Writes, expecting success; returns what it says, or None where it says nothing."""
    response = write(person, method, path, body, **options)
    assert response.status_code == status, response.text
    return response.json() if response.content else None


def edit(person, path, text, **options):
    return done(person, "PATCH", path, {"text": text}, **options)


def delete(person, path, scope="everyone"):
    done(person, "DELETE", path, status=204, params={"scope": scope})


def react(person, path, kind, **options):
    return done(person, "PUT", f"{path}/tapback", {"kind": kind}, **options)


def put_member(person, group, other, role=None, **options):
    return done(person, "PUT", f"/v1/conversations/{group}/members/{other.name}", role and {"role": role}, **options)


def remove_member(person, group, other, **options):
    done(person, "DELETE", f"/v1/conversations/{group}/members/{other.name}", status=204, **options)


def conversation_of(person, group):
    response = person.get(f"/v1/conversations/{group}")
    assert response.status_code == 200
    return response.json()


def history(person, group):
    return person.get(f"/v1/conversations/{group}/messages", params={"limit": 200}).json()["messages"]


def feed(person, group, after=0):
    return person.get(f"/v1/conversations/{group}/changes", params={"after": after, "limit": 1000}).json()["changes"]


def problem(response):
    return response.status_code, response.json()["code"]


# MARK: Every call


def writes(group, message, member):
    """Each write as a method, a path, a body and the status of its success."""
    conversation = f"/v1/conversations/{group}"
    return {
        "rename": ("PATCH", conversation, {"title": "Sunday"}, 200),
        "putMember": ("PUT", f"{conversation}/members/{member}", {"role": "member"}, 200),
        "removeMember": ("DELETE", f"{conversation}/members/{member}", None, 204),
        "putPermissions": ("PUT", f"{conversation}/permissions", {"rename": "admins"}, 200),
        "putLifetime": ("PUT", f"{conversation}/lifetime", {"seconds": 3600}, 200),
        "liftBan": ("DELETE", f"{conversation}/bans/{member}", None, 204),
        "declineJoinRequest": ("DELETE", f"{conversation}/join-requests/{member}", None, 204),
        "revokeInvitation": ("DELETE", f"{conversation}/invitations/{UNKNOWN}", None, 204),
        "clearHistory": ("DELETE", f"{conversation}/history", None, 204),
        "edit": ("PATCH", message, {"text": "Ten o'clock?"}, 200),
        "hide": ("DELETE", message, None, 204),
        "delete": ("DELETE", f"{message}?scope=everyone", None, 204),
        "setTapback": ("PUT", f"{message}/tapback", {"kind": "like"}, 200),
        "removeTapback": ("DELETE", f"{message}/tapback", None, 204),
        "vote": ("PUT", f"{message}/vote", {"options": [1]}, 200),
        "closePoll": ("POST", f"{message}/close", None, 200),
        "pinMessage": ("PUT", f"{message}/pin", None, 200),
        "unpinMessage": ("DELETE", f"{message}/pin", None, 204),
        "schedule": ("PUT", f"{conversation}/scheduled/{UNKNOWN}", {"at": soon(), "text": "Later"}, 204),
        "cancelScheduled": ("DELETE", f"{conversation}/scheduled/{UNKNOWN}", None, 204),
        "putSettings": ("PUT", f"{conversation}/settings", {"readReceipts": False}, 200),
    }


WRITES = list(writes(UNKNOWN, "", ""))
WITH_BODY = [
    *("rename", "putMember", "putPermissions", "putLifetime", "edit", "setTapback", "vote", "schedule", "putSettings"),
]


@pytest.mark.parametrize("name", WRITES)
def test_a_write_is_answered_repeated_with_its_key_and_not_taken_for_another_one(anna, group, message, name):
    method, path, body, status = writes(group, message, f"dora-{new_id()[-8:]}")[name]
    if name == "removeMember":
        done(anna, "PUT", path)
    key = str(uuid.uuid4())
    first = write(anna, method, path, body, key)
    assert first.status_code == status, first.text
    before = conversation_of(anna, group)["lastSeq"]
    for again in (key, key.upper()):
        repeated = write(anna, method, path, body, again)
        assert (repeated.status_code, repeated.content) == (status, first.content)
    assert conversation_of(anna, group)["lastSeq"] == before
    # The key of one write is no key for another.
    other_method, other_path, other_body, _ = writes(group, message, "dora")["hide" if name != "hide" else "rename"]
    assert problem(write(anna, other_method, other_path, other_body, key)) == (409, "conflict")
    key = str(uuid.uuid4())
    write(anna, other_method, other_path, other_body, key)
    assert problem(write(anna, method, path, body, key)) == (409, "conflict")


@pytest.mark.parametrize("name", WRITES)
def test_who_never_was_in_it_finds_nothing_and_who_left_may_not(anna, ben, stranger, group, message, name):
    method, path, body, _ = writes(group, message, "dora")[name]
    assert problem(write(stranger, method, path, body)) == (404, "notFound")
    remove_member(anna, group, ben)
    if name == "cancelScheduled":
        assert write(ben, method, path, body).status_code == 204, "what they scheduled before"
    else:
        assert problem(write(ben, method, path, body)) == (403, "forbidden")
    assert len(feed(anna, group)) == 3


@pytest.mark.parametrize("name", WRITES)
def test_a_key_is_a_uuid_of_any_version(anna, group, message, name):
    method, path, body, status = writes(group, message, "dora")[name]
    for wrong in ("x", "0", "00000000-0000-0000-0000-000000000000", f"{uuid.uuid4()}0", f'"{uuid.uuid4()}"'):
        refused = write(anna, method, path, body, wrong)
        assert problem(refused) == (400, "invalid")
        assert "Idempotency-Key" in refused.json()["detail"]
    if name == "removeMember":
        done(anna, "PUT", path)
    assert write(anna, method, path, body, str(uuid.uuid1())).status_code == status


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("wrong", ["x", UNKNOWN.upper(), "%00"])
def test_an_id_in_the_path_that_is_none_is_refused(anna, name, wrong):
    method, path, body, _ = writes(wrong, f"/v1/conversations/{UNKNOWN}/messages/{wrong}", "ben")[name]
    assert problem(write(anna, method, path, body)) == (400, "invalid")


def listed(person):
    return [each["id"] for each in person.get("/v1/conversations").json()["conversations"]]


def test_who_has_left_takes_a_conversation_out_of_the_list_until_they_are_added_again(anna, ben, group, message):
    path, key = f"/v1/conversations/{group}", str(uuid.uuid4())
    assert problem(write(ben, "DELETE", path)) == (409, "conflict")
    assert problem(write(ben, "DELETE", "/v1/conversations/x")) == (400, "invalid")
    remove_member(anna, group, ben)
    cursor = ben.get("/v1/sync").json()["cursor"]
    assert group in listed(ben)
    for each in (key, key, None, str(uuid.uuid4())):
        assert write(ben, "DELETE", path, None, each).status_code == 204
    assert group not in listed(ben) and group in listed(anna)
    page = ben.get("/v1/sync", params={"since": cursor}).json()
    assert [each["kind"] for each in page["private"]] == ["conversation.removed"]
    assert page["private"][0]["conversationId"] == group
    assert group not in [each["id"] for each in page["conversations"]]
    # What they have seen they can still read.
    assert conversation_of(ben, group)["id"] == group and history(ben, group)
    done(anna, "PUT", f"{path}/members/{ben.name}")
    assert group in listed(ben)
    # The outcome of a key stays, whatever has happened since.
    assert write(ben, "DELETE", path, None, key).status_code == 204
    assert group in listed(ben)
    assert problem(write(ben, "DELETE", path)) == (409, "conflict")


def test_deletions_of_messages_that_have_not_come_are_limited_and_say_so(anna, ben, group):
    ids = [new_id() for _ in range(101)]
    paths = [f"/v1/conversations/{group}/messages/{each}?scope=everyone" for each in ids]
    assert {write(anna, "DELETE", path).status_code for path in paths[:100]} == {204}
    refused = write(anna, "DELETE", paths[100])
    assert problem(refused) == (409, "conflict") and refused.json()["detail"].startswith("messageId: 100 ")
    assert write(anna, "DELETE", paths[0]).status_code == 204 and write(ben, "DELETE", paths[100]).status_code == 204
    sent = anna.post(f"/v1/conversations/{group}/messages", {"id": ids[0], "text": "Never seen"})
    assert sent.status_code == 201 and sent.json()["deletedForEveryone"] is True
    assert write(anna, "DELETE", paths[100]).status_code == 204


WRONG_BODIES = {
    "rename": ("title", [{}, {"title": None}, {"title": ""}, {"title": " \u2003"}, {"title": 1}, {"title": "a\0b"}]),
    "putMember": ("role", [{"role": "admins"}, {"role": ""}, {"role": 1}, {"role": ["owner"]}]),
    "putPermissions": ("write", [{"write": "admin"}, {"write": ""}, {"write": 1}, {"write": ["admins"]}]),
    "putLifetime": ("seconds", [{}, *({"seconds": each} for each in ("60", 59, 60.5, -1, 0))]),
    "edit": ("text", [{}, {"text": None}, {"text": ""}, {"text": " \n\t\u00a0"}, {"text": 7}, {"text": "\0"}]),
    "setTapback": (
        "kind",
        [{}, {"kind": None}, {"kind": ""}, {"kind": "heart"}, {"kind": "Love"}, {"kind": "1"}, {"kind": "#"}]
        + [{"kind": "a"}, {"kind": "👍👍"}, {"kind": "❤"}, {"kind": "😀 "}, {"kind": "🇩"}, {"kind": 1}],
    ),
    "vote": (
        "options",
        [{}, *({"options": options} for options in (None, [2], [-1], [0, 1], ["0"], 0))],
    ),
    "schedule": (
        "at",
        [{"text": "x"}]
        + [{"at": at, "text": "x"} for at in ("soon", 7, "1970-01-01T00:00:00Z", "2999-01-01T00:00:00Z")],
    ),
    "putSettings": ("readReceipts", [{"readReceipts": 1}, {"readReceipts": "no"}, {"readReceipts": []}]),
}


@pytest.mark.parametrize("name", WITH_BODY)
def test_a_wrong_field_is_refused_and_named(anna, group, message, name):
    method, path, _, _ = writes(group, message, "dora")[name]
    field, bodies = WRONG_BODIES[name]
    for body in bodies:
        refused = write(anna, method, path, body)
        assert problem(refused) == (400, "invalid"), body
        assert field in refused.json()["detail"], body
    for body in (b"[]", b"{", b"null", b'{"%s":"owner","%s":"owner"}' % (field.encode(), field.encode())):
        assert anna.http.request(method, path, content=body).status_code == 400, body
    assert len(feed(anna, group)) == 2


@pytest.mark.parametrize("name", WITH_BODY)
def test_a_body_over_the_limit_is_too_large(anna, group, message, name):
    method, path, _, _ = writes(group, message, "dora")[name]
    large = anna.http.request(method, path, content=b" " * (128 * 1024 + 1))
    assert problem(large) == (413, "tooLarge")


def test_texts_and_titles_over_their_limits_are_too_large(anna, group, message):
    assert problem(write(anna, "PATCH", message, {"text": "x" * 16385})) == (413, "tooLarge")
    assert edit(anna, message, "x" * 16384)["text"] == "x" * 16384
    path = f"/v1/conversations/{group}"
    assert problem(write(anna, "PATCH", path, {"title": "🧗" * 201})) == (413, "tooLarge")
    assert done(anna, "PATCH", path, {"title": "🧗" * 200})["title"] == "🧗" * 200


@pytest.mark.parametrize("query", ["scope=", "scope=all", "scope=Everyone", "scope=me&scope=everyone"])
def test_a_wrong_scope_deletes_nothing(anna, message, query):
    refused = write(anna, "DELETE", f"{message}?{query}")
    assert problem(refused) == (400, "invalid") and "scope" in refused.json()["detail"]
    assert anna.get(message).json()["text"] == "Nine o'clock?"


@pytest.mark.parametrize("query", ["through=0", "through=-1", "through=x", "through=", "through=1&through=2"])
def test_a_wrong_position_clears_nothing(anna, group, message, query):
    refused = write(anna, "DELETE", f"/v1/conversations/{group}/history?{query}")
    assert problem(refused) == (400, "invalid") and "through" in refused.json()["detail"]
    assert conversation_of(anna, group)["clearedSeq"] == 0


@pytest.mark.parametrize("name", ["b%20n", "b%C3%A9n", "b%", "b" * 65, "b%2Fn"])
def test_a_member_in_the_path_is_a_user_id(anna, group, name):
    for method, part in (("PUT", "members"), ("DELETE", "members"), ("DELETE", "bans"), ("DELETE", "join-requests")):
        refused = write(anna, method, f"/v1/conversations/{group}/{part}/{name}")
        assert problem(refused) == (400, "invalid") and "userId" in refused.json()["detail"]


def test_a_direct_conversation_keeps_its_members_and_has_no_title(anna, ben):
    body = {"kind": "direct", "members": [ben.name]}
    path = f"/v1/conversations/{anna.post('/v1/conversations', body).json()['id']}"
    for method, part, body in [
        ("PATCH", "", {"title": "We"}),
        ("PUT", "/members/dora", None),
        ("DELETE", f"/members/{anna.name}", None),
        ("DELETE", f"/members/{ben.name}", None),
    ]:
        assert problem(write(anna, method, path + part, body)) == (409, "conflict")


# MARK: Edits


def test_an_edit_shows_to_everybody_and_keeps_the_former_text(anna, ben, carla, group, message):
    with ben.socket() as socket, anna.socket() as laptop:
        edited = edit(anna, message, "Ten o'clock?")
        assert (edited["text"], edited["seq"], edited["changeSeq"]) == ("Ten o'clock?", 2, 3)
        for open_session in (socket, laptop):
            change = open_session.expect_change(3, group)
            assert (change["kind"], change["actorId"]) == ("message.edited", anna.name)
            assert (change["message"]["text"], change["message"]["editedAt"]) == ("Ten o'clock?", edited["editedAt"])
    assert feed(carla, group)[-1] == change
    revisions = carla.get(f"{message}/revisions").json()["revisions"]
    assert [revision["text"] for revision in revisions] == ["Nine o'clock?", "Ten o'clock?"]
    assert [revision["at"] for revision in revisions] == [edited["createdAt"], edited["editedAt"]]


def test_an_edit_shows_in_the_previews_of_its_replies(anna, ben, group, message):
    reply = ben.send(group, "Yes", replyTo=message.rpartition("/")[2])
    edit(anna, message, "Ten?")
    assert ben.get(path_of(reply)).json()["replyTo"]["preview"] == "Ten?"


def test_only_the_sender_edits_and_only_what_is_there(anna, ben, stranger, group, message):
    assert problem(write(ben, "PATCH", message, {"text": "x"})) == (403, "forbidden")
    nothing = f"/v1/conversations/{group}/messages/{UNKNOWN}"
    assert problem(write(anna, "PATCH", nothing, {"text": "x"})) == (404, "notFound")
    assert problem(stranger.get(f"{message}/revisions")) == (404, "notFound")
    assert problem(anna.get(f"/v1/conversations/{group}/messages/x/revisions")) == (400, "invalid")
    delete(anna, message)
    assert problem(write(anna, "PATCH", message, {"text": "x"})) == (409, "conflict")
    assert problem(anna.get(f"{message}/revisions")) == (404, "notFound")


def test_the_same_edit_many_times_at_once_is_one_edit(anna, group, message):
    key = str(uuid.uuid4())
    with ThreadPoolExecutor(8) as pool:
        edits = list(pool.map(lambda _: write(anna, "PATCH", message, {"text": "Ten?"}, key), range(24)))
    assert {(response.status_code, response.json()["changeSeq"]) for response in edits} == {(200, 3)}
    assert len(anna.get(f"{message}/revisions").json()["revisions"]) == 2


def test_racing_edits_have_an_order_and_are_all_kept(anna, group, message):
    texts = [f"{number}" for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        seqs = list(pool.map(lambda text: edit(anna, message, text)["changeSeq"], texts))
    revisions = [revision["text"] for revision in anna.get(f"{message}/revisions").json()["revisions"]]
    assert sorted(revisions[1:]) == sorted(texts)
    assert len(feed(anna, group)) == 2 + len(texts)
    # What an answer shows may be newer than its own edit, never older.
    assert anna.get(message).json()["changeSeq"] == 18 == max(seqs)


# MARK: Deletions


def test_what_is_deleted_for_everyone_leaves_a_tombstone(anna, ben, carla, group):
    sent = anna.send(group, "Secret", mentions=[ben.name])
    path = path_of(sent)
    reply = ben.send(group, "What?", replyTo=sent["id"])
    edit(anna, path, "Secret too")
    react(carla, path, "laugh")
    assert problem(write(ben, "DELETE", f"{path}?scope=everyone")) == (403, "forbidden")
    with carla.socket() as socket:
        delete(anna, path)
        change = socket.expect_change(6, group)
    assert (change["kind"], change["actorId"]) == ("message.deleted", anna.name)
    assert (change["message"]["text"], change["message"]["deletedForEveryone"]) == (None, True)
    tombstone = carla.get(path).json()
    assert (tombstone["seq"], tombstone["changeSeq"], tombstone["text"]) == (2, 6, None)
    assert (tombstone["tapbacks"], tombstone["tapbackCounts"], tombstone["mentions"]) == ([], {}, [])
    assert carla.get(f"{path}/tapbacks").json() == {"tapbacks": [], "counts": {}}
    assert carla.get(path_of(reply)).json()["replyTo"] == {"messageId": sent["id"], "unavailable": True}
    for answer in (carla.get(f"/v1/conversations/{group}/messages"), carla.get(f"/v1/conversations/{group}/changes")):
        assert "Secret" not in answer.text
    assert problem(write(carla, "PUT", f"{path}/tapback", {"kind": "love"})) == (409, "conflict")
    delete(anna, path)
    assert len(feed(anna, group)) == 6
    assert conversation_of(carla, group)["unreadCount"] == 1
    again = anna.post(f"/v1/conversations/{group}/messages", {"id": sent["id"], "text": "Secret"})
    assert (again.status_code, again.json()["text"]) == (200, None)


def test_a_deletion_wins_over_everything_that_races_it(anna, ben, group):
    for _ in range(10):
        path = path_of(anna.send(group, "Secret"))
        with ThreadPoolExecutor(8) as pool:
            racing = [pool.submit(write, anna, "PATCH", path, {"text": f"Secret {number}"}) for number in range(3)]
            racing += [pool.submit(write, ben, "PUT", f"{path}/tapback", {"kind": kind}) for kind in CLASSIC[:2]]
            deletion = pool.submit(write, anna, "DELETE", f"{path}?scope=everyone")
            racing += [pool.submit(write, anna, "PATCH", path, {"text": "Secret, late"})]
        assert deletion.result().status_code == 204
        assert {answer.result().status_code for answer in racing} <= {200, 409}
        tombstone = ben.get(path).json()
        assert (tombstone["text"], tombstone["deletedForEveryone"]) == (None, True)
        assert (tombstone["tapbacks"], tombstone["tapbackCounts"]) == ([], {})
    changes = feed(ben, group)
    assert [change["seq"] for change in changes] == list(range(1, len(changes) + 1))
    assert "Secret" not in ben.get(f"/v1/conversations/{group}/changes").text


def test_a_deletion_may_come_before_its_message(anna, ben, group):
    message = new_id()
    delete(anna, f"/v1/conversations/{group}/messages/{message}")
    with ben.socket() as socket:
        sent = anna.post(f"/v1/conversations/{group}/messages", {"id": message, "text": "Secret"})
        assert (sent.status_code, sent.json()["text"], sent.json()["deletedForEveryone"]) == (201, None, True)
        assert socket.expect_change(2, group)["message"]["text"] is None
    # It was remembered for its user alone.
    other = new_id()
    delete(ben, f"/v1/conversations/{group}/messages/{other}")
    assert anna.send(group, "Hello", id=other)["text"] == "Hello"


def test_what_one_user_deletes_for_themselves_is_gone_on_all_their_devices(anna, ben, carla, group, message):
    with ben.socket() as phone, ben.socket() as laptop, carla.socket() as other:
        useq = phone.welcome["useq"]
        delete(ben, message, scope="me")
        for device in (phone, laptop):
            told = device.expect("private")
            assert (told["useq"], told["kind"], told["conversationId"]) == (useq + 1, "message.hidden", group)
            assert message.endswith(told["messageId"])
        other.expect_silence("private", "change")
    assert problem(ben.get(message)) == (404, "notFound")
    assert (history(ben, group), conversation_of(ben, group)["unreadCount"]) == ([], 0)
    assert "lastMessage" not in conversation_of(ben, group)
    assert carla.get(message).json()["text"] == "Nine o'clock?"
    # A device that was away for long hears of it when it comes back.
    with ben.socket(useq=useq) as tablet:
        told = tablet.expect("private")
        assert (told["useq"], told["kind"]) == (useq + 1, "message.hidden")
    with ben.socket(useq=useq + 1) as tablet:
        tablet.expect_silence("private")
    # Nobody sees an edit of what they deleted for themselves, nor may they react to it.
    assert write(ben, "PUT", f"{message}/tapback", {"kind": "love"}).status_code in (404, 409)


def test_the_preview_of_a_hidden_parent_is_unavailable_to_who_hid_it(anna, ben, carla, group, message):
    reply = carla.send(group, "Yes", replyTo=message.rpartition("/")[2])
    delete(ben, message, scope="me")
    assert ben.get(path_of(reply)).json()["replyTo"]["unavailable"] is True
    assert anna.get(path_of(reply)).json()["replyTo"]["preview"] == "Nine o'clock?"


def test_history_is_cleared_for_one_user_and_never_comes_back(anna, ben, group):
    for number in range(2, 6):
        anna.send(group, f"{number}")
    path = f"/v1/conversations/{group}/history"
    with ben.socket() as phone:
        useq = phone.welcome["useq"]
        done(ben, "DELETE", path, status=204, params={"through": 3})
        told = phone.expect("private")
        assert (told["kind"], told["throughSeq"], told["useq"]) == ("history.cleared", 3, useq + 1)
    shown = conversation_of(ben, group)
    assert (shown["clearedSeq"], shown["unreadCount"]) == (3, 2)
    assert [message["text"] for message in history(ben, group)] == ["4", "5"]
    assert len(history(anna, group)) == 4 and conversation_of(anna, group)["clearedSeq"] == 0
    done(ben, "DELETE", path, status=204, params={"through": 2})
    assert conversation_of(ben, group)["clearedSeq"] == 3
    key = str(uuid.uuid4())
    done(ben, "DELETE", path, status=204, key=key)
    anna.send(group, "6")
    done(ben, "DELETE", path, status=204, key=key)
    assert [message["text"] for message in history(ben, group)] == ["6"]
    done(ben, "DELETE", path, status=204, params={"through": 1 << 50})
    shown = conversation_of(ben, group)
    assert (shown["clearedSeq"], shown["unreadCount"], history(ben, group)) == (6, 0, [])
    anna.send(group, "7")
    assert [message["text"] for message in history(ben, group)] == ["7"]
    with ben.socket(useq=useq) as tablet:
        assert [tablet.expect("private")["throughSeq"] for _ in range(3)] == [3, 5, 6]


def test_a_send_is_answered_when_it_is_repeated_after_its_message_was_hidden_or_cleared(anna, group):
    hidden, cleared = ({"id": new_id(), "text": "Hello"} for _ in range(2))
    path = f"/v1/conversations/{group}"
    first = [anna.post(f"{path}/messages", body) for body in (hidden, cleared)]
    delete(anna, f"{path}/messages/{hidden['id']}", scope="me")
    done(anna, "DELETE", f"{path}/history", status=204)
    for body, sent in zip((hidden, cleared), first):
        again = anna.post(f"{path}/messages", body)
        assert (again.status_code, again.json()) == (200, sent.json())
    assert history(anna, group) == []


# MARK: Tapbacks


def test_a_tapback_shows_to_everybody_and_the_last_one_stands(anna, ben, carla, group, message):
    with anna.socket() as socket:
        assert react(ben, message, "like")["tapbackCounts"] == {"like": 1}
        change = socket.expect_change(3, group)
        assert (change["kind"], change["actorId"]) == ("tapback.set", ben.name)
        assert change["message"]["tapbacks"] == [{"userId": ben.name, "kind": "like"}]
        assert react(ben, message, "❤️")["tapbackCounts"] == {"❤️": 1}
        assert socket.expect_change(4, group)["message"]["tapbackCounts"] == {"❤️": 1}
        react(ben, message, "❤️")
        shown = react(carla, message, "love")
        assert shown["changeSeq"] == 5 and shown["tapbackCounts"] == {"❤️": 1, "love": 1}
        done(ben, "DELETE", f"{message}/tapback", status=204)
        change = socket.expect_change(6, group)
        assert (change["kind"], change["message"]["tapbackCounts"]) == ("tapback.removed", {"love": 1})
        done(ben, "DELETE", f"{message}/tapback", status=204)
    assert conversation_of(anna, group)["lastSeq"] == 6


def test_tapbacks_come_page_by_page(anna, ben, carla, group, message):
    kinds = {anna.name: "🧗", ben.name: "love", carla.name: "love"}
    for person in (carla, anna, ben):
        react(person, message, kinds[person.name])
    found, query = [], {"limit": 1}
    while True:
        page = ben.get(f"{message}/tapbacks", params=query).json()
        assert page["counts"] == {"love": 2, "🧗": 1}
        found += page["tapbacks"]
        if "nextCursor" not in page:
            break
        query["after"] = page["nextCursor"]
    assert {tapback["userId"]: tapback["kind"] for tapback in found} == kinds
    assert [tapback["userId"] for tapback in found] == sorted(kinds)


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "after=", "after=a%20b"])
def test_a_wrong_query_for_tapbacks_is_refused(anna, stranger, message, query):
    refused = anna.get(f"{message}/tapbacks?{query}")
    assert problem(refused) == (400, "invalid") and query.partition("=")[0] in refused.json()["detail"]
    assert problem(stranger.get(f"{message}/tapbacks")) == (404, "notFound")


def test_nobody_reacts_to_what_a_system_message_tells(anna, ben, group):
    done(anna, "PATCH", f"/v1/conversations/{group}", {"title": "Sunday"})
    shown = history(ben, group)[-1]
    assert problem(write(ben, "PUT", f"{path_of(shown)}/tapback", {"kind": "love"})) == (409, "conflict")


def test_a_tapback_set_removed_and_set_again_by_a_late_repetition_stays_removed(anna, ben, message):
    key = str(uuid.uuid4())
    react(ben, message, "love", key=key)
    done(ben, "DELETE", f"{message}/tapback", status=204)
    assert react(ben, message, "love", key=key)["tapbacks"] == []


# MARK: Members and titles


def test_who_is_added_while_online_gets_the_conversation_and_what_comes_from_then_on(anna, ben, group, stranger):
    anna.send(group, "Before")
    with stranger.socket() as socket, ben.socket() as other:
        member = put_member(ben, group, stranger)
        assert (member["userId"], member["role"], member["joinedSeq"]) == (stranger.name, "member", 3)
        joined = socket.expect("private")
        assert (joined["kind"], joined["conversationId"], joined["lastSeq"]) == ("conversation.joined", group, 2)
        for session in (socket, other):
            change = session.expect_change(3, group)
            assert (change["kind"], change["actorId"], change["userId"], change["role"]) == (
                "member.added",
                ben.name,
                stranger.name,
                "member",
            )
        after = anna.send(group, "After")
        assert socket.expect_change(4, group)["message"]["id"] == after["id"]
        seqs = [frame["change"]["seq"] for frame in socket.frames if frame["type"] == "change"]
        assert seqs == [3, 4]
    shown = history(stranger, group)
    assert [message["seq"] for message in shown] == [3, 4]
    assert (shown[0]["kind"], shown[0]["text"], shown[0]["senderId"]) == ("system", None, ben.name)
    assert shown[0]["event"] == {"kind": "member.added", "userId": stranger.name}
    assert conversation_of(stranger, group)["windows"] == [{"from": 3}]
    assert conversation_of(anna, group)["memberCount"] == 4


def test_who_is_removed_stops_receiving_with_their_removal(anna, ben, carla, group):
    with ben.socket() as socket, carla.socket() as other:
        remove_member(anna, group, ben)
        change = socket.expect_change(2, group)
        assert (change["kind"], change["userId"], change["role"]) == ("member.removed", ben.name, "member")
        anna.send(group, "Secret")
        other.expect_change(3, group)
        socket.expect_silence("change")
        left = [frame for frame in socket.frames if frame["type"] == "private"]
        assert [(frame["kind"], frame["conversationId"]) for frame in left] == [("conversation.left", group)]
    shown = conversation_of(ben, group)
    assert (shown["lastSeq"], shown["windows"]) == (2, [{"from": 1, "to": 2}])
    assert [change["seq"] for change in feed(ben, group)] == [1, 2]
    assert history(ben, group)[-1]["event"] == {"kind": "member.removed", "userId": ben.name}
    with ben.socket(cursors={group: 1}) as again:
        again.expect_change(2, group)
        again.expect_silence("change")
    assert ben.post(f"/v1/conversations/{group}/messages", {"id": new_id(), "text": "x"}).status_code == 403
    remove_member(anna, group, ben)
    assert conversation_of(anna, group)["lastSeq"] == 3


def test_who_comes_back_sees_both_stays_and_nothing_in_between(anna, ben, group):
    remove_member(ben, group, ben)
    anna.send(group, "Secret")
    with ben.socket() as socket:
        put_member(anna, group, ben)
        socket.expect_change(4, group)
        anna.send(group, "Welcome back")
        socket.expect_change(5, group)
    assert conversation_of(ben, group)["windows"] == [{"from": 1, "to": 2}, {"from": 4}]
    assert [change["seq"] for change in feed(ben, group)] == [1, 2, 4, 5]
    assert [message["seq"] for message in history(ben, group)] == [2, 4, 5]
    with ben.socket(cursors={group: 1}) as socket:
        socket.expect_change(5, group)
        seqs = [frame["change"]["seq"] for frame in socket.frames if frame["type"] == "change"]
        assert seqs == [2, 4, 5]


def test_an_addition_that_is_repeated_late_adds_nobody_again(anna, group, stranger):
    key = str(uuid.uuid4())
    member = put_member(anna, group, stranger, key=key)
    remove_member(anna, group, stranger)
    assert put_member(anna, group, stranger, key=key) == member
    assert conversation_of(anna, group)["memberCount"] == 3
    assert stranger.get(f"/v1/conversations/{group}").json()["windows"] == [{"from": 2, "to": 3}]


def test_owners_change_roles_and_remove_and_members_do_not(anna, ben, carla, stranger, group):
    path = f"/v1/conversations/{group}/members"
    assert problem(write(ben, "DELETE", f"{path}/{carla.name}")) == (403, "forbidden")
    assert problem(write(ben, "PUT", f"{path}/{carla.name}", {"role": "owner"})) == (403, "forbidden")
    assert problem(write(ben, "PUT", f"{path}/{stranger.name}", {"role": "owner"})) == (403, "forbidden")
    assert problem(write(anna, "DELETE", f"{path}/{stranger.name}")) == (404, "notFound")
    with carla.socket() as socket:
        assert put_member(anna, group, ben, "owner")["role"] == "owner"
        change = socket.expect_change(2, group)
        assert (change["kind"], change["userId"], change["role"]) == ("member.changed", ben.name, "owner")
        # The same again, or nothing said about the role: as it is.
        put_member(anna, group, ben, "owner")
        assert put_member(anna, group, ben)["role"] == "owner"
        assert put_member(ben, group, anna, "member")["role"] == "member"
        change = socket.expect_change(3, group)
        assert (change["userId"], change["role"]) == (anna.name, "member")
    assert history(carla, group)[0]["event"] == {"kind": "member.changed", "userId": ben.name}
    remove_member(ben, group, anna)


def test_the_last_owner_who_leaves_hands_ownership_on(anna, ben, carla, stranger, group):
    put_member(anna, group, stranger)
    remove_member(anna, group, ben)
    with carla.socket() as socket:
        remove_member(anna, group, anna)
        changes = [socket.expect_change(seq, group) for seq in (4, 5)]
    assert [(change["kind"], change["userId"], change["role"]) for change in changes] == [
        ("member.removed", anna.name, "owner"),
        ("member.changed", carla.name, "owner"),
    ]
    assert conversation_of(carla, group)["role"] == "owner"
    assert conversation_of(anna, group)["lastSeq"] == 4
    remove_member(carla, group, stranger)
    remove_member(carla, group, carla)
    shown = conversation_of(carla, group)
    assert (shown["memberCount"], shown["lastSeq"]) == (0, 7)


def test_racing_members_leave_one_owner(anna, ben, carla, group):
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda person: remove_member(person, group, person), (anna, ben)))
    assert conversation_of(carla, group)["role"] == "owner"
    assert conversation_of(carla, group)["memberCount"] == 1
    changes = feed(carla, group)
    assert [change["seq"] for change in changes] == list(range(1, len(changes) + 1))


def test_adding_one_user_many_times_at_once_adds_them_once(anna, ben, stranger, group):
    with ThreadPoolExecutor(8) as pool:
        members = list(pool.map(lambda person: put_member(person, group, stranger), [anna, ben] * 8))
    assert {member["joinedSeq"] for member in members} == {2}
    assert conversation_of(anna, group)["memberCount"] == 4


def test_a_title_changes_for_all_and_shows_in_the_history(anna, ben, group):
    with anna.socket() as socket:
        renamed = done(ben, "PATCH", f"/v1/conversations/{group}", {"title": "Sunday 🧗"})
        assert (renamed["title"], renamed["lastSeq"]) == ("Sunday 🧗", 2)
        change = socket.expect_change(2, group)
        assert (change["kind"], change["title"], change["actorId"]) == ("conversation.renamed", "Sunday 🧗", ben.name)
    shown = history(anna, group)[-1]
    assert (shown["kind"], shown["event"]) == ("system", {"kind": "conversation.renamed", "title": "Sunday 🧗"})
    assert conversation_of(anna, group)["title"] == "Sunday 🧗"
    # What a system message tells is nobody's to change, though anybody may hide it.
    assert problem(write(ben, "PATCH", path_of(shown), {"text": "x"})) == (403, "forbidden")
    assert problem(write(ben, "DELETE", f"{path_of(shown)}?scope=everyone")) == (403, "forbidden")
    delete(ben, path_of(shown), scope="me")
    assert history(ben, group) == []


# MARK: Together


def test_a_client_that_was_there_and_one_that_was_away_come_to_the_same(anna, ben, carla, stranger, group):
    """Live changes and their replay differ in the state that they show only where a later change has its own."""
    with ben.socket() as live:
        first, second = anna.send(group, "One"), carla.send(group, "Two")
        edit(anna, path_of(first), "One!")
        react(ben, path_of(second), "🎉")
        react(carla, path_of(first), "love")
        done(carla, "DELETE", f"{path_of(first)}/tapback", status=204)
        put_member(anna, group, stranger)
        done(carla, "PATCH", f"/v1/conversations/{group}", {"title": "T"})
        delete(carla, path_of(second))
        remove_member(anna, group, stranger)
        last = anna.send(group, "Three", replyTo=first["id"])
        live.expect_change(last["seq"], group)
    changes = [frame["change"] for frame in live.frames if frame["type"] == "change"]
    with ben.socket(cursors={group: 1}) as away:
        away.expect_change(last["seq"], group)
    replayed = [frame["change"] for frame in away.frames if frame["type"] == "change"]
    assert [change["seq"] for change in changes] == [change["seq"] for change in replayed] == list(range(2, 13))
    assert applied(changes) == applied(replayed) == applied(feed(ben, group)[1:])
    shown = {message["id"]: message for message in history(ben, group) if message["kind"] != "system"}
    assert {name: message["text"] for name, message in applied(changes).items()} == {
        name: message["text"] for name, message in shown.items()
    }


def applied(changes):
    """The messages that a client has in the end: of two states the one with the higher `changeSeq`."""
    messages = {}
    for change in changes:
        message = change.get("message")
        if message and messages.get(message["id"], message)["changeSeq"] <= message["changeSeq"]:
            messages[message["id"]] = message
    return messages


def test_writes_reach_other_members_quickly_even_when_nothing_follows(anna, ben, group, message):
    """Nothing but the change itself wakes the session: it must not wait for a digest or a later change to come."""
    with ben.socket() as socket:
        began = time.monotonic()
        edit(anna, message, "Ten?")
        socket.expect_change(3, group)
        assert time.monotonic() - began < 2
