"""The erasure of users, as the application's backend asks for it."""

import time

import pytest

from people import Person, new_id, open_socket


@pytest.fixture
def backend(new_person):
    return new_person("backend", adm=True)


def erase(backend, user) -> dict:
    """Asks until it is done, and returns what was erased."""
    deadline = time.monotonic() + 30
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
        socket.expect_close(4401, "unauthenticated", timeout=15)
    with open_socket(system) as late:
        late.send(type="hello", token=ben.token)
        late.expect_close(4401, "unauthenticated", timeout=15)
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
