"""Bringing a history: what went in as lines is afterwards what members read, as if it had happened here."""

import http.client
import json
import random
import secrets
import signal
import time
import uuid
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from contract import Contract
from people import Person, new_id
from raw import Raw
from test_writes import problem

FIRST = datetime(2020, 3, 7, 17, 0, tzinfo=UTC)
PATIENCE = 60
"""Seconds within which a busy machine gets to everything."""


def moment(minute: float) -> str:
    """A time of the history, as responses have it."""
    return (FIRST + timedelta(minutes=minute)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Importer(Person):
    """An administrator that sends lines, judges what they have in common with the document, and reads the results."""

    def bring(self, *records: dict | str, judged=True) -> list[dict]:
        """The results of the lines, each named by its number."""
        if judged:
            for record in records:
                self.system.contract.validate("#/components/schemas/ImportRecord", record)
        lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
        response = self.http.post("/v1/import", content="\n".join(lines).encode(), timeout=PATIENCE)
        assert response.status_code == 200 and response.headers["content-type"] == "application/x-ndjson"
        return [json.loads(line) for line in response.content.splitlines()]

    def brought(self, *records: dict):
        """Brings what has to be stored. Lines that a busy store had no time for are repeated."""
        deadline = time.monotonic() + PATIENCE
        while any((statuses := {result["status"] for result in self.bring(*records)}) - {200}):
            assert statuses <= {200, 503} and time.monotonic() < deadline, statuses

    def drop(self, conversation: str) -> int:
        """The status of the last piece."""
        deadline = time.monotonic() + PATIENCE
        while (response := self.http.delete(f"/v1/import/{conversation}")).status_code in (202, 503):
            assert time.monotonic() < deadline, response.text
        return response.status_code


@pytest.fixture
def backend(system):
    backend = Importer(system, f"backend-{new_id()[-8:]}", adm=True)
    yield backend
    backend.http.close()


class History:
    """One of each record, in a group that anna began with ben, and where carla came later."""

    def __init__(self, anna, ben, carla):
        self.anna, self.ben, self.carla = anna.name, ben.name, carla.name
        self.id, self.hello, self.gone, self.reply = (new_id() for _ in range(4))

    def record(self, type: str, **fields) -> dict:
        return {"type": type, "conversationId": self.id} | fields

    def opening(self, **fields) -> dict:
        members = [self.anna, self.ben]
        return {"type": "conversation", "id": self.id, "kind": "group", "members": members} | (
            {"title": "Climbing", "createdAt": moment(0)} | fields
        )

    def message(self, minute: float, text="Hello", sender=None, **fields) -> dict:
        fields = {"id": new_id(), "senderId": sender or self.anna, "createdAt": moment(minute)} | fields
        return self.record("message", text=text, **fields)

    def receipt(self, kind: str, user: str, message: str, minute: float, **fields) -> dict:
        fields = {"userId": user, "throughMessageId": message, "at": moment(minute)} | fields
        return self.record("receipt", kind=kind, **fields)

    def vote(self, message: str, user: str, minute: float, *options: int) -> dict:
        return self.record("vote", messageId=message, userId=user, options=list(options), at=moment(minute))

    def records(self) -> list[dict]:
        texts = [{"text": "Nine?", "at": moment(1)}, {"text": "Ten?", "at": moment(6)}]
        deleted = {"id": self.gone, "senderId": self.ben, "createdAt": moment(2), "deletedAt": moment(9)}
        return [
            self.opening(),
            self.message(1, "Ten?", id=self.hello, revisions=texts),
            self.record("message", **deleted),
            self.record("tapback", messageId=self.hello, userId=self.ben, kind="love", at=moment(3)),
            self.receipt("delivered", self.ben, self.hello, 2.5),
            self.receipt("read", self.ben, self.hello, 3.25),
            self.record("member", userId=self.carla, change="added", at=moment(4), actorId=self.anna),
            self.record("member", userId=self.ben, change="role", at=moment(5), actorId=self.anna),
            self.message(7, "Fine.", self.ben, id=self.reply, replyTo=self.hello),
            self.receipt("read", self.carla, self.reply, 12),
            self.receipt("read", self.anna, self.reply, 7.5),
            self.record("renamed", title="Bouldering", at=moment(8), actorId=self.ben),
            self.record("member", userId=self.anna, change="removed", at=moment(10), actorId=self.anna),
        ]

    def end(self) -> dict:
        return self.record("end")


@pytest.fixture
def history(anna, ben, carla) -> History:
    return History(anna, ben, carla)


def eventually(condition):
    """What follows an acknowledged write without being part of its acknowledgement."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def got(person, path: str) -> dict:
    """Asks again where a busy machine says so."""
    deadline = time.monotonic() + PATIENCE
    while (response := person.get(path)).status_code == 503:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert response.status_code == 200, response.text
    return response.json()


def content(person, history) -> list:
    """All that a member reads of it, without the random ids of system messages and of what was asked."""
    path = f"/v1/conversations/{history.id}"
    changes = got(person, f"{path}/changes?after=0")["changes"]
    for change in changes:
        if change.get("message", {}).get("kind") == "system":
            change["message"].pop("id")
    receipts = got(person, f"{path}/messages/{history.reply}/receipts")
    count = len(got(person, f"{path}/messages?limit=100")["messages"])
    return [changes, count, got(person, f"{path}/members"), receipts]


# MARK: What members see


def test_members_read_an_imported_conversation_as_one_that_happened_here(backend, anna, ben, carla, history):
    assert [result["line"] for result in backend.bring(*history.records(), history.end())] == list(range(1, 15))
    path = f"/v1/conversations/{history.id}"
    conversation = got(ben, path)
    assert (conversation["title"], conversation["role"], conversation["createdAt"]) == (
        "Bouldering",
        "owner",
        moment(0),
    )
    changes = got(ben, f"{path}/changes?after=0")["changes"]
    assert [change["seq"] for change in changes] == list(range(1, len(changes) + 1))
    assert [change["at"] for change in changes] == sorted(change["at"] for change in changes)
    kinds = {change["kind"]: change["at"] for change in changes}
    assert kinds["message.edited"] == moment(6) and kinds["message.deleted"] == moment(9)
    assert kinds["tapback.set"] == moment(3)
    messages = {message["id"]: message for message in got(ben, f"{path}/messages?limit=100")["messages"]}
    hello, reply = messages[history.hello], messages[history.reply]
    assert (hello["text"], hello["createdAt"], hello["editedAt"]) == ("Ten?", moment(1), moment(6))
    assert (reply["senderId"], reply["replyTo"]["preview"]) == (ben.name, "Ten?")
    assert messages[history.gone]["deletedForEveryone"] and messages[history.gone]["text"] is None
    revisions = got(ben, f"{path}/messages/{history.hello}/revisions")["revisions"]
    assert revisions == [{"text": "Nine?", "at": moment(1)}, {"text": "Ten?", "at": moment(6)}]
    assert [tapback["userId"] for tapback in got(ben, f"{path}/messages/{history.hello}/tapbacks")["tapbacks"]] == [
        ben.name
    ]


def test_a_stay_is_the_window_of_who_came_later_and_of_who_left(backend, anna, carla, history):
    backend.brought(*history.records(), history.end())
    path = f"/v1/conversations/{history.id}"
    came = got(carla, path)["windows"]
    assert len(came) == 1 and came[0]["from"] > 1
    seen = {message["id"] for message in got(carla, f"{path}/messages?limit=100")["messages"]}
    assert history.hello not in seen and history.reply in seen
    left = got(anna, path)["windows"]
    assert left[0]["from"] == 1 and "to" in left[0]
    assert anna.post(f"{path}/messages", {"id": new_id(), "text": "Late"}).status_code == 403


def test_digests_lists_counts_search_and_sync_know_it(backend, ben, history):
    word = f"w{new_id()[-12:]}"
    backend.brought(history.opening(), history.message(1, f"A {word}"), history.end())
    [listed] = got(ben, "/v1/conversations")["conversations"]
    assert listed["id"] == history.id and listed["unreadCount"] == 1
    pages = got(ben, f"/v1/conversations/{history.id}/digest")["pages"]
    assert pages[0]["fromSeq"] == 1 and len(pages[0]["state"]) == 64
    eventually(lambda: got(ben, f"/v1/search?q={word}")["results"])
    assert history.id in json.dumps(got(ben, "/v1/sync"))


def test_members_learn_of_it_live_and_go_on_writing(backend, anna, ben, history):
    with ben.socket() as socket:
        backend.brought(history.opening(), history.message(1), history.end())
        joined = socket.expect("private", where=lambda frame: frame["kind"] == "conversation.joined")
        assert joined["conversationId"] == history.id
        sent = anna.send(history.id, "And now")
        seqs = [socket.expect("change")["change"]["seq"] for _ in range(sent["seq"])]
        assert seqs == list(range(1, sent["seq"] + 1))


def test_a_direct_conversation_is_the_one_that_the_two_open(backend, anna, ben):
    def record(id):
        members = [anna.name, ben.name]
        return {"type": "conversation", "id": id, "kind": "direct", "members": members, "createdAt": moment(0)}

    [wrong] = backend.bring(record(new_id()))
    assert wrong["status"] == 400
    opened = anna.post("/v1/conversations", {"kind": "direct", "members": [ben.name]}).json()
    [taken] = backend.bring(record(opened["id"]))
    assert taken["status"] == 409


# MARK: Receipts


def test_receipts_are_shown_with_the_times_that_they_had(backend, anna, ben, carla, history):
    backend.brought(*history.records(), history.end())
    path = f"/v1/conversations/{history.id}/messages/{history.reply}"
    reply = got(ben, path)
    # Anna had read it, who left then, and carla.
    assert (reply["status"], reply["dateDelivered"], reply["dateRead"]) == ("read", moment(12), moment(12))
    receipts = got(ben, f"{path}/receipts")
    times = sorted([(anna.name, moment(7.5)), (carla.name, moment(12))])
    assert [(receipt["userId"], receipt["at"]) for receipt in receipts["read"]] == times
    assert receipts["delivered"] == receipts["read"] and receipts["recipientCount"] == 2
    hello = got(anna, f"/v1/conversations/{history.id}/messages/{history.hello}")
    assert (hello["dateDelivered"], hello["dateRead"]) == (moment(2.5), moment(3.25))
    conversations = [got(person, f"/v1/conversations/{history.id}") for person in (ben, carla)]
    assert [conversation["unreadCount"] for conversation in conversations] == [0, 0]


def lives(random, anna, ben, others) -> str:
    """A conversation that happens: anna and ben write in it, the others come and go, and everybody reads."""
    conversation = anna.group(ben, *others[:1])
    path = f"/v1/conversations/{conversation}"
    present, sent = {anna, ben, *others[:1]}, []

    def acknowledged(response):
        assert response.status_code in (200, 201, 202, 204), response.text

    for _ in range(60):
        person = random.choice([anna, ben, *others])
        if person in others and random.random() < 0.15:
            member = f"{path}/members/{person.name}"
            acknowledged(anna.http.delete(member) if person in present else anna.http.put(member, content=b"{}"))
            present ^= {person}
        elif person not in others and random.random() < 0.5:
            sent.append(person.send(conversation, f"message {len(sent)}") | {"sender": person})
        elif person in present:
            begun = got(person, path)["windows"][-1]["from"]
            seqs = [message["seq"] for message in sent if message["sender"] is not person and message["seq"] >= begun]
            if seqs:
                body = {random.choice(["deliveredSeq", "readSeq"]): random.choice(seqs[-4:])}
                acknowledged(person.post(f"{path}/receipts", body))
    return conversation


def as_records(conversation: str, copy: str, anna, ben, first) -> list[dict]:
    """What the two who were there all the time are told of it, as an import of another one."""
    path = f"/v1/conversations/{conversation}"
    changes = got(anna, f"{path}/changes?after=0&limit=1000")["changes"]
    creation, *later = changes
    members = [person.name for person in (anna, ben, first)]
    records = [{"type": "conversation", "id": copy, "kind": "group", "members": members, "createdAt": creation["at"]}]
    receipts = []
    for change in later:
        fields = {"conversationId": copy}
        if change["kind"] != "message.created":
            added = {"member.added": "added", "member.removed": "removed"}[change["kind"]]
            fields |= {"type": "member", "userId": change["userId"], "change": added, "actorId": anna.name}
            records.append(fields | {"at": change["at"]})
            continue
        message = change["message"]
        fields |= {"type": "message", "id": message["id"], "senderId": message["senderId"], "text": message["text"]}
        records.append(fields | {"createdAt": message["createdAt"]})
        sender = anna if message["senderId"] == anna.name else ben
        seen = got(sender, f"{path}/messages/{message['id']}/receipts")
        receipts += [
            {"type": "receipt", "conversationId": copy, "userId": receipt["userId"], "kind": kind}
            | {"throughMessageId": message["id"], "at": receipt["at"]}
            for kind in ("delivered", "read")
            for receipt in seen[kind]
        ]
    # Messages are in their order already, and sorting keeps it.
    receipts.sort(key=lambda receipt: (receipt["at"], receipt["kind"]))
    return [*records, *receipts, {"type": "end", "conversationId": copy}]


def shown(conversation: str, people) -> list:
    """All that people are told of receipts."""
    path = f"/v1/conversations/{conversation}"
    told = []
    for person in people:
        own = got(person, path)
        told.append({key: own[key] for key in ("windows", "lastSeq", "unreadCount", "readSeq", "deliveredSeq")})
        told.append(got(person, f"{path}/members"))
        for message in got(person, f"{path}/messages?limit=100")["messages"]:
            if message["kind"] == "system":
                continue
            keys = ("seq", "status", "dateDelivered", "dateRead", "deliveredCount", "readCount", "recipientCount")
            told.append({key: message.get(key) for key in keys})
            if message["senderId"] == person.name:
                told.append(got(person, f"{path}/messages/{message['id']}/receipts"))
    return told


@pytest.mark.parametrize("seed", range(3))
def test_what_happened_and_its_import_show_the_same_receipts_and_counts(backend, new_person, anna, ben, seed):
    others = [new_person("carla"), new_person("dora")]
    lived, copy = lives(random.Random(seed), anna, ben, others), new_id()
    records = as_records(lived, copy, anna, ben, others[0])
    assert len([record for record in records if record["type"] == "receipt"]) > 20
    backend.brought(*records)
    people = [anna, ben, *[person for person in others if person.get(f"/v1/conversations/{lived}").status_code == 200]]
    assert len(people) > 2
    assert shown(copy, people) == shown(lived, people)
    # And it goes on.
    message = anna.send(copy, "And now")
    assert ben.post(f"/v1/conversations/{copy}/receipts", {"readSeq": message["seq"]}).status_code == 202
    eventually(lambda: ben.name in json.dumps(got(anna, f"/v1/conversations/{copy}/messages/{message['id']}/receipts")))
    assert got(ben, f"/v1/conversations/{copy}")["unreadCount"] == 0


def test_a_receipt_that_cannot_have_happened_is_refused_and_named(backend, carla, history):
    hello, late = history.message(1, id=history.hello), history.message(3)
    for receipt, status, named in (
        (history.receipt("read", history.ben, history.hello, 0.5), 409, "at"),
        (history.receipt("read", history.ben, new_id(), 5), 404, "throughMessageId"),
        (history.receipt("read", carla.name, history.hello, 5), 409, "userId"),
        (history.receipt("read", history.ben, history.hello, 60 * 24 * 365 * 50), 400, "at"),
        (history.receipt("seen", history.ben, history.hello, 5), 400, "kind"),
        (history.receipt("read", history.ben, history.hello, 5, throughMessageId=None), 400, "throughMessageId"),
        (history.receipt("read", history.ben, history.hello, 5), 200, ""),
        (history.receipt("read", history.ben, late["id"], 4), 409, "at"),
        (history.receipt("delivered", history.ben, history.hello, 6), 200, ""),
        (history.receipt("read", history.ben, history.hello, 4), 409, "at"),
    ):
        results = backend.bring(history.opening(), hello, late, receipt, judged=False)
        assert [result["status"] for result in results] == [200, 200, 200, status], receipt
        assert status == 200 or results[3]["problem"]["detail"].startswith(named)
    [late] = backend.bring(history.end(), history.receipt("read", history.ben, late["id"], 7))[1:]
    assert late["status"] == 409
    [other] = backend.bring(History(backend, backend, backend).receipt("read", history.ben, history.hello, 5))
    assert other["status"] == 404


def test_without_a_receipt_service_receipts_and_the_end_get_503(system, backend, ben, history):
    nobody = {"PARLEY_BUS_RECEIPT": f"ipc://{system.state}/nobody-*.sock", "PARLEY_REQUEST_DEADLINE": "300ms"}
    records = [history.opening(), history.message(1, id=history.hello)]
    records += [history.receipt("read", ben.name, history.hello, 2), history.message(3), history.end()]
    with system.sibling("ingest", "/healthz", **nobody) as port:
        alone = Importer(system, backend.name, port=port, adm=True)
        results = alone.bring(*records)
        assert [result["status"] for result in results] == [200, 200, 503, 200, 503]
        assert [results[2]["problem"]["code"], results[4]["problem"]["code"]] == ["unavailable", "skipped"]
    assert ben.get(f"/v1/conversations/{history.id}").status_code == 404
    backend.brought(*records)
    assert got(ben, f"/v1/conversations/{history.id}")["unreadCount"] == 1


# MARK: Repetition


def test_whatever_is_repeated_and_wherever_it_is_cut_the_result_is_the_same(system, backend, anna, ben, carla):
    """The same history at once, line by line, and in overlapping pieces."""
    whole, single, pieces = (History(anna, ben, carla) for _ in range(3))
    whole.hello = single.hello = pieces.hello = new_id()
    whole.gone = single.gone = pieces.gone = new_id()
    whole.reply = single.reply = pieces.reply = new_id()
    backend.brought(*whole.records(), whole.end())
    for record in [*single.records(), single.end()]:
        backend.brought(record)
    records = [*pieces.records(), pieces.end()]
    for start in range(len(records)):
        backend.brought(*records[max(0, start - 3) : start + 2])
    backend.brought(*records)

    def same(history):
        return json.loads(json.dumps(content(ben, history)).replace(history.id, "it"))

    assert same(single) == same(whole) == same(pieces)


def test_a_request_that_ends_in_its_middle_is_continued(system, backend, ben, history):
    """A body without its end: what was in it may be stored or not, and is repeated."""
    lines = [json.dumps(record) + "\n" for record in [history.opening(), *(history.message(n) for n in range(1, 400))]]

    def torn():
        yield from (line.encode() for line in lines[:300])
        raise ConnectionError("the client goes away")

    with pytest.raises(ConnectionError):
        backend.http.post("/v1/import", content=torn())
    backend.brought(*map(json.loads, lines), history.end())
    messages = [
        change
        for change in got(ben, f"/v1/conversations/{history.id}/changes?after=0&limit=1000")["changes"]
        if change["kind"] == "message.created" and change["message"]["kind"] == "text"
    ]
    assert [change["at"] for change in messages] == [moment(minute) for minute in range(1, 400)]


def test_ids_may_be_any_uuid(backend, anna, ben, history):
    """As other systems give them: of no version, of another variant. New ones are versions 7 or 4."""
    history.id = str(uuid.UUID(int=secrets.randbits(120)))
    first, last = str(uuid.UUID(int=1)), str(uuid.UUID(int=2**128 - 1))
    backend.brought(
        history.opening(),
        history.message(1, "first", id=first),
        history.message(2, "last", id=last, replyTo=first),
        history.record("tapback", messageId=first, userId=ben.name, kind="love", at=moment(3)),
        history.receipt("read", ben.name, last, 4),
        history.end(),
    )
    path = f"/v1/conversations/{history.id}/messages"
    assert [message["id"] for message in got(ben, path)["messages"]] == [first, last]
    assert got(anna, f"{path}/{last}")["replyTo"]["messageId"] == first
    key = {"Idempotency-Key": new_id()}
    assert ben.http.put(f"{path}/{last}/tapback", json={"kind": "like"}, headers=key).status_code == 200
    assert got(ben, f"/v1/search?q=first&conversationId={history.id}")["results"]
    assert anna.post(path, {"id": first, "text": "new"}).status_code == 400


# MARK: Refusals


@pytest.mark.parametrize(
    "line, status, named",
    [
        ("nonsense", 400, ""),
        ("{}", 400, "type"),
        ('{"type":"poll"}', 400, "conversationId"),
        ('{"type":"end"}', 400, "conversationId"),
        ('{"type":"end","type":"end"}', 400, "type"),
        ('{"type":"end","conversationId":"nobody"}', 400, "conversationId"),
        ('{"type":"end","conversationId":"018f0000-0000-7000-8000-000000000000"}', 404, "conversationId"),
        ('{"type":"end","padding":"' + "x" * 540_000 + '"}', 413, "line"),
        ("\x00", 400, ""),
        ("\ud800", 400, ""),
    ],
)
def test_a_line_that_is_refused_is_named_and_the_others_are_stored(backend, history, line, status, named):
    records = [json.dumps(history.opening()), "", line, json.dumps(history.message(1))]
    body = "\n".join(records).encode("utf-8", "surrogatepass")
    response = backend.http.post("/v1/import", content=body, timeout=PATIENCE)
    results = [json.loads(result) for result in response.content.splitlines()]
    assert [(result["line"], result["status"]) for result in results] == [(1, 200), (3, status), (4, 200)]
    assert named in results[1]["problem"]["detail"]


@pytest.mark.parametrize(
    "what, status",
    [
        (lambda history: history.message(-1), 409),
        (lambda history: history.message(1, createdAt=moment(60 * 24 * 365 * 50)), 400),
        (lambda history: history.message(1, sender="stranger"), 409),
        (lambda history: history.message(1, replyTo=new_id()), 422),
        (lambda history: history.message(1, " "), 400),
        (lambda history: history.message(1, "x" * 16_385), 413),
        (lambda history: history.message(1, "Two", revisions=[{"text": "One", "at": moment(1)}]), 400),
        (lambda history: history.message(1, deletedAt=moment(2)), 400),
        (lambda history: history.opening(createdAt=moment(1)), 409),
        (lambda history: history.record("member", userId=history.ben, change="added", at=moment(1)), 409),
        (lambda history: history.record("member", userId=history.ben, change="banned", at=moment(1)), 400),
        (lambda history: history.record("renamed", title="", at=moment(1)), 400),
        (
            lambda history: history.record(
                "tapback", messageId=new_id(), userId=history.ben, kind="love", at=moment(1)
            ),
            404,
        ),
        (
            lambda history: history.record(
                "tapback", messageId=new_id(), userId=history.ben, kind="loves", at=moment(1)
            ),
            400,
        ),
        (lambda history: history.message(1, poll={"options": ["a"]}), 400),
        (lambda history: history.message(1, poll={"options": ["a"] * 2}), 400),
        (lambda history: history.message(1, poll={"options": [f"{n}" for n in range(13)]}), 413),
        (lambda history: history.message(1, poll={"options": ["a", "x" * 101]}), 413),
        (lambda history: history.message(1, poll={"options": ["a", "b"]}, deletedAt=moment(2)), 400),
        (lambda history: history.message(1, poll={"options": ["a", "b"]}, replyTo=new_id()), 400),
        (lambda history: history.vote(new_id(), history.ben, 1, 0), 404),
        (lambda history: history.vote(new_id(), history.ben, 1), 400),
        (lambda history: history.vote(new_id(), history.ben, 1, 12), 400),
        (lambda history: history.record("pollClosed", messageId=new_id(), at=moment(1)), 404),
        (lambda history: history.record("pollClosed", at=moment(1)), 400),
    ],
)
def test_what_cannot_have_happened_is_refused(backend, history, what, status):
    results = backend.bring(history.opening(), history.message(0.5), what(history), history.end(), judged=False)
    assert [result["status"] for result in results] == [200, 200, status, 200]


def test_a_vote_that_the_poll_does_not_take_is_refused_and_named(backend, carla, history):
    ask, plain = (history.message(1, id=new_id()) for _ in range(2))
    ask["poll"] = {"options": ["Saturday", "Sunday"]}

    def vote(user, *options, minute=2.0, of=ask):
        return history.vote(of["id"], user, minute, *options)

    def closing(minute, of=ask, **fields):
        return history.record("pollClosed", messageId=of["id"], at=moment(minute), **fields)

    backend.brought(history.opening(), ask, plain)
    for record, status, code, named in (
        (vote(history.ben, 2), 400, "invalid", "options"),
        (vote(history.ben, 0, 1), 400, "invalid", "options"),
        (vote(history.ben, 0, of=plain), 409, "conflict", "messageId"),
        (closing(2, of=plain), 409, "conflict", "messageId"),
        (vote(carla.name, 0), 409, "conflict", "a user"),
        (closing(2, actorId=carla.name), 409, "conflict", "a user"),
        (vote(history.ben, 0, minute=0.5), 409, "conflict", "the time"),
        (vote(history.ben, 0), 200, None, ""),
        (vote(history.ben, 1, minute=3), 200, None, ""),
        (vote(history.ben, 0), 200, None, ""),
        (closing(4), 200, None, ""),
        (vote(history.anna, 0, minute=5), 409, "pollClosed", "messageId"),
        (vote(history.ben, 1, minute=3), 200, None, ""),
        (closing(4), 200, None, ""),
        (ask | {"poll": {"options": ["Saturday", "Monday"]}}, 409, "conflict", "id"),
    ):
        [result] = backend.bring(record)
        problem = result.get("problem", {})
        assert (result["status"], problem.get("code")) == (status, code), record
        assert problem.get("detail", "").startswith(named)
    backend.brought(history.end())


def test_polls_are_what_members_see(backend, anna, ben, history):
    ask = history.message(1, "Which?", id=new_id(), poll={"options": ["a", "b", "c"], "multiple": True})
    backend.brought(
        history.opening(),
        ask,
        history.vote(ask["id"], ben.name, 2, 0, 1),
        history.vote(ask["id"], anna.name, 3, 2),
        history.vote(ask["id"], ben.name, 4, 2, 0),
        history.record("pollClosed", messageId=ask["id"], at=moment(5), actorId=ben.name),
        history.end(),
    )
    path = f"/v1/conversations/{history.id}/messages/{ask['id']}"
    assert got(ben, path)["poll"] == {
        "options": [{"text": "a", "votes": 1}, {"text": "b", "votes": 0}, {"text": "c", "votes": 2}],
        "multiple": True,
        "voters": 2,
        "closedAt": moment(5),
        "vote": {"userId": ben.name, "options": [0, 2]},
    }
    votes = [(anna.name, [2], moment(3)), (ben.name, [0, 2], moment(4))]
    assert [tuple(vote.values()) for vote in got(anna, f"{path}/votes")["votes"]] == sorted(votes)
    assert anna.http.put(f"{path}/vote", json={"options": [0]}).json()["code"] == "pollClosed"


def test_an_unanswerable_parent_is_refused(backend, history):
    tombstone = history.message(1, deletedAt=moment(2))
    tombstone.pop("text")
    reply = history.message(3, replyTo=tombstone["id"])
    results = backend.bring(history.opening(), tombstone, history.message(2.5), reply)
    assert [result["status"] for result in results] == [200, 200, 200, 422]


# MARK: While it is open


def test_until_its_end_it_is_nobody_s_and_those_to_come_are_told_to_wait(backend, anna, ben, stranger, history):
    backend.brought(history.opening(), history.message(1))
    path = f"/v1/conversations/{history.id}"
    assert got(ben, "/v1/conversations")["conversations"] == []
    assert ben.get(path).status_code == 404 and ben.get(f"{path}/messages").status_code == 404
    sent = {"id": new_id(), "text": "Too early"}
    assert ben.post(f"{path}/messages", sent).json()["code"] == "conflict"
    assert stranger.post(f"{path}/messages", sent).json()["code"] == "notFound"
    backend.brought(history.end())
    assert ben.post(f"{path}/messages", sent).status_code == 201
    [late] = backend.bring(history.message(2))
    assert late["status"] == 409


def test_an_import_is_dropped_in_pieces_and_its_id_is_free(backend, ben, history):
    backend.brought(history.opening(), *(history.message(1 + n / 1000) for n in range(5_001)))
    backend.brought(hello := history.message(7, id=history.hello), history.receipt("read", ben.name, history.hello, 8))
    first = backend.http.delete(f"/v1/import/{history.id}")
    assert first.status_code == 202
    [refused] = backend.bring(history.message(9))
    assert refused["status"] == 409
    assert backend.drop(history.id) == 204
    assert backend.drop(history.id) == 404
    assert backend.drop("nobody") == 400
    backend.brought(history.opening(title="Again"), hello, history.end())
    again = got(ben, f"/v1/conversations/{history.id}")
    assert (again["title"], again["readSeq"], again["unreadCount"]) == ("Again", 0, 1)
    assert backend.drop(history.id) == 409


# MARK: Who may, and how much


def test_results_come_while_lines_go(system, backend, history):
    """The client waits for the result of each line before it sends the next: nothing is held back."""
    head = ("POST /v1/import HTTP/1.1", "Host: parley", f"Authorization: Bearer {backend.token}")
    with Raw(system.http_port, PATIENCE) as client:
        client.send("\r\n".join([*head, "Transfer-Encoding: chunked", "", ""]).encode())
        response = http.client.HTTPResponse(client.socket)
        for number, record in enumerate([*history.records(), history.end()], 1):
            line = json.dumps(record).encode() + b"\n"
            client.send(b"%x\r\n%b\r\n" % (len(line), line))
            if number == 1:
                response.begin()
            assert json.loads(response.readline()) == {"line": number, "status": 200}
        client.send(b"0\r\n\r\n")
        assert response.read() == b""


def test_who_imports_too_much_at_once_or_too_often_is_refused(system, backend, history):
    with system.sibling("ingest", PARLEY_RATE_PER_SECOND="1", PARLEY_RATE_BURST="5") as port:
        hasty = Person(system, backend.name, port=port, adm=True)
        assert any(hasty.http.post("/v1/import").status_code == 429 for _ in range(9))
        assert any(hasty.http.delete(f"/v1/import/{history.id}").status_code == 429 for _ in range(9))


def test_without_a_store_nothing_is_imported(system, backend, history):
    """Not even looked at: it would not be in the audit log."""
    nobody = {"PARLEY_BUS_STORE": f"ipc://{system.state}/nobody-*.sock", "PARLEY_REQUEST_DEADLINE": "300ms"}
    with system.sibling("ingest", "/healthz", **nobody) as port:
        alone = Importer(system, backend.name, port=port, adm=True)
        line = json.dumps(history.opening()).encode()
        assert problem(alone.http.post("/v1/import", content=line)) == (503, "unavailable")
        assert alone.http.delete(f"/v1/import/{history.id}").status_code == 503


def test_when_a_store_goes_lines_get_503_and_what_follows_them_is_skipped(system, backend, history):
    records = [history.opening(), *(history.message(1 + n / 1000) for n in range(600))]
    first, *rest = [json.dumps(record).encode() + b"\n" for record in records]

    def lines():
        yield first
        deadline = time.monotonic() + PATIENCE
        while system.sql(f"SELECT count(*) FROM store.imports WHERE conversation_id = '{history.id}'") != "1":
            assert time.monotonic() < deadline
        system.signal("store", 0, signal.SIGSTOP)
        yield b"".join(rest)

    small = {"PARLEY_BYTES_IN_FLIGHT": str(1 << 20), "PARLEY_REQUEST_DEADLINE": "300ms"}
    with system.sibling("ingest", **small) as port:
        importer = Importer(system, backend.name, port=port, adm=True)
        try:
            response = importer.http.post("/v1/import", content=lines(), timeout=PATIENCE)
        finally:
            system.signal("store", 0, signal.SIGCONT)
        stored, *results = [json.loads(line) for line in response.content.splitlines()]
    assert stored["status"] == 200
    problems = [result["problem"]["code"] for result in results]
    unavailable = problems.index("skipped")
    assert 0 < unavailable <= 500 and set(problems[:unavailable]) == {"unavailable"}
    assert problems[unavailable:] == ["skipped"] * (len(rest) - unavailable)
    # Whatever of it the store has heard: a drop that has begun is to be ended.
    assert backend.drop(history.id) in (204, 404)
    backend.brought(*records, history.end())


def test_a_token_that_is_revoked_meanwhile_ends_the_request(system, backend, history):
    name = f"revoked-{new_id()[-8:]}"
    importer = Importer(system, name, adm=True, iat=int(time.time()) - 60)

    def lines():
        for record in (history.opening(), history.message(1)):
            yield json.dumps(record).encode() + b"\n"
        assert backend.http.post(f"/v1/users/{name}/revoke").status_code == 204
        yield json.dumps(history.message(5)).encode() + b"\n"

    try:
        # Nothing was answered before.
        assert importer.http.post("/v1/import", content=lines(), timeout=PATIENCE).status_code == 401
    except (httpx.RemoteProtocolError, httpx.WriteError, httpx.ReadError):
        pass  # The response ends in its middle.
    # What came before is stored or is repeated, and what came after is not: it would be later than this.
    backend.brought(history.opening(), history.message(3))


def test_ingest_that_is_full_takes_no_import(system, backend):
    with system.sibling("ingest", PARLEY_REQUESTS_IN_FLIGHT="1") as port:
        full = Importer(system, backend.name, port=port, adm=True)
        other = Importer(system, backend.name, port=port, adm=True)

        def one():
            yield b"\n"
            assert other.http.post("/v1/import").status_code == 503
            yield b"{}\n"

        response = full.http.post("/v1/import", content=one())
        assert [json.loads(line)["status"] for line in response.content.splitlines()] == [400]


def test_the_judge_refuses_results_that_are_not_as_described():
    judge = Contract()
    judge.validate("#/components/schemas/ImportResult", {"line": 1, "status": 200})
    for wrong in ({"line": 1, "status": 409}, {"line": 0, "status": 200}, {"line": 1, "status": 201}):
        with pytest.raises(AssertionError):
            judge.validate("#/components/schemas/ImportResult", wrong)
