"""Exports: what comes out is what members have, no more, and goes in again as what it was."""

import base64
import http.client
import json
import random
import socket
import subprocess
import time
from datetime import UTC, datetime, timedelta

import pytest

from judged import EXECUTABLES, JudgedSystem
from people import Person, new_id
from test_import import PATIENCE, History, Importer, got

KINDS = ("love", "like", "dislike", "laugh", "emphasize", "question", "🧗")


def sealed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.fixture(scope="module")
def elsewhere():
    """Another system, in which nothing is."""
    system = JudgedSystem()
    try:
        system.up()
        yield system
    finally:
        system.remove()


@pytest.fixture
def backend(system):
    backend = Importer(system, f"backend-{new_id()[-8:]}", adm=True)
    yield backend
    backend.http.close()


@pytest.fixture
def other(elsewhere):
    backend = Importer(elsewhere, f"backend-{new_id()[-8:]}", adm=True)
    yield backend
    backend.http.close()


def export(backend: Person, path: str) -> str:
    """Asks again where a busy machine says so, or what was exported changed meanwhile."""
    deadline = time.monotonic() + PATIENCE
    while True:
        response = backend.http.get(f"/v1/export/{path}", timeout=PATIENCE)
        if response.status_code == 200:
            assert response.headers["content-type"] == "application/x-ndjson"
            return response.text
        assert response.status_code == 503 and time.monotonic() < deadline, response.text


