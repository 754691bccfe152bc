"""The document itself: valid OpenAPI, true examples, and a judge that can fail."""

import json

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from contract import DOCUMENT, METHODS, PATH, Contract, is_valid, server_of

SCHEMAS = DOCUMENT["components"]["schemas"]


def test_the_document_is_valid_openapi_3_1():
    assert DOCUMENT["openapi"].startswith("3.1.")
    OpenAPIV31SpecValidator(DOCUMENT).validate()


def test_the_served_document_is_the_file(system):
    response = system.http().get("/openapi.json")
    assert response.content == PATH.read_bytes()


def examples():
    """Every example of the document with the place of its schema."""
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            if method in METHODS:
                yield from _examples_of_contents(f"{method} {path}", operation.get("requestBody", {}))
                for response in operation["responses"].values():
                    yield from _examples_of_contents(f"{method} {path}", response)
    for name, response in DOCUMENT["components"]["responses"].items():
        yield from _examples_of_contents(name, response)
    for name, schema in SCHEMAS.items():
        for example in schema.get("examples", []):
            yield pytest.param({"$ref": f"#/components/schemas/{name}"}, example, id=name)
    for name, schema in SCHEMAS["Limits"]["properties"].items():
        yield pytest.param(schema, schema["examples"][0], id=f"Limits.{name}")


def _examples_of_contents(place, node):
    for content in node.get("content", {}).values():
        for name, example in content.get("examples", {}).items():
            if "$ref" in example:
                example = DOCUMENT["components"]["examples"][example["$ref"].rpartition("/")[2]]
            yield pytest.param(content["schema"], example["value"], id=f"{place} {name}")


@pytest.mark.parametrize("schema, example", list(examples()))
def test_an_example_has_the_form_that_its_schema_describes(schema, example):
    Contract().validate_schema(schema, example)


def test_every_operation_has_a_name_a_summary_and_errors_as_problems():
    names = set()
    for path, item in DOCUMENT["paths"].items():
        for operation in (item[method] for method in METHODS if method in item):
            assert operation["summary"].endswith("."), path
            names.add(operation["operationId"])
            for status, response in operation["responses"].items():
                if status >= "400" and path != "/readyz":
                    assert set(Contract()._resolve(response)["content"]) == {"application/problem+json"}, (path, status)
    assert len(names) == sum(method in item for item in DOCUMENT["paths"].values() for method in METHODS)


def test_every_call_of_ingest_that_takes_a_token_takes_a_trace():
    for item in (item for path, item in DOCUMENT["paths"].items() if server_of(path) == "ingest"):
        for operation in (item[method] for method in METHODS if method in item):
            parameters = item.get("parameters", []) + operation.get("parameters", [])
            names = [Contract()._resolve(parameter)["name"] for parameter in parameters]
            assert ("traceparent" in names) == ("security" not in operation), operation["operationId"]


MESSAGE = DOCUMENT["components"]["examples"]["Reply"]["value"]


@pytest.mark.parametrize(
    "change",
    [
        {"unknown": 1},
        {"seq": 0},
        {"seq": "3"},
        {"kind": "text"},
        {"kind": "system"},
        {"id": MESSAGE["id"].upper()},
        {"createdAt": "2026-03-07T17:04:11Z"},
        {"replyTo": {"messageId": MESSAGE["id"], "unavailable": True, "preview": "secret"}},
        {"deletedForEveryone": True},
        {"recipientCount": None},
    ],
    ids=str,
)
def test_the_judge_refuses_a_message_that_is_not_as_described(change):
    with pytest.raises(AssertionError):
        Contract().validate("#/components/schemas/Message", MESSAGE | change)


def test_the_judge_refuses_a_change_that_shows_a_reader_what_only_another_may_see():
    change = {
        "conversationId": MESSAGE["conversationId"],
        "seq": 3,
        "kind": "message.created",
        "at": MESSAGE["createdAt"],
        "actorId": "ben",
    }
    shown = {
        name: value
        for name, value in MESSAGE.items()
        if name not in ("status", "deliveredCount", "readCount", "recipientCount")
    }
    bare = shown | {"replyTo": {"messageId": MESSAGE["id"], "seq": 2}}
    frame = {"type": "change", "change": change | {"message": bare}}
    Contract().check_frame("serverFrames", json.dumps(frame))
    for leak in (shown, bare | {"status": "read", "deliveredCount": 1, "readCount": 1, "recipientCount": 1}):
        with pytest.raises(AssertionError):
            Contract().check_frame("serverFrames", json.dumps({"type": "change", "change": change | {"message": leak}}))


@pytest.mark.parametrize(
    "value, valid",
    [
        ({"readSeq": 1}, True),
        ({"deliveredSeq": 0, "readSeq": None}, True),
        ({}, False),
        ({"readSeq": None}, False),
        ({"readSeq": -1}, False),
        ({"readSeq": 1.5}, False),
        ({"readSeq": "1"}, False),
    ],
    ids=str,
)
def test_a_receipt_names_at_least_one_position(value, valid):
    assert is_valid("#/components/schemas/Receipt", value) == valid
