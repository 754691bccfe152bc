"""What a client is told when it asks for too much, or when there is nobody to answer."""

import uuid
from base64 import urlsafe_b64encode
from concurrent.futures import ThreadPoolExecutor

from people import Person, new_id

MARKS = ("mute", "pin", "archive", "unread")
MESSAGE = "0198c2a5-0f3a-7b52-8d11-6c2f9e4a7b01"


def code_of(group: str) -> str:
    """A code of the group, which nobody has given out."""
    return urlsafe_b64encode(uuid.UUID(group).bytes + bytes(16)).decode().rstrip("=")


def calls(group):
    """Every call that ingest hands on, as a method, a path and a body."""
    conversation = f"/v1/conversations/{group}"
    return [
        ("POST", "/v1/conversations", {"id": new_id(), "kind": "group", "members": []}),
        ("GET", "/v1/conversations", None),
        ("GET", "/v1/sync", None),
        ("GET", "/v1/settings", None),
        ("PUT", "/v1/settings", {"presence": True}),
        ("GET", "/v1/search?q=hello", None),
        ("GET", f"/v1/search?q=hello&conversationId={group}", None),
        ("GET", conversation, None),
        ("GET", f"{conversation}/members", None),
        ("POST", f"{conversation}/messages", {"id": new_id(), "text": "Hello"}),
        ("GET", f"{conversation}/messages", None),
        ("GET", f"{conversation}/messages/{MESSAGE}", None),
        ("GET", f"{conversation}/changes", None),
        ("GET", f"{conversation}/digest", None),
        ("POST", f"{conversation}/receipts", {"readSeq": 1}),
        ("PATCH", conversation, {"title": "Title"}),
        ("PUT", f"{conversation}/members/dora", None),
        ("DELETE", f"{conversation}/members/dora", None),
        ("PUT", f"{conversation}/permissions", {"rename": "admins"}),
        ("PUT", f"{conversation}/lifetime", {"seconds": 3600}),
        ("GET", f"{conversation}/bans", None),
        ("DELETE", f"{conversation}/bans/dora", None),
        ("GET", f"{conversation}/join-requests", None),
        ("DELETE", f"{conversation}/join-requests/dora", None),
        ("GET", f"{conversation}/invitations", None),
        ("POST", f"{conversation}/invitations", {"id": new_id()}),
        ("DELETE", f"{conversation}/invitations/{MESSAGE}", None),
        ("GET", f"/v1/invitations/{code_of(group)}", None),
        ("POST", f"/v1/invitations/{code_of(group)}", None),
        ("DELETE", f"{conversation}/history", None),
        ("DELETE", conversation, None),
        ("PATCH", f"{conversation}/messages/{MESSAGE}", {"text": "Hello"}),
        ("DELETE", f"{conversation}/messages/{MESSAGE}", None),
        ("GET", f"{conversation}/messages/{MESSAGE}/revisions", None),
        ("PUT", f"{conversation}/messages/{MESSAGE}/tapback", {"kind": "love"}),
        ("DELETE", f"{conversation}/messages/{MESSAGE}/tapback", None),
        ("GET", f"{conversation}/messages/{MESSAGE}/tapbacks", None),
        ("GET", f"{conversation}/pinned", None),
        ("GET", f"{conversation}/mentions", None),
        ("PUT", f"{conversation}/messages/{MESSAGE}/vote", {"options": [0]}),
        ("GET", f"{conversation}/messages/{MESSAGE}/votes", None),
        ("POST", f"{conversation}/messages/{MESSAGE}/close", None),
        ("PUT", f"{conversation}/messages/{MESSAGE}/pin", None),
        ("DELETE", f"{conversation}/messages/{MESSAGE}/pin", None),
        ("GET", f"{conversation}/messages/{MESSAGE}/receipts", None),
        ("GET", f"{conversation}/settings", None),
        ("PUT", f"{conversation}/settings", {"readReceipts": True}),
        ("PUT", f"{conversation}/draft", {"text": "Hel"}),
        ("DELETE", f"{conversation}/draft", None),
        ("GET", "/v1/scheduled", None),
        ("PUT", f"{conversation}/scheduled/{MESSAGE}", {"at": None, "text": "Later"}),
        ("DELETE", f"{conversation}/scheduled/{MESSAGE}", None),
        ("GET", "/v1/unread", None),
        ("GET", "/v1/profiles?ids=nobody", None),
        ("PUT", "/v1/profile", {"displayName": "Anna"}),
        ("GET", "/v1/blocks", None),
        ("PUT", "/v1/blocks/nobody", None),
        ("DELETE", "/v1/blocks/nobody", None),
        ("GET", "/v1/devices", None),
        ("DELETE", "/v1/devices", None),
        ("DELETE", "/v1/devices/nobody", None),
        ("POST", "/v1/reports", {"id": new_id(), "conversationId": group, "messageId": MESSAGE, "reason": "spam"}),
        ("GET", "/v1/requests", None),
        ("PUT", f"{conversation}/acceptance", None),
        ("DELETE", f"{conversation}/acceptance", None),
        *((method, f"{conversation}/{mark}", None) for mark in MARKS for method in ("PUT", "DELETE")),
    ]


