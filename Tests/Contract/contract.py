"""The OpenAPI document as a judge: whatever it does not describe, the services must not do.

Clients have to ignore what they do not know, so the document leaves its objects open. The judge closes them: a field
that is answered but not described fails the test.
"""

import copy
import json
import re
from functools import cache
from pathlib import Path

import httpx
from jsonschema_rs import Draft202012Validator, Registry

PATH = Path(__file__).parents[2] / "Services/Ingest/openapi.json"
DOCUMENT = json.loads(PATH.read_text(encoding="utf-8"))
PROBLEM = "application/problem+json"
METHODS = ("get", "post", "put", "patch", "delete", "head", "options")
# Only while the process ends, or has as many connections as it can hold.
NOT_SEEN = {("openSocket", "503")}


def described() -> set[tuple[str, str]]:
    """What a run of all tests has to see: each status of each call, and each kind of frame."""
    statuses = {
        (operation["operationId"], status)
        for item in DOCUMENT["paths"].values()
        for operation in (item[method] for method in METHODS if method in item)
        for status in operation["responses"]
    }
    frames = DOCUMENT["x-parley-websocket"]
    kinds = {(side, kind) for side in ("clientFrames", "serverFrames") for kind in frames[side]}
    return (statuses | kinds) - NOT_SEEN


def server_of(path: str) -> str:
    """The service that serves a path, with or without its parameters."""
    item = next((item for template, item in DOCUMENT["paths"].items() if _path_pattern(template).fullmatch(path)), {})
    for server in item.get("servers", []):
        port = int(server["url"].rpartition(":")[2])
        return {8081: "fanout", 8084: "media"}[port]
    return "ingest"


class Contract:
    """Judges responses and frames, and remembers which of the described outcomes were seen."""

    def __init__(self):
        # Is given every value of a named schema that was found good.
        self.on_good = lambda schema, value: None
        self.seen: set[tuple[str, str]] = set()

    def saw(self, what: str, outcome: str | int):
        """An operation with a status, or a side with a type of frame."""
        self.seen.add((what, str(outcome)))

    # MARK: HTTP

    def check_response(self, response: httpx.Response):
        """Fails unless the document describes this status for this operation, with these headers and this body."""
        response.read()
        request = response.request
        item = self._path_item(request.url.raw_path.decode().partition("?")[0])
        operation = item and item.get(request.method.lower())
        if item and request.method == "HEAD" and not operation:
            return self._check_head(response, item)
        if not operation:
            return self._check_edge_refusal(response)
        status = str(response.status_code)
        if status not in operation["responses"]:
            refused = status in ("408", "417", "431")
            assert refused, f"{operation['operationId']} answered {status}, undocumented: {response.text[:300]}"
            return self._check_edge_refusal(response)
        self.saw(operation["operationId"], status)
        self._check_described(response, self._resolve(operation["responses"][status]))

    def _check_edge_refusal(self, response: httpx.Response):
        """The path or the method is unknown, or HTTP itself was broken."""
        refusals = DOCUMENT["x-parley-edge-refusals"]["statuses"]
        assert str(response.status_code) in refusals, (
            f"undocumented status {response.status_code}: {response.text[:300]}"
        )
        self.check_problem(response)

    def _check_head(self, response: httpx.Response, item: dict):
        assert str(response.status_code) in item.get("get", {}).get("responses", {"405": None})
        assert response.content == b""

    def check_problem(self, response: httpx.Response):
        assert response.headers["content-type"] == PROBLEM
        self.validate("#/components/schemas/Problem", response.json())
        assert response.json()["status"] == response.status_code

    def _check_described(self, response: httpx.Response, described: dict):
        for name, header in described.get("headers", {}).items():
            self._check_header(response, name, self._resolve(header))
        content = described.get("content")
        if content is None or response.request.method == "HEAD":
            assert response.content == b"", f"a body where none is described: {response.text[:300]}"
            return
        media_type = response.headers.get("content-type")
        assert media_type in content, f"content type {media_type}, described: {list(content)}"
        if "x-parley-line" in content[media_type]:
            for line in response.content.splitlines():
                self.validate_schema(content[media_type]["x-parley-line"], _strict_json(line))
        elif media_type.endswith("json"):
            self.validate_schema(content[media_type]["schema"], _strict_json(response.content))

    def _check_header(self, response: httpx.Response, name: str, header: dict):
        value = response.headers.get(name)
        assert value is not None or not header.get("required"), f"the header {name} is missing"
        if value is not None:
            is_number = header["schema"].get("type") == "integer"
            self.validate_schema(header["schema"], int(value) if is_number else value)

    def _path_item(self, path: str):
        return next((item for pattern, item in _paths() if pattern.fullmatch(path)), None)

    def _resolve(self, node: dict) -> dict:
        while "$ref" in node:
            target = DOCUMENT
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            node = target
        return node

    # MARK: WebSocket

    def check_frame(self, side: str, text: str) -> dict:
        """`side` is `clientFrames` or `serverFrames`. Returns the frame."""
        frame = _strict_json(text)
        described = DOCUMENT["x-parley-websocket"][side]
        kind = frame.get("type")
        assert kind in described, f"a frame of the undocumented type {kind!r}: {text[:300]}"
        self.validate(described[kind]["$ref"], frame)
        self.saw(side, kind)
        return frame

    # MARK: Schemas

    def validate(self, reference: str, value):
        self.validate_schema({"$ref": reference}, value)

    def validate_schema(self, schema: dict, value):
        errors = sorted(_validator(json.dumps(schema)).iter_errors(value), key=lambda error: str(error.instance_path))
        assert not errors, "\n".join(f"{error.instance_path}: {error.message[:300]}" for error in errors[:5])
        if "$ref" in schema:
            self.on_good(schema["$ref"].rpartition("/")[2], value)


