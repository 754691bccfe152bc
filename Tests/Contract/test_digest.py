"""Digests of a conversation as a client library asks for them."""

import pytest

from contract import DOCUMENT, Contract
from judged import JudgedSystem  # noqa: F401  puts the system tests' helpers on the path

from digests import Copy, message_line, sha256  # isort: skip

EXAMPLE = DOCUMENT["x-parley-digest-example"]


def test_the_documented_example_is_a_conversation_that_could_be():
    for change in EXAMPLE["changes"]:
        Contract().validate("#/components/schemas/Change", change)
    Contract().validate("#/components/schemas/DigestPage", EXAMPLE["answer"])
    assert [change["seq"] for change in EXAMPLE["changes"]] == list(range(1, EXAMPLE["answer"]["lastSeq"] + 1))


def test_a_client_computes_the_digests_that_it_is_told(anna, ben):
    group = anna.group(ben)
    path = f"/v1/conversations/{group}"
    message = anna.send(group, "Sunday,\nnine?", mentions=[ben.name], mentionsAll=True)  # which says nothing there
    ben.send(group, "Yes", replyTo=message["id"])
    ben.http.put(f"{path}/messages/{message['id']}/tapback", json={"kind": "🧗"})
    anna.http.patch(f"{path}/messages/{message['id']}", json={"text": "Sunday, ten?"})
    anna.http.patch(path, json={"title": "Climbing"})
    copy = Copy()
    for change in ben.get(f"{path}/changes").json()["changes"]:
        copy.take_change(change)
    answer = ben.get(f"{path}/digest").json()
    assert (answer["lastSeq"], answer["more"]) == (6, False)
    assert copy.differing_pages(answer["pages"]) == []

    hidden = ben.http.delete(f"{path}/messages/{message['id']}")
    assert hidden.status_code == 204
    after = ben.get(f"{path}/digest").json()
    assert after["useq"] == answer["useq"] + 1 and after["pages"][0]["changes"] == answer["pages"][0]["changes"]
    [reply] = [each for each in ben.get(f"{path}/messages").json()["messages"] if each["kind"] == "reply"]
    assert after["pages"][0]["state"] == sha256(message_line(reply))
    assert anna.get(f"{path}/digest").json()["pages"] == answer["pages"]


@pytest.mark.parametrize("query", ["limit=0", "limit=21", "limit=", "after=-1", "after=x", "after=1&after=1"])
def test_a_wrong_parameter_is_refused_by_its_name(anna, query):
    response = anna.get(f"/v1/conversations/{anna.group()}/digest?{query}")
    assert (response.status_code, response.json()["code"]) == (400, "invalid")
    assert response.json()["detail"].startswith(query.partition("=")[0])
