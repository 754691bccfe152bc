"""What every service tells about itself, and what it says to calls that it does not have."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from contract import DOCUMENT
from judged import SERVICES
from people import new_id

CONVERSATION = "0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90"
UNKNOWN = [
    "/v1",
    "/v1/",
    "/v2/conversations",
    "/v1/conversations/",
    "/v1/conversations//members",
    "/V1/limits",
    "/v1/limits/",
    "//v1/limits",
    "/healthz/x",
    "/favicon.ico",
    "/v1/messages",
    "/v1/messages%3Abatch/x",
]


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_is_alive_ready_and_measured(system, service):
    http = system.http(int(system.address(service).rpartition(":")[2]))
    assert http.get("/healthz").status_code == 200
    assert http.get("/readyz").status_code == 200
    families = list(text_string_to_metric_families(http.get("/metrics").text))
    assert families and all(family.documentation and family.type != "unknown" for family in families)
    assert http.get("/nothing").status_code == 404


def test_the_limits_in_force_are_the_documented_defaults(system):
    described = DOCUMENT["components"]["schemas"]["Limits"]["properties"]
    documented = {name: schema["examples"][0] for name, schema in described.items()}
    # An address, which every deployment has its own of.
    optional = {"socketUrl": "", "newAccount": {}, "retentionDays": 0}
    assert system.http().get("/v1/limits").json() | optional == documented | optional


@pytest.mark.parametrize("path", ["/v1/limits", "/openapi.json", "/healthz", "/readyz", "/metrics"])
def test_head_is_get_without_the_body(system, path):
    get, head = system.http().get(path), system.http().head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == get.headers["content-type"]


@pytest.mark.parametrize(
    "value",
    [
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
        "00-00000000000000000000000000000000-0000000000000000-01",
        "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes-later",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00F067AA0BA902B7-01",
        "nonsense",
        "",
        "-" * 4_000,
    ],
)
def test_a_trace_changes_no_answer_whatever_it_says(anna, value):
    group = anna.group()
    response = anna.post(
        f"/v1/conversations/{group}/messages", {"id": new_id(), "text": "traced"}, headers={"traceparent": value}
    )
    assert response.status_code == 201
    assert anna.get(f"/v1/conversations/{group}", headers={"traceparent": value}).status_code == 200


@pytest.mark.parametrize("path", UNKNOWN)
def test_an_unknown_path_is_not_found_with_and_without_a_token(system, anna, path):
    for http in (system.http(), anna.http):
        response = http.request("GET", path)
        assert response.status_code == 404
        assert response.json()["code"] == "notFound"


@pytest.mark.parametrize(
    "method, path, allowed",
    [
        ("PUT", "/v1/conversations", {"GET", "POST"}),
        ("DELETE", "/v1/conversations", {"GET", "POST"}),
        ("POST", f"/v1/conversations/{CONVERSATION}", {"GET", "PATCH", "DELETE"}),
        ("GET", f"/v1/conversations/{CONVERSATION}/members/ben", {"PUT", "DELETE"}),
        ("PUT", f"/v1/conversations/{CONVERSATION}/messages/{CONVERSATION}", {"GET", "PATCH", "DELETE"}),
        ("POST", f"/v1/conversations/{CONVERSATION}/messages/{CONVERSATION}/revisions", {"GET"}),
        ("GET", f"/v1/conversations/{CONVERSATION}/messages/{CONVERSATION}/tapback", {"PUT", "DELETE"}),
        ("PUT", f"/v1/conversations/{CONVERSATION}/messages/{CONVERSATION}/tapbacks", {"GET"}),
        ("POST", f"/v1/conversations/{CONVERSATION}/messages/{CONVERSATION}/receipts", {"GET"}),
        ("GET", f"/v1/conversations/{CONVERSATION}/history", {"DELETE"}),
        ("PATCH", f"/v1/conversations/{CONVERSATION}/settings", {"GET", "PUT"}),
        ("DELETE", "/v1/settings", {"GET", "PUT"}),
        ("POST", f"/v1/conversations/{CONVERSATION}/changes", {"GET"}),
        ("POST", f"/v1/conversations/{CONVERSATION}/digest", {"GET"}),
        ("GET", f"/v1/conversations/{CONVERSATION}/receipts", {"POST"}),
        ("GET", "/v1/messages:batch", {"POST"}),
        ("POST", "/v1/limits", {"GET"}),
        ("DELETE", "/healthz", {"GET"}),
        ("TRACE", "/v1/limits", {"GET"}),
    ],
)
def test_a_method_that_a_path_does_not_have_is_told_so(anna, method, path, allowed):
    response = anna.http.request(method, path)
    assert response.status_code == 405
    assert {name.strip() for name in response.headers["allow"].split(",")} - {"HEAD"} == allowed
