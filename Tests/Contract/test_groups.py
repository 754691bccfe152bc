"""Roles, permissions and bans: who may do what in a group, and what others hear of it."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from people import new_id
from test_writes import conversation_of, done, edit, feed, history, path_of, problem, put_member, remove_member, write


@pytest.fixture
def group(anna, ben, carla):
    """Anna is an owner, ben an admin, carla a member."""
    group = anna.group(ben, carla)
    assert put_member(anna, group, ben, "admin")["role"] == "admin"
    return group


def permit(person, group, **permissions):
    return done(person, "PUT", f"/v1/conversations/{group}/permissions", permissions)


def bans(person, group, **query):
    response = person.get(f"/v1/conversations/{group}/bans", params=query)
    assert response.status_code == 200, response.text
    return response.json()


def send(person, group, **fields):
    return person.post(f"/v1/conversations/{group}/messages", {"id": new_id(), "text": "Hello"} | fields)


def refused(response) -> bool:
    return response.status_code == 403 and problem(response) == (403, "forbidden")


# MARK: Admins


def test_owners_make_admins_and_unmake_them_and_nobody_else_does(anna, ben, carla, dora, group):
    members = f"/v1/conversations/{group}/members"
    for person, role in ((carla, "admin"), (carla, "owner"), (anna, "member"), (ben, "owner"), (dora, "admin")):
        assert refused(write(ben, "PUT", f"{members}/{person.name}", {"role": role})), (person.name, role)
    with carla.socket() as socket:
        last = conversation_of(anna, group)["lastSeq"]
        put_member(anna, group, ben, "member")
        change = socket.expect_change(last + 1, group)
        assert (change["kind"], change["userId"], change["role"]) == ("member.changed", ben.name, "member")
        put_member(anna, group, ben, "admin")
        assert socket.expect_change(last + 2, group)["role"] == "admin"
    assert conversation_of(ben, group)["role"] == "admin"
    assert put_member(anna, group, dora, "admin")["role"] == "admin"
    assert {member["userId"]: member["role"] for member in anna.get(members).json()["members"]} == {
        anna.name: "owner", ben.name: "admin", carla.name: "member", dora.name: "admin",
    }  # fmt: skip


def test_admins_remove_members_and_neither_owners_nor_admins(anna, ben, carla, dora, group):
    members = f"/v1/conversations/{group}/members"
    put_member(anna, group, dora, "admin")
    assert refused(write(ben, "DELETE", f"{members}/{anna.name}"))
    assert refused(write(ben, "DELETE", f"{members}/{dora.name}"))
    assert refused(write(carla, "DELETE", f"{members}/{ben.name}"))
    remove_member(ben, group, carla)
    assert conversation_of(anna, group)["memberCount"] == 3
    remove_member(anna, group, dora)
    remove_member(ben, group, ben)


def test_an_admin_follows_the_last_owner_whoever_was_there_longer(anna, ben, carla, dora):
    group = anna.group(carla)
    put_member(anna, group, ben, "admin")
    put_member(anna, group, dora, "admin")
    remove_member(anna, group, anna)
    assert conversation_of(ben, group)["role"] == "owner"
    assert [conversation_of(person, group)["role"] for person in (carla, dora)] == ["member", "admin"]
    last = feed(carla, group)[-1]
    assert (last["kind"], last["userId"], last["role"]) == ("member.changed", ben.name, "owner")
    remove_member(dora, group, dora)
    remove_member(ben, group, ben)
    assert conversation_of(carla, group)["role"] == "owner"


def test_a_former_member_goes_on_seeing_the_roles_of_when_they_left(anna, ben, carla, dora, group):
    put_member(anna, group, dora)

    def roles(person):
        members = person.get(f"/v1/conversations/{group}/members").json()["members"]
        return {member["userId"]: member["role"] for member in members}

    before = roles(carla)
    remove_member(carla, group, carla)
    del before[carla.name]
    for role in ("owner", "admin", "member", "admin"):
        put_member(anna, group, dora, role)
        put_member(anna, group, ben, "member" if role == "admin" else "admin")
    assert roles(carla) == before
    assert roles(anna) == {anna.name: "owner", ben.name: "member", dora.name: "admin"}


# MARK: Permissions


def test_permissions_are_told_and_shown_and_what_says_nothing_is_not(anna, ben, carla, group):
    assert "permissions" not in conversation_of(carla, group)
    last = conversation_of(anna, group)["lastSeq"]
    with carla.socket() as socket:
        shown = permit(anna, group, write="admins")
        assert shown["permissions"] == {"addMembers": "members", "rename": "members", "write": "admins"}
        change = socket.expect_change(last + 1, group)
        assert (change["kind"], change["actorId"]) == ("permissions.changed", anna.name)
        assert change["permissions"] == shown["permissions"]
        # The same again, null, and nothing at all change nothing.
        permit(anna, group, write="admins", rename=None)
        permit(anna, group)
        permit(anna, group, rename="owners", later=7)
        change = socket.expect_change(last + 2, group)
        assert change["permissions"] == {"addMembers": "members", "rename": "owners", "write": "admins"}
    assert [each["kind"] for each in feed(carla, group, after=last)] == ["permissions.changed"] * 2
    assert feed(carla, group, after=last)[-1]["permissions"] == change["permissions"]
    with carla.socket(cursors={group: last}) as socket:
        assert socket.expect_change(last + 2, group)["permissions"] == change["permissions"]
    assert not [each for each in history(carla, group) if each["seq"] > last], "the history does not show it"
    listed = [each for each in ben.get("/v1/conversations").json()["conversations"] if each["id"] == group]
    assert listed[0]["permissions"] == change["permissions"]
    assert "permissions" not in permit(anna, group, write="members", rename="members")


def test_owners_alone_change_permissions_and_a_direct_conversation_has_none(anna, ben, carla, stranger, group):
    path = f"/v1/conversations/{group}/permissions"
    for person in (ben, carla):
        assert refused(write(person, "PUT", path, {"write": "members"}))
    assert problem(write(stranger, "PUT", path, {"write": "members"})) == (404, "notFound")
    direct = anna.post("/v1/conversations", {"kind": "direct", "members": [ben.name]}).json()["id"]
    body = {"write": "owners"}
    assert problem(write(anna, "PUT", f"/v1/conversations/{direct}/permissions", body)) == (409, "conflict")
    assert "permissions" not in conversation_of(anna, direct)


def test_sync_tells_members_of_permissions_and_former_members_of_none(anna, ben, carla, group):
    permit(anna, group, rename="admins")
    remove_member(carla, group, carla)
    assert "permissions" not in conversation_of(carla, group)
    cursors = {person: person.get("/v1/sync").json()["cursor"] for person in (ben, carla)}
    permit(anna, group, write="owners")
    found = {}
    for person, cursor in cursors.items():
        page = person.get("/v1/sync", params={"since": cursor}).json()
        found[person] = [each["permissions"] for each in page["conversations"] if each["id"] == group]
    assert found == {ben: [{"addMembers": "members", "rename": "admins", "write": "owners"}], carla: []}
    assert "permissions" not in conversation_of(carla, group)


MAY = [("members", {"owner", "admin", "member"}), ("admins", {"owner", "admin"}), ("owners", {"owner"})]


@pytest.mark.parametrize("permitted, roles", MAY)
def test_who_may_write_sends_and_edits(anna, ben, carla, group, permitted, roles):
    people = {"owner": anna, "admin": ben, "member": carla}
    sent = {role: person.send(group, "Before") for role, person in people.items()}
    permit(anna, group, write=permitted)
    for role, person in people.items():
        may = role in roles
        ways = [
            send(person, group),
            send(person, group, mentions=[anna.name]),
            send(person, group, replyTo=sent["owner"]["id"]),
            write(person, "PATCH", path_of(sent[role]), {"text": "After"}),
        ]
        assert [refused(way) for way in ways] == [not may] * 4, [way.text for way in ways]
        assert all("write" in way.json()["detail"] for way in ways if not may)
        batch = [{"conversationId": group, "id": new_id(), "text": f"{n}"} for n in range(3)]
        results = person.post("/v1/messages:batch", {"messages": batch}).json()["results"]
        assert [result["status"] for result in results] == [201 if may else 403] * 3
        # What was sent before is sent, however often it comes again, and may be reacted to, deleted and read.
        again = person.post(f"/v1/conversations/{group}/messages", {"id": sent[role]["id"], "text": "Before"})
        assert again.status_code == 200
        done(person, "PUT", f"{path_of(sent['owner'])}/tapback", {"kind": "like"})
        assert person.post(f"/v1/conversations/{group}/receipts", {"readSeq": 2}).status_code == 202
    done(carla, "DELETE", path_of(sent["member"]), status=204, params={"scope": "everyone"})


def test_those_who_may_write_and_others_in_one_batch_get_what_is_theirs(anna, ben, carla, group):
    """Sends that come at once are stored by one statement, which tells the senders apart."""
    other = carla.group(anna)
    permit(anna, group, write="admins")
    people = [anna, ben, carla] * 16
    with ThreadPoolExecutor(16) as pool:
        here = list(pool.map(lambda person: (person, send(person, group)), people))
        there = list(pool.map(lambda _: send(carla, other), range(8)))
    assert {(person.name, sent.status_code) for person, sent in here} == {
        (anna.name, 201), (ben.name, 201), (carla.name, 403),
    }  # fmt: skip
    assert {sent.status_code for sent in there} == {201}
    stored = [each["senderId"] for each in history(carla, group) if each["kind"] == "text"]
    assert sorted(stored) == sorted([anna.name, ben.name] * 16)
    permit(anna, group, write="members")
    assert send(carla, group).status_code == 201


def test_a_refused_message_may_be_sent_again_when_its_sender_may_write(anna, carla, group):
    permit(anna, group, write="admins")
    body = {"id": new_id(), "text": "At last"}
    for _ in range(2):
        assert refused(carla.post(f"/v1/conversations/{group}/messages", body))
    put_member(anna, group, carla, "admin")
    assert carla.post(f"/v1/conversations/{group}/messages", body).status_code == 201


def test_a_deletion_that_came_before_its_message_holds_in_a_restricted_group(anna, group):
    permit(anna, group, write="admins")
    early = new_id()
    path = f"/v1/conversations/{group}/messages/{early}"
    done(anna, "DELETE", path, status=204, params={"scope": "everyone"})
    assert anna.post(f"/v1/conversations/{group}/messages", {"id": early, "text": "x"}).json()["deletedForEveryone"]


@pytest.mark.parametrize("permitted, roles", MAY)
def test_who_may_rename_renames(anna, ben, carla, group, permitted, roles):
    permit(anna, group, rename=permitted)
    for role, person in (("owner", anna), ("admin", ben), ("member", carla)):
        renamed = write(person, "PATCH", f"/v1/conversations/{group}", {"title": f"By {role}"})
        assert renamed.status_code == (200 if role in roles else 403)
    assert send(carla, group).status_code == 201


@pytest.mark.parametrize("permitted, roles", MAY)
def test_who_may_add_adds(anna, ben, carla, group, permitted, roles, new_person):
    permit(anna, group, addMembers=permitted)
    for role, person in (("owner", anna), ("admin", ben), ("member", carla)):
        added = write(person, "PUT", f"/v1/conversations/{group}/members/{new_person('new').name}")
        assert added.status_code == (200 if role in roles else 403)
        # Whoever is a member already is not added.
        assert write(person, "PUT", f"/v1/conversations/{group}/members/{ben.name}").status_code == 200


def test_who_becomes_an_owner_because_the_last_one_went_may_do_what_owners_may(anna, ben, carla, group):
    permit(anna, group, write="owners", rename="owners")
    assert refused(send(ben, group))
    remove_member(anna, group, anna)
    assert send(ben, group).status_code == 201
    permit(ben, group, write="members")
    assert send(carla, group).status_code == 201


# MARK: Bans


def test_who_was_removed_is_brought_back_by_owners_and_admins_alone(anna, ben, carla, dora, group):
    members = f"/v1/conversations/{group}/members"
    for remover, bringer in ((anna, ben), (ben, anna)):
        put_member(carla, group, dora)
        remove_member(remover, group, dora)
        assert refused(write(carla, "PUT", f"{members}/{dora.name}"))
        listed = bans(ben, group)["bans"]
        assert [(ban["userId"], ban["actorId"]) for ban in listed] == [(dora.name, remover.name)]
        assert listed[0]["at"] == feed(anna, group)[-1]["at"]
        put_member(bringer, group, dora)
        assert bans(anna, group) == {"bans": []}
        remove_member(dora, group, dora)


def test_who_left_is_not_banned(anna, carla, dora, group):
    put_member(carla, group, dora)
    remove_member(dora, group, dora)
    assert bans(anna, group) == {"bans": []}
    put_member(carla, group, dora)
    remove_member(dora, group, dora)
    # Removing who is gone already bans nobody.
    remove_member(anna, group, dora)
    put_member(carla, group, dora)


def test_a_lifted_ban_lets_members_bring_the_user_back(anna, ben, carla, dora, group):
    put_member(carla, group, dora)
    remove_member(anna, group, dora)
    path, key = f"/v1/conversations/{group}/bans/{dora.name}", str(uuid.uuid4())
    assert refused(write(carla, "DELETE", path)) and refused(write(dora, "DELETE", path))
    last = conversation_of(anna, group)["lastSeq"]
    done(ben, "DELETE", path, status=204, key=key)
    assert conversation_of(anna, group)["lastSeq"] == last
    put_member(carla, group, dora)
    remove_member(anna, group, dora)
    # The same request is carried out once.
    done(ben, "DELETE", path, status=204, key=key)
    assert len(bans(anna, group)["bans"]) == 1
    done(anna, "DELETE", path, status=204)
    done(anna, "DELETE", path, status=204)
    assert bans(anna, group) == {"bans": []}


def test_bans_have_pages_and_are_shown_to_owners_and_admins(anna, ben, carla, stranger, group, new_person):
    people = sorted((new_person(f"p{n}") for n in range(5)), key=lambda person: person.name)
    for person in people:
        put_member(anna, group, person)
        remove_member(ben, group, person)
    names, query = [], {"limit": 2}
    for _ in range(3):
        page = bans(ben, group, **query)
        names += [ban["userId"] for ban in page["bans"]]
        query["after"] = page.get("nextCursor")
    assert names == [person.name for person in people] and "nextCursor" not in page
    path = f"/v1/conversations/{group}/bans"
    for person in (carla, people[0]):
        assert refused(person.get(path))
    assert problem(stranger.get(path)) == (404, "notFound")
    for wrong in ("limit=0", "limit=1001", "limit=x", "after=a%20b"):
        assert problem(anna.get(f"{path}?{wrong}")) == (400, "invalid")


def test_who_is_banned_keeps_what_they_saw_and_learns_nothing_more(anna, carla, dora, group):
    put_member(anna, group, dora)
    seen = anna.send(group, "Seen")
    remove_member(anna, group, dora)
    anna.send(group, "Unseen")
    permit(anna, group, write="admins")
    edit(anna, path_of(seen), "Changed")
    assert [each["text"] for each in history(dora, group) if each["kind"] == "text"] == ["Seen"]
    shown = conversation_of(dora, group)
    assert "permissions" not in shown and shown["windows"][-1]["to"] == shown["lastSeq"] == seen["seq"] + 1
    assert refused(send(dora, group))