def records(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def bring(backend: Importer, text: str):
    backend.brought(*records(text))


def check(text: str, tmp_path):
    """The dry run of `parley import` takes it: it says of a file alone what an import would refuse."""
    file = tmp_path / f"{new_id()}.ndjson"
    file.write_text(text)
    result = subprocess.run(
        [EXECUTABLES / "parley", "import", "parley", file, "--dry-run"], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr


class Group:
    """A group in which much happens at random, by the public calls."""

    def __init__(self, people: list[Person], seed: int):
        self.people = people
        self.random = random.Random(seed)
        self.id = people[0].group(*people[1:3], title="Climbing")
        self.path = f"/v1/conversations/{self.id}"
        self.members = people[:3]
        self.messages: list[dict] = []
        self.polls: list[dict] = []

    def happen(self, count: int):
        actions = [self.send] * 8 + [self.edit] * 3 + [self.delete] * 2 + [self.hide, self.react, self.react]
        actions += [self.ask] * 2 + [self.vote] * 6 + [self.close]
        actions += [self.receive] * 5 + [self.unreact, self.rename, self.add, self.remove, self.change_role, self.clear]
        for _ in range(count):
            self.random.choice(actions)()

    def member(self) -> Person:
        return self.random.choice(self.members)

    def message(self) -> dict | None:
        return self.random.choice(self.messages[-12:]) if self.messages else None

    def of(self, name: str) -> Person:
        return next(person for person in self.people if person.name == name)

    def send(self):
        body = {"id": new_id(), "text": self.text()}
        if (parent := self.message()) and self.random.random() < 0.3:
            body["replyTo"] = parent["id"]
        if self.random.random() < 0.2:
            body["extra"] = {"n": [1, self.text()]}
        if "replyTo" not in body and self.random.random() < 0.1:
            body["sealed"] = sealed(body.pop("text"))
        response = self.member().post(f"{self.path}/messages", body)
        assert response.status_code in (201, 422), response.text
        if response.status_code == 201:
            self.messages.append(response.json())

    def text(self) -> str:
        return self.random.choice(("Nine?", 'a\n"b"\t\\', "ü🧗‍♀️", "\u0001", "x" * self.random.randrange(1, 3_000)))

    def edit(self):
        if (message := self.message()) and (sender := self.of(message["senderId"])) in self.members:
            path = f"{self.path}/messages/{message['id']}"
            text = self.text()
            sender.http.patch(path, json={"sealed": sealed(text)} if message["kind"] == "sealed" else {"text": text})

    def delete(self):
        if (message := self.message()) and (sender := self.of(message["senderId"])) in self.members:
            sender.http.delete(f"{self.path}/messages/{message['id']}?scope=everyone")

    def hide(self):
        if message := self.message():
            self.member().http.delete(f"{self.path}/messages/{message['id']}?scope=me")

    def react(self):
        if message := self.message():
            path = f"{self.path}/messages/{message['id']}/tapback"
            self.member().http.put(path, json={"kind": self.random.choice(KINDS)})

    def unreact(self):
        if message := self.message():
            self.member().http.delete(f"{self.path}/messages/{message['id']}/tapback")

    def ask(self):
        options = self.random.sample(("Saturday", 'a "b" \\', "ü🧗‍♀️", "x" * 100, "é"), self.random.randrange(2, 6))
        body = {"id": new_id(), "text": self.text(), "poll": {"options": options}}
        if self.random.random() < 0.5:
            body["poll"]["multiple"] = True
        response = self.member().post(f"{self.path}/messages", body)
        assert response.status_code == 201, response.text
        self.polls.append(response.json())
        self.messages.append(response.json())

    def vote(self):
        if self.polls:
            poll = self.random.choice(self.polls[-3:])
            options = self.random.sample(range(2), self.random.randrange(3))
            self.member().http.put(f"{self.path}/messages/{poll['id']}/vote", json={"options": options})

    def close(self):
        if self.polls and self.random.random() < 0.5:
            self.member().http.post(f"{self.path}/messages/{self.random.choice(self.polls[-3:])['id']}/close")

    def receive(self):
        if message := self.message():
            kind = self.random.choice(("deliveredSeq", "readSeq"))
            self.member().post(f"{self.path}/receipts", {kind: message["seq"]})

    def rename(self):
        title = self.random.choice(("Bouldering", "Climbing", "Sunday"))
        assert self.member().http.patch(self.path, json={"title": title}).status_code == 200

    def add(self):
        body = self.random.choice(({}, {"role": "owner"}))
        newcomer = self.random.choice(self.people)
        if self.member().http.put(f"{self.path}/members/{newcomer.name}", json=body).status_code == 200:
            if newcomer not in self.members:
                self.members.append(newcomer)

    def remove(self):
        leaver = self.member()
        actor = self.random.choice((leaver, self.member()))
        if len(self.members) > 1:
            if actor.http.delete(f"{self.path}/members/{leaver.name}").status_code == 204:
                self.members.remove(leaver)

    def change_role(self):
        body = {"role": self.random.choice(("owner", "member"))}
        self.member().http.put(f"{self.path}/members/{self.member().name}", json=body)

    def clear(self):
        if self.random.random() < 0.2:
            self.member().http.delete(f"{self.path}/history")


@pytest.fixture
def crowd(new_person):
    return [new_person(name) for name in ("anna", "ben", "carla", "dora", "emil", "fred")]


@pytest.mark.parametrize("seed", range(6))
def test_what_happened_live_comes_back_from_another_system_byte_for_byte(backend, other, crowd, tmp_path, seed):
    group = Group(crowd, seed)
    group.happen(250)
    text = export(backend, f"conversations/{group.id}")
    check(text, tmp_path)
    assert {record["kind"] for record in records(text) if record["type"] == "receipt"} == {"delivered", "read"}
    assert any(record["type"] == "vote" for record in records(text))
    bring(other, text)
    assert export(other, f"conversations/{group.id}") == text


def shown(person: Person, conversation: str) -> dict[str, dict]:
    """The messages that a user sees, by their ids."""
    found, seq = {}, None
    while True:
        page = got(person, f"/v1/conversations/{conversation}/messages?limit=100" + (f"&before={seq}" if seq else ""))
        found |= {message["id"]: message for message in page["messages"] if message["kind"] != "system"}
        if not page["hasMoreBefore"]:
            return found
        seq = min(message["seq"] for message in page["messages"])


@pytest.mark.parametrize("seed", range(6))
def test_a_user_gets_what_they_see_and_their_own(backend, elsewhere, crowd, tmp_path, seed):
    """Late, former, back again: compared with what the public calls show each of them."""
    group = Group(crowd, 100 + seed)
    group.happen(250)
    for person in crowd:
        text = export(backend, f"users/{person.name}")
        check(text, tmp_path)
        if not text:
            assert person.get(group.path).status_code == 404
            continue
        told = {record["id"]: record for record in records(text) if record["type"] == "message"}
        seen = shown(person, group.id)
        hidden = {id for id in told.keys() - seen.keys() if told[id]["senderId"] == person.name}
        assert told.keys() - hidden == seen.keys()
        own = {m["id"] for m in group.messages if m["senderId"] == person.name}
        assert own <= told.keys()
        for id, message in seen.items():
            assert [told[id].get(key) for key in ("text", "sealed")] == [message.get(key) for key in ("text", "sealed")]
            assert told[id].get("deletedAt") == message.get("deletedAt")
            if poll := message.get("poll"):
                options = [option["text"] for option in poll["options"]]
                assert told[id]["poll"] == {"options": options} | ({"multiple": True} if poll["multiple"] else {})
                closings = [r for r in records(text) if r["type"] == "pollClosed" and r["messageId"] == id]
                assert len(closings) == ("closedAt" in poll)
            else:
                assert "poll" not in told[id]
            key = "sealed" if message["kind"] == "sealed" else "text"
            if message.get(key) is not None:
                revisions = got(person, f"{group.path}/messages/{id}/revisions")["revisions"]
                assert [r[key] for r in told[id].get("revisions", [{key: message[key]}])] == [r[key] for r in revisions]
        # Their own receipts, which say of no message that they do not see.
        received = [record for record in records(text) if record["type"] == "receipt"]
        assert {record["userId"] for record in received} <= {person.name}
        assert {record["throughMessageId"] for record in received} <= told.keys()
        tapbacks = {
            (record["messageId"], record["userId"], record["kind"])
            for record in records(text)
            if record["type"] == "tapback" and record["messageId"] in seen
        }
        visible = {
            (id, tapback["userId"], tapback["kind"])
            for id in seen
            if seen[id].get("text") is not None or "sealed" in seen[id]
            for tapback in got(person, f"{group.path}/messages/{id}/tapbacks?limit=100")["tapbacks"]
        }
        assert tapbacks <= visible
        votes = {
            (record["messageId"], record["userId"], *record["options"])
            for record in records(text)
            if record["type"] == "vote" and record["messageId"] in seen
        }
        visible = {
            (id, vote["userId"], *vote["options"])
            for id in seen
            if "poll" in seen[id]
            for vote in got(person, f"{group.path}/messages/{id}/votes")["votes"]
        }
        assert votes <= visible


@pytest.mark.parametrize("seed", range(6))
def test_a_user_s_export_comes_back_byte_for_byte(backend, crowd, tmp_path, seed):
    group = Group(crowd, 200 + seed)
    group.happen(300)
    texts = {person.name: export(backend, f"users/{person.name}") for person in crowd}
    for name, text in texts.items():
        check(text, tmp_path)
        if not text:
            continue
        copy, prefix = with_other_names(text, crowd)
        bring(backend, copy)
        assert export(backend, f"users/{prefix}{name}") == copy


def with_other_names(text: str, people: list[Person]) -> tuple[str, str]:
    """The same history of others, who are ordered as these are."""
    prefix = f"x{new_id()[-6:]}"
    for record in records(text):
        if "id" in record:
            text = text.replace(record["id"], new_id())
    for person in people:
        text = text.replace(f'"{person.name}"', f'"{prefix}{person.name}"')
    return text, prefix


def test_polls_come_back_with_their_votes_also_of_who_changed_their_mind_or_left(
    backend, other, anna, ben, carla, tmp_path
):
    group = anna.group(ben, carla)
    path = f"/v1/conversations/{group}/messages"

    def vote(person, poll, *options):
        assert person.http.put(f"{path}/{poll['id']}/vote", json={"options": list(options)}).status_code == 200

    one = anna.send(group, "Which day?", poll={"options": ["Saturday", 'a "b"']}, extra={"a": 1})
    several = ben.send(group, "Who?", poll={"options": ["ü", "b", "c"], "multiple": True})
    gone = ben.send(group, "Gone?", poll={"options": ["Gone", "not"]})
    for poll, *options in ((one, 0), (several, 2, 0), (gone, 1)):
        vote(carla, poll, *options)
    vote(ben, one, 0)
    vote(ben, one, 1)
    vote(anna, several, 0, 1, 2)
    vote(anna, several)
    assert carla.http.delete(f"/v1/conversations/{group}/members/{carla.name}").status_code == 204
    assert anna.http.post(f"{path}/{one['id']}/close").status_code == 200
    assert ben.http.delete(f"{path}/{gone['id']}?scope=everyone").status_code == 204
    text = export(backend, f"conversations/{group}")
    check(text, tmp_path)
    told = records(text)
    polls = {record["id"]: record.get("poll") for record in told if record["type"] == "message"}
    assert polls == {
        one["id"]: {"options": ["Saturday", 'a "b"']},
        several["id"]: {"options": ["ü", "b", "c"], "multiple": True},
        gone["id"]: None,
    }
    votes = [(record["messageId"], record["userId"], record["options"]) for record in told if record["type"] == "vote"]
    assert votes == [
        (one["id"], carla.name, [0]), (several["id"], carla.name, [0, 2]), (one["id"], ben.name, [1]),
    ]  # fmt: skip
    [closing] = [record for record in told if record["type"] == "pollClosed"]
    assert (closing["messageId"], closing["actorId"]) == (one["id"], anna.name)
    for record in told:
        if record["type"] in ("vote", "pollClosed"):
            assert list(record) == FIELDS[record["type"]].split()
    # Carla left before it was closed.
    own = records(export(backend, f"users/{carla.name}"))
    assert [record["userId"] for record in own if record["type"] == "vote"] == [carla.name, carla.name, ben.name]
    assert not any(record["type"] == "pollClosed" for record in own)
    bring(other, text)
    assert export(other, f"conversations/{group}") == text
    # The votes are where they were, with their times.
    shown = []
    for system in (backend.system, other.system):
        there = Person(system, ben.name)
        shown.append([(got(there, f"{path}/{id}").get("poll"), got(there, f"{path}/{id}/votes")) for id in polls])
        there.http.close()
    assert shown[0] == shown[1]


# MARK: Sizes


def moment(milliseconds: int) -> str:
    time = datetime(2021, 3, 7, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def bring_pieces(backend: Importer, records: list[dict]):
    """Who sends much at once must read meanwhile; this sends little."""
    for start in range(0, len(records), 2_000):
        backend.brought(*records[start : start + 2_000])


def room(first: int, later: int, messages: int) -> list[dict]:
    """A room of thousands: each has some receipts, and one more of them than a page has."""
    id, users = new_id(), [f"{number:05}-{new_id()[-6:]}" for number in range(first + later)]
    of = {"conversationId": id}
    records = [{"type": "conversation", "id": id, "kind": "group", "members": users[:first], "createdAt": moment(0)}]
    clock = iter(range(1, 1 << 60))
    for number, user in enumerate(users[first:]):
        records.append({"type": "member"} | of | {"userId": user, "change": "added", "at": moment(next(clock))})
        if number % 10 == 0:
            for change in ("removed", "added"):
                records.append({"type": "member"} | of | {"userId": user, "change": change, "at": moment(next(clock))})
    receipt = {"type": "receipt"} | of
    for number in range(messages):
        message, user = new_id(), users[number % len(users)]
        sent = {"type": "message"} | of | {"id": message, "senderId": user, "text": f"text {number}"}
        records.append(sent | {"createdAt": moment(next(clock))})
        for kind in ("delivered", "read"):
            records.append(
                receipt | {"userId": users[1], "kind": kind, "throughMessageId": message, "at": moment(next(clock))}
            )
    for user in users[2:]:
        kind = "read" if int(user[:5]) % 2 else "delivered"
        records.append(receipt | {"userId": user, "kind": kind, "throughMessageId": message, "at": moment(next(clock))})
    return [*records, {"type": "end"} | of]


@pytest.mark.timeout(600)
def test_a_room_of_thousands_comes_back_byte_for_byte(backend, other):
    brought = room(1_000, 2_500, 1_200)
    bring_pieces(backend, brought)
    text = export(backend, f"conversations/{brought[0]['id']}")
    told = records(text)
    assert told[0]["members"][0] == brought[0]["members"][0] and set(told[0]["members"]) == set(brought[0]["members"])

    def receipts(records):
        return {
            (record["userId"], record["kind"], record["throughMessageId"], record["at"])
            for record in records
            if record["type"] == "receipt"
        }

    assert receipts(told) == receipts(brought) and len(told) == len(brought)
    bring_pieces(other, records(text))
    assert export(other, f"conversations/{brought[0]['id']}") == text


def test_a_user_of_hundreds_of_conversations_comes_back_byte_for_byte(backend, other):
    """More than a page of a user's conversations has."""
    me, peer = f"me-{new_id()[-8:]}", f"peer-{new_id()[-8:]}"
    brought = []
    for number in range(230):
        of = {"conversationId": new_id()}
        brought += [
            {"type": "conversation", "id": of["conversationId"], "kind": "group", "members": [peer, me]}
            | {"createdAt": moment(0)},
            {"type": "message"} | of | {"id": new_id(), "senderId": me, "text": f"{number}", "createdAt": moment(1)},
            {"type": "end"} | of,
        ]
    bring_pieces(backend, brought)
    text = export(backend, f"users/{me}")
    assert sum(record["type"] == "message" for record in records(text)) == 230
    bring_pieces(other, records(text))
    assert export(other, f"users/{me}") == text


# MARK: What an export does not have


def test_texts_beyond_a_line_are_left_out_between_the_first_and_the_newest(backend, other, anna, ben):
    group = anna.group(ben)
    sent = anna.send(group, "0" * 16_000)
    for number in range(1, 8):
        path = f"/v1/conversations/{group}/messages/{sent['id']}"
        assert anna.http.patch(path, json={"text": str(number) * 16_000}).status_code == 200
    text = export(backend, f"conversations/{group}")
    [message] = [record for record in records(text) if record["type"] == "message"]
    assert [revision["text"][0] for revision in message["revisions"]] == ["0", "5", "6", "7"]
    bring(other, text)
    assert export(other, f"conversations/{group}") == text


def test_what_is_escaped_most_still_is_a_line_of_an_import(backend, other, anna, ben):
    group = anna.group(ben)
    sent = anna.send(group, "\u0001" * 16_384)
    for _ in range(4):
        path = f"/v1/conversations/{group}/messages/{sent['id']}"
        response = anna.http.patch(path, content=json.dumps({"text": "\u0002" * 16_384}).encode())
        assert response.status_code == 200
    text = export(backend, f"conversations/{group}")
    assert max(map(len, text.splitlines())) > 128 * 1024
    bring(other, text)
    assert export(other, f"conversations/{group}") == text


@pytest.fixture
def erase(backend):
    def erase(person: Person):
        deadline = time.monotonic() + PATIENCE
        while backend.http.delete(f"/v1/users/{person.name}").status_code != 200:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    return erase


def test_who_was_erased_left_with_tombstones_from_a_direct_conversation_too(
    backend, other, anna, ben, carla, erase, tmp_path
):
    pair = anna.post("/v1/conversations", {"kind": "direct", "members": [ben.name]}).json()["id"]
    group = ben.group(anna, carla)
    for conversation in (pair, group):
        ben.send(conversation, "Gone")
        anna.send(conversation, "Stays")
    erase(ben)
    assert export(backend, f"users/{ben.name}") == ""
    for conversation in (pair, group):
        anna.send(conversation, "Later")
        text = export(backend, f"conversations/{conversation}")
        assert "Gone" not in text and "Later" in text
        check(text, tmp_path)
        bring(other, text)
        assert export(other, f"conversations/{conversation}") == text
        # Nor does ben read there what came later.
        elsewhere = Person(other.system, ben.name)
        changes = got(elsewhere, f"/v1/conversations/{conversation}/changes?after=0")["changes"]
        assert "Later" not in json.dumps(changes)
        elsewhere.http.close()


def test_a_deletion_that_came_before_its_message_and_receipts_of_nobody(backend, other, anna, ben):
    group = anna.group(ben)
    early = new_id()
    assert anna.http.delete(f"/v1/conversations/{group}/messages/{early}?scope=everyone").status_code == 204
    assert anna.post(f"/v1/conversations/{group}/messages", {"id": early, "text": "Gone"}).status_code == 201
    text = export(backend, f"conversations/{group}")
    assert "Gone" not in text and "deletedAt" in text
    bring(other, text)
    assert export(other, f"conversations/{group}") == text


def test_of_an_admin_an_archive_has_a_member_and_of_a_ban_the_removal(backend, other, anna, ben, carla, new_person):
    """An archive knows owners and members, and who removed whom. The admin who follows was not there longest."""
    dora, erin = new_person("dora"), new_person("erin")
    group = anna.group(ben, carla)
    path = f"/v1/conversations/{group}"

    def put(person: Person, part: str, body: dict | None = None):
        assert person.http.put(f"{path}/{part}", json=body).status_code == 200

    for each, role in ((dora, "admin"), (erin, "owner"), (erin, "admin"), (erin, "member"), (ben, "admin")):
        put(anna, f"members/{each.name}", {"role": role})
    put(anna, "permissions", {"write": "admins", "addMembers": "owners"})
    assert dora.http.delete(f"{path}/members/{carla.name}").status_code == 204
    put(anna, f"members/{ben.name}", {"role": "member"})
    assert anna.http.delete(f"{path}/members/{anna.name}").status_code == 204
    assert dora.get(path).json()["role"] == "owner"
    text = export(backend, f"conversations/{group}")
    told = [(each["userId"], each["change"]) for each in records(text) if each["type"] == "member"]
    assert [change for user, change in told if user == ben.name] == []
    assert [change for user, change in told if user == erin.name] == ["added", "role", "role"]
    assert [change for user, change in told if user == dora.name] == ["added", "role"]
    [removal] = [each for each in records(text) if each.get("change") == "removed" and each["userId"] == carla.name]
    assert removal["actorId"] == dora.name
    bring(other, text)
    assert export(other, f"conversations/{group}") == text
    # What was imported has no bans: whoever is a member brings anybody back.
    there = Person(other.system, ben.name)
    assert there.http.put(f"{path}/members/{carla.name}").status_code == 200
    there.http.close()


def test_who_joined_by_an_invitation_was_added_by_themselves_and_there_are_no_invitations(
    backend, other, anna, ben, new_person
):
    dora = new_person("dora")
    group = anna.group(ben)
    made = ben.post(f"/v1/conversations/{group}/invitations", {"id": new_id(), "maxUses": 7}).json()
    for _ in range(2):
        assert dora.post(f"/v1/invitations/{made['code']}").status_code == 200
        dora.send(group, "Here I am")
        assert dora.http.delete(f"/v1/conversations/{group}/members/{dora.name}").status_code == 204
    text = export(backend, f"conversations/{group}")
    joined = [each for each in records(text) if each.get("change") == "added"]
    assert [(each["userId"], each["actorId"]) for each in joined] == [(dora.name, dora.name)] * 2
    assert made["id"] not in text
    assert made["id"] not in export(backend, f"users/{dora.name}") + export(backend, f"users/{ben.name}")
    bring(other, text)
    assert export(other, f"conversations/{group}") == text


# MARK: Who asks, for what, and how often


def test_what_there_is_not_and_what_is_not_whole(backend, anna, ben, carla):
    assert backend.http.get(f"/v1/export/conversations/{new_id()}").status_code == 404
    assert backend.http.get("/v1/export/conversations/nobody").status_code == 400
    assert backend.http.get("/v1/export/users/no%20body").status_code == 400
    assert export(backend, f"users/nobody-{new_id()}") == ""
    history = History(anna, ben, carla)
    backend.brought(*history.records())
    assert backend.http.get(f"/v1/export/conversations/{history.id}").status_code == 409
    assert export(backend, f"users/{anna.name}") == ""
    backend.brought(history.end())
    text = export(backend, f"conversations/{history.id}")
    sent, told = [*history.records(), history.end()], records(text)

    def but_receipts(of: list[dict]) -> list[dict]:
        return [record for record in of if record["type"] != "receipt"]

    assert but_receipts(told) == but_receipts(sent)
    assert all(record in sent for record in told)
    assert told[-1]["type"] == "end" and told[-2]["type"] == "receipt"
    for record in told:
        assert list(record) == [field for field in FIELDS[record["type"]].split() if field in record]
    head = backend.http.head(f"/v1/export/conversations/{history.id}")
    assert head.status_code == 200 and head.headers["content-type"] == "application/x-ndjson"


FIELDS = {
    "conversation": "type id kind members title createdAt",
    "message": "type conversationId id senderId text poll replyTo createdAt revisions deletedAt",
    "tapback": "type conversationId messageId userId kind at",
    "vote": "type conversationId messageId userId options at",
    "pollClosed": "type conversationId messageId at actorId",
    "member": "type conversationId userId change at actorId",
    "renamed": "type conversationId title at actorId",
    "receipt": "type conversationId userId kind throughMessageId at",
    "end": "type conversationId",
}
"""The order of the fields, by which an export has the same bytes."""


class Slow:
    """Reads an export as slowly as a test wants."""

    def __init__(self, backend: Person, path: str, port: int | None = None):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", port or backend.system.http_port))
        head = f"GET /v1/export/{path} HTTP/1.1\r\nHost: parley\r\nAuthorization: Bearer {backend.token}\r\n\r\n"
        self.socket.sendall(head.encode())
        self.response = http.client.HTTPResponse(self.socket)
        self.response.begin()
        self.status = self.response.status
        # The first messages are there: they are exported.
        self.beginning = self.response.read(100_000)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.response.close()
        self.socket.close()

    def rest(self) -> str | None:
        """Nothing, if the response ends in its middle."""
        try:
            return (self.beginning + self.response.read()).decode()
        except http.client.IncompleteRead:
            return None


LONG = 1_500


@pytest.fixture
def long(backend, anna, ben, carla) -> History:
    """More than any buffer between a process and a client holds."""
    history = History(anna, ben, carla)
    history.messages = [history.message(n / 60, str(n % 10) * 16_000) for n in range(1, LONG)]
    backend.brought(history.opening(), *history.messages, history.end())
    return history


def path(history: History, index: int) -> str:
    return f"/v1/conversations/{history.id}/messages/{history.messages[index]['id']}"


def test_what_changes_before_it_is_exported_is_exported_as_it_is_then(backend, ben, anna, long):
    with Slow(backend, f"conversations/{long.id}") as slow:
        assert anna.http.delete(f"{path(long, -1)}?scope=everyone").status_code == 204
        assert ben.http.put(f"{path(long, -2)}/tapback", json={"kind": "love"}).status_code == 200
        told = [json.loads(line) for line in slow.rest().splitlines()]
    assert "deletedAt" in next(record for record in told if record.get("id") == long.messages[-1]["id"])
    assert [record["kind"] for record in told if record["type"] == "tapback"] == ["love"]


def test_what_changes_after_it_was_exported_is_of_a_later_state(backend, ben, long):
    with Slow(backend, f"conversations/{long.id}") as slow:
        assert ben.http.put(f"{path(long, 0)}/tapback", json={"kind": "love"}).status_code == 200
        told = [json.loads(line) for line in slow.rest().splitlines()]
    assert not any(record["type"] == "tapback" for record in told)
    assert told[-1]["type"] == "end" and len(told) == LONG + 1


def test_votes_that_come_meanwhile_end_no_export_of_a_poll(backend, anna, ben, carla):
    history = History(anna, ben, carla)
    poll = history.message(0.001, id=new_id(), poll={"options": ["a", "b"]})
    history.messages = [poll, *(history.message(n / 60, str(n % 10) * 16_000) for n in range(1, LONG))]
    votes = [history.vote(poll["id"], ben.name, LONG + n, n) for n in range(2)]
    backend.brought(history.opening(), *history.messages, *votes, history.end())
    with Slow(backend, f"conversations/{history.id}") as slow:
        assert anna.http.put(f"{path(history, 0)}/vote", json={"options": [0]}).status_code == 200
        told = [json.loads(line) for line in slow.rest().splitlines()]
    assert [(record["userId"], record["options"]) for record in told if record["type"] == "vote"] == [(ben.name, [1])]


def test_an_export_that_would_be_of_no_state_is_not_complete(backend, anna, ben, long):
    with Slow(backend, f"conversations/{long.id}") as slow:
        assert ben.http.put(f"{path(long, 0)}/tapback", json={"kind": "love"}).status_code == 200
        assert anna.http.delete(f"{path(long, -1)}?scope=everyone").status_code == 204
        assert slow.rest() is None


def test_a_user_s_export_ends_when_what_they_may_see_changes(backend, anna, ben, long):
    with Slow(backend, f"users/{ben.name}") as slow:
        assert ben.http.delete(f"/v1/conversations/{long.id}/members/{ben.name}").status_code == 204
        assert slow.rest() is None


def test_a_token_that_is_revoked_meanwhile_ends_the_export(backend, system, long):
    name = f"revoked-{new_id()[-8:]}"
    exporter = Person(system, name, adm=True, iat=int(time.time()) - 60)
    with Slow(exporter, f"conversations/{long.id}") as slow:
        assert backend.http.post(f"/v1/users/{name}/revoke").status_code == 204
        assert slow.rest() is None


def test_too_many_exports_at_once_are_refused(backend, system, long):
    path = f"conversations/{long.id}"
    with Slow(backend, path), Slow(backend, path):
        assert backend.http.get(f"/v1/export/{path}").status_code == 429
        assert backend.http.get(f"/v1/export/users/{backend.name}").status_code == 429
    exporters = [Person(system, f"backend-{new_id()[-8:]}", adm=True) for _ in range(9)]
    slow = [Slow(exporter, path) for exporter in exporters[:8] for _ in range(2)]
    try:
        assert [each.status for each in slow] == [200] * 16
        assert exporters[8].http.get(f"/v1/export/{path}").status_code == 503
        assert exporters[8].http.get(f"/v1/export/users/{backend.name}").status_code == 503
    finally:
        for each in slow:
            each.__exit__()


def test_without_a_store_an_export_does_not_begin(system, backend):
    nobody = {"PARLEY_BUS_STORE": f"ipc://{system.state}/nobody-*.sock", "PARLEY_REQUEST_DEADLINE": "300ms"}
    with system.sibling("ingest", "/healthz", **nobody) as port:
        alone = Person(system, backend.name, port=port, adm=True)
        response = alone.http.get(f"/v1/export/conversations/{new_id()}")
        assert response.status_code == 503 and response.json()["code"] == "unavailable"
