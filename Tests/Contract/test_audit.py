"""The audit log: what administrators did, and nothing of what was said."""

import json
import time

import pytest

from people import Person, new_id, soon
from test_users import erase
from test_writes import problem

PATIENCE = 60


@pytest.fixture
def backend(new_person):
    return new_person("backend", adm=True)


def acts(backend, by: Person | None = None) -> list[dict]:
    """Those of one administrator. What became of the last one is noted while its response is on its way."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = logged(backend, by)
        if all("status" in act for act in found):
            return found
        assert time.monotonic() < deadline, found


def logged(backend, by: Person | None) -> list[dict]:
    found, after = [], 0
    while True:
        answer = backend.get("/v1/audit", params={"after": after, "limit": 500})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert [act["number"] for act in page["acts"]] == list(range(after + 1, after + 1 + len(page["acts"])))
        found += page["acts"]
        if not page["more"]:
            return [act for act in found if act["administratorId"] == (by or backend).name]
        after = page["acts"][-1]["number"]


def told(backend) -> list[tuple]:
    """What the log says of each act, apart from when."""
    fields = ("call", "userId", "conversationId", "target", "detail", "status")
    return [tuple(act.get(field) for field in fields) for act in acts(backend)]


def acting(backend, person, method: str, path: str, body=None, status: int | None = None):
    answer = backend.http.request(method, path, json=body, headers={"X-Parley-User": person.name})
    assert status is None or answer.status_code == status, answer.text
    return answer


def test_the_log_says_who_did_what_for_whom_and_how_it_ended(backend, anna, ben):
    group = anna.group(ben)
    message = anna.send(group, "Nobody wants you here.")["id"]
    assert backend.http.request("PUT", f"/v1/users/{ben.name}/suspension", json={"mode": "readOnly"}).status_code == 204
    assert backend.http.request("DELETE", f"/v1/users/{ben.name}/suspension").status_code == 204
    acting(backend, anna, "PUT", f"/v1/conversations/{group}/members/{ben.name}", {"role": "admin"}, 200)
    acting(backend, anna, "DELETE", f"/v1/conversations/{group}/messages/{message}?scope=everyone", status=204)
    acting(backend, ben, "PATCH", f"/v1/conversations/{new_id()}", {"title": "A title"}, 404)
    assert backend.http.post(f"/v1/users/{ben.name}/revoke").status_code == 204
    assert told(backend) == [
        ("suspendUser", None, None, ben.name, "readOnly", 204),
        ("liftSuspension", None, None, ben.name, None, 204),
        ("putMember", anna.name, group, ben.name, "admin", 200),
        ("deleteMessage", anna.name, group, message, None, 204),
        ("renameConversation", ben.name, acts(backend)[4]["conversationId"], None, None, 404),
        ("revokeTokens", None, None, ben.name, None, 204),
    ]
    times = [act["at"] for act in acts(backend)]
    assert times == sorted(times)


def test_conversations_and_invitations_are_named_without_what_opens_them(backend, anna, ben):
    group = new_id()
    acting(backend, anna, "POST", "/v1/conversations", {"id": group, "kind": "group", "members": []}, 201)
    invitation = new_id()
    path = f"/v1/conversations/{group}/invitations"
    code = acting(backend, anna, "POST", path, {"id": invitation}, 201).json()["code"]
    acting(backend, ben, "POST", f"/v1/invitations/{code}", status=200)
    assert told(backend) == [
        ("createConversation", anna.name, group, None, None, 201),
        ("createInvitation", anna.name, group, None, None, 201),
        ("joinConversation", ben.name, group, None, None, 200),
    ]
    assert code not in json.dumps(acts(backend))


def test_exports_and_imports_are_in_it(backend, anna):
    group = anna.group()
    assert backend.get(f"/v1/export/conversations/{group}").status_code == 200
    assert backend.get(f"/v1/export/users/{anna.name}").status_code == 200
    assert backend.http.post("/v1/import", content=b"{}\n").status_code == 200
    assert backend.http.delete(f"/v1/import/{group}").status_code == 404
    assert told(backend) == [
        ("exportConversation", None, group, None, None, 200),
        ("exportUser", None, None, anna.name, None, 200),
        ("importRecords", None, None, None, None, 200),
        ("dropImport", None, group, None, None, 404),
    ]


def test_what_is_read_sent_or_refused_for_itself_is_not_in_it_and_neither_is_what_users_do(backend, anna, ben):
    group = anna.group(ben)
    acting(backend, anna, "POST", f"/v1/conversations/{group}/messages", {"id": new_id(), "text": "For Anna"}, 201)
    acting(backend, anna, "POST", f"/v1/conversations/{group}/receipts", {"readSeq": 1}, 202)
    acting(backend, anna, "GET", f"/v1/conversations/{group}/messages", status=200)
    assert backend.get("/v1/reports").status_code == 200
    assert backend.http.request("PUT", f"/v1/users/{ben.name}/suspension", json={"mode": "x"}).status_code == 400
    assert anna.http.request("PUT", f"/v1/users/{ben.name}/suspension", json={"mode": "out"}).status_code == 403
    assert anna.http.request("PATCH", f"/v1/conversations/{group}", json={"title": "A title"}).status_code == 200
    assert told(backend) == []
    assert acts(backend, by=anna) == []


def test_what_an_administrator_sends_for_users_is_in_it_where_that_is_asked_for(system, backend, anna, ben):
    group = anna.group(ben)
    with system.sibling("ingest", PARLEY_AUDIT_SENDS="1") as port:
        other = Person(system, backend.name, port=port, adm=True)
        body = {"id": new_id(), "text": "Words of hers"}
        acting(other, anna, "POST", f"/v1/conversations/{group}/messages", body, 201)
        acting(other, anna, "GET", f"/v1/conversations/{group}/messages", status=200)
        body, scheduled = {"at": soon(), "text": "Words for later"}, new_id()
        acting(other, anna, "PUT", f"/v1/conversations/{group}/scheduled/{scheduled}", body, 204)
        acting(other, anna, "DELETE", f"/v1/conversations/{group}/scheduled/{scheduled}", status=204)
    assert told(backend) == [
        ("sendMessage", anna.name, group, None, None, 201),
        ("scheduleMessage", anna.name, group, scheduled, None, 204),
        ("cancelScheduledMessage", anna.name, group, scheduled, None, 204),
    ]
    assert "Words" not in json.dumps(acts(backend))


def test_no_text_is_in_it(backend, anna, ben):
    group = anna.group(ben)
    message = anna.send(group, "What she said")["id"]
    path = f"/v1/conversations/{group}"
    acting(backend, anna, "PATCH", f"{path}/messages/{message}", {"text": "What she says"}, 200)
    acting(backend, anna, "PATCH", path, {"title": "What they said"}, 200)
    acting(backend, anna, "PUT", f"{path}/draft", {"text": "What she will say"}, 204)
    acting(backend, anna, "PUT", "/v1/profile", {"displayName": "What she is called"}, 200)
    suspension = {"mode": "out", "reason": "What he did"}
    assert backend.http.request("PUT", f"/v1/users/{ben.name}/suspension", json=suspension).status_code == 204
    assert len(acts(backend)) == 5
    assert "What" not in json.dumps(acts(backend))


def test_a_page_begins_where_it_is_asked_to(backend, anna):
    for _ in range(3):
        assert backend.http.post(f"/v1/users/{anna.name}/revoke").status_code == 204
    numbers = [act["number"] for act in acts(backend)]
    page = backend.get("/v1/audit", params={"after": numbers[0], "limit": 1}).json()
    assert [act["number"] for act in page["acts"]] == [numbers[0] + 1] and page["more"]
    assert backend.get("/v1/audit", params={"after": 10**12}).json() == {"acts": [], "more": False}


def test_an_erased_user_stays_named_as_the_one_who_was_erased(backend, ben):
    erase(backend, ben.name)
    assert {(act["call"], act["target"]) for act in acts(backend)} == {("eraseUser", ben.name)}


@pytest.mark.parametrize("parameter, value", [("after", "-1"), ("after", "x"), ("limit", "0"), ("limit", "501")])
def test_a_wrong_parameter_is_named(backend, parameter, value):
    refused = backend.get("/v1/audit", params={parameter: value})
    assert problem(refused) == (400, "invalid") and parameter in refused.json()["detail"]


def test_the_log_is_refused_as_any_other_call_is(system, backend, anna):
    assert problem(anna.get("/v1/audit")) == (403, "forbidden")
    assert system.http().get("/v1/audit").status_code == 401
    with system.sibling("ingest", PARLEY_RATE_PER_SECOND="1", PARLEY_RATE_BURST="1") as port:
        hasty = Person(system, backend.name, port=port, adm=True)
        assert any(hasty.get("/v1/audit").status_code == 429 for _ in range(5))
    nobody = {f"PARLEY_BUS_{peer}": f"ipc://{system.state}/nobody-*.sock" for peer in ("STORE", "RECEIPT")}
    with system.sibling("ingest", "/healthz", PARLEY_REQUEST_DEADLINE="300ms", **nobody) as port:
        assert Person(system, backend.name, port=port, adm=True).get("/v1/audit").status_code == 503
