"""Users whom an administrator has suspended: what is refused, from when on, until when, and what goes on."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from people import Person, new_id, open_socket
from test_receipts import eventually
from test_users import moment


def path_of(person) -> str:
    return f"/v1/users/{person.name}/suspension"


@pytest.fixture(scope="module")
def backend(system):
    return Person(system, f"backend-{new_id()[-8:]}", adm=True)


@pytest.fixture
def suspend(backend):
    def put(person, mode: str, **fields):
        answer = backend.http.put(path_of(person), json={"mode": mode} | fields)
        assert (answer.status_code, answer.content) == (204, b""), answer.text

    return put


@pytest.fixture
def lift(backend):
    def delete(person):
        answer = backend.http.delete(path_of(person))
        assert (answer.status_code, answer.content) == (204, b""), answer.text

    return delete


def refusal(answer) -> tuple:
    return answer.status_code, answer.status_code >= 400 and answer.json()["code"]


SUSPENDED = (403, "suspended")


def test_who_is_out_comes_back_to_what_they_missed(backend, suspend, lift, anna, ben):
    group = anna.group(ben)
    end = moment(time.time() + 86_400)
    with ben.socket() as session, anna.socket() as other:
        suspend(ben, "out", until=end, reason="spam")
        bye = session.expect("bye")
        assert (bye["code"], bye["until"]) == ("suspended", end)
        assert 0 < bye["retryAfter"] <= 3600 and "spam" not in str(bye)
        session.expect_close(4403)
        missed = anna.send(group, "Are you there?")
        other.expect_change(missed["seq"], group)
        assert "suspen" not in str(other.frames)
    with open_socket(ben.system) as late:
        late.send(type="hello", token=ben.token)
        late.expect_close(4403, "suspended")
    refused = ben.get("/v1/settings")
    assert refusal(refused) == SUSPENDED
    assert (refused.json()["until"], refused.json()["mode"]) == (end, "out") and "spam" not in refused.text
    assert [user["userId"] for user in anna.get(f"/v1/conversations/{group}/members").json()["members"]].count(ben.name)
    lift(ben)
    eventually(lambda: has_session(ben))
    with ben.socket():
        texts = [message["text"] for message in ben.get(f"/v1/conversations/{group}/messages").json()["messages"]]
        assert texts[-1] == "Are you there?"


def has_session(person) -> bool:
    with open_socket(person.system) as socket:
        socket.send(type="hello", token=person.token)
        return socket.receive()["type"] == "welcome"


def test_who_may_only_read_has_a_session_and_is_not_seen_to_write(suspend, lift, anna, ben):
    group = anna.group(ben)
    with ben.socket() as former:
        suspend(ben, "out")
        former.expect_close(4403, "suspended")
    # Since then his session's process knows of it.
    suspend(ben, "readOnly")
    eventually(lambda: has_session(ben))
    with ben.socket() as reader, anna.socket() as other:
        message = anna.send(group, "Read this")
        reader.expect_change(message["seq"], group)
        reader.send(type="typing", conversationId=group, active=True)
        reader.send(type="read", conversationId=group, seq=message["seq"])
        other.expect("status", where=lambda frame: ben.name in frame.get("read", {}))
        assert not [frame for frame in other.frames if frame["type"] == "typing"]
        item = {"conversationId": group, "id": new_id(), "text": "Hello"}
        assert refusal(ben.post("/v1/messages:batch", {"messages": [item]})) == SUSPENDED
        lift(ben)
        assert ben.post("/v1/messages:batch", {"messages": [item]}).json()["results"][0]["status"] == 201


def test_whoever_is_unheard_reaches_nobody_new_and_sees_no_difference(suspend, lift, backend, new_person, anna, ben):
    stranger, other = new_person("stranger"), new_person("other")
    group = anna.group(ben)
    with ben.socket() as session:
        suspend(ben, "unheard", reason="spam")
        assert backend.get(path_of(ben)).json()["mode"] == "unheard"
        # Here, as in every process that has heard of it.
        made = ben.post("/v1/conversations", {"kind": "direct", "members": [stranger.name]})
        crowd = ben.group(other, stranger)
        added = ben.http.put(f"/v1/conversations/{group}/members/{stranger.name}", json={})
        assert (made.status_code, added.status_code) == (201, 200) and made.json()["memberCount"] == 2
        for conversation in (made.json()["id"], crowd, group):
            ben.send(conversation, "Buy now")
        assert ben.get("/v1/settings").status_code == 200
        session.send(type="typing", conversationId=group, active=True)
        assert [frame for frame in session.frames if frame["type"] == "bye"] == []
    for nobody in (stranger, other):
        assert nobody.get("/v1/conversations").json()["conversations"] == []
        assert nobody.get("/v1/requests").json()["requests"] == []
        assert nobody.get(f"/v1/conversations/{made.json()['id']}").status_code == 404
    shown = anna.get(f"/v1/conversations/{group}/messages").json()["messages"]
    assert shown[-1]["text"] == "Buy now", "what exists goes on"
    assert stranger.name in [each["userId"] for each in ben.get(f"/v1/conversations/{group}/members").json()["members"]]
    lift(ben)
    heard = ben.group(other)
    assert [each["id"] for each in other.get("/v1/conversations").json()["conversations"]] == [heard]


@pytest.mark.parametrize("mode", ["readOnly", "out"])
def test_nothing_is_stored_that_began_after_the_acknowledgement(suspend, lift, anna, ben, mode):
    group = anna.group(ben)
    begun, started, stop = {}, Event(), Event()

    def write(number: int):
        person = Person(ben.system, ben.name)
        while not stop.is_set():
            id = new_id()
            begun[id] = time.monotonic()
            answer = person.post(f"/v1/conversations/{group}/messages", {"id": id, "text": f"by {number}"})
            if answer.status_code == 201:
                started.set()
        person.http.close()

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write, number) for number in range(4)]
        assert started.wait(60)
        suspend(ben, mode)
        acknowledged = time.monotonic()
        eventually(lambda: sum(at > acknowledged for at in list(begun.values())) >= 20)
        stop.set()
        for writer in writers:
            writer.result()
    lift(ben)
    stored, before = [], None
    while True:
        query = {"limit": 200} | ({"before": before} if before else {})
        messages = anna.get(f"/v1/conversations/{group}/messages", params=query).json()["messages"]
        stored += [message["id"] for message in messages if message["senderId"] == ben.name]
        if len(messages) < 200:
            break
        before = messages[0]["seq"]
    late = [id for id in stored if id in begun and begun[id] > acknowledged]
    assert set(stored) & set(begun) and late == []


def test_it_ends_by_itself(backend, ben):
    for seconds in (2, 10, 60):
        end = moment(time.time() + seconds)
        if backend.http.put(path_of(ben), json={"mode": "out", "until": end}).status_code == 204:
            break
    answers = set()
    eventually(lambda: answers.add(refusal(ben.get("/v1/settings"))) or (200, False) in answers, timeout=120)
    assert answers <= {SUSPENDED, (200, False)}
    assert refusal(backend.get(path_of(ben))) == (404, "notFound")
    with ben.socket():
        pass


def test_it_survives_and_others_learn_of_it(system, suspend, lift, ben):
    suspend(ben, "readOnly")
    with system.sibling("ingest") as port:
        person = Person(system, ben.name, port=port)
        assert person.get("/v1/settings").status_code == 200
        assert refusal(person.http.put("/v1/profile", json={})) == SUSPENDED
        suspend(ben, "out")
        eventually(lambda: refusal(person.get("/v1/settings")) == SUSPENDED)
        lift(ben)
        eventually(lambda: person.get("/v1/settings").status_code == 200)


def test_the_application_acts_for_whom_it_has_suspended(backend, suspend, lift, anna, ben):
    group = anna.group(ben)
    suspend(ben, "out")
    acting = {"X-Parley-User": ben.name}
    path = f"/v1/conversations/{group}/messages"
    assert backend.post(path, {"id": new_id(), "text": "In their name"}, headers=acting).status_code == 201
    suspend(backend, "out")
    assert backend.get("/v1/settings").status_code == 200, "it suspends users, not itself"
    lift(backend)
    lift(ben)


def test_the_last_one_counts_and_administrators_see_it(backend, suspend, lift, ben):
    assert refusal(backend.get(path_of(ben))) == (404, "notFound")
    suspend(ben, "out", reason="one")
    first = backend.get(path_of(ben)).json()
    assert (first["mode"], first["reason"], "until" in first) == ("out", "one", False)
    suspend(ben, "out", reason="one")
    assert backend.get(path_of(ben)).json() == first, "repeated, it is the same"
    end = moment(time.time() + 86_400)
    suspend(ben, "readOnly", until=end)
    second = backend.get(path_of(ben)).json()
    assert (second["mode"], second["until"], "reason" in second) == ("readOnly", end, False)
    assert refusal(ben.get(path_of(ben))) == (403, "forbidden"), "not for users, whoever is meant"
    for _ in range(2):
        lift(ben)
        assert refusal(backend.get(path_of(ben))) == (404, "notFound")
    assert ben.get("/v1/settings").status_code == 200


@pytest.mark.parametrize(
    "body, field, status",
    [
        ({}, "mode", 400),
        ({"mode": "away"}, "mode", 400),
        ({"mode": 1}, "mode", 400),
        ({"mode": "out", "until": "2001-01-01T00:00:00Z"}, "until", 400),
        ({"mode": "out", "until": "tomorrow"}, "until", 400),
        ({"mode": "out", "reason": 7}, "reason", 400),
        ({"mode": "out", "reason": "ä" * 501}, "reason", 413),
    ],
)
def test_what_is_none_is_refused_by_name(backend, ben, body, field, status):
    answer = backend.http.put(path_of(ben), json=body)
    assert answer.status_code == status and field in answer.json()["detail"]
    assert refusal(backend.get(path_of(ben))) == (404, "notFound")


def test_the_longest_reason_is_kept_as_it_is(backend, suspend, lift, ben):
    suspend(ben, "readOnly", reason="🐧" * 500)
    assert backend.get(path_of(ben)).json()["reason"] == "🐧" * 500
    lift(ben)


def test_who_is_erased_is_suspended_no_more(backend, suspend, lift, new_person):
    gone = new_person("gone")
    suspend(gone, "out", reason="spam")
    eventually(lambda: backend.http.delete(f"/v1/users/{gone.name}").status_code == 200, timeout=120)
    assert "reason" not in backend.get(path_of(gone)).json()
    answer = backend.http.put(path_of(gone), json={"mode": "out"})
    assert refusal(answer) == (409, "conflict") and "erased" in answer.json()["detail"]
    assert gone.get("/v1/settings").status_code == 401
    lift(gone)


def test_a_suspension_is_refused_as_any_other_call_is(system, backend, ben):
    calls = [("GET", None), ("PUT", {"mode": "out"}), ("DELETE", None)]
    for method, body in calls:
        assert backend.http.request(method, "/v1/users/b%20n/suspension", json=body).status_code == 400
    assert backend.http.put(path_of(ben), content=b" " * (129 * 1024)).status_code == 413
    with system.sibling("ingest", PARLEY_RATE_PER_SECOND="1", PARLEY_RATE_BURST="1") as port:
        hasty = Person(system, backend.name, port=port, adm=True)
        for method, body in calls:
            answers = (hasty.http.request(method, path_of(ben), json=body) for _ in range(5))
            assert any(answer.status_code == 429 for answer in answers), method
        # Whoever is refused pays all the same.
        backend.http.put(path_of(ben), json={"mode": "out"})
        stubborn = Person(system, ben.name, port=port)
        eventually(lambda: stubborn.get("/v1/settings").status_code == 403)
        assert any(stubborn.get("/v1/settings").status_code == 429 for _ in range(20))
        backend.http.delete(path_of(ben))
    nobody = {f"PARLEY_BUS_{peer}": f"ipc://{system.state}/nobody-*.sock" for peer in ("STORE", "RECEIPT")}
    with system.sibling("ingest", "/healthz", PARLEY_REQUEST_DEADLINE="300ms", **nobody) as port:
        alone = Person(system, backend.name, port=port, adm=True)
        for method, body in calls:
            assert alone.http.request(method, path_of(ben), json=body).status_code == 503
