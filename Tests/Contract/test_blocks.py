"""Who is blocked reaches the blocker by nothing, and learns of it by nothing: what they are told is compared, word for
word, with what they are told of somebody who is away."""

import json
import re

import pytest

from people import new_id
from test_sync import follow

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def block(person, other, method="PUT", status=204, **headers):
    response = person.http.request(method, f"/v1/blocks/{getattr(other, 'name', other)}", headers=headers)
    assert response.status_code == status, response.text
    return response


def blocked(person):
    return [user["userId"] for user in person.get("/v1/blocks").json()["users"]]


def direct(person, other, status=201):
    response = person.post("/v1/conversations", {"kind": "direct", "members": [other.name]})
    assert response.status_code == status, response.text
    return response.json().get("id")


def texts(person, conversation):
    return [message["text"] for message in person.get(f"/v1/conversations/{conversation}/messages").json()["messages"]]


def listed(person):
    return [each["id"] for each in person.get("/v1/conversations").json()["conversations"]]


@pytest.fixture
def group(anna, ben, carla):
    return anna.group(ben, carla)


# MARK: Of the blocker


def test_blocks_are_listed_and_told_to_the_blocker_alone(anna, ben, carla):
    _, _, cursor = follow(anna)
    with anna.socket() as phone, ben.socket() as other:
        for _ in range(2):
            block(anna, ben)
        block(anna, "no-such-user")
        live = [phone.expect("private") for _ in range(2)]
        assert [(each["kind"], each["userId"], each["blocked"]) for each in live] == [
            ("blocked", ben.name, True), ("blocked", "no-such-user", True),
        ]  # fmt: skip
        block(anna, ben, "DELETE")
        frame = phone.expect("private")
        assert (frame["userId"], frame["blocked"]) == (ben.name, False)
        other.expect_silence("private", "change", "presence")
    assert blocked(anna) == ["no-such-user"] and blocked(ben) == []
    with anna.socket() as phone:
        assert phone.welcome["blocked"] == ["no-such-user"]
    _, later, _ = follow(anna, cursor)
    assert [(each["userId"], each["blocked"]) for each in later if each["kind"] == "blocked"] == [
        (ben.name, True), ("no-such-user", True), (ben.name, False),
    ]  # fmt: skip


def test_nobody_blocks_themselves_and_a_key_serves_one_block(anna, ben):
    refused = block(anna, anna, status=400).json()
    assert refused["code"] == "invalid" and refused["detail"].startswith("userId:")
    for method in ("PUT", "DELETE"):
        block(anna, "a b", method, 400)
    key = {"Idempotency-Key": new_id()}
    for _ in range(2):
        block(anna, ben, **key)
    assert block(anna, ben, "DELETE", 409, **key).json()["code"] == "conflict"


def test_the_direct_conversation_ends_for_the_blocker_and_opens_again_without_what_came_meanwhile(anna, ben):
    pair = direct(anna, ben)
    anna.send(pair, "before")
    with anna.socket() as phone:
        block(anna, ben)
        phone.expect("private")
        ben.send(pair, "meanwhile")
        phone.expect_silence("change", "status", "typing", "presence")
        assert texts(anna, pair) == ["before"]
        shown = anna.get(f"/v1/conversations/{pair}").json()
        assert (shown["windows"], shown["lastSeq"], shown["unreadCount"]) == ([{"from": 1, "to": 2}], 2, 0)
        assert anna.post(f"/v1/conversations/{pair}/messages", {"id": new_id(), "text": "no"}).status_code == 403
        assert anna.post(f"/v1/conversations/{pair}/receipts", {"readSeq": 2}).status_code == 403
        assert anna.get("/v1/search", params={"q": "meanwhile"}).json()["results"] == []
        block(anna, ben, "DELETE")
        phone.expect("private")
        ben.send(pair, "after")
        change = phone.expect("change")["change"]
        assert (change["seq"], change["message"]["text"]) == (4, "after")
    assert texts(anna, pair) == ["before", "after"]
    assert anna.get(f"/v1/conversations/{pair}").json()["windows"] == [{"from": 1, "to": 2}, {"from": 4}]
    anna.send(pair, "at last")
    assert texts(ben, pair) == ["before", "meanwhile", "after", "at last"]


