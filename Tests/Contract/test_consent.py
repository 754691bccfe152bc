"""The application decides whether somebody is brought into a conversation: at once, asked first, or not."""

from contextlib import contextmanager

import httpx
import pytest

from application import ALLOW, SECRET, Application, answer, refuse
from people import Person, new_id
from test_invitations import invite, join
from test_requests import accept, listed, requests
from test_writes import problem

pytestmark = pytest.mark.usefixtures("asking")

REFUSED = (403, "refusedByApplication")


@contextmanager
def consulted(system, **settings):
    """An ingest that asks an application about members; yields how to be a user there, and the application."""
    application = Application()
    variables = {
        "PARLEY_CONSENT_HOOK": f"http://127.0.0.1:{application.port}/consent",
        "PARLEY_CONSENT_HOOK_SECRET": SECRET,
    } | settings
    people = []
    with application.serving(), system.sibling("ingest", **variables) as port:

        def at(person: Person, **claims) -> Person:
            people.append(Person(system, person.name, port=port, **claims))
            return people[-1]

        try:
            yield at, application, port
        finally:
            for person in people:
                person.http.close()
    assert application.forged == 0


@pytest.fixture
def asked(system):
    with consulted(system) as scene:
        yield scene[:2]


def says(**actions):
    """An answer by the user's name, without its random end."""

    def decide(members, _):
        return answer({"results": [{"action": actions[member["userId"].split("-")[0]]} for member in members]})

    return decide


def open_pair(person, other):
    return person.post("/v1/conversations", {"kind": "direct", "members": [other.name]})


def open_group(person, *others, **fields):
    members = [other.name for other in others]
    return person.post("/v1/conversations", {"id": new_id(), "kind": "group", "members": members} | fields)


def add(person, group, other, **fields):
    return person.http.put(f"/v1/conversations/{group}/members/{other.name}", json=fields)


def members(person, group) -> set[str]:
    return {each["userId"] for each in person.get(f"/v1/conversations/{group}/members").json()["members"]}


def test_each_member_comes_in_is_asked_or_hears_nothing_and_the_opener_sees_no_difference(
    asked, anna, ben, carla, new_person
):
    at, application = asked
    dora = new_person("dora")
    application.decide = says(ben="allow", carla="ask", dora="decline")
    opened = open_group(at(anna), ben, carla, dora, title="Plans")
    assert opened.status_code == 201, opened.text
    group = opened.json()["id"]
    [question] = application.questions
    assert (question["type"], question["adderId"]) == ("member.asked", anna.name)
    about = {"kind": "group", "conversationId": group, "title": "Plans"}
    assert question["members"] == [about | {"userId": each.name} for each in (ben, carla, dora)]
    assert members(anna, group) == {each.name for each in (anna, ben, carla, dora)}
    assert listed(ben) == [group] and requests(ben) == {}
    assert listed(carla) == [] and set(requests(carla)) == {group}
    assert listed(dora) == [] and requests(dora) == {}
    for other in (ben, carla, dora):
        with_other = open_pair(at(anna), other)
        assert with_other.status_code == 201
        sent = anna.send(with_other.json()["id"], "Hello")
        assert sent["seq"] == 2
    assert len(listed(ben)) == 2 and len(requests(carla)) == 2 and requests(dora) == {} and listed(dora) == []


def test_who_is_added_later_is_asked_about_and_who_is_in_is_not_affected(asked, anna, ben, carla, new_person):
    at, application = asked
    owner, dora = at(anna), new_person("dora")
    group = open_group(owner).json()["id"]
    assert application.questions == [], "nobody is brought in"
    application.decide = says(ben="allow", carla="ask", dora="decline")
    for each in (ben, carla, dora):
        assert add(owner, group, each).status_code == 200
    assert [question["members"] for question in application.questions] == [
        [{"kind": "group", "conversationId": group, "userId": each.name}] for each in (ben, carla, dora)
    ]
    assert listed(ben) == [group] and set(requests(carla)) == {group} and requests(dora) == {}
    accept(carla, group)
    application.decide = lambda *_: refuse("Not here.")
    response = add(owner, group, ben, role="admin")
    assert response.status_code == 200 and response.json()["role"] == "admin", "who is in keeps their place"
    stranger = new_person("stranger")
    response = add(owner, group, stranger)
    assert problem(response) == REFUSED and response.json()["detail"] == "Not here."
    assert stranger.name not in members(anna, group) and requests(stranger) == {}
    application.decide = lambda *_: refuse()
    assert add(owner, group, stranger).json()["detail"] == "the application does not allow this"


