"""Messages that are pinned for everybody in a conversation."""

import pytest

from test_blocks import direct


@pytest.fixture
def group(anna, ben, carla):
    return anna.group(ben, carla)


def path(group, message):
    return f"/v1/conversations/{group}/messages/{message['id']}"


def pin(person, group, message):
    response = person.http.put(f"{path(group, message)}/pin")
    assert response.status_code == 200, response.text
    return response.json()


def unpin(person, group, message):
    assert person.http.delete(f"{path(group, message)}/pin").status_code == 204


def pinned(person, group, **query):
    response = person.get(f"/v1/conversations/{group}/pinned", params=query)
    assert response.status_code == 200, response.text
    return response.json()


def ids(page):
    return [message["id"] for message in page["messages"]]


def test_a_pin_is_a_change_that_everybody_sees_and_so_is_its_end(anna, ben, group):
    message = anna.send(group, "The address")
    shown = pin(ben, group, message)
    assert (shown["pinned"]["seq"], shown["pinned"]["userId"]) == (3, ben.name)
    assert shown["changeSeq"] == 3 and shown["text"] == "The address"
    assert anna.get(path(group, message)).json()["pinned"] == shown["pinned"]
    assert pinned(anna, group)["messages"][0]["status"] == "sent"
    # Pinned already: by whom and when stays.
    assert pin(anna, group, message)["pinned"] == shown["pinned"]
    unpin(anna, group, message)
    unpin(anna, group, message)
    assert "pinned" not in ben.get(path(group, message)).json()
    assert pinned(ben, group) == {"messages": [], "more": False}
    changes = ben.get(f"/v1/conversations/{group}/changes").json()["changes"]
    kinds = ["conversation.created", "message.created", "message.pinned", "message.unpinned"]
    assert [change["kind"] for change in changes] == kinds
    assert [change["actorId"] for change in changes[2:]] == [ben.name, anna.name]
    assert all(change["message"]["id"] == message["id"] for change in changes[1:])
    pin(anna, group, message)
    assert pinned(ben, group)["messages"][0]["pinned"]["seq"] == 5


def test_the_list_has_the_latest_pin_first_in_pages(anna, ben, group):
    messages = [anna.send(group, f"number {number}") for number in range(5)]
    for number in (3, 0, 4):
        pin(ben, group, messages[number])
    order = [messages[number]["id"] for number in (4, 0, 3)]
    assert ids(pinned(ben, group)) == order
    first = pinned(ben, group, limit=2)
    assert ids(first) == order[:2] and first["more"] is True
    rest = pinned(ben, group, limit=2, before=first["messages"][-1]["pinned"]["seq"])
    assert ids(rest) == order[2:] and rest["more"] is False
    for wrong in ({"limit": 0}, {"limit": 101}, {"before": 0}, {"before": "x"}):
        assert ben.get(f"/v1/conversations/{group}/pinned", params=wrong).status_code == 400


def test_a_page_ends_at_its_bytes(anna, group):
    messages = [anna.send(group, "x" * 16_000) for _ in range(40)]
    for message in messages:
        pin(anna, group, message)
    found, query = [], {"limit": 100}
    while True:
        page = pinned(anna, group, **query)
        assert 0 < len(page["messages"]) < 40
        found += ids(page)
        if not page["more"]:
            break
        query["before"] = page["messages"][-1]["pinned"]["seq"]
    assert found == [message["id"] for message in reversed(messages)]


def test_what_one_does_not_see_is_not_listed_and_cannot_be_pinned(anna, ben, carla, new_person, group):
    dora = new_person("dora")
    early, hidden, cleared = (anna.send(group, text) for text in ("early", "hidden", "cleared"))
    for message in (early, hidden, cleared):
        pin(anna, group, message)
    assert ben.http.delete(path(group, hidden)).status_code == 204
    assert ids(pinned(ben, group)) == [cleared["id"], early["id"]]
    assert ben.http.put(f"{path(group, hidden)}/pin").status_code == 404
    assert ben.http.delete(f"{path(group, hidden)}/pin").status_code == 404
    through = cleared["seq"]
    assert carla.http.delete(f"/v1/conversations/{group}/history", params={"through": through}).status_code == 204
    assert ids(pinned(carla, group)) == []
    assert anna.http.put(f"/v1/conversations/{group}/members/{dora.name}").status_code == 200
    assert ids(pinned(dora, group)) == []
    assert dora.http.put(f"{path(group, early)}/pin").status_code == 404
    late = anna.send(group, "late")
    pin(anna, group, late)
    assert ids(pinned(dora, group)) == [late["id"]]


def test_a_former_member_sees_what_was_pinned_when_they_left_and_still_is(anna, ben, group):
    kept, taken, after = (anna.send(group, text) for text in ("kept", "taken down", "pinned later"))
    pin(anna, group, kept)
    pin(anna, group, taken)
    assert ben.http.delete(f"/v1/conversations/{group}/members/{ben.name}").status_code == 204
    pin(anna, group, after)
    unpin(anna, group, taken)
    assert ids(pinned(ben, group)) == [kept["id"]]
    assert "pinned" in ben.get(path(group, kept)).json()
    for message in (taken, after):
        assert "pinned" not in ben.get(path(group, message)).json()
    history = ben.get(f"/v1/conversations/{group}/messages").json()["messages"]
    assert [message["id"] for message in history if "pinned" in message] == [kept["id"]]
    assert ben.http.put(f"{path(group, kept)}/pin").status_code == 403


def test_what_is_deleted_is_not_pinned_and_what_is_edited_stays(anna, ben, group):
    message, other = anna.send(group, "one"), anna.send(group, "two")
    pin(ben, group, message)
    pin(ben, group, other)
    assert "pinned" in anna.http.patch(path(group, message), json={"text": "one, edited"}).json()
    assert anna.http.delete(path(group, message), params={"scope": "everyone"}).status_code == 204
    assert "pinned" not in ben.get(path(group, message)).json()
    assert ids(pinned(ben, group)) == [other["id"]]
    assert ben.http.put(f"{path(group, message)}/pin").status_code == 409
    # Nothing is left to take down.
    unpin(ben, group, message)
    assert anna.http.patch(f"/v1/conversations/{group}", json={"title": "Renamed"}).status_code == 200
    renamed = anna.get(f"/v1/conversations/{group}/messages").json()["messages"][-1]
    assert renamed["kind"] == "system"
    assert anna.http.put(f"{path(group, renamed)}/pin").status_code == 409


def test_who_may_not_write_may_not_pin(anna, ben, group):
    message = anna.send(group, "Only admins write here")
    assert anna.http.put(f"/v1/conversations/{group}/permissions", json={"write": "admins"}).status_code == 200
    for method in ("PUT", "DELETE"):
        response = ben.http.request(method, f"{path(group, message)}/pin")
        assert response.status_code == 403 and response.json()["code"] == "forbidden"
    pin(anna, group, message)
    assert ids(pinned(ben, group)) == [message["id"]]


def test_a_direct_conversation_has_pins_as_well(anna, ben):
    pair = direct(anna, ben)
    message = anna.send(pair, "The code is 1234")
    pin(ben, pair, message)
    assert ids(pinned(anna, pair)) == [message["id"]]
