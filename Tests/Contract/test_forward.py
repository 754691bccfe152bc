"""A message is sent on, with the name of who wrote it or without."""

import time

import pytest

from files import Uploader, picture
from judged import PATIENCE
from people import Person, new_id
from test_import import History, Importer
from test_users import erase
from test_writes import conversation_of, feed, remove_member


@pytest.fixture
def groups(anna, ben, carla):
    """Where anna and ben are, and where ben and carla are."""
    return anna.group(ben), ben.group(carla)


def forward(person, message, source, target, origin=True, id=None, **fields):
    named = {"conversationId": source, "messageId": message, "origin": origin}
    return person.post(f"/v1/conversations/{target}/messages", {"id": id or new_id(), "forward": named} | fields)


def refused(response, status, code, field):
    problem = response.json()
    assert (response.status_code, problem["code"]) == (status, code) and field in problem["detail"], problem
    return problem


def test_it_is_a_message_of_ones_own_with_the_name_of_who_wrote_it_or_without(anna, ben, carla, dora, groups):
    source, target = groups
    sent = anna.post(
        f"/v1/conversations/{source}/messages",
        {"id": new_id(), "text": "The walrus27 is here", "mentions": [ben.name], "extra": {"v": 1}},
    ).json()
    shown = forward(ben, sent["id"], source, target)
    assert shown.status_code == 201
    shown = shown.json()
    origin = {"userId": anna.name, "sentAt": sent["sentAt"]}
    assert (shown["senderId"], shown["kind"], shown["text"]) == (ben.name, "text", sent["text"])
    assert (shown["mentions"], "extra" in shown, shown["forwarded"]) == ([], False, origin)
    path = f"/v1/conversations/{target}"
    change = next(change for change in feed(carla, target) if change.get("message", {}).get("id") == shown["id"])
    for seen in (
        carla.get(f"{path}/messages/{shown['id']}").json(),
        carla.get(f"{path}/messages").json()["messages"][-1],
        conversation_of(carla, target)["lastMessage"],
        carla.get("/v1/search", params={"q": "walrus27"}).json()["results"][0]["message"],
        change["message"],
    ):
        assert (seen["text"], seen["forwarded"]) == (sent["text"], origin)
    # Of a forwarded one the first who wrote it, and where nothing is said nobody.
    other = carla.group(dora)
    assert forward(carla, shown["id"], target, other).json()["forwarded"] == origin
    for said in (False, None):
        hidden = forward(carla, shown["id"], target, other, origin=said).json()
        assert hidden["text"] == sent["text"] and "forwarded" not in hidden
        assert forward(dora, hidden["id"], other, other).json()["forwarded"]["userId"] == carla.name
    # Nobody puts words into another's mouth; what shows nobody is one's own.
    edit = {"text": "The walrus27 has left"}
    assert ben.http.patch(f"{path}/messages/{shown['id']}", json=edit).status_code == 409
    assert carla.http.patch(f"/v1/conversations/{other}/messages/{hidden['id']}", json=edit).status_code == 200
    assert ben.http.delete(f"{path}/messages/{shown['id']}", params={"scope": "everyone"}).status_code == 204
    assert "forwarded" not in carla.get(f"{path}/messages/{shown['id']}").json()


def test_a_repetition_is_known_by_what_it_names_whatever_became_of_that(anna, ben, carla, groups):
    source, target = groups
    sent, id = anna.send(source, "Nine?"), new_id()
    first = forward(ben, sent["id"], source, target, id=id)
    assert first.status_code == 201
    path = f"/v1/conversations/{source}/messages/{sent['id']}"
    assert anna.http.patch(path, json={"text": "Ten?"}).status_code == 200
    for change in (
        lambda: None,
        lambda: anna.http.delete(path, params={"scope": "everyone"}),
        lambda: remove_member(anna, source, ben),
    ):
        change()
        again = forward(ben, sent["id"], source, target, id=id)
        assert (again.status_code, again.json()) == (200, first.json())
    other = anna.send(source, "Nine?")
    assert forward(ben, sent["id"], source, target, origin=False, id=id).status_code == 409
    assert forward(ben, other["id"], source, target, id=id).status_code == 409
    assert ben.post(f"/v1/conversations/{target}/messages", {"id": id, "text": "Nine?"}).status_code == 409
    assert forward(ben, sent["id"], source, target, id=ben.send(target, "Nine?")["id"]).status_code == 409