def is_valid(reference: str, value) -> bool:
    """Whether the value has the schema's form, unknown fields allowed: what a client's generated code would accept."""
    return _open_validator(reference).is_valid(value)


@cache
def _open_validator(reference: str) -> Draft202012Validator:
    registry = Registry([("urn:api", DOCUMENT)])
    return Draft202012Validator({"$ref": f"urn:api{reference}"}, registry=registry)


def _strict_json(text: str | bytes):
    """JSON as RFC 8259 has it: UTF-8, no key twice, no NaN."""

    def unique(pairs):
        names = [name for name, _ in pairs]
        assert len(names) == len(set(names)), f"a key twice in {names}"
        return dict(pairs)

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    if isinstance(text, bytes):
        text = text.decode("utf-8")
    return json.loads(text, object_pairs_hook=unique, parse_constant=refuse)


@cache
def _paths() -> list[tuple[re.Pattern, dict]]:
    return [(_path_pattern(path), item) for path, item in DOCUMENT["paths"].items()]


def _path_pattern(path: str) -> re.Pattern:
    return re.compile("[^/]+".join(re.escape(part) for part in re.split(r"\{[^}]+\}", path)))


# MARK: Closing the schemas

# A schema is closed where it is used as a property, an item or a whole body. Inside `allOf`, `if` and the like it is
# one condition among several and has to stay open.


@cache
def _validator(schema: str) -> Draft202012Validator:
    return Draft202012Validator(_rebased(_closed_use(json.loads(schema))), registry=_closed_registry())


@cache
def _closed_registry() -> Registry:
    document = copy.deepcopy(DOCUMENT)
    for schema in document["components"]["schemas"].values():
        _close_below(schema)
    return Registry([("urn:api", document)])


def _close_below(schema):
    for keyword, value in schema.items():
        if keyword in ("properties", "patternProperties"):
            for name in value:
                value[name] = _closed_use(value[name])
        elif keyword in ("items", "additionalProperties"):
            schema[keyword] = _closed_use(value)
        elif keyword == "allOf":
            for part in value:
                _close_below(part)


def _closed_use(schema):
    if not isinstance(schema, dict):
        return schema
    _close_below(schema)
    if _describes_object(schema) and "additionalProperties" not in schema:
        schema["unevaluatedProperties"] = False
    return schema


def _describes_object(schema: dict) -> bool:
    if "properties" in schema or any(_describes_object(part) for part in schema.get("allOf", [])):
        return True
    name = schema.get("$ref", "").removeprefix("#/components/schemas/")
    target = DOCUMENT["components"]["schemas"].get(name)
    return target is not None and _describes_object(target)


def _rebased(schema):
    """References of a schema that was taken out of the document, made absolute."""
    if isinstance(schema, dict):
        return {
            key: f"urn:api{value}" if key == "$ref" and value.startswith("#") else _rebased(value)
            for key, value in schema.items()
        }
    return [_rebased(item) for item in schema] if isinstance(schema, list) else schema