def test_a_blocked_conversation_may_be_taken_out_of_the_list_and_comes_back(anna, ben):
    pair = direct(anna, ben)
    block(anna, ben)
    assert anna.http.delete(f"/v1/conversations/{pair}").status_code == 204
    ben.send(pair, "meanwhile")
    assert pair not in listed(anna) and pair in listed(ben)
    block(anna, ben, "DELETE")
    assert pair in listed(anna)
    assert texts(anna, pair) == []


def test_who_is_blocked_brings_the_blocker_into_nothing(anna, ben, carla):
    block(anna, ben)
    before = listed(anna)
    with anna.socket() as phone:
        conversations = [direct(ben, anna), ben.group(anna, carla), ben.group(carla)]
        assert ben.http.put(f"/v1/conversations/{conversations[2]}/members/{anna.name}").status_code == 200
        for conversation in conversations:
            ben.send(conversation, "Hello")
            assert anna.get(f"/v1/conversations/{conversation}").status_code == 404
            members = ben.get(f"/v1/conversations/{conversation}/members").json()["members"]
            assert anna.name in [member["userId"] for member in members]
        phone.expect_silence("private", "change")
        assert listed(anna) == before
        direct(anna, ben, status=409)
        # Added by somebody else, she is in it, and to the others nothing has happened.
        last = carla.get(f"/v1/conversations/{conversations[2]}").json()["lastSeq"]
        assert carla.http.put(f"/v1/conversations/{conversations[2]}/members/{anna.name}").status_code == 200
        assert carla.get(f"/v1/conversations/{conversations[2]}").json()["lastSeq"] == last
        assert phone.expect("private")["kind"] == "conversation.joined"
        carla.send(conversations[2], "Welcome")
        assert phone.expect("change")["change"]["message"]["text"] == "Welcome"
        assert texts(anna, conversations[2]) == ["Welcome"]
    assert ben.http.delete(f"/v1/conversations/{conversations[1]}/members/{anna.name}").status_code == 204
    assert carla.get(f"/v1/conversations/{conversations[1]}").json()["memberCount"] == 2


# MARK: Of the blocked


def masked(transcript: list, names: dict[str, str]) -> list[str]:
    """Without what differs between any two runs: ids by the order in which they come, times, names."""
    text = json.dumps(transcript, sort_keys=True)
    for name, role in names.items():
        text = text.replace(name, role)
    ids: dict[str, str] = {}
    text = UUID.sub(lambda found: ids.setdefault(found[0], f"id {len(ids)}"), text)
    return json.loads(TIME.sub("a time", text))


