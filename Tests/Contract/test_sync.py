"""Following everything that concerns a user, without the WebSocket."""

import pytest


def follow(person, since=None):
    """All pages from a cursor on: the conversations by id, the private changes, and the cursor to go on from."""
    conversations, private, more = {}, [], True
    while more:
        response = person.get("/v1/sync", params={} if since is None else {"since": since})
        assert response.status_code == 200, response.text
        page = response.json()
        conversations |= {each["id"]: each for each in page["conversations"]}
        private += page["private"]
        since, more = page["cursor"], page["more"]
    return conversations, private, since


def test_at_first_everything_comes_and_then_only_what_changed(anna, ben):
    groups = [anna.group(ben) for _ in range(3)]
    conversations, private, cursor = follow(ben)
    assert set(groups) <= set(conversations) and private == []
    message = anna.send(groups[1], "Hello")
    conversations, private, cursor = follow(ben, cursor)
    assert conversations[groups[1]]["lastMessage"]["text"] == "Hello" and private == []
    assert conversations[groups[1]]["unreadCount"] == 1
    assert ben.http.delete(f"/v1/conversations/{groups[1]}/messages/{message['id']}").status_code == 204
    created = anna.group(ben)
    conversations, private, _ = follow(ben, cursor)
    assert [change["kind"] for change in private] == ["message.hidden", "conversation.joined"]
    assert private[0]["messageId"] == message["id"] and created in conversations


def test_more_conversations_than_a_page_all_come(anna, ben):
    groups = {anna.group(ben) for _ in range(205)}
    first = ben.get("/v1/sync").json()
    assert first["more"] and len(first["conversations"]) == 200
    conversations, _, _ = follow(ben)
    assert groups <= set(conversations)


@pytest.mark.parametrize("since", ["x", "", "____", "%00"])
def test_what_is_no_cursor_is_refused(ben, since):
    response = ben.get(f"/v1/sync?since={since}")
    assert (response.status_code, response.json()["code"]) == (400, "invalid")


def test_a_cursor_of_another_history_is_a_conflict(ben):
    _, _, cursor = follow(ben)
    other = "0198c2a4-5d10-4c3e-9a41-3f0c5b7e2d90" + cursor[36:]
    assert ben.get("/v1/sync", params={"since": other}).status_code == 409


def test_it_takes_a_token_and_only_a_backend_acts_for_others(system, anna, ben):
    assert system.http().get("/v1/sync").status_code == 401
    assert anna.get("/v1/sync", headers={"X-Parley-User": ben.name}).status_code == 403
