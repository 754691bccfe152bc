"""The hook before a message: the application is asked before a message or an edit is stored."""

import json
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from application import ALLOW, OTHER_KEY, OTHER_SECRET, SECRET, Application, answer, is_signed, refuse
from files import Uploader, picture
from judged import EXECUTABLES
from people import Person, new_id
from test_batch import batch, item, statuses
from test_writes import problem

sys.path.append(str(Path(__file__).parents[1] / "System"))
from tls import certificate  # noqa: E402

TIMEOUT = 1.0
REFUSED = (403, "refusedByApplication")


class Scene:
    """An ingest that asks an application, and the same users at it."""

    def __init__(self, system, port: int, application: Application):
        self.system = system
        self.port = port
        self.application = application
        self.people = []

    def at(self, person: Person, **claims) -> Person:
        self.people.append(Person(self.system, person.name, port=self.port, **claims))
        return self.people[-1]

    def metrics(self) -> dict[str, float]:
        text = httpx.get(f"http://127.0.0.1:{self.port}/metrics", trust_env=False).text
        lines = re.findall(r"^(parley_ingest_hook\S+) (\S+)$", text, re.MULTILINE)
        return {name: float(value) for name, value in lines}

    def count(self, result: str) -> float:
        return self.metrics()[f'parley_ingest_hook_messages_total{{result="{result}"}}']


@pytest.fixture
def hooked(system):
    @contextmanager
    def start(fails="closed", tls=None, **settings):
        application = Application()
        scheme = "https://localhost" if tls else "http://127.0.0.1"
        variables = {
            "PARLEY_MESSAGE_HOOK": f"{scheme}:{application.port}/hook?of=parley",
            "PARLEY_MESSAGE_HOOK_SECRET": SECRET,
            "PARLEY_MESSAGE_HOOK_FAILS": fails,
            # Of the environment: it is not used.
            "http_proxy": "http://127.0.0.1:9",
            "https_proxy": "http://127.0.0.1:9",
        } | settings
        with application.serving(tls), system.sibling("ingest", **variables) as port:
            scene = Scene(system, port, application)
            try:
                yield scene
            finally:
                for person in scene.people:
                    person.http.close()
        assert application.forged == 0

    return start


@pytest.fixture
def scene(hooked):
    with hooked() as scene:
        yield scene


def send(person, group, text="Hello", **fields):
    return person.post(f"/v1/conversations/{group}/messages", {"id": new_id(), "text": text} | fields)


def edit(person, group, message, text, **options):
    return person.http.patch(f"/v1/conversations/{group}/messages/{message}", json={"text": text}, **options)


def texts(person, group) -> list[str]:
    messages = person.get(f"/v1/conversations/{group}/messages").json()["messages"]
    return [message.get("text") for message in messages if message["kind"] != "system"]


# MARK: What is asked, and what the answer does


def test_a_message_is_shown_whole_and_stored_when_it_is_allowed(scene, anna, ben):
    group = anna.group(ben)
    parent = ben.send(group, "Question")["id"]
    sent = {
        "id": new_id(),
        "text": 'An "answer"\n🧗',
        "replyTo": parent,
        "mentions": [ben.name],
        "mentionsAll": True,
        "extra": {"a": [1, {"b": None}]},
    }
    response = scene.at(anna).post(f"/v1/conversations/{group}/messages", sent)
    assert response.status_code == 201, response.text
    [question] = scene.application.questions
    assert question["type"] == "message.asked" and question["senderId"] == anna.name
    assert question["messages"] == [sent | {"kind": "message", "conversationId": group}]
    assert question["headers"]["webhook-id"].startswith("msg_")
    assert texts(ben, group)[-1] == sent["text"]


def test_a_refused_message_gets_a_403_of_its_own_and_is_not_stored(scene, anna, ben):
    group = anna.group(ben)
    writer = scene.at(anna)
    scene.application.decide = lambda *_: refuse("Not\nhere,\u202e please.")
    response = send(writer, group, "Buy now")
    assert problem(response) == REFUSED
    assert response.json()["detail"] == "Not here, please." and "Retry-After" not in response.headers
    assert texts(ben, group) == []
    scene.application.decide = lambda *_: refuse()
    assert problem(send(writer, group)) == REFUSED
    scene.application.decide = lambda *_: answer(status=204)
    assert send(writer, group, "Hello").status_code == 201
    assert texts(ben, group) == ["Hello"]


