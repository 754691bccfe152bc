"""Search over real conversations: what it finds is what a plain look through the same messages finds."""

import json
import random
import re
from pathlib import Path

import pytest
from client import User, eventually, new_id
from test_replay import DATA

pytestmark = pytest.mark.skipif(not DATA.exists(), reason=f"{DATA} is not here")


def read(path: Path, line: int) -> list[str]:
    """The texts of one conversation, those that a simple model can take apart."""
    with path.open() as lines:
        messages = json.loads(list(lines)[line])["messages"]
    return [message["text"] for message in messages if message["text"].isascii() and message["text"].strip()]


def words(text: str) -> list[str]:
    return [word[:64] for word in re.findall("[a-z0-9]+", text.lower().replace("'", ""))]


def model(texts: list[str], query: list[str]) -> list[str]:
    """The texts that have all words of the query, the last one as a prefix; newest first."""

    def matches(text: list[str]) -> bool:
        return set(query[:-1]) <= set(text) and any(word.startswith(query[-1]) for word in text)

    return [text for text in reversed(texts) if matches(words(text))]


def queries(texts: list[str], count: int):
    """One to three words of a message, in any order, the last one cut somewhere."""
    choice = random.Random(7)
    while count:
        message = words(choice.choice(texts))
        if message:
            query = choice.sample(message, min(len(message), choice.randint(1, 3)))
            yield query[:-1] + [query[-1][: choice.randint(1, len(query[-1]))]]
            count -= 1


async def found(user: User, conversation: str, query: str) -> list[str]:
    texts, cursor = [], {}
    while cursor is not None:
        page = await user.get("/v1/search", q=query, conversationId=conversation, limit=100, **cursor)
        texts += [result["message"]["text"] for result in page["results"]]
        cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
    return texts


async def send(user: User, conversation: str, texts: list[str]):
    for start in range(0, len(texts), 500):
        items = [{"conversationId": conversation, "id": new_id(), "text": text} for text in texts[start : start + 500]]
        answer = await user.request("POST", "/v1/messages:batch", {"messages": items})
        assert answer.status == 200 and {result["status"] for result in answer.body["results"]} == {201}


async def test_what_is_found_is_what_a_look_through_all_messages_finds(system, people):
    alice, bob = people(system, 2)
    conversation, other = [await alice.create_group(bob) for _ in range(2)]
    texts = read(DATA, 0)
    await send(alice, other, read(DATA, 1))
    await send(alice, conversation, texts)
    # At once, when a part is not indexed yet, and when all is.
    for user in (alice, bob):
        for query in queries(texts, 25):
            assert await found(user, conversation, " ".join(query)) == model(texts, query), query
        await eventually(lambda: is_indexed(system))


async def test_a_deleted_text_is_found_by_nobody_whatever_happens_meanwhile(system, people):
    alice, bob = people(system, 2)
    conversation = await alice.create_group(bob)
    texts = read(DATA, 2)[:100]
    for number, text in enumerate(texts):
        message = await alice.sent(conversation, f"{text} marker{number} marked")
        path = f"/v1/conversations/{conversation}/messages/{message['id']}"
        if number % 3 == 1:
            answer = await alice.request("PATCH", path, {"text": f"{text} changed{number} marked"})
            assert answer.status == 200
            assert await found(bob, conversation, f"marker{number}") == []
            assert await found(bob, conversation, f"changed{number}") == [f"{text} changed{number} marked"]
        if number % 3 == 2:
            answer = await alice.request("DELETE", path, params={"scope": "everyone"})
            assert answer.status == 204
            assert await found(bob, conversation, f"marker{number}") == []
    await eventually(lambda: is_indexed(system))
    assert len(await found(bob, conversation, "marked")) == sum(1 for number in range(100) if number % 3 < 2)


async def is_indexed(system) -> bool:
    """Whether no store knows of a conversation that is not indexed."""
    addresses = [system.address("store", number) for number in range(system.instances)]
    reports = [system.run("curl", "-sS", f"{address}/metrics").stdout for address in addresses]
    return all(re.search(r"^parley_store_index_waiting(\{.*\})? 0$", report, re.M) for report in reports)
