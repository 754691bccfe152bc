"""Finding messages by their words."""

import pytest

from people import new_id


def found(person, q, **parameters):
    """The texts of the first page."""
    return [result["message"]["text"] for result in search(person, q, **parameters)["results"]]


def search(person, q, **parameters):
    response = person.get("/v1/search", params={"q": q} | parameters)
    assert response.status_code == 200, response.text
    return response.json()


def delete(person, group, message, scope="everyone"):
    path = f"/v1/conversations/{group}/messages/{message['id']}"
    assert person.http.delete(path, params={"scope": scope}).status_code == 204


@pytest.fixture
def word():
    """One that no other test uses."""
    return "w" + new_id().replace("-", "")


def test_a_message_is_found_at_once_by_its_words_and_shows_where(anna, ben, word):
    group = anna.group(ben)
    message = anna.send(group, f"The Café opens, {word} says.")
    prefixes = [word[:20], f"{word} the open"]
    for q in [word, word.upper(), f"cafe {word}", f"{word} café", f'"{word}"', f"+{word}*", *prefixes]:
        [result] = search(ben, q)["results"]
        assert result["message"] == ben.get(f"/v1/conversations/{group}/messages/{message['id']}").json()
        assert result["snippet"].replace("\u0002", "").replace("\u0003", "") == message["text"]
    [result] = search(anna, f"caf {word}")["results"]  # A part of a word.
    assert result["snippet"] == f"The \u0002Caf\u0003é opens, \u0002{word}\u0003 says."
    assert found(ben, f"{word} closes") == []
    assert found(ben, word[3:20]) == [message["text"]]


@pytest.mark.parametrize("q", ["会議", "東京駅", "京都タワ", "ตึก", "🎉"])
def test_scripts_without_spaces_and_symbols_are_found(anna, ben, q):
    group = anna.group(ben)
    text = "明日の会議は東京駅で。京都タワー ไปตึกสูง 🎉🎉"
    anna.send(group, text)
    anna.send(group, "something else")
    assert found(ben, q, conversationId=group) == [text]


def test_pages_are_newest_first_across_conversations_and_do_not_move(anna, ben, word):
    groups = [anna.group(ben) for _ in range(3)]
    sent = [anna.send(groups[number % 3], f"{word} {number}")["id"] for number in range(14)]
    pages, times, cursor = [], [], {}
    while cursor is not None:
        page = search(ben, word, limit=4, **cursor)
        pages += [result["message"]["id"] for result in page["results"]]
        times += [result["message"]["createdAt"] for result in page["results"]]
        cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
        anna.send(groups[0], f"{word} later")
    assert sorted(pages) == sorted(sent)
    assert times == sorted(times, reverse=True)


def test_edited_deleted_hidden_and_cleared_texts(anna, ben, word):
    group = anna.group(ben)
    first, second, third = (anna.send(group, f"{word} {name}") for name in ["one", "two", "three"])
    path = f"/v1/conversations/{group}"
    assert anna.http.patch(f"{path}/messages/{first['id']}", json={"text": f"other {word[::-1]}"}).status_code == 200
    assert found(ben, word) == [f"{word} three", f"{word} two"]
    assert found(ben, word[::-1]) == [f"other {word[::-1]}"]
    delete(anna, group, second)
    assert found(anna, word) == found(ben, word) == [f"{word} three"]
    delete(ben, group, third, scope="me")
    assert (found(anna, word), found(ben, word)) == ([f"{word} three"], [])
    assert ben.http.delete(f"{path}/history").status_code == 204
    assert found(ben, word[::-1]) == []


def test_members_find_what_they_saw_and_strangers_nothing(anna, ben, stranger, word):
    group = anna.group(ben)
    anna.send(group, f"{word} before")
    assert anna.http.delete(f"/v1/conversations/{group}/members/{ben.name}").status_code == 204
    anna.send(group, f"{word} after")
    assert found(ben, word) == found(ben, word, conversationId=group) == [f"{word} before"]
    assert found(stranger, word) == []
    for conversation in [group, new_id()]:
        response = stranger.get("/v1/search", params={"q": word, "conversationId": conversation})
        assert (response.status_code, response.json()["code"]) == (404, "notFound")


def test_texts_that_look_like_marks_mark_nothing(anna, ben, word):
    group = anna.group(ben)
    anna.send(group, f"\u0002not\u0003 {word} <b>&amp;\u0002")
    [result] = search(ben, word)["results"]
    assert result["snippet"] == f"not \u0002{word}\u0003 <b>&amp;"


def test_system_messages_and_punctuation_find_nothing(anna, ben, word):
    group = anna.group(ben)
    assert anna.http.patch(f"/v1/conversations/{group}", json={"title": word}).status_code == 200
    anna.send(group, "?! ...")
    assert found(ben, word) == found(ben, "?!") == found(ben, "'") == []


@pytest.mark.parametrize(
    "query",
    [
        "",
        "q=",
        "q=%20",
        "q=%E3%80%80%0A",
        "q=a%00b",
        "q=%FF",
        "q=a%",
        "q=a&q=b",
        "q=" + "a" * 257,
        "q=a&limit=0",
        "q=a&limit=101",
        "q=a&limit=x",
        "q=a&cursor=x",
        "q=a&cursor=",
        "q=a&conversationId=x",
        "q=a&conversationId=00000000-0000-0000-0000-000000000000",
    ],
)
def test_what_is_no_search_is_refused(ben, query):
    response = ben.get(f"/v1/search?{query}")
    assert (response.status_code, response.json()["code"]) == (400, "invalid")
    assert ben.get("/v1/search?q=" + "%C3%A9" * 256).status_code == 200


def test_it_takes_a_token_and_only_a_backend_acts_for_others(system, anna, ben):
    assert system.http().get("/v1/search?q=a").status_code == 401
    assert anna.get("/v1/search?q=a", headers={"X-Parley-User": ben.name}).status_code == 403
