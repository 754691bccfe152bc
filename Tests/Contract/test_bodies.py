"""Rules that hold for the body of every call, taken from the document: calls that are added later are tested, too."""

import json

import pytest

from contract import DOCUMENT, METHODS, Contract


def bodies():
    """Every call that takes a body, with its first example and each of its fields."""
    for path, item in DOCUMENT["paths"].items():
        for method in METHODS:
            content = item.get(method, {}).get("requestBody", {}).get("content", {}).get("application/json")
            if content is None:
                continue
            example = next(iter(content["examples"].values()))
            body = Contract()._resolve(example)["value"]
            for field in body:
                yield pytest.param(method, path, body, field, id=f"{method} {path} {field}")


@pytest.mark.parametrize("method, path, body, field", list(bodies()))
def test_a_field_that_is_given_twice_is_refused(new_person, anna, ben, method, path, body, field):
    group = anna.group(ben)
    message = anna.send(group, "a message")["id"]
    fields = [f"{json.dumps(name)}:{json.dumps(value)}" for name, value in (*body.items(), (field, body[field]))]
    place = path.format(conversationId=group, messageId=message, userId=ben.name, reportId=message)

    # Some calls are the application's own.
    is_for_backend = "For administrators' tokens only" in DOCUMENT["paths"][path][method].get("description", "")
    caller = new_person("backend", adm=True) if is_for_backend else anna
    response = caller.http.request(method, place, content="{" + ",".join(fields) + "}")

    assert response.status_code == 400
    assert response.json()["code"] == "invalid" and field in response.json()["detail"]
