"""What users decide about themselves, here and everywhere, and how their other devices hear of it."""

import pytest

from people import new_id
from test_sync import follow

OWN = "/v1/settings"


@pytest.fixture
def group(anna, ben):
    return anna.group(ben)


@pytest.fixture
def undecided(anna):
    """The other tests' users stay as they are: what a test decides is given up again."""
    yield anna
    anna.http.put(OWN, json={"readReceipts": None, "presence": None})


def settings(person, path=OWN):
    response = person.get(path)
    assert response.status_code == 200, response.text
    return response.json()


def decide(person, decision, path=OWN, **options):
    response = person.http.put(path, json=decision, **options)
    assert response.status_code == 200, response.text
    return response.json()


def problem(response):
    return response.status_code, response.json()["code"]


def test_what_is_not_named_stays_and_null_gives_a_decision_up(undecided):
    anna = undecided
    assert settings(anna) == {"readReceipts": True, "presence": True}
    assert decide(anna, {"presence": False}) == {"readReceipts": True, "presence": False}
    assert decide(anna, {"readReceipts": False, "muted": 7}) == {"readReceipts": False, "presence": False}
    assert decide(anna, {}) == settings(anna) == {"readReceipts": False, "presence": False}
    assert decide(anna, {"readReceipts": None, "presence": True}) == {"readReceipts": True, "presence": True}


def test_a_conversation_follows_its_user_until_it_is_decided_for(undecided, ben, group):
    here = f"/v1/conversations/{group}/settings"
    assert settings(undecided, here) == {"readReceipts": True, "inherited": ["readReceipts"]}
    decide(undecided, {"readReceipts": False})
    assert settings(undecided, here) == {"readReceipts": False, "inherited": ["readReceipts"]}
    assert decide(undecided, {"readReceipts": True}, here) == {"readReceipts": True, "inherited": []}
    assert decide(undecided, {"presence": False}, here) == {"readReceipts": True, "inherited": []}
    assert decide(undecided, {"readReceipts": None}, here) == {"readReceipts": False, "inherited": ["readReceipts"]}
    assert settings(ben, here) == {"readReceipts": True, "inherited": ["readReceipts"]}


def test_other_devices_hear_of_decisions_live_and_later(undecided, group):
    anna = undecided
    here = f"/v1/conversations/{group}/settings"
    _, _, cursor = follow(anna)
    with anna.socket() as phone:
        decide(anna, {"presence": False})
        live = phone.expect("private")
        assert (live["kind"], live["presence"], live["readReceipts"]) == ("settings.changed", False, True)
        decide(anna, {"readReceipts": False}, here)
        live = phone.expect("private")
        assert (live["conversationId"], live["readReceipts"], live["inherited"]) == (group, False, [])
        decide(anna, {"readReceipts": False}, here)
        phone.expect_silence("private")
        useq = phone.welcome["useq"]
    _, later, _ = follow(anna, cursor)
    assert [change["kind"] for change in later] == ["settings.changed"] * 2
    with anna.socket(useq=useq) as phone:
        assert [phone.expect("private")["useq"] for _ in later] == [change["useq"] for change in later]


def test_a_repetition_under_its_key_does_not_undo_what_came_since(undecided, group):
    key = {"Idempotency-Key": new_id()}
    decide(undecided, {"presence": False}, headers=key)
    decide(undecided, {"presence": True})
    assert decide(undecided, {"presence": False}, headers=key)["presence"] is True
    other = undecided.http.put(f"/v1/conversations/{group}/settings", json={"readReceipts": False}, headers=key)
    assert problem(other) == (409, "conflict")
    another = {"Idempotency-Key": new_id()}
    undecided.http.put(f"/v1/conversations/{group}/settings", json={}, headers=another)
    assert problem(undecided.http.put(OWN, json={}, headers=another)) == (409, "conflict")
    assert undecided.http.put(OWN, json={}, headers={"Idempotency-Key": "x"}).status_code == 400


def test_strangers_find_nothing_and_who_left_may_look_but_not_decide(anna, ben, stranger, group):
    here = f"/v1/conversations/{group}/settings"
    assert problem(stranger.get(here)) == (404, "notFound")
    assert problem(stranger.http.put(here, json={"readReceipts": False})) == (404, "notFound")
    assert ben.http.delete(f"/v1/conversations/{group}/members/{ben.name}").status_code == 204
    assert settings(ben, here)["readReceipts"] is True
    assert problem(ben.http.put(here, json={"readReceipts": False})) == (403, "forbidden")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'{"readReceipts":1}',
        b'{"readReceipts":"false"}',
        b'{"presence":{}}',
        b'{"presence":true,"presence":false}',
    ],
)
def test_what_could_be_misunderstood_is_refused(anna, group, body):
    assert problem(anna.http.put(OWN, content=body)) == (400, "invalid")
    if b"presence" not in body:
        assert problem(anna.http.put(f"/v1/conversations/{group}/settings", content=body)) == (400, "invalid")


def test_it_takes_a_token_a_small_body_and_only_a_backend_acts_for_others(system, anna, ben, group):
    for path in (OWN, f"/v1/conversations/{group}/settings"):
        for method in ("GET", "PUT"):
            assert system.http().request(method, path, json={}).status_code == 401
            acting = anna.http.request(method, path, json={}, headers={"X-Parley-User": ben.name})
            assert acting.status_code == 403
        assert problem(anna.http.put(path, content=b" " * (128 * 1024 + 1))) == (413, "tooLarge")
    assert anna.get("/v1/conversations/x/settings").status_code == 400
