"""The erasure of users, as the application's backend asks for it."""

import time
from datetime import UTC, datetime

import pytest
from tokens import sign

from judged import PATIENCE
from people import Person, new_id, open_socket


@pytest.fixture
def backend(new_person):
    return new_person("backend", adm=True)


def erase(backend, user) -> dict:
    """Asks until it is done, and returns what was erased."""
    deadline = time.monotonic() + PATIENCE
    while (response := backend.http.delete(f"/v1/users/{user}")).status_code == 202:
        assert time.monotonic() < deadline, response.text
        time.sleep(0.05)
    assert response.status_code == 200, response.text
    return response.json()


def test_an_erased_user_leaves_tombstones_and_counts(backend, anna, ben):
    group = anna.group(ben)
    message = ben.send(group, "A text")
    ben.http.put(f"/v1/conversations/{group}/messages/{message['id']}/tapback", json={"kind": "love"})
    ben.post(f"/v1/conversations/{group}/receipts", {"readSeq": 2})
    first = backend.http.delete(f"/v1/users/{ben.name}")
    assert first.status_code in (200, 202) and first.json()["userId"] == ben.name
    done = erase(backend, ben.name)
    assert done["requestedAt"] == first.json()["requestedAt"] <= done["erasedAt"]
    assert (done["counts"]["messages"], done["counts"]["tapbacks"], done["counts"]["memberships"]) == (1, 1, 1)
    assert erase(backend, ben.name) == done
    left = anna.get(f"/v1/conversations/{group}/messages/{message['id']}").json()
    assert left["deletedForEveryone"] and left["text"] is None and left["senderId"] == ben.name
    assert [member["userId"] for member in anna.get(f"/v1/conversations/{group}/members").json()["members"]] == [
        anna.name
    ]


def test_the_tokens_of_an_erased_user_are_refused_and_the_sessions_end(system, backend, anna, ben):
    group = anna.group(ben)
    with ben.socket() as socket:
        assert backend.http.delete(f"/v1/users/{ben.name}").status_code in (200, 202)
        refused = ben.get("/v1/conversations")
        assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
        socket.expect_close(4401, "unauthenticated")
    with open_socket(system) as late:
        late.send(type="hello", token=ben.token)
        late.expect_close(4401, "unauthenticated")
    acting = backend.get("/v1/conversations", headers={"X-Parley-User": ben.name})
    assert (acting.status_code, acting.json()["code"]) == (403, "forbidden")
    assert anna.http.put(f"/v1/conversations/{group}/members/{ben.name}").status_code == 409
    group = {"id": new_id(), "kind": "group", "members": [ben.name]}
    assert anna.post("/v1/conversations", group).status_code == 409


def test_erasing_somebody_who_never_was_takes_the_name_for_ever(backend, anna):
    name = f"nobody-{new_id()}"
    assert set(erase(backend, name)["counts"].values()) == {0}
    assert anna.http.put(f"/v1/conversations/{anna.group()}/members/{name}").status_code == 409


def test_others_see_the_changes_of_an_erasure_live(backend, anna, ben):
    group = anna.group(ben)
    mention = anna.send(group, "Both of you", mentions=[ben.name, anna.name])
    text = ben.send(group, "A text")
    with anna.socket() as socket:
        erase(backend, ben.name)
        assert socket.expect_change(4, group)["kind"] == "member.removed"
        edited, deleted = socket.expect_change(5, group), socket.expect_change(6, group)
    assert (edited["kind"], edited["message"]["id"]) == ("message.edited", mention["id"])
    assert edited["message"]["mentions"] == [anna.name] and "editedAt" not in edited["message"]
    assert (deleted["kind"], deleted["message"]["id"]) == ("message.deleted", text["id"])


def test_only_administrators_erase_and_only_possible_users(backend, anna, ben):
    refused = anna.http.delete(f"/v1/users/{ben.name}")
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert backend.http.delete("/v1/users/b%20n").status_code == 400
    assert ben.get("/v1/conversations").status_code == 200


def test_an_erasure_is_refused_as_any_other_call_is(system, backend, ben):
    path = f"/v1/users/{ben.name}"
    with system.sibling("ingest", PARLEY_RATE_PER_SECOND="1", PARLEY_RATE_BURST="1") as port:
        hasty = Person(system, backend.name, port=port, adm=True)
        assert any(hasty.http.delete(path).status_code == 429 for _ in range(5))
    nobody = {f"PARLEY_BUS_{peer}": f"ipc://{system.state}/nobody-*.sock" for peer in ("STORE", "RECEIPT")}
    with system.sibling("ingest", "/healthz", PARLEY_REQUEST_DEADLINE="300ms", **nobody) as port:
        assert Person(system, backend.name, port=port, adm=True).http.delete(path).status_code == 503
    assert system.http().delete(path).status_code == 401


