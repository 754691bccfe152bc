"""Whom a stranger brings into a conversation is asked first. Until they have decided nothing of them goes out: what the
opener is told is compared, word for word, with what they are told of a member who is away."""

from contextlib import contextmanager

import pytest

from people import new_id
from test_blocks import block, direct, listed, masked, texts
from test_reports import read, report
from test_sync import follow

pytestmark = pytest.mark.usefixtures("asking")

NOTHING_UNREAD = {"conversations": 0, "messages": 0, "mentions": 0, "more": False}


def requests(person) -> dict[str, dict]:
    response = person.get("/v1/requests")
    assert response.status_code == 200, response.text
    return {each["conversation"]["id"]: each for each in response.json()["requests"]}


def decide(person, conversation, method="PUT", status=204, **headers):
    response = person.http.request(method, f"/v1/conversations/{conversation}/acceptance", headers=headers)
    assert response.status_code == status, response.text
    return response


def accept(person, conversation):
    decide(person, conversation)


def decline(person, conversation):
    decide(person, conversation, "DELETE")


# MARK: Of the one who is asked


def test_the_option_and_its_limit_are_published(anna):
    limits = anna.get("/v1/limits").json()
    assert (limits["messageRequests"], limits["waitingRequests"]) == ("strangers", 50)


def test_who_is_asked_reports_without_an_answer(new_person, anna, ben):
    pair, group = direct(ben, anna), ben.group(anna)
    message = ben.send(pair, "Hello, stranger")
    made = report(anna, pair, "harassment", messageId=message["id"], userId=ben.name)
    report(anna, group, userId=ben.name)
    assert read(new_person("backend", adm=True), made)["message"]["text"] == "Hello, stranger"
    assert set(requests(anna)) == {pair, group}


def test_a_request_is_listed_apart_and_read_and_told_once(anna, ben):
    _, _, cursor = follow(anna)
    with anna.socket() as phone:
        pair, group = direct(ben, anna), ben.group(anna, title="Plans")
        told = [phone.expect("private") for _ in range(2)]
        assert [(each["kind"], each["conversationId"], each["waiting"]) for each in told] == [
            ("request", pair, True), ("request", group, True),
        ]  # fmt: skip
        ben.send(pair, "Hello")
        ben.send(group, "All")
        phone.expect_silence("change", "private", "status", "presence", "typing")
    waiting = requests(anna)
    assert list(waiting) == [group, pair] and {each["userId"] for each in waiting.values()} == {ben.name}
    assert waiting[group]["conversation"]["title"] == "Plans"
    assert waiting[pair]["conversation"]["lastMessage"]["text"] == "Hello"
    assert all(each["conversation"]["request"] for each in waiting.values())
    assert listed(anna) == [] and anna.get("/v1/unread").json() == NOTHING_UNREAD
    assert anna.get("/v1/search", params={"q": "hello"}).json()["results"] == []
    conversations, private, _ = follow(anna, cursor)
    assert conversations == {} and [(each["kind"], each["waiting"]) for each in private] == [("request", True)] * 2
    with anna.socket() as phone:
        assert phone.welcome["conversations"] == []
    shown = anna.get(f"/v1/conversations/{pair}").json()
    assert (shown["request"], shown["windows"], shown["lastSeq"]) == (True, [{"from": 1}], 2)
    assert texts(anna, pair) == ["Hello"]
    assert ben.http.put("/v1/profile", json={"displayName": "Ben"}).status_code == 200
    assert anna.get("/v1/profiles", params={"ids": ben.name}).json()["profiles"][0]["displayName"] == "Ben"
    assert requests(ben) == {} and set(listed(ben)) == {pair, group}


def test_nothing_of_the_one_who_is_asked_goes_out_until_they_accept(anna, ben):
    with ben.socket() as other, anna.socket() as phone:
        pair = direct(ben, anna)
        last = ben.send(pair, "Hello")["seq"]
        assert anna.post(f"/v1/conversations/{pair}/receipts", {"readSeq": last}).status_code == 403
        phone.send(type="read", conversationId=pair, seq=last)
        phone.send(type="typing", conversationId=pair, active=True)
        other.expect_silence("status", "typing", "presence")
        assert anna.name not in {frame.get("userId") for frame in other.frames if frame["type"] == "presence"}
        accept(anna, pair)
        phone.expect("private", where=lambda frame: frame["kind"] == "conversation.joined")
        other.expect("presence", where=lambda frame: frame["userId"] == anna.name and frame["online"])
        phone.send(type="typing", conversationId=pair, active=True)
        other.expect("typing", where=lambda frame: frame["userId"] == anna.name)
        assert anna.post(f"/v1/conversations/{pair}/receipts", {"readSeq": last}).status_code == 202
        other.expect("status", where=lambda frame: frame.get("read") == {anna.name: last})
    assert requests(anna) == {} and listed(anna) == [pair]


