"""Invitations: who makes, sees and revokes them, what a code opens, and what nobody learns by one."""

import time
import uuid
from base64 import urlsafe_b64decode, urlsafe_b64encode
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from people import Person, new_id
from test_writes import conversation_of, done, feed, history, problem, put_member, remove_member, write


@pytest.fixture
def group(anna, ben, carla):
    """Anna is an owner, ben an admin, carla a member."""
    group = anna.group(ben, carla, title="Sunday")
    assert put_member(anna, group, ben, "admin")["role"] == "admin"
    return group


def invite(person, group, **fields):
    made = person.post(f"/v1/conversations/{group}/invitations", {"id": new_id()} | fields)
    assert made.status_code == 201, made.text
    return made.json()


def listed(person, group):
    response = person.get(f"/v1/conversations/{group}/invitations")
    assert response.status_code == 200, response.text
    return response.json()["invitations"]


def preview(person, code):
    return person.get(f"/v1/invitations/{code}")


def join(person, code, key=None):
    return write(person, "POST", f"/v1/invitations/{code}", None, key)


def revoke(person, group, invitation):
    return write(person, "DELETE", f"/v1/conversations/{group}/invitations/{invitation['id']}")


def made_up(group: str, secret: bytes | None = None) -> str:
    """A code of the group that nobody has given out."""
    return urlsafe_b64encode(uuid.UUID(group).bytes + (secret or uuid.uuid4().bytes)).decode().rstrip("=")