def seen_by_the_blocked(new_person, method: str | None) -> list[str]:
    """Everything that `ben` and `carla`, who is in the groups, are told."""
    anna, ben, carla = people = [new_person(name) for name in ("anna", "ben", "carla")]
    pair, group, said = direct(ben, anna), ben.group(anna, carla), []

    def tell(response):
        said.append([response.request.method, response.status_code, response.text and response.json()])
        return response

    with ben.socket() as phone, carla.socket() as other:
        anna.send(pair, "from anna")
        last = ben.send(pair, "from ben")["seq"]
        assert anna.post(f"/v1/conversations/{pair}/receipts", {"readSeq": last}).status_code == 202
        phone.expect("status", where=lambda frame: "read" in frame)
        if method:
            block(anna, ben, method)
        mine = [new_id() for _ in range(3)]
        path = f"/v1/conversations/{pair}/messages"
        for id in mine[:2]:
            tell(ben.post(path, {"id": id, "text": "Are you there?"}))
        tell(ben.post("/v1/messages:batch", {"messages": [{"conversationId": pair, "id": mine[2], "text": "Well?"}]}))
        tell(ben.http.patch(f"{path}/{mine[0]}", json={"text": "Edited"}, headers={"Idempotency-Key": new_id()}))
        tell(ben.http.put(f"{path}/{mine[1]}/tapback", json={"kind": "love"}))
        tell(ben.post(f"/v1/conversations/{pair}/receipts", {"readSeq": last + 2}))
        for ask in (ben, carla):
            tell(ask.http.put(f"/v1/conversations/{group}/members/{anna.name}"))
        fresh = ben.group(carla, anna)
        later = ben.group(carla)
        tell(ben.http.put(f"/v1/conversations/{later}/members/{anna.name}"))
        tell(ben.post("/v1/conversations", {"kind": "direct", "members": [anna.name]}))
        for conversation in (group, fresh, later):
            tell(ben.post(f"/v1/conversations/{conversation}/messages", {"id": new_id(), "text": "All?"}))
        for each in (ben, carla):
            for conversation in (pair, group, fresh, later):
                for part in ("", "/members", "/messages", "/changes", "/settings"):
                    tell(each.get(f"/v1/conversations/{conversation}{part}"))
            tell(each.get("/v1/conversations"))
            tell(each.get("/v1/search", params={"q": "there"}))
            tell(each.get("/v1/blocks"))
        for id in mine:
            tell(ben.get(f"{path}/{id}/receipts"))
            tell(ben.get(f"{path}/{id}"))
        tell(ben.http.delete(f"/v1/conversations/{later}/members/{anna.name}"))
        for each, session in ((ben, phone), (carla, other)):
            each.send(group, "the last")
            session.expect("change", where=lambda frame: frame["change"].get("message", {}).get("text") == "the last")
            session.expect_silence("reload", "reset")
            kinds = ("change", "private", "status", "typing")
            told = {kind: [frame for frame in session.frames if frame["type"] == kind] for kind in kinds}
            # When one's other devices are told of what was read depends on the moment.
            told["private"].sort(key=lambda frame: frame["kind"] == "read.moved")
            for frame in told["private"]:
                del frame["useq"]
            said.append(told)
            # How often somebody is told to be there depends on the moment.
            said.append(sorted({(f["userId"], f["online"]) for f in session.frames if f["type"] == "presence"}))
    with ben.socket() as phone:
        said.append({key: phone.welcome[key] for key in ("conversations", "useq", "more", "blocked")})
    return masked(said, {person.name: role for person, role in zip(people, ("anna", "ben", "carla"))})


def test_who_is_blocked_is_told_what_they_are_told_of_somebody_who_is_away(new_person):
    away, from_blocker = seen_by_the_blocked(new_person, None), seen_by_the_blocked(new_person, "PUT")
    assert len(away) > 60
    for expected, seen in zip(away, from_blocker, strict=True):
        assert seen == expected


def test_neither_is_shown_the_other_online_in_a_group_and_everybody_else_is(anna, ben, carla, group):
    def shown(socket, person):
        return [f["online"] for f in socket.frames if f["type"] == "presence" and f["userId"] == person.name]

    block(anna, ben)
    with ben.socket() as his, carla.socket() as hers:
        his.expect("presence", where=lambda frame: frame["userId"] == carla.name)
        with anna.socket() as phone:
            hers.expect("presence", where=lambda frame: frame["userId"] == anna.name and frame["online"])
            phone.expect("presence", where=lambda frame: frame["userId"] == carla.name and frame["online"])
            phone.expect_silence(during=0.5)
            his.expect_silence(during=0.5)
            assert shown(his, anna) == [] and shown(phone, ben) == []
            block(anna, ben, "DELETE")
            his.expect("presence", where=lambda frame: frame["userId"] == anna.name and frame["online"])
            block(anna, ben)
            his.expect("presence", where=lambda frame: frame["userId"] == anna.name and not frame["online"])
        hers.expect("presence", where=lambda frame: frame["userId"] == anna.name and not frame["online"], timeout=30)
        his.expect_silence("presence")