def test_live_changes_of_an_accepted_request_are_those_of_a_member(anna, ben):
    pair = direct(ben, anna)
    first = ben.send(pair, "Hello")
    with anna.socket() as phone:
        accept(anna, pair)
        joined = phone.expect("private")
        assert (joined["kind"], joined["lastSeq"]) == ("conversation.joined", 2)
        path = f"/v1/conversations/{pair}/messages/{first['id']}"
        assert ben.http.patch(path, json={"text": "Hello!"}).status_code == 200
        change = phone.expect("change")["change"]
        assert (change["seq"], change["message"]["text"]) == (3, "Hello!")
    assert anna.get(f"/v1/conversations/{pair}").json()["unreadCount"] == 1
    conversations, _, _ = follow(anna)
    assert set(conversations) == {pair}


@pytest.mark.parametrize("how", ["send", "batch", "tapback", "open"])
def test_whoever_answers_accepts(anna, ben, how):
    pair = direct(ben, anna)
    first = ben.send(pair, "Hello")
    path = f"/v1/conversations/{pair}/messages"
    with anna.socket() as phone:
        if how == "send":
            anna.send(pair, "Hi", replyTo=first["id"])
        elif how == "batch":
            item = {"conversationId": pair, "id": new_id(), "text": "Hi"}
            [result] = anna.post("/v1/messages:batch", {"messages": [item]}).json()["results"]
            assert result["status"] == 201
        elif how == "tapback":
            assert anna.http.put(f"{path}/{first['id']}/tapback", json={"kind": "love"}).status_code == 200
        else:
            assert direct(anna, ben, status=200) == pair
        phone.expect("private", where=lambda frame: frame["kind"] == "conversation.joined")
    assert requests(anna) == {} and listed(anna) == [pair]
    assert "request" not in anna.get(f"/v1/conversations/{pair}").json()


def test_what_is_declined_ends_for_one_alone_until_they_accept(anna, ben):
    pair, group = direct(ben, anna), ben.group(anna)
    ben.send(pair, "Hello")
    with anna.socket() as phone:
        for conversation in (pair, group):
            decline(anna, conversation)
            frame = phone.expect("private")
            assert (frame["kind"], frame["conversationId"], frame["waiting"]) == ("request", conversation, False)
        ben.send(pair, "Are you there?")
        ben.send(group, "All?")
        assert ben.http.put(f"/v1/conversations/{group}/members/{anna.name}").status_code == 200
        direct(ben, anna, status=200)
        phone.expect_silence("private", "change")
        assert requests(anna) == {} and listed(anna) == [] and texts(anna, pair) == ["Hello"]
        assert anna.post(f"/v1/conversations/{pair}/messages", {"id": new_id(), "text": "no"}).status_code == 403
        accept(anna, pair)
        ben.send(pair, "At last")
        assert phone.expect("change")["change"]["message"]["text"] == "At last"
    assert texts(anna, pair) == texts(ben, pair) == ["Hello", "Are you there?", "At last"]
    assert anna.get(f"/v1/conversations/{pair}").json()["windows"] == [{"from": 1}]


@pytest.mark.parametrize("comes_back", ["added by a friend", "asked again", "accepts what they had declined"])
def test_who_was_only_asked_sees_the_last_time_alone(anna, ben, carla, comes_back):
    """What came in the times before is not theirs, live and read: open sessions know of one beginning."""

    def written() -> list:
        return [text for text in texts(anna, group) if text]  # Without who came and went.

    accept(anna, direct(carla, anna))
    group = ben.group(anna, carla)
    accept(carla, group)
    early = ben.send(group, "Early")
    members = f"/v1/conversations/{group}/members/{anna.name}"
    with anna.socket() as phone:
        if comes_back == "accepts what they had declined":
            decline(anna, group)
        assert written() == ["Early"]
        assert ben.http.delete(members).status_code in (200, 204)
        assert written() == ["Early"]
        assert ben.http.delete(f"/v1/conversations/{group}/bans/{anna.name}").status_code == 204
        assert (carla if comes_back == "added by a friend" else ben).http.put(members).status_code == 200
        if comes_back != "added by a friend":
            accept(anna, group)
        path = f"/v1/conversations/{group}/messages/{early['id']}"
        assert ben.http.patch(path, json={"text": "Early!"}).status_code == 200
        ben.send(group, "Late")
        changes = [phone.expect("change")["change"] for _ in range(3 if comes_back == "added by a friend" else 2)]
    assert [change["kind"] for change in changes][-2:] == ["message.edited", "message.created"]
    assert "message" not in changes[-2] and changes[-1]["message"]["text"] == "Late"
    assert written() == ["Late"]
    assert len(anna.get(f"/v1/conversations/{group}").json()["windows"]) == 1