def test_what_a_user_may_not_read_is_not_there(anna, ben, carla, dora, groups):
    source, target = groups
    seen = anna.send(source, "Nine?")
    unknown = forward(ben, new_id(), source, target)
    problem = refused(unknown, 404, "notFound", "forward.messageId")
    hidden, cleared = anna.send(source, "hidden"), anna.send(source, "cleared")
    assert ben.http.delete(f"/v1/conversations/{source}/messages/{hidden['id']}").status_code == 204
    assert (
        ben.http.request("DELETE", f"/v1/conversations/{source}/history", params={"through": seen["seq"]}).status_code
        == 204
    )
    for person, message, of in (
        (ben, hidden["id"], source),
        (ben, seen["id"], source),
        (carla, cleared["id"], source),
        (ben, cleared["id"], new_id()),
        (ben, seen["id"], target),
    ):
        assert refused(forward(person, message, of, target), 404, "notFound", "forward.messageId") == problem
    # Who has left reads what was there, as it was then.
    remove_member(anna, source, ben)
    assert (
        anna.http.patch(f"/v1/conversations/{source}/messages/{cleared['id']}", json={"text": "new"}).status_code == 200
    )
    later = anna.send(source, "later")
    assert forward(ben, cleared["id"], source, target).json()["text"] == "cleared"
    assert refused(forward(ben, later["id"], source, target), 404, "notFound", "forward.messageId") == problem
    # The conversation that it goes to is that of any message.
    assert forward(dora, later["id"], source, target).status_code == 404
    remove_member(ben, target, carla)
    own = anna.group(carla)
    mine = carla.send(own, "mine")
    assert forward(carla, mine["id"], own, target).status_code == 403


def test_what_cannot_be_forwarded_says_so(anna, ben, groups):
    source, target = groups
    sealed = anna.post(f"/v1/conversations/{source}/messages", {"id": new_id(), "sealed": "c2VhbGVk"}).json()
    deleted = anna.send(source, "gone")
    path = f"/v1/conversations/{source}/messages/{deleted['id']}"
    assert anna.http.delete(path, params={"scope": "everyone"}).status_code == 204
    before = anna.send(source, "stays")
    assert anna.http.put(f"/v1/conversations/{source}/lifetime", json={"seconds": 3600}).status_code in (200, 204)
    fleeting = anna.send(source, "goes")
    assert ben.http.patch(f"/v1/conversations/{source}", json={"title": "Sunday"}).status_code == 200
    event = next(m for m in ben.get(f"/v1/conversations/{source}/messages").json()["messages"] if m["kind"] == "system")
    for message in (sealed, deleted, fleeting, event):
        refused(forward(ben, message["id"], source, target), 422, "notForwardable", "forward.messageId")
    assert forward(ben, before["id"], source, target).status_code == 201
    batch = {"conversationId": target, "id": new_id()}
    batch["forward"] = {"conversationId": source, "messageId": before["id"]}
    result = ben.post("/v1/messages:batch", {"messages": [batch]}).json()["results"][0]
    assert result["status"] == 422 and "forward" in result["problem"]["detail"]
    for fields in ({"text": "x"}, {"extra": {}}, {"mentions": [anna.name]}, {"replyTo": new_id()}, {"forward": {}}):
        refused(forward(ben, before["id"], source, target, **fields), 400, "invalid", "")


