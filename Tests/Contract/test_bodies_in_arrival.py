"""Bodies that are sent and never ended: what strangers, and what one user, can make the process keep."""

import contextlib
import json
import select
import socket
import time

import pytest

from judged import PATIENCE
from people import Person, new_id
from raw import Raw

BATCH = "/v1/messages:batch"
BATCH_BYTES = 4 << 20


def head(person, method, path, size, *lines):
    token = [f"Authorization: Bearer {person.token}"] if person else []
    fields = [f"{method} {path} HTTP/1.1", "Host: parley", *token, *lines]
    if size is not None:
        fields.append(f"Content-Length: {size}")
    return "\r\n".join([*fields, "", ""]).encode()


def send_all_but_the_end(connection, size=BATCH_BYTES):
    """As far as the server takes it: it may refuse in the middle, or close."""
    connection.socket.settimeout(3)
    with contextlib.suppress(TimeoutError, ConnectionError):
        connection.socket.sendall(b'{"messages":[' + b" " * (size - 20))
    connection.socket.settimeout(PATIENCE)


def answers(connections, count):
    """What the server says once it says something on so many of the connections; on the others nothing may come."""
    by_socket = {connection.socket: connection for connection in connections}
    deadline = time.monotonic() + PATIENCE
    while len(readable := select.select(by_socket, [], [], 0.2)[0]) < count:
        assert time.monotonic() < deadline, f"on {len(readable)} of {len(connections)} connections"
        time.sleep(0.05)
    return [by_socket[each].response() for each in readable]


def test_a_stranger_is_refused_before_the_body(system):
    connections = [Raw(system.http_port) for _ in range(40)]
    before = system.resident_bytes("ingest")
    for connection in connections:
        connection.send(head(None, "POST", BATCH, BATCH_BYTES))
        send_all_but_the_end(connection)
    grown = system.resident_bytes("ingest") - before
    for connection in connections:
        answer = connection.response()
        assert answer and answer.status == 401
        connection.__exit__()
    assert grown < 8 << 20, f"{grown >> 20} MiB for bodies of strangers"


@pytest.mark.parametrize(
    ("method", "path", "size", "right"),
    [
        ("POST", BATCH, BATCH_BYTES, 401),
        ("POST", "/v1/conversations", 100, 401),
        ("POST", "/v1/conversations", None, 401),
        ("POST", "/v1/nothing", 100_000, 404),
        ("POST", "/v1/limits", 1000, 405),
        ("POST", "/v1/conversations", 200_000, 413),
    ],
)
@pytest.mark.parametrize("asks", [False, True], ids=["sends", "asks"])
def test_the_answer_comes_before_the_body_and_no_100_before_it(system, method, path, size, right, asks):
    framing = ["Transfer-Encoding: chunked"] if size is None else []
    if asks:
        framing.append("Expect: 100-continue")
    with Raw(system.http_port) as connection:
        connection.send(head(None, method, path, size, *framing))
        assert connection.response().status == right


def test_a_small_body_that_is_refused_costs_no_connection(system, anna, ben):
    """Who sends on learns from each answer, in order; the bodies are thrown away."""
    group = anna.group(ben)
    body = json.dumps({"id": new_id(), "text": "Hello"}).encode()
    path = f"/v1/conversations/{group}/messages"
    with Raw(system.http_port) as connection:
        for sender, status in [(None, 401), (anna, 201), (None, 401), (ben, 409)]:
            connection.send(head(sender, "POST", path, len(body)) + body)
            assert connection.response().status == status


def test_one_user_takes_a_share_and_leaves_the_rest(system, anna, ben):
    """Forty batches of one user that never end: some megabytes, and everybody else is served."""
    group = anna.group(ben)
    connections = [Raw(system.http_port) for _ in range(40)]
    before = system.resident_bytes("ingest")
    for connection in connections:
        connection.send(head(anna, "POST", BATCH, BATCH_BYTES))
        send_all_but_the_end(connection, BATCH_BYTES if connection is connections[0] else 1 << 20)
    grown = system.resident_bytes("ingest") - before
    assert ben.post(f"/v1/conversations/{group}/messages", {"id": new_id(), "text": "Hello"}).status_code == 201
    batch = {"messages": [{"conversationId": group, "id": new_id(), "text": "x" * 9000} for _ in range(400)]}
    assert ben.post(BATCH, batch).status_code == 200
    refused = [answer for answer in answers(connections[1:], 30) if answer and answer.status == 429]
    for connection in connections:
        connection.__exit__()
    assert grown < 24 << 20, f"{grown >> 20} MiB for bodies of one user"
    assert len(refused) >= 30
    # What has ended is given back, and what was paid for comes again with time.
    while (answer := anna.post(BATCH, batch)).status_code == 429:
        time.sleep(int(answer.headers["Retry-After"]))
    assert answer.status_code == 200


def test_many_users_bodies_leave_room_for_messages(system, new_person):
    """Bodies that do not end take half of the room at most."""
    with system.sibling("ingest", PARLEY_BYTES_IN_FLIGHT=str(8 << 20)) as port:
        people = [new_person("writer") for _ in range(12)]
        connections = []
        for person in people:
            connections.append(Raw(port))
            connections[-1].send(head(person, "POST", BATCH, 1 << 20))
            send_all_but_the_end(connections[-1], 1 << 20)
        # Whose own share none of them takes.
        bystander = new_person("bystander")
        group = bystander.group()
        other = Person(system, bystander.name, port=port)
        large = {"id": new_id(), "text": "x" * 16_000}
        assert other.post(f"/v1/conversations/{group}/messages", large).status_code == 201
        given = answers(connections, 8)
        assert {answer.status for answer in given} == {503} and len(given) >= 8
        for connection in connections:
            connection.socket.shutdown(socket.SHUT_RDWR)
            connection.__exit__()


def test_what_a_body_took_is_given_back_when_it_was_handled(system, new_person):
    """Connections that stay open and do nothing hold nothing of what their last requests brought."""
    people = [new_person("writer") for _ in range(12)]
    connections = [Raw(system.http_port) for _ in people]
    before = system.resident_bytes("ingest")
    for person, connection in zip(people, connections):
        connection.send(head(person, "POST", BATCH, BATCH_BYTES) + b" " * BATCH_BYTES)
        assert connection.response().status == 400
    grown = system.resident_bytes("ingest") - before
    for connection in connections:
        connection.__exit__()
    assert grown < 24 << 20, f"{grown >> 20} MiB for connections without a request"