def in_a_week() -> str:
    return (datetime.now(UTC) + timedelta(days=7)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def knows_nothing(person, group, code) -> bool:
    """The code is to the person as one that nobody has given out."""
    unknown = preview(person, made_up(group))
    assert problem(unknown) == (404, "notFound")
    return all(each.content == unknown.content for each in (preview(person, code), join(person, code)))


# MARK: Making and revoking


def test_an_invitation_is_told_once_with_its_code_and_listed_without(anna, ben, carla, group):
    until = in_a_week()
    made = invite(carla, group, expiresAt=until, maxUses=3)
    assert (made["creatorId"], made["expiresAt"], made["maxUses"], made["uses"]) == (carla.name, until, 3, 0)
    plain = invite(anna, group)
    assert "expiresAt" not in plain and "maxUses" not in plain
    assert len({made["code"], plain["code"]}) == 2
    without = [{key: value for key, value in each.items() if key != "code"} for each in (made, plain)]
    assert listed(anna, group) == listed(ben, group) == without
    assert listed(carla, group) == without[:1]
    assert "invitation" not in str(feed(anna, group)), "nobody is told"


def test_the_same_request_again_makes_no_other_and_gives_it_another_code(anna, carla, dora, erin, group):
    body = {"id": new_id(), "maxUses": 5}
    first, second = invite(carla, group, **body), invite(carla, group, **body)
    assert first | {"code": second["code"]} == second and first["code"] != second["code"]
    assert knows_nothing(dora, group, first["code"])
    assert join(dora, second["code"]).status_code == 200
    assert [each["uses"] for each in listed(anna, group)] == [1]
    for person, other in ((carla, {"maxUses": 6}), (carla, {"maxUses": None}), (anna, {}), (dora, {})):
        refused = person.post(f"/v1/conversations/{group}/invitations", body | other)
        assert problem(refused) == (409, "conflict"), other


@pytest.mark.parametrize(
    "field, body",
    [
        ("id", {"id": None}), ("id", {"id": "x"}), ("id", {"id": str(uuid.uuid1())}), ("id", {"id": 7}),
        ("expiresAt", {"expiresAt": "2020-01-01T00:00:00Z"}), ("expiresAt", {"expiresAt": "soon"}),
        ("expiresAt", {"expiresAt": 7}), ("maxUses", {"maxUses": 0}), ("maxUses", {"maxUses": -1}),
        ("maxUses", {"maxUses": 100001}), ("maxUses", {"maxUses": "1"}), ("approval", {"approval": 1}),
    ],
)  # fmt: skip
def test_a_wrong_field_is_refused_and_named(anna, group, field, body):
    refused = anna.post(f"/v1/conversations/{group}/invitations", {"id": new_id()} | body)
    assert problem(refused) == (400, "invalid") and field in refused.json()["detail"], refused.text
    assert listed(anna, group) == []


def test_a_body_over_the_limit_is_too_large(anna, group):
    for path in (f"/v1/conversations/{group}/invitations", f"/v1/invitations/{made_up(group)}"):
        assert problem(anna.post(path, b" " * (128 * 1024 + 1))) == (413, "tooLarge")


def test_whoever_may_add_members_invites_and_others_do_not(anna, ben, carla, stranger, group):
    path = f"/v1/conversations/{group}/invitations"
    assert problem(stranger.post(path, {"id": new_id()})) == (404, "notFound")
    assert problem(stranger.get(path)) == (404, "notFound")
    assert problem(anna.get("/v1/conversations/x/invitations")) == (400, "invalid")
    done(anna, "PUT", f"/v1/conversations/{group}/permissions", {"addMembers": "admins"})
    assert problem(carla.post(path, {"id": new_id()})) == (403, "forbidden")
    invite(ben, group)
    direct = anna.post("/v1/conversations", {"kind": "direct", "members": [ben.name]}).json()["id"]
    assert problem(anna.post(f"/v1/conversations/{direct}/invitations", {"id": new_id()})) == (409, "conflict")
    remove_member(carla, group, carla)
    assert problem(carla.get(path)) == (403, "forbidden")


def test_members_revoke_their_own_and_owners_and_admins_all(anna, ben, carla, dora, group):
    own, others, third = invite(carla, group), invite(anna, group), invite(carla, group)
    assert problem(revoke(carla, group, others)) == (403, "forbidden")
    assert problem(revoke(dora, group, own)) == (404, "notFound")
    for person, invitation in ((carla, own), (ben, others), (anna, third), (carla, own)):
        assert revoke(person, group, invitation).status_code == 204
        assert knows_nothing(dora, group, invitation["code"])
    assert listed(anna, group) == []


# MARK: Joining


def test_a_code_tells_the_title_and_how_many_there_are_and_lets_its_holder_join(anna, ben, carla, dora, group):
    code = invite(carla, group)["code"]
    assert preview(dora, code).json() == {"title": "Sunday", "memberCount": 3}
    assert preview(anna, code).json() == {"title": "Sunday", "memberCount": 3}
    said = anna.send(group, "Before")
    last = conversation_of(anna, group)["lastSeq"]
    with carla.socket() as observer, dora.socket() as socket:
        joined = join(dora, code)
        assert joined.status_code == 200
        change = observer.expect_change(last + 1, group)
        assert (change["kind"], change["userId"], change["actorId"]) == ("member.added", dora.name, dora.name)
        assert change["role"] == "member"
        private = socket.expect("private")
        assert (private["kind"], private["lastSeq"]) == ("conversation.joined", last)
        assert socket.expect_change(last + 1, group)["userId"] == dora.name
        after = anna.send(group, "After")
        assert socket.expect_change(last + 2, group)["message"]["id"] == after["id"]
    shown = joined.json()
    assert (shown["id"], shown["memberCount"], shown["role"]) == (group, 4, "member")
    assert shown["windows"] == [{"from": last + 1}]
    assert said["id"] not in [each["id"] for each in history(dora, group)]
    [event] = [each for each in history(ben, group) if each["seq"] == last + 1]
    assert event["senderId"] == dora.name
    assert preview(dora, code).json()["memberCount"] == 4


def test_a_repetition_joins_once_and_counts_once(anna, carla, dora, erin, group):
    made, key = invite(carla, group, maxUses=1), str(uuid.uuid4())
    first = join(dora, made["code"], key)
    assert first.status_code == 200
    for again in (key, key, None, str(uuid.uuid4())):
        assert join(dora, made["code"], again).json() == first.json()
    assert [each["kind"] for each in feed(anna, group)].count("member.added") == 1
    assert listed(anna, group) == [], "it is used up"
    assert knows_nothing(erin, group, made["code"])
    # Members are in it, whatever the code.
    assert join(dora, made_up(group)).status_code == 200
    # The key of one write is no key for another.
    assert problem(join(dora, invite(anna, group)["code"], key)) == (409, "conflict")
    for wrong in ("x", "00000000-0000-0000-0000-000000000000"):
        assert problem(join(erin, made["code"], wrong)) == (400, "invalid")


def test_of_those_who_come_at_once_for_the_last_use_one_joins(anna, carla, group, new_person):
    made = invite(carla, group, maxUses=2)
    comers = [new_person("comer") for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        statuses = list(pool.map(lambda person: join(person, made["code"]).status_code, comers))
    assert sorted(statuses) == [200, 200, 404, 404, 404, 404]
    added = [each["userId"] for each in feed(anna, group) if each["kind"] == "member.added"]
    assert sorted(added) == sorted(person.name for person, status in zip(comers, statuses) if status == 200)


def test_who_was_removed_or_is_blocked_by_the_maker_learns_nothing(anna, ben, carla, dora, erin, group):
    code = invite(carla, group)["code"]
    assert carla.http.put(f"/v1/blocks/{erin.name}").status_code == 204
    assert knows_nothing(erin, group, code)
    assert join(erin, invite(anna, group)["code"]).status_code == 200
    assert join(dora, code).status_code == 200
    remove_member(ben, group, dora)
    assert knows_nothing(dora, group, code)
    done(ben, "DELETE", f"/v1/conversations/{group}/bans/{dora.name}", status=204)
    assert join(dora, code).status_code == 200
    # Who left by themselves comes back, and sees both stays.
    remove_member(dora, group, dora)
    rejoined = join(dora, code).json()
    assert [set(window) for window in rejoined["windows"]] == [{"from", "to"}] * 2 + [{"from"}]


def test_a_code_is_as_good_as_its_makers_right_to_add(anna, ben, carla, dora, group):
    code, of_admin = invite(carla, group)["code"], invite(ben, group)["code"]
    permissions = f"/v1/conversations/{group}/permissions"
    done(anna, "PUT", permissions, {"addMembers": "admins"})
    assert knows_nothing(dora, group, code)
    assert preview(dora, of_admin).status_code == 200
    done(anna, "PUT", permissions, {"addMembers": "members"})
    assert preview(dora, code).status_code == 200
    remove_member(carla, group, carla)
    remove_member(anna, group, ben)
    put_member(anna, group, carla)
    put_member(anna, group, ben)
    assert knows_nothing(dora, group, code) and knows_nothing(dora, group, of_admin)
    assert listed(anna, group) == []


def test_what_is_no_code_is_like_one_that_nobody_has_given_out(anna, dora, group):
    code = invite(anna, group)["code"]
    secret = urlsafe_b64decode(code + "=")[16:]
    unknown = preview(dora, made_up(group))
    for other in (
        "x", code[:-1], code + "A", "A" * 43, code.swapcase(), made_up(new_id(), secret), "%00", code + "%3D",
        group, "%C3%A9" + code[2:],
    ):  # fmt: skip
        assert preview(dora, other).content == join(dora, other).content == unknown.content, other
    assert preview(dora, code).status_code == 200


def test_whom_a_backend_acts_for_is_asked_before_the_code(system, anna, group):
    code = invite(anna, group)["code"]
    backend = Person(system, f"backend-{new_id()}", adm=True)
    for method in ("GET", "POST"):
        wrong = backend.http.request(method, f"/v1/invitations/{code}", headers={"X-Parley-User": "no body"})
        assert problem(wrong) == (400, "invalid")
    backend.http.close()


def test_an_erased_maker_leaves_no_invitation(system, anna, carla, dora, group):
    code = invite(carla, group)["code"]
    backend = Person(system, f"backend-{new_id()}", adm=True)
    while backend.http.delete(f"/v1/users/{carla.name}").status_code != 200:
        time.sleep(0.05)
    assert knows_nothing(dora, group, code) and listed(anna, group) == []
    backend.http.close()