def test_files_go_along_and_are_ones_own(anna, ben, carla, groups):
    source, target = groups
    path = f"/v1/conversations/{source}/messages"
    with Uploader(anna) as annas, Uploader(ben) as bens, Uploader(carla) as carlas:
        contents = [picture(), b"the plan"]
        ids = [annas.upload(content) for content in contents]
        sent = anna.post(path, {"id": new_id(), "attachments": [{"id": id} for id in ids]}).json()
        first = forward(ben, sent["id"], source, target, id=new_id())
        assert first.status_code == 201, first.text
        shown = first.json()
        copies = [file["id"] for file in shown["attachments"]]
        assert shown["text"] is None and not set(copies) & set(ids)
        for file, copy in zip(sent["attachments"], shown["attachments"], strict=True):
            assert copy == file | {"id": copy["id"]}
        for reader in (bens, carlas):
            read = [reader.http.get(f"/v1/media/{id}/content").content for id in copies]
            assert read[1] == contents[1] and read[0] == annas.http.get(f"/v1/media/{ids[0]}/content").content
            small = reader.http.get(f"/v1/media/{copies[0]}/thumbnail", params={"size": "small"})
            assert small.content == annas.http.get(f"/v1/media/{ids[0]}/thumbnail", params={"size": "small"}).content
        # Each reads what their own conversation has.
        for reader, file in ((annas, copies[0]), (carlas, ids[0])):
            assert reader.http.get(f"/v1/media/{file}/content").status_code == 404
        assert anna.http.delete(f"{path}/{sent['id']}", params={"scope": "everyone"}).status_code == 204
        gone(annas, ids[1])
        assert carlas.http.get(f"/v1/media/{copies[1]}/content").content == contents[1]
        again = forward(ben, sent["id"], source, target, id=shown["id"])
        assert (again.status_code, again.json()) == (200, shown)
        refused(forward(ben, sent["id"], source, target), 422, "notForwardable", "forward.messageId")
        # They are ben's: they go with his message, and he may send them again.
        mine = ben.post(f"/v1/conversations/{target}/messages", {"id": new_id(), "attachments": [{"id": copies[1]}]})
        assert mine.status_code == 201
        deleted = f"/v1/conversations/{target}/messages/{shown['id']}"
        assert ben.http.delete(deleted, params={"scope": "everyone"}).status_code == 204
        gone(bens, copies[0])
        assert carlas.http.get(f"/v1/media/{copies[1]}/content").content == contents[1]


def gone(uploader, file):
    deadline = time.monotonic() + PATIENCE
    while uploader.http.get(f"/v1/media/{file}").status_code != 404:
        assert time.monotonic() < deadline, "the file goes"
        time.sleep(0.05)


def test_a_file_that_its_message_was_never_to_carry_is_not_copied(system, anna, ben, carla, groups):
    """An import says what it likes of files: what it names is copied for nobody."""
    _, target = groups
    with Uploader(carla) as carlas:
        file = carlas.upload(b"carla's alone")
    history, message = History(anna, ben, carla), new_id()
    named = {"id": file, "name": "a.txt", "type": "text/plain", "size": 13}
    Importer(system, f"backend-{new_id()[-8:]}", adm=True).brought(
        history.opening(), history.message(1, "see", id=message, attachments=[named]), history.end()
    )
    refused(forward(ben, message, history.id, target), 422, "notForwardable", "forward.messageId")


def test_an_erased_user_is_named_by_no_forwarded_message(system, anna, ben, carla, groups):
    source, target = groups
    sent, second = anna.send(source, "Nine?"), anna.send(source, "Ten?")
    shown = forward(ben, sent["id"], source, target).json()
    deleted = forward(ben, second["id"], source, target).json()
    path = f"/v1/conversations/{target}/messages"
    assert ben.http.delete(f"{path}/{deleted['id']}", params={"scope": "everyone"}).status_code == 204
    erase(Person(system, f"backend-{new_id()[-8:]}", adm=True), anna.name)
    seen = carla.get(f"{path}/{shown['id']}").json()
    assert seen["text"] == "Nine?" and "forwarded" not in seen and seen["changeSeq"] > shown["changeSeq"]
    kinds = [change["kind"] for change in feed(carla, target) if change["seq"] == seen["changeSeq"]]
    assert kinds == ["message.edited"]