def problem(response):
    return response.status_code, response.status_code >= 400 and response.json()["code"]


def batch(*conversations):
    return {"messages": [{"conversationId": each, "id": new_id(), "text": "Hello"} for each in conversations]}


def test_who_asks_too_fast_is_told_when_to_come_back(system, anna, ben):
    group = anna.group(ben)
    with system.sibling("ingest", PARLEY_RATE_PER_SECOND="1", PARLEY_RATE_BURST="5") as port:
        hasty, patient = Person(system, anna.name, port=port), Person(system, ben.name, port=port)
        assert [hasty.get("/v1/settings").status_code for _ in range(5)] == [200] * 5
        for method, path, body in [*calls(group), ("POST", "/v1/messages:batch", batch(group))]:
            # One request a second is admitted, and a busy machine may take that long for a few of these.
            answers = (hasty.http.request(method, path, json=body) for _ in range(5))
            assert any(problem(answer) == (429, "rateLimited") for answer in answers), path
        assert patient.get("/v1/conversations").status_code == 200
        assert hasty.get("/v1/limits").status_code == 200


def test_without_a_store_every_call_says_that_it_may_be_repeated(system, anna):
    """One `ingest` that finds nobody to answer; the system itself is well."""
    first, second = anna.group(), anna.group()
    nobody = {f"PARLEY_BUS_{peer}": f"ipc://{system.state}/nobody-*.sock" for peer in ("STORE", "RECEIPT")}
    # For all calls at once.
    room = {"PARLEY_USER_COST_IN_FLIGHT": "4000", "PARLEY_USER_BYTES_IN_FLIGHT": str(8 << 20)}
    with system.sibling("ingest", "/healthz", PARLEY_REQUEST_DEADLINE="300ms", **room, **nobody) as port:
        alone = Person(system, anna.name, port=port, dev="phone")
        assert alone.get("/readyz").status_code == 503
        requests = calls(first)
        with ThreadPoolExecutor(len(requests)) as pool:
            answers = list(pool.map(lambda call: alone.http.request(call[0], call[1], json=call[2]), requests))
        assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(503, "unavailable")}
        results = alone.post("/v1/messages:batch", batch(first, second, first)).json()["results"]
        assert [result["problem"]["code"] for result in results] == ["unavailable"] * 3
        assert alone.post("/v1/conversations", {}).status_code == 400
    # What was answered 503 is repeated as it was, and happens. (A member's conversation stays in the list: 409.)
    phone = Person(system, anna.name, dev="phone")
    for method, path, body in requests:
        assert phone.http.request(method, path, json=body).status_code in (200, 201, 202, 204, 404, 409)


def test_beyond_its_bounds_ingest_refuses_at_once(system, anna):
    bounds = {"PARLEY_REQUESTS_IN_FLIGHT": "3", "PARLEY_BYTES_IN_FLIGHT": str(1 << 20)}
    nobody = {"PARLEY_BUS_STORE": f"ipc://{system.state}/nobody-*.sock", "PARLEY_REQUEST_DEADLINE": "3s"}
    with system.sibling("ingest", "/healthz", **bounds, **nobody) as port:
        alone = Person(system, anna.name, port=port)
        with ThreadPoolExecutor(10) as pool:
            answers = list(pool.map(lambda _: alone.get("/v1/conversations"), range(10)))
        codes = sorted(answer.json()["code"] for answer in answers)
        assert codes == ["overloaded"] * 7 + ["unavailable"] * 3
        overloaded = [answer for answer in answers if answer.json()["code"] == "overloaded"]
        waited = [answer.elapsed for answer in answers if answer not in overloaded]
        assert max(answer.elapsed for answer in overloaded) < min(waited), "refused once the others had waited"
        large = alone.post("/v1/messages:batch", batch(new_id()) | {"padding": "x" * (1 << 20)})
        assert (large.status_code, large.json()["code"]) == (503, "overloaded")