def test_who_is_known_does_not_ask(anna, ben, carla):
    pair = direct(ben, anna)
    accept(anna, pair)
    group = ben.group(anna, carla)
    assert listed(anna) == [group, pair]
    assert len(requests(carla)) == 1
    # Whom one writes to oneself is known as well.
    direct(carla, anna)
    group = anna.group(carla)
    assert group in listed(carla)


def test_a_decision_is_for_those_who_are_asked_and_a_key_serves_one(anna, ben, carla, stranger):
    group = ben.group(anna, carla)
    for method in ("PUT", "DELETE"):
        decide(stranger, group, method, 404)
    decide(ben, group, "PUT", 204)
    assert decide(ben, group, "DELETE", 409).json()["code"] == "conflict"
    key = {"Idempotency-Key": new_id()}
    for method in ("PUT", "DELETE"):
        refused = decide(anna, group, method, 400, **{"Idempotency-Key": "x"}).json()
        assert refused["code"] == "invalid" and "Idempotency-Key" in refused["detail"]
    assert list(requests(anna)) == [group]
    for _ in range(2):
        decide(anna, group, "DELETE", **key)
    assert decide(anna, group, "PUT", 409, **key).json()["code"] == "conflict"
    accept(carla, group)
    assert carla.http.delete(f"/v1/conversations/{group}/members/{carla.name}").status_code == 204
    for method in ("PUT", "DELETE"):
        decide(carla, group, method, 403)


def test_a_block_takes_a_request_away_and_when_it_ends_they_ask_again(anna, ben):
    pair = direct(ben, anna)
    with anna.socket() as phone:
        block(anna, ben)
        phone.expect("private", where=lambda frame: frame["kind"] == "blocked")
        assert requests(anna) == {}
        decide(anna, pair, "PUT", 404)
        ben.send(pair, "Unseen")
        ben.group(anna)
        phone.expect_silence("private", "change")
    assert requests(anna) == {}
    block(anna, ben, "DELETE")
    ben.send(pair, "Hello")
    assert list(requests(anna)) == [pair] and listed(anna) == [] and texts(anna, pair) == ["Hello"]


def test_the_latest_are_shown_and_told_of_while_fewer_wait_and_what_is_older_comes_back(anna, new_person):
    strangers = [new_person(f"stranger{n}") for n in range(11)]
    _, _, cursor = follow(anna)
    groups = [stranger.group(anna) for stranger in strangers for _ in range(5)]
    _, private, _ = follow(anna, cursor)
    assert [change["conversationId"] for change in private] == groups[:50]
    assert set(requests(anna)) == set(groups[5:])
    assert anna.get(f"/v1/conversations/{groups[0]}").json()["request"] is True
    # Of direct conversations a stranger has one, and they have their own room.
    pair = direct(strangers[0], anna)
    assert set(requests(anna)) == {pair, *groups[5:]}
    for group in groups[50:]:
        decline(anna, group)
    assert set(requests(anna)) == {pair, *groups[:50]}


def test_one_stranger_asks_about_so_many_groups_and_then_reaches_nobody(anna, ben, carla):
    groups = [ben.group(anna) for _ in range(6)]
    assert set(requests(anna)) == set(groups[:5])
    decline(anna, groups[0])
    groups += [ben.group(anna), ben.group()]
    assert ben.http.put(f"/v1/conversations/{groups[7]}/members/{anna.name}").status_code == 200
    for group in groups[5:]:
        assert anna.get(f"/v1/conversations/{group}").status_code == 404
        assert ben.get(f"/v1/conversations/{group}").json()["memberCount"] == 2
    other, pair = carla.group(anna), direct(ben, anna)
    assert set(requests(anna)) == {other, pair, *groups[1:5]}
    # Those whom one knows bring one in as ever.
    accept(anna, pair)
    assert ben.group(anna) in listed(anna)


def test_a_draft_needs_a_member(anna, ben):
    pair = direct(ben, anna)
    path = f"/v1/conversations/{pair}/draft"
    put = {"text": "Who are you?"}
    assert anna.http.put(path, json=put).status_code == 403
    assert list(requests(anna)) == [pair]
    decline(anna, pair)
    assert anna.http.put(path, json=put).status_code == 403
    accept(anna, pair)
    assert anna.http.put(path, json=put).status_code == 204
    [shown] = anna.get("/v1/conversations").json()["conversations"]
    assert shown["draft"]["text"] == "Who are you?"


# MARK: Of the one who asks


@contextmanager
def away(anna, conversations):
    """A member who has nothing to do with it for now."""
    for conversation in conversations:
        accept(anna, conversation)
    yield


