"""Users whose account is new bring few people into conversations, and make fewer requests."""

import time

import pytest

from people import Person, new_id
from system import earlier
from test_consent import add, members, open_group, open_pair
from test_writes import problem

DAY = 86_400
TOO_MANY = (429, "rateLimited")


@pytest.fixture(scope="module")
def strict(system):
    """An ingest for which accounts are new for three days."""
    settings = {
        "PARLEY_NEW_ACCOUNT_AGE": "72h",
        "PARLEY_NEW_ACCOUNT_PEOPLE_PER_DAY": "3",
        "PARLEY_NEW_ACCOUNT_RATE_PER_SECOND": "1",
        "PARLEY_NEW_ACCOUNT_RATE_BURST": "300",
    }
    with system.sibling("ingest", **settings) as port:
        yield port


@pytest.fixture
def at(system, strict):
    people = []

    def at(person: Person, age: float | None = DAY, **claims) -> Person:
        since = {} if age is None else {"since": int(time.time() - age)}
        people.append(Person(system, person.name, port=strict, **since, **claims))
        return people[-1]

    yield at
    for person in people:
        person.http.close()


@pytest.fixture
def crowd(new_person):
    return [new_person(f"one{number}") for number in range(5)]


def test_the_limits_are_published(at, anna):
    assert at(anna).get("/v1/limits").json()["newAccount"] == {
        "seconds": 3 * DAY,
        "peoplePerDay": 3,
        "costPerSecond": 1,
        "costBurst": 300,
    }


def test_so_many_people_are_brought_in_and_no_more(at, anna, crowd, sql):
    new = at(anna)
    made = open_group(new, *crowd[:2])
    assert made.status_code == 201
    group = made.json()["id"]
    body = {"id": group, "kind": "group", "members": [crowd[0].name, crowd[1].name]}
    assert problem(open_group(new, *crowd[2:4])) == TOO_MANY, "two are more than one"
    assert add(new, group, crowd[2]).status_code == 200
    key = {"Idempotency-Key": new_id()}
    path = f"/v1/conversations/{group}/members/{crowd[3].name}"
    assert problem(new.http.put(path, json={}, headers=key)) == TOO_MANY
    refused = open_pair(new, crowd[3])
    assert problem(refused) == TOO_MANY and "newAccount" in refused.json()["detail"]
    assert crowd[3].get("/v1/conversations").json()["conversations"] == []
    # What is there already is repeated, and who is in gets another role.
    assert new.post("/v1/conversations", body).status_code == 200
    assert add(new, group, crowd[2]).status_code == 200
    assert add(new, group, crowd[2], role="admin").status_code == 200
    assert open_group(new).status_code == 201, "a group of one's own"
    assert new.send(group, "Hello")["seq"] > 1
    # The day is over.
    sql(f"UPDATE store.introductions SET since = {earlier('since', 25 * 3600)} WHERE user_id = '{anna.name}'")
    assert new.http.put(path, json={}, headers=key).status_code == 200
    assert sql(f"SELECT people FROM store.introductions WHERE user_id = '{anna.name}'") == "1"
    assert crowd[3].name in members(anna, group)


def test_everybody_of_a_later_conversation_counts(at, anna, crowd):
    new = at(anna)
    assert open_pair(new, crowd[0]).status_code == 201
    assert open_group(new, *crowd[1:3]).status_code == 201
    assert problem(open_pair(new, crowd[3])) == TOO_MANY


def test_others_are_not_held_up_nor_counted(at, anna, ben, crowd, sql):
    for person in (at(anna, 4 * DAY), at(ben, None), at(anna, adm=True)):
        assert open_group(person, *crowd).status_code == 201
    assert sql(f"SELECT FROM store.introductions WHERE user_id IN ('{anna.name}', '{ben.name}')") == ""


def test_a_new_account_makes_fewer_requests(at, anna, ben):
    group = anna.group(ben)
    new, old = at(anna), at(ben, 4 * DAY)
    item = lambda: {"conversationId": group, "id": new_id(), "text": "Buy"}  # noqa: E731
    batch = {"messages": [item() for _ in range(250)]}
    assert new.post("/v1/messages:batch", batch).status_code == 200
    assert problem(new.post("/v1/messages:batch", {"messages": [item() for _ in range(250)]})) == TOO_MANY
    assert old.post("/v1/messages:batch", {"messages": [item() for _ in range(250)]}).status_code == 200
    assert old.post("/v1/messages:batch", {"messages": [item() for _ in range(250)]}).status_code == 200


@pytest.mark.parametrize("since", ["yesterday", True, [1]])
def test_a_claim_that_is_no_time_makes_no_token(system, anna, since):
    bad = Person(system, anna.name, since=since)
    assert bad.get("/v1/settings").status_code == 401
    bad.http.close()
