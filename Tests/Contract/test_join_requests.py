"""Requests to join: who asks, who decides, what each of them learns, and what nobody learns by it."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from people import Person
from test_invitations import in_a_week, invite, join, knows_nothing, listed, made_up, preview, revoke
from test_writes import conversation_of, done, feed, history, problem, put_member, remove_member, write


@pytest.fixture
def group(anna, ben, carla):
    """Anna is an owner, ben an admin, carla a member."""
    group = anna.group(ben, carla, title="Sunday")
    assert put_member(anna, group, ben, "admin")["role"] == "admin"
    return group


@pytest.fixture
def code(anna, group):
    return invite(anna, group, approval=True)["code"]


def asked(person, code, key=None):
    response = join(person, code, key)
    assert response.status_code == 202, response.text
    return response.json()


def waiting(person, group):
    response = person.get(f"/v1/conversations/{group}/join-requests")
    assert response.status_code == 200, response.text
    assert "nextCursor" not in response.json()
    return response.json()["requests"]


def names(person, group):
    return [each["userId"] for each in waiting(person, group)]


def decline(person, group, user, key=None):
    return write(person, "DELETE", f"/v1/conversations/{group}/join-requests/{user.name}", None, key)


# MARK: Asking


def test_whoever_comes_asks_and_owners_and_admins_see_it(anna, ben, carla, dora, stranger, group):
    made = invite(ben, group, approval=True)
    assert made["approval"] is True
    assert [each.get("approval") for each in listed(anna, group)] == [True]
    assert preview(dora, made["code"]).json() == {"title": "Sunday", "memberCount": 3, "approval": True}
    last = conversation_of(anna, group)["lastSeq"]
    request = asked(dora, made["code"])
    assert request["conversationId"] == group and set(request) == {"conversationId", "requestedAt"}
    expected = [{"userId": dora.name, "requestedAt": request["requestedAt"], "inviterId": ben.name}]
    assert waiting(anna, group) == waiting(ben, group) == expected
    path = f"/v1/conversations/{group}/join-requests"
    assert problem(carla.get(path)) == (403, "forbidden")
    assert problem(stranger.get(path)) == problem(dora.get(path)) == (404, "notFound")
    assert [each["uses"] for each in listed(anna, group)] == [1]
    # No member is told, and nobody is in it.
    assert conversation_of(carla, group)["lastSeq"] == last and conversation_of(carla, group)["memberCount"] == 3
    for path in ("", "/messages", "/members", "/changes"):
        assert problem(dora.get(f"/v1/conversations/{group}{path}")) == (404, "notFound"), path
    assert dora.get("/v1/conversations").json()["conversations"] == []


def test_the_maker_is_told_once(anna, ben, dora, group):
    made = invite(ben, group, approval=True)
    with ben.socket() as socket, anna.socket() as other:
        asked(dora, made["code"])
        told = socket.expect("private")
        assert (told["kind"], told["conversationId"], told["userId"]) == ("join.requested", group, dora.name)
        asked(dora, made["code"])
        assert decline(dora, group, dora).status_code == 204
        asked(dora, made["code"])
        said = anna.send(group, "After")
        for each in (socket, other):
            each.expect_change(said["seq"], group)
        for each, count in ((socket, 1), (other, 0)):
            assert [frame.get("kind") for frame in each.frames].count("join.requested") == count
    with ben.socket(useq=told["useq"] - 1) as again:
        replayed = again.expect("private")
        assert (replayed["kind"], replayed["userId"]) == ("join.requested", dora.name)


def test_only_who_decides_makes_such_an_invitation(anna, ben, carla, dora, group):
    path = f"/v1/conversations/{group}/invitations"
    body = {"id": str(uuid.uuid4()), "approval": True}
    assert problem(carla.post(path, body)) == (403, "forbidden")
    assert carla.post(path, body | {"approval": False}).status_code == 201
    assert "approval" not in carla.post(path, body | {"approval": None}).json()
    other = {"id": str(uuid.uuid4()), "approval": True}
    first, second = ben.post(path, other), ben.post(path, other)
    assert first.status_code == second.status_code == 201 and first.json()["code"] != second.json()["code"]
    assert problem(ben.post(path, other | {"approval": False})) == (409, "conflict")
    # Whoever decides no more is told no more; others go on deciding.
    put_member(anna, group, ben, "member")
    with ben.socket() as socket:
        asked(dora, second.json()["code"])
        said = anna.send(group, "After")
        socket.expect_change(said["seq"], group)
        assert "join.requested" not in [frame.get("kind") for frame in socket.frames]
    assert names(anna, group) == [dora.name]


def test_a_repetition_asks_once(anna, dora, group):
    made, key = invite(anna, group, approval=True, maxUses=1), str(uuid.uuid4())
    first = asked(dora, made["code"], key)
    # It is used up, and goes on waiting, whatever the code.
    for again in (key, None, str(uuid.uuid4())):
        assert asked(dora, made["code"], again) == first
    assert asked(dora, made_up(group)) == first
    assert revoke(anna, group, made).status_code == 204
    assert asked(dora, made["code"], key) == first
    assert [(each["userId"], "inviterId" in each) for each in waiting(anna, group)] == [(dora.name, False)]
    assert problem(join(dora, invite(anna, group)["code"], key)) == (409, "conflict")


def test_an_invitation_that_lets_in_does_so_while_somebody_waits(anna, dora, group, code):
    asked(dora, code)
    assert join(dora, invite(anna, group)["code"]).status_code == 200
    assert names(anna, group) == []
    assert join(dora, code).status_code == 200


def test_a_use_counts_when_somebody_asks(anna, dora, erin, group, new_person):
    code = invite(anna, group, approval=True, maxUses=2)["code"]
    comers = [new_person("comer") for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        statuses = list(pool.map(lambda person: join(person, code).status_code, comers))
    assert sorted(statuses) == [202, 202, 404, 404, 404, 404]
    assert sorted(names(anna, group)) == sorted(
        person.name for person, status in zip(comers, statuses) if status == 202
    )
    # One account uses it once, however often it asks, and what is declined gives nothing back.
    code = invite(anna, group, approval=True, maxUses=2)["code"]
    for _ in range(5):
        asked(dora, code)
        assert decline(dora, group, dora).status_code == 204
    asked(dora, code)
    assert decline(anna, group, dora).status_code == 204
    asked(erin, code)
    assert knows_nothing(new_person("late"), group, code)


# MARK: Refusals


def test_who_was_removed_or_is_blocked_by_the_maker_learns_nothing(anna, ben, carla, dora, erin, group):
    code = invite(ben, group, approval=True)["code"]
    assert ben.http.put(f"/v1/blocks/{erin.name}").status_code == 204
    assert knows_nothing(erin, group, code)
    remove_member(anna, group, carla)
    assert knows_nothing(carla, group, code)
    expired = invite(anna, group, approval=True, expiresAt=in_a_week())
    assert revoke(anna, group, expired).status_code == 204
    used = invite(anna, group, approval=True, maxUses=1)["code"]
    asked(dora, used)
    for gone in (expired["code"], used):
        assert knows_nothing(erin, group, gone)
    assert names(anna, group) == [dora.name]
    # The maker goes, and so does what they made. Who has asked goes on asking, and is decided about.
    asked(erin, invite(anna, group, approval=True)["code"])
    remove_member(anna, group, ben)
    assert sorted(names(anna, group)) == sorted([dora.name, erin.name])


def test_who_is_blocked_meanwhile_goes_on_waiting(anna, dora, group, code):
    first = asked(dora, code)
    assert anna.http.put(f"/v1/blocks/{dora.name}").status_code == 204
    assert asked(dora, code) == first


# MARK: Deciding


def test_who_is_let_in_comes_in_as_whoever_is_added(anna, ben, carla, dora, group, code):
    said = anna.send(group, "Before")
    asked(dora, code)
    last = conversation_of(anna, group)["lastSeq"]
    with dora.socket() as socket, carla.socket() as observer:
        assert put_member(ben, group, dora)["role"] == "member"
        private = socket.expect("private")
        assert (private["kind"], private["lastSeq"]) == ("conversation.joined", last)
        change = observer.expect_change(last + 1, group)
        assert (change["kind"], change["userId"], change["actorId"]) == ("member.added", dora.name, ben.name)
    assert names(anna, group) == []
    joined = join(dora, code)
    assert joined.status_code == 200 and joined.json()["windows"] == [{"from": last + 1}]
    assert said["id"] not in [each["id"] for each in history(dora, group)]
    # Who leaves asks again.
    remove_member(dora, group, dora)
    asked(dora, code)
    assert names(anna, group) == [dora.name]
    assert [set(window) for window in conversation_of(dora, group)["windows"]] == [{"from", "to"}]


def test_who_asks_comes_in_whoever_lets_them_in(anna, ben, dora, group, code):
    asked(dora, code)
    assert dora.http.put(f"/v1/blocks/{ben.name}").status_code == 204
    put_member(ben, group, dora)
    assert conversation_of(dora, group)["role"] == "member"


def test_who_is_declined_sees_it_go_on(anna, ben, carla, dora, group, code):
    first, last = asked(dora, code), conversation_of(anna, group)["lastSeq"]
    assert problem(decline(carla, group, dora)) == (403, "forbidden")
    with dora.socket() as socket:
        assert decline(ben, group, dora).status_code == 204
        assert names(anna, group) == []
        assert asked(dora, code) == first and asked(dora, made_up(group)) == first
        # They take it back and ask again: it looks new, and is not shown.
        assert decline(dora, group, dora).status_code == 204
        assert knows_nothing(dora, group, made_up(group))
        again = asked(dora, code)
        assert again["requestedAt"] > first["requestedAt"] and asked(dora, code) == again
        assert names(anna, group) == []
        socket.send(type="ping", id="after")
        socket.expect("pong")
        assert [frame for frame in socket.frames if frame["type"] == "private"] == []
    assert conversation_of(anna, group)["lastSeq"] == last
    # Those who decided may change their minds.
    put_member(anna, group, dora)
    assert conversation_of(dora, group)["role"] == "member"


def test_a_withdrawn_request_is_gone_and_asked_again(anna, dora, erin, group, code):
    first = asked(dora, code)
    assert decline(dora, group, dora).status_code == 204
    assert decline(dora, group, dora).status_code == 204
    assert names(anna, group) == []
    assert knows_nothing(dora, group, made_up(group))
    # Nothing waits that could be declined.
    assert decline(anna, group, dora).status_code == 204
    assert asked(dora, code)["requestedAt"] > first["requestedAt"]
    assert names(anna, group) == [dora.name]
    # Whoever has asked nothing has nothing to take back here.
    assert problem(decline(erin, group, erin)) == problem(decline(erin, group, dora)) == (404, "notFound")
    assert problem(decline(dora, group, erin)) == (404, "notFound")


def test_a_decision_repeated_under_its_key_decides_once(anna, ben, dora, group, code):
    asked(dora, code)
    key = str(uuid.uuid4())
    assert decline(dora, group, dora, key).status_code == 204
    asked(dora, code)
    assert decline(dora, group, dora, key).status_code == 204
    assert names(anna, group) == [dora.name], "the second one is another request"
    assert problem(write(dora, "DELETE", f"/v1/conversations/{group}/history", None, key)) == (409, "conflict")


@pytest.mark.parametrize("other", ["admin", "themselves"])
def test_one_lets_in_while_another_declines(anna, ben, group, new_person, other):
    code = invite(anna, group, approval=True)["code"]
    comers = [new_person("comer") for _ in range(8)]
    for person in comers:
        asked(person, code)

    def decide(person):
        with ThreadPoolExecutor(2) as pool:
            added = pool.submit(lambda: put_member(anna, group, person))
            declined = pool.submit(decline, ben if other == "admin" else person, group, person)
        assert added.result()["role"] == "member" and declined.result().status_code == 204

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(decide, comers))
    assert names(anna, group) == []
    added = [each["userId"] for each in feed(anna, group) if each["kind"] == "member.added"]
    assert sorted(added) == sorted(person.name for person in comers)
    for person in comers:
        assert join(person, code).json()["role"] == "member"


def test_the_list_has_pages(anna, group, code, new_person):
    comers = sorted((new_person(f"comer{number}") for number in range(5)), key=lambda person: person.name.encode())
    for person in comers:
        asked(person, code)
    found, after = [], {}
    while True:
        page = anna.get(f"/v1/conversations/{group}/join-requests", params={"limit": 2} | after).json()
        found += [each["userId"] for each in page["requests"]]
        if "nextCursor" not in page:
            break
        after = {"after": page["nextCursor"]}
    assert found == [person.name for person in comers]
    for wrong in ("limit=0", "limit=1001", "limit=x", "after=a%20b"):
        assert problem(anna.get(f"/v1/conversations/{group}/join-requests?{wrong}")) == (400, "invalid")


# MARK: Erasure and refusals of the group


def erase(system, user):
    backend = Person(system, f"backend-{uuid.uuid4()}", adm=True)
    while backend.http.delete(f"/v1/users/{user.name}").status_code != 200:
        time.sleep(0.05)
    backend.http.close()


def test_whoever_is_erased_asks_nothing_and_is_named_nowhere(system, anna, ben, dora, erin, group):
    code = invite(ben, group, approval=True)["code"]
    with ben.socket() as socket:
        asked(dora, code)
        useq = socket.expect("private")["useq"]
    asked(erin, code)
    erase(system, dora)
    assert names(anna, group) == [erin.name]
    with ben.socket(useq=useq - 1) as socket:
        told = socket.expect("private")
        assert told["kind"] == "join.requested" and "userId" not in told
    erase(system, ben)
    assert [(each["userId"], "inviterId" in each) for each in waiting(anna, group)] == [(erin.name, False)]


def test_a_request_is_in_no_export(system, anna, dora, group, code):
    asked(dora, code)
    backend = Person(system, f"backend-{uuid.uuid4()}", adm=True)
    for path in (f"/v1/export/conversations/{group}", f"/v1/export/users/{dora.name}"):
        exported = backend.http.get(path)
        assert exported.status_code == 200 and f'"{dora.name}"' not in exported.text, exported.text
    backend.http.close()
    done(anna, "PUT", f"/v1/conversations/{group}/permissions", {"addMembers": "owners"})
    assert asked(dora, code)