@contextmanager
def asked(anna, conversations):
    """Online, looks at everything, and does what should reach nobody."""
    with anna.socket() as phone:
        for conversation in conversations:
            path = f"/v1/conversations/{conversation}"
            last = anna.get(path).json()["lastSeq"]
            for part in ("/members", "/messages", "/changes"):
                assert anna.get(path + part).status_code == 200
            assert anna.post(path + "/receipts", {"readSeq": last}).status_code == 403
            for kind in ("delivered", "read"):
                phone.send(type=kind, conversationId=conversation, seq=last)
            phone.send(type="typing", conversationId=conversation, active=True)
        assert len(requests(anna)) == len(conversations)
        yield


@contextmanager
def declining(anna, conversations):
    with anna.socket():
        for conversation in conversations:
            decline(anna, conversation)
        yield


def seen_by_the_opener(new_person, how) -> list:
    """Everything that `ben`, who asks, and `carla`, who is in the groups, are told."""
    anna, ben, carla = people = [new_person(name) for name in ("anna", "ben", "carla")]
    said = []

    def tell(response):
        said.append([response.request.method, response.status_code, response.text and response.json()])
        return response

    direct(carla, ben)  # She knows him.
    anna.group()  # Where she is seen to be, if it were told.
    with ben.socket() as phone, carla.socket() as other:
        pair = tell(ben.post("/v1/conversations", {"kind": "direct", "members": [anna.name]})).json()["id"]
        group, later = ben.group(anna, carla), ben.group(carla)
        tell(ben.http.put(f"/v1/conversations/{later}/members/{anna.name}"))
        conversations = [pair, group, later]
        with how(anna, conversations):
            mine = [new_id() for _ in range(2)]
            path = f"/v1/conversations/{pair}/messages"
            for id in mine:
                tell(ben.post(path, {"id": id, "text": "Are you there?"}))
            tell(ben.http.patch(f"{path}/{mine[0]}", json={"text": "Edited"}))
            tell(ben.http.put(f"{path}/{mine[1]}/tapback", json={"kind": "love"}))
            tell(ben.post(f"/v1/conversations/{pair}/receipts", {"readSeq": 3}))
            for person in (ben, carla):
                tell(person.http.put(f"/v1/conversations/{group}/members/{anna.name}"))
            tell(ben.http.put(f"/v1/conversations/{group}/members/{anna.name}", json={"role": "owner"}))
            tell(ben.post("/v1/conversations", {"kind": "direct", "members": [anna.name]}))
            for conversation in (group, later):
                tell(ben.post(f"/v1/conversations/{conversation}/messages", {"id": new_id(), "text": "All?"}))
            for each in (ben, carla):
                for conversation in conversations:
                    for part in ("", "/members", "/messages", "/changes", "/settings"):
                        tell(each.get(f"/v1/conversations/{conversation}{part}"))
                tell(each.get("/v1/conversations"))
                tell(each.get("/v1/requests"))
                tell(each.get("/v1/search", params={"q": "there"}))
                tell(each.get("/v1/profiles", params={"ids": anna.name}))
            for id in mine:
                tell(ben.get(f"{path}/{id}/receipts"))
                tell(ben.get(f"{path}/{id}"))
            tell(ben.http.delete(f"/v1/conversations/{later}/members/{anna.name}"))
            for each, session in ((ben, phone), (carla, other)):
                each.send(group, "the last")
                session.expect(
                    "change", where=lambda frame: frame["change"].get("message", {}).get("text") == "the last"
                )
                session.expect_silence("reload", "reset")
                kinds = ("change", "private", "status", "typing")
                said.append({kind: [frame for frame in session.frames if frame["type"] == kind] for kind in kinds})
                # How often somebody is told to be there depends on the moment.
                said.append(sorted({(f["userId"], f["online"]) for f in session.frames if f["type"] == "presence"}))
    # Whether she was seen is asked at the beginning of a session.
    with ben.socket() as phone:
        phone.expect_silence(during=1)
        said.append([frame for frame in phone.frames if frame["type"] == "presence" and frame["userId"] == anna.name])
        said.append({key: phone.welcome[key] for key in ("conversations", "useq", "more")})
    _, _, cursor = follow(ben)
    decide(anna, pair)  # Late, or again.
    conversations, private, _ = follow(ben, cursor)
    said.append([sorted(conversations), private])
    return masked(said, {person.name: role for person, role in zip(people, ("anna", "ben", "carla"))})


def test_who_asks_is_told_what_they_are_told_of_a_member_who_is_away(new_person):
    expected = seen_by_the_opener(new_person, away)
    assert len(expected) > 50
    for how in (asked, declining):
        for one, other in zip(expected, seen_by_the_opener(new_person, how), strict=True):
            assert one == other, how.__name__