def test_a_refusal_creates_nothing_and_what_exists_is_not_refused(asked, anna, ben, carla):
    at, application = asked
    group = {"id": new_id(), "kind": "group", "members": [ben.name, carla.name]}
    application.decide = lambda asked, _: answer(
        {"results": [{"action": "allow"}, {"action": "refuse", "detail": "Too young."}]}
    )
    response = at(anna).post("/v1/conversations", group)
    assert problem(response) == REFUSED and response.json()["detail"] == "Too young."
    assert listed(anna) == listed(ben) == []
    application.decide = lambda *_: ALLOW
    assert at(anna).post("/v1/conversations", group).status_code == 201
    application.decide = lambda *_: refuse("Too young.")
    repeated = at(anna).post("/v1/conversations", group)
    assert repeated.status_code == 200 and repeated.json()["id"] == group["id"]


def test_without_an_answer_nobody_comes_in_and_a_repetition_is_decided_anew(asked, anna, ben):
    at, application = asked
    owner = at(anna)
    group = open_group(owner).json()["id"]
    key = {"Idempotency-Key": new_id()}
    application.decide = lambda *_: answer(status=500)
    path = f"/v1/conversations/{group}/members/{ben.name}"
    response = owner.http.put(path, json={}, headers=key)
    assert problem(response) == (503, "unavailable") and members(anna, group) == {anna.name}
    assert problem(open_pair(owner, ben)) == (503, "unavailable") and listed(ben) == []
    assert add(owner, group, anna, role="owner").status_code == 200, "a role needs no answer"
    application.decide = lambda *_: ALLOW
    assert owner.http.put(path, json={}, headers=key).status_code == 200
    application.decide = lambda *_: answer({"action": "allowed"})
    assert owner.http.put(path, json={}, headers=key).status_code == 200, "it is there"
    assert open_pair(owner, ben).status_code == 503
    assert listed(ben) == [group]


def test_whoever_asks_to_join_or_comes_by_an_invitation_decides_themselves(asked, anna, ben, carla):
    at, application = asked
    owner = at(anna)
    group = open_group(owner).json()["id"]
    application.decide = lambda *_: refuse()
    assert join(at(ben), invite(owner, group)["code"]).status_code == 200
    assert join(at(carla), invite(owner, group, approval=True)["code"]).status_code == 202
    assert add(owner, group, carla).status_code == 200
    assert listed(carla) == [group]


def test_the_application_is_not_asked_about_what_it_does_itself_and_others_learn_nothing(
    asked, system, anna, ben, stranger
):
    at, application = asked
    application.decide = lambda *_: refuse("Known to members alone.")
    backend = at(anna, adm=True)
    opened = open_group(backend, ben)
    assert opened.status_code == 201 and application.questions == []
    assert set(requests(ben)) == {opened.json()["id"]}, "the deployment's option holds for it"
    response = add(at(stranger), opened.json()["id"], stranger)
    assert problem(response) == (404, "notFound") and "Known" not in response.text


def test_about_whoever_is_unheard_it_is_asked_as_ever_and_nobody_hears_of_them(asked, new_person, anna, ben):
    at, application = asked
    backend = new_person("backend", adm=True)
    suspension = f"/v1/users/{anna.name}/suspension"
    assert at(backend, adm=True).http.put(suspension, json={"mode": "unheard"}).status_code == 204
    application.decide = lambda *_: refuse("Not them.")
    response = open_pair(at(anna), ben)
    assert problem(response) == REFUSED and response.json()["detail"] == "Not them."
    application.decide = lambda *_: ALLOW
    assert open_pair(at(anna), ben).status_code == 201 and len(application.questions) == 2
    assert listed(ben) == [] and requests(ben) == {}


def test_what_is_asked_is_measured_and_no_name_is_logged(system, anna, ben):
    with consulted(system) as (at, application, port):
        application.decide = lambda *_: answer(status=302, Location="http://127.0.0.1:9/")
        assert open_pair(at(anna), ben).status_code == 503
        application.decide = says(ben="ask")
        assert open_pair(at(anna), ben).status_code == 201
        metrics = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
    for line in (
        'parley_ingest_consent_hook_members_total{result="failed"} 1',
        'parley_ingest_consent_hook_members_total{result="refused"} 1',
        'parley_ingest_consent_hook_failures_total{reason="status"} 1',
        "parley_ingest_consent_hook_duration_seconds_count 2",
    ):
        assert line in metrics, line
    log = (system.state / "logs" / "ingest-9.log").read_text()
    assert "the hook failed" in log and ben.name not in log and SECRET.removeprefix("whsec_") not in log
