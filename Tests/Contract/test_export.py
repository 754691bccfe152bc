"""Exports: what comes out is what members have, no more, and goes in again as what it was."""

import json
import random
import subprocess
import threading
import time
from datetime import UTC, datetime

import pytest

from judged import EXECUTABLES, JudgedSystem
from people import Person, new_id
from raw import Raw
from test_import import PATIENCE, Importer, got, moment

KINDS = ("love", "like", "dislike", "laugh", "emphasize", "question", "🧗")


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
    """`parley archive` takes it: it says of a file alone what an import would refuse."""
    file = tmp_path / f"{new_id()}.ndjson"
    file.write_text(text)
    result = subprocess.run([EXECUTABLES / "parley", "archive", "parley", file], capture_output=True, text=True)
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

    def happen(self, count: int):
        actions = [self.send] * 8 + [self.edit] * 3 + [self.delete] * 2 + [self.hide, self.react, self.react]
        actions += [self.unreact, self.rename, self.add, self.remove, self.change_role, self.clear]
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
        response = self.member().post(f"{self.path}/messages", body)
        assert response.status_code in (201, 422), response.text
        if response.status_code == 201:
            self.messages.append(response.json())

    def text(self) -> str:
        return self.random.choice(("Nine?", "a\n\"b\"\t\\", "ü🧗‍♀️", "\u0001", "x" * self.random.randrange(1, 3_000)))

    def edit(self):
        if (message := self.message()) and (sender := self.of(message["senderId"])) in self.members:
            path = f"{self.path}/messages/{message['id']}"
            sender.http.patch(path, json={"text": self.text()})

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
            assert told[id].get("text") == message.get("text")
            assert told[id].get("deletedAt") == message.get("deletedAt")
            if message.get("text") is not None:
                revisions = got(person, f"{group.path}/messages/{id}/revisions")["revisions"]
                assert [r["text"] for r in told[id].get("revisions", [{"text": message["text"]}])] == [
                    r["text"] for r in revisions
                ]
        tapbacks = {
            (record["messageId"], record["userId"], record["kind"])
            for record in records(text)
            if record["type"] == "tapback" and record["messageId"] in seen
        }
        visible = {
            (id, tapback["userId"], tapback["kind"])
            for id in seen
            if seen[id].get("text") is not None
            for tapback in got(person, f"{group.path}/messages/{id}/tapbacks?limit=100")["tapbacks"]
        }
        assert tapbacks <= visible


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