def test_an_edit_is_asked_about_too(scene, anna, ben):
    group = anna.group(ben)
    writer = scene.at(anna)
    message = send(writer, group, "Harmless").json()["id"]
    scene.application.decide = lambda messages, _: refuse("No.") if "Buy" in messages[0]["text"] else ALLOW
    assert problem(edit(writer, group, message, "Buy now")) == REFUSED
    assert texts(ben, group) == ["Harmless"]
    assert edit(writer, group, message, "Harmless still").status_code == 200
    assert scene.application.messages[-1] == {
        "kind": "edit",
        "conversationId": group,
        "id": message,
        "text": "Harmless still",
    }


def test_the_items_of_a_batch_are_asked_about_together_and_refused_alone(scene, anna, ben):
    groups = [anna.group(ben), anna.group(ben)]
    scene.application.decide = lambda messages, _: answer(
        {"results": [{"action": "refuse" if "Buy" in each["text"] else "allow"} for each in messages]}
    )
    items = [item(groups[n % 2], text) for n, text in enumerate(["a", "Buy", "b", "c", "Buy", "", "d", "Buy"])]
    response = batch(scene.at(anna), *items)
    assert statuses(response) == [201, 403, 201, 201, 403, 400, 201, 403]
    assert response.json()["results"][1]["problem"]["code"] == "refusedByApplication"
    assert (texts(ben, groups[0]), texts(ben, groups[1])) == (["a", "b", "d"], ["c"])
    assert [len(question["messages"]) for question in scene.application.questions] == [7]
    scene.application.decide = lambda *_: refuse("No.")
    assert statuses(batch(scene.at(anna), item(groups[0]), item(groups[0]), item(groups[1]))) == [403] * 3


def test_what_a_message_carries_is_named_with_its_type_and_size(scene, anna, ben):
    group = anna.group(ben)
    with Uploader(anna) as uploader:
        file = uploader.upload(picture())
    scene.application.decide = lambda *_: refuse("No pictures.")
    assert problem(send(scene.at(anna), group, attachments=[{"id": file}])) == REFUSED
    scene.application.decide = lambda *_: ALLOW
    assert send(scene.at(anna), group, attachments=[{"id": file}], extra={"a": 1}).status_code == 201
    for message in scene.application.messages:
        [shown] = message["attachments"]
        assert shown["id"] == file and shown["type"] == "image/jpeg" and shown["size"] > 0


def test_the_application_is_not_asked_about_what_it_sends_itself(scene, anna, ben):
    group = anna.group(ben)
    scene.application.decide = lambda *_: refuse()
    backend = scene.at(anna, adm=True)
    acting = {"X-Parley-User": ben.name}
    sent = backend.http.post(
        f"/v1/conversations/{group}/messages", json={"id": new_id(), "text": "Welcome"}, headers=acting
    )
    assert sent.status_code == 201
    assert send(backend, group, "From the application").status_code == 201
    assert edit(backend, group, sent.json()["id"], "Welcome!", headers=acting).status_code == 200
    assert scene.application.questions == []


def test_nothing_else_is_asked_about(scene, anna, ben):
    writer = scene.at(anna)
    group = writer.group(ben, title="A title")
    message = send(writer, group).json()["id"]
    asked = len(scene.application.questions)
    path = f"/v1/conversations/{group}"
    assert writer.http.patch(path, json={"title": "Another"}).status_code == 200
    assert writer.http.put(f"{path}/draft", json={"text": "Later"}).status_code == 204
    assert writer.http.put(f"{path}/messages/{message}/tapback", json={"kind": "love"}).status_code == 200
    assert writer.http.delete(f"{path}/messages/{message}?scope=everyone").status_code == 204
    assert writer.post(f"{path}/receipts", {"readSeq": 1}).status_code == 202
    assert len(scene.application.questions) == asked == 1


def test_a_second_secret_signs_while_they_are_exchanged(hooked, anna, ben, tmp_path):
    file = tmp_path / "secrets"
    file.write_text(f"{SECRET}\n{OTHER_SECRET}\n")
    settings = {"PARLEY_MESSAGE_HOOK_SECRET": "", "PARLEY_MESSAGE_HOOK_SECRET_FILE": str(file)}
    with hooked(**settings) as scene:
        assert send(scene.at(anna), anna.group(ben)).status_code == 201
        [question] = scene.application.questions
        assert is_signed(question["headers"], question["body"], OTHER_KEY)
        assert len(question["signature"].split(" ")) == 2


# MARK: Without an answer


def slow(*_):
    time.sleep(3)
    return ALLOW