# MARK: Revoked tokens


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def signed(system, user, iat) -> str:
    return sign(system.secret, sub=user.name, iat=iat)


def status(user, token) -> int:
    """Of a request with this token, on a connection of its own and on one that has had it before."""
    return user.http.get("/v1/conversations", headers={"Authorization": f"Bearer {token}"}).status_code


def test_revoked_tokens_are_refused_from_the_acknowledgement_on_and_newer_ones_are_not(system, backend, ben, anna):
    now = int(time.time()) - 60
    old, same, newer, unknown = (signed(system, ben, iat) for iat in (now - 3600, now, now + 1, None))
    assert {status(ben, token) for token in (old, same, newer, unknown)} == {200}
    path = f"/v1/users/{ben.name}/revoke"
    for _ in range(2):
        answer = backend.http.post(path, json={"before": moment(now)})
        assert (answer.status_code, answer.content) == (204, b"")
        assert [status(ben, token) for token in (old, same, newer, unknown)] == [401, 401, 200, 401]
    assert backend.http.post(path, json={"before": moment(now - 10)}).status_code == 204, "only moves forward"
    assert [status(ben, token) for token in (old, same, newer)] == [401, 401, 200]
    acting = backend.get("/v1/conversations", headers={"X-Parley-User": ben.name})
    assert acting.status_code == 200, "it is not the administrator's token that was revoked"
    assert backend.http.post(path).status_code == 204
    refused = ben.http.get("/v1/conversations", headers={"Authorization": f"Bearer {newer}"})
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
    assert status(ben, signed(system, ben, int(time.time()) + 2)) == 200
    assert anna.get("/v1/conversations").status_code == 200


def test_sessions_with_revoked_tokens_end_and_their_tokens_begin_none(system, backend, ben):
    now = int(time.time()) - 60
    with open_socket(system) as old, open_socket(system) as renewed, open_socket(system) as new:
        for socket, iat in ((old, now), (renewed, now), (new, now + 1)):
            socket.send(type="hello", token=signed(system, ben, iat))
            socket.expect("welcome")
        renewed.send(type="auth", token=signed(system, ben, now + 1))
        renewed.send(type="ping", id="before")
        renewed.expect("pong")
        assert backend.http.post(f"/v1/users/{ben.name}/revoke", json={"before": moment(now)}).status_code == 204
        old.expect_close(4401, "unauthenticated")
        for socket in (renewed, new):
            socket.send(type="ping", id="after")
            socket.expect("pong")
    with open_socket(system) as late:
        late.send(type="hello", token=signed(system, ben, now))
        late.expect_close(4401, "unauthenticated")


def test_a_revocation_survives_and_others_learn_of_it(system, backend, ben):
    now = int(time.time()) - 60
    assert backend.http.post(f"/v1/users/{ben.name}/revoke", json={"before": moment(now)}).status_code == 204
    with system.sibling("ingest") as port, system.http(port) as http:
        for iat, expected in ((now, 401), (now + 1, 200)):
            headers = {"Authorization": f"Bearer {signed(system, ben, iat)}"}
            assert http.get("/v1/conversations", headers=headers).status_code == expected


@pytest.mark.parametrize(
    "before",
    [lambda: moment(time.time() + 3600), lambda: "yesterday", lambda: 7, lambda: ""],
    ids=("future", "word", "number", "nothing"),
)
def test_a_moment_that_is_none_is_refused_by_name(backend, ben, before):
    answer = backend.http.post(f"/v1/users/{ben.name}/revoke", json={"before": before()})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert "before" in answer.json()["detail"]


def test_a_revocation_is_refused_as_any_other_call_is(system, backend, anna, ben):
    path = f"/v1/users/{ben.name}/revoke"
    assert anna.http.post(path).status_code == 403
    assert backend.http.post("/v1/users/b%20n/revoke").status_code == 400
    assert backend.http.post(path, content=b" " * (129 * 1024)).status_code == 413
    with system.sibling("ingest", PARLEY_RATE_PER_SECOND="1", PARLEY_RATE_BURST="1") as port:
        hasty = Person(system, backend.name, port=port, adm=True)
        assert any(hasty.http.post(path, json={"before": moment(0)}).status_code == 429 for _ in range(5))
    nobody = {f"PARLEY_BUS_{peer}": f"ipc://{system.state}/nobody-*.sock" for peer in ("STORE", "RECEIPT")}
    with system.sibling("ingest", "/healthz", PARLEY_REQUEST_DEADLINE="300ms", **nobody) as port:
        assert Person(system, backend.name, port=port, adm=True).http.post(path).status_code == 503
    assert system.http().post(path).status_code == 401