FAILURES = {
    "slow": slow,
    "status": lambda *_: answer({"action": "allow"}, status=500),
    "not found": lambda *_: answer({"action": "allow"}, status=404),
    "garbage": lambda *_: (200, {}, b"<html>"),
    "nothing": lambda *_: (200, {}, b""),
    "large": lambda *_: answer({"action": "allow", "more": "x" * 300_000}),
    "redirection": lambda *_: answer(status=307, Location="/elsewhere"),
    "away": lambda *_: answer(status=302, Location="http://169.254.169.254/"),
    "too few": lambda *_: answer({"results": []}),
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("fails", ["open", "closed"])
def test_without_an_answer_a_message_is_stored_or_not_as_it_is_configured(hooked, anna, ben, fails, failure):
    group = anna.group(ben)
    with hooked(fails) as scene:
        scene.application.decide = FAILURES[failure]
        begun = time.monotonic()
        body = {"id": new_id(), "text": "Hello"}
        response = scene.at(anna).post(f"/v1/conversations/{group}/messages", body)
        took = time.monotonic() - begun
        # Nobody waits for the answer itself, which takes three times as long.
        assert took < 3 * TIMEOUT
        assert took > TIMEOUT - 0.1 or failure != "slow"
        if fails == "open":
            assert response.status_code == 201
        else:
            assert problem(response) == (503, "unavailable") and "Retry-After" in response.headers
            scene.application.decide = lambda *_: ALLOW
            assert scene.at(anna).post(f"/v1/conversations/{group}/messages", body).status_code == 201
        assert texts(ben, group) == ["Hello"]
        assert scene.count("failed") == 1


def test_an_application_that_is_gone_costs_no_second_for_each_message_and_is_back_by_itself(hooked, anna, ben):
    group = anna.group(ben)
    with hooked("open") as scene:
        writer = scene.at(anna)
        scene.application.decide = slow
        with ThreadPoolExecutor(10) as pool:
            people = [scene.at(anna)] + [scene.at(ben)]
            end = time.monotonic() + 2.5
            while time.monotonic() < end:
                list(pool.map(lambda person: send(person, group).status_code, people))
        while not scene.metrics()["parley_ingest_hook_paused"]:
            assert send(writer, group).status_code == 201
        begun = time.monotonic()
        for _ in range(20):
            assert send(writer, group).status_code == 201
        # Without the pause each would have waited for as long; one of them may be the probe.
        assert time.monotonic() - begun < 10 * TIMEOUT
        scene.application.decide = lambda *_: refuse("Back.")
        deadline = time.monotonic() + 20
        while problem_or_status(send(writer, group)) != REFUSED:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert scene.metrics()["parley_ingest_hook_paused"] == 0
        assert problem(send(writer, group)) == REFUSED


def problem_or_status(response):
    return response.status_code if response.status_code < 400 else problem(response)


def test_a_port_where_nobody_listens(hooked, anna, ben):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with hooked("closed", PARLEY_MESSAGE_HOOK=f"http://127.0.0.1:{port}/") as scene:
        assert problem(send(scene.at(anna), anna.group(ben))) == (503, "unavailable")
    with hooked("open", PARLEY_MESSAGE_HOOK="http://nowhere.invalid/") as scene:
        assert send(scene.at(anna), anna.group(ben)).status_code == 201


def test_the_certificate_is_checked(hooked, anna, ben, tmp_path):
    crt, key = certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(crt, key)
    with hooked(tls=tls) as scene:
        assert problem(send(scene.at(anna), anna.group(ben))) == (503, "unavailable")
        assert scene.application.questions == []
    with hooked(tls=tls, PARLEY_MESSAGE_HOOK_CA_FILE=str(crt)) as scene:
        assert [send(scene.at(anna), anna.group(ben)).status_code for _ in range(3)] == [201] * 3
        assert len(scene.application.questions) == 3


# MARK: Order, and others


def test_others_go_on_while_one_users_question_hangs(scene, anna, ben):
    group = anna.group(ben)
    release = threading.Event()

    def decide(_, sender):
        if sender == anna.name:
            release.wait(0.8)
        return ALLOW

    scene.application.decide = decide
    slow_writer, quick = scene.at(anna), scene.at(ben)
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(send, slow_writer, group, "Slow")
        while not scene.application.questions:
            time.sleep(0.005)
        for number in range(5):
            assert send(quick, group, f"{number}").status_code == 201
        assert not hanging.done()
        release.set()
        assert hanging.result().status_code == 201
    assert texts(ben, group) == [f"{number}" for number in range(5)] + ["Slow"]


def test_a_users_messages_keep_their_order_and_wait_for_their_own_alone(scene, anna, ben):
    group = anna.group(ben)

    def decide(messages, _):
        time.sleep(0.3 if messages[0]["text"] == "0" else 0)
        return ALLOW

    scene.application.decide = decide
    writers = [scene.at(anna) for _ in range(6)]
    assert [writer.get("/v1/limits").status_code for writer in writers] == [200] * 6  # They are connected.
    with ThreadPoolExecutor(6) as pool:
        sent = []
        for number, writer in enumerate(writers):
            sent.append(pool.submit(send, writer, group, f"{number}"))
            time.sleep(0.02)
        assert [each.result().status_code for each in sent] == [201] * 6
    assert texts(ben, group) == [f"{number}" for number in range(6)]
    assert [len(question["messages"]) for question in scene.application.questions] == [1, 5]


def test_a_user_has_one_question_at_a_time_and_connections_are_kept(scene, anna, ben):
    group = anna.group(ben)
    scene.application.decide = lambda *_: time.sleep(0.02) or ALLOW
    writers = [scene.at(anna) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        sent = list(pool.map(lambda n: send(writers[n % 8], group).status_code, range(64)))
    assert sent == [201] * 64
    assert scene.application.most_asking == 1 and scene.application.connections == 1
    assert len(scene.application.messages) == 64


# MARK: Once


def test_what_was_stored_is_not_refused_when_it_is_repeated(scene, anna, ben):
    group = anna.group(ben)
    writer = scene.at(anna)
    body = {"id": new_id(), "text": "Hello"}
    request = json.dumps(body).encode()
    head = (
        f"POST /v1/conversations/{group}/messages HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {anna.token}\r\n"
        f"Content-Length: {len(request)}\r\n\r\n"
    )
    # The response is lost: nobody waits for it.
    with socket.create_connection(("127.0.0.1", scene.port)) as connection:
        connection.sendall(head.encode() + request)
        while not scene.application.questions:
            time.sleep(0.005)
    deadline = time.monotonic() + 10
    while texts(ben, group) != ["Hello"]:
        assert time.monotonic() < deadline
    scene.application.decide = lambda *_: refuse("Changed its mind.")
    path = f"/v1/conversations/{group}/messages"
    again = writer.post(path, body)
    assert again.status_code == 200 and again.json()["id"] == body["id"]
    assert problem(writer.post(path, body | {"text": "Something else"})) == (409, "conflict")
    assert problem(writer.post(path, body | {"id": new_id()})) == REFUSED
    known, fresh = body | {"conversationId": group}, item(group)
    assert statuses(batch(writer, fresh, known, item(group))) == [403, 200, 403]
    # The same id at the same time, through other connections.
    writers = [scene.at(anna) for _ in range(4)]
    answers = iter([ALLOW, refuse("Changed its mind again.")] * 50)
    scene.application.decide = lambda *_: next(answers)
    for _ in range(10):
        same = {"id": new_id(), "text": "Hello"}
        with ThreadPoolExecutor(4) as pool:
            results = [each.status_code for each in pool.map(lambda w: w.post(path, same), writers)]  # noqa: B023
        stored = same["id"] in [m["id"] for m in ben.get(path).json()["messages"]]
        assert set(results) <= ({200, 201, 403} if stored else {403})
        assert not stored or results.count(201) == 1


def test_what_was_stored_by_a_process_that_was_killed_is_not_refused_when_it_is_repeated(hooked, system, anna, ben):
    group = anna.group(ben)
    path = f"/v1/conversations/{group}/messages"
    bodies = [{"id": new_id(), "text": f"{number}"} for number in range(20)]
    with hooked() as scene:
        bus = system.settings("ingest")["PARLEY_BUS_BIND"].replace("ingest-0", "ingest-8")
        own = {"PARLEY_INSTANCE": "8", "PARLEY_LISTEN": f"127.0.0.1:{scene.port + 1}", "PARLEY_BUS_BIND": bus}
        hook = {
            "PARLEY_MESSAGE_HOOK": f"http://127.0.0.1:{scene.application.port}/",
            "PARLEY_MESSAGE_HOOK_SECRET": SECRET,
            "PARLEY_MESSAGE_HOOK_FAILS": "closed",
        }
        process = subprocess.Popen([EXECUTABLES / "ingest"], env=system.settings("ingest") | own | hook)
        try:
            await_ready(scene.port + 1)
            doomed = Person(system, anna.name, port=scene.port + 1)
            with ThreadPoolExecutor(1) as pool:

                def write():
                    for body in bodies:
                        doomed.post(path, body)

                writing = pool.submit(write)
                while len(scene.application.messages) < 7:
                    time.sleep(0.001)
                process.kill()
                assert isinstance(writing.exception(), httpx.TransportError)
        finally:
            process.kill()
            process.wait()
        time.sleep(1)  # What had reached a store is stored.
        stored = {message["id"] for message in ben.get(path).json()["messages"]}
        assert 0 < len(stored & {body["id"] for body in bodies}) < 20
        scene.application.decide = lambda *_: refuse("Changed its mind.")
        for body in bodies:
            again = scene.at(anna).post(path, body)
            assert problem_or_status(again) == (200 if body["id"] in stored else REFUSED)


def await_ready(port: int):
    deadline = time.monotonic() + 30
    while True:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_edit_that_was_stored_is_not_refused_when_it_is_repeated(scene, anna, ben):
    group = anna.group(ben)
    writer = scene.at(anna)
    message = send(writer, group, "Before").json()["id"]
    key = {"Idempotency-Key": new_id()}
    first = edit(writer, group, message, "After", headers=key)
    scene.application.decide = lambda *_: refuse("Changed its mind.")
    again = edit(writer, group, message, "After", headers=key)
    assert first.status_code == again.status_code == 200 and again.json()["text"] == "After"
    assert problem(edit(writer, group, message, "Later")) == REFUSED
    assert problem(edit(scene.at(ben), group, message, "After")) == REFUSED
    revisions = ben.get(f"/v1/conversations/{group}/messages/{message}/revisions").json()
    assert len(revisions["revisions"]) == 2


# MARK: What nobody learns


def test_who_is_not_in_a_conversation_learns_nothing_by_a_refusal(scene, anna, ben, stranger):
    group = anna.group(ben)
    message = anna.send(group, "Hello")["id"]
    scene.application.decide = lambda *_: refuse("Nothing of the sort in this group, where Ben is.")
    outside = scene.at(stranger)
    for conversation in (group, new_id()):
        refused = send(outside, conversation)
        assert problem(refused) == (404, "notFound")
        assert problem(edit(outside, conversation, message, "Hello")) == (404, "notFound")
        assert problem(send(outside, conversation, id=message)) == (404, "notFound")
    there, nowhere = (statuses(batch(outside, item(c), item(c))) for c in (group, new_id()))
    assert there == nowhere == [404, 404]


def test_what_parley_refuses_by_itself_is_not_asked_about(scene, system, anna, ben):
    group = anna.group(ben)
    writer = scene.at(anna)
    assert send(writer, group, "").status_code == 400
    assert send(writer, group, "x" * 20_000).status_code == 413
    assert system.http(scene.port).post(f"/v1/conversations/{group}/messages", json={}).status_code == 401
    assert scene.application.questions == []


def test_a_user_causes_no_more_questions_than_their_rate_allows(hooked, anna):
    settings = {"PARLEY_RATE_PER_SECOND": "1", "PARLEY_RATE_BURST": "5"}
    with hooked(**settings) as scene:
        answers = [send(scene.at(anna), new_id()).status_code for _ in range(12)]
        assert answers.count(429) >= 5
        assert len(scene.application.questions) <= 7


def test_no_text_and_no_secret_is_in_the_log(hooked, system, anna, ben):
    group = anna.group(ben)
    word = "unspeakable"
    with hooked("open") as scene:
        writer = scene.at(anna)
        for failure in ("garbage", "status", "large"):
            scene.application.decide = FAILURES[failure]
            assert send(writer, group, word).status_code == 201
        scene.application.decide = lambda *_: refuse(word)
        assert problem(send(writer, group, word)) == REFUSED
    log = (system.state / "logs" / "ingest-9.log").read_text()
    assert "the hook failed" in log
    assert word not in log and SECRET[6:] not in log


def test_what_is_asked_is_measured(scene, anna, ben):
    group = anna.group(ben)
    writer = scene.at(anna)
    assert send(writer, group).status_code == 201
    scene.application.decide = lambda *_: refuse()
    assert problem(send(writer, group)) == REFUSED
    scene.application.decide = FAILURES["status"]
    assert send(writer, group).status_code == 503
    assert (scene.count("allowed"), scene.count("refused"), scene.count("failed")) == (1, 1, 1)
    measured = scene.metrics()
    assert measured['parley_ingest_hook_failures_total{reason="status"}'] == 1
    assert measured["parley_ingest_hook_duration_seconds_count"] == 3
    assert measured["parley_ingest_hook_waiting"] == 0
