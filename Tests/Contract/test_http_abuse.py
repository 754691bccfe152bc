"""Bytes that are no proper HTTP. Each gets a described refusal or a close, and costs nobody else anything."""

import json
import time

import pytest

from contract import DOCUMENT, Contract
from people import new_id
from raw import Raw

REFUSALS = set(DOCUMENT["x-parley-edge-refusals"]["statuses"])
HOST = b"Host: parley\r\n"
GET = b"GET /v1/limits HTTP/1.1\r\n" + HOST
POST = b"POST /v1/conversations HTTP/1.1\r\n" + HOST
# Whose body is read: without a token it is refused before.
KNOWN_POST = POST + b"Authorization: Bearer @TOKEN@\r\n"

# The bytes, and the statuses that are right. 0: closed without an answer.
MALFORMED = {
    "no HTTP at all": (b"GARBAGE\r\n\r\n", {400, 0}),
    "only line ends": (b"\r\n" * 100_000, {400, 431, 0}),
    "a TLS hello": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), {400, 0}),
    "the HTTP/2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400, 505}),
    "HTTP/0.9": (b"GET /v1/limits\r\n\r\n", {400, 505}),
    "HTTP/2.0": (b"GET /v1/limits HTTP/2.0\r\n" + HOST + b"\r\n", {505}),
    "HTTP/1.10": (b"GET /v1/limits HTTP/1.10\r\n" + HOST + b"\r\n", {400, 505}),
    "HTTP in lower case": (b"GET /v1/limits http/1.1\r\n" + HOST + b"\r\n", {400}),
    "a space in the target": (b"GET /v1/ limits HTTP/1.1\r\n" + HOST + b"\r\n", {400}),
    "two spaces before the version": (b"GET /v1/limits  HTTP/1.1\r\n" + HOST + b"\r\n", {400, 200}),
    "a control character in the target": (b"GET /v1/\x01limits HTTP/1.1\r\n" + HOST + b"\r\n", {400}),
    "a target that is no path": (b"GET v1/limits HTTP/1.1\r\n" + HOST + b"\r\n", {400, 404}),
    "an asterisk as the target": (b"GET * HTTP/1.1\r\n" + HOST + b"\r\n", {400, 404}),
    "an authority as the target": (b"CONNECT parley:80 HTTP/1.1\r\n" + HOST + b"\r\n", {400, 404, 405}),
    "a broken percent-encoding": (b"GET /v1/%zz HTTP/1.1\r\n" + HOST + b"\r\n", {400, 404}),
    "an encoded U+0000": (b"GET /v1/limits%00 HTTP/1.1\r\n" + HOST + b"\r\n", {400, 404}),
    "an unknown method": (b"BREW /v1/limits HTTP/1.1\r\n" + HOST + b"\r\n", {400, 405}),
    "a method in lower case": (b"get /v1/limits HTTP/1.1\r\n" + HOST + b"\r\n", {400, 405}),
    "an endless method": (b"G" * 100_000, {400, 431, 0}),
    "no Host": (b"GET /v1/limits HTTP/1.1\r\n\r\n", {400}),
    "two Hosts": (GET + HOST + b"\r\n", {400}),
    "a space before the colon": (GET + b"X-A : 1\r\n\r\n", {400}),
    "a header without a name": (GET + b": 1\r\n\r\n", {400}),
    "a header without a colon": (GET + b"X-A\r\n\r\n", {400}),
    "a header name with a bracket": (GET + b"X(A): 1\r\n\r\n", {400}),
    "a header name beyond ASCII": (GET + b"X-\xc3\xa4: 1\r\n\r\n", {400}),
    "bare line feeds": (b"GET /v1/limits HTTP/1.1\n" + b"Host: parley\n\n", {400}),
    "a folded header": (GET + b"X-A: 1\r\n 2\r\n\r\n", {400}),
    "a folded first header": (b"GET /v1/limits HTTP/1.1\r\n X-A: 1\r\n" + HOST + b"\r\n", {400}),
    "U+0000 in a header": (GET + b"X-A: 1\x002\r\n\r\n", {400}),
    "a bare carriage return in a header": (GET + b"X-A: 1\r2\r\n\r\n", {400}),
    "lengths that differ": (POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", {400}),
    "the same length twice": (POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", {400}),
    "a list of lengths": (POST + b"Content-Length: 2, 2\r\n\r\n{}", {400}),
    "a length with a sign": (POST + b"Content-Length: +2\r\n\r\n{}", {400}),
    "a negative length": (POST + b"Content-Length: -2\r\n\r\n{}", {400}),
    "a length in hexadecimal": (POST + b"Content-Length: 0x2\r\n\r\n{}", {400}),
    "no length after the colon": (POST + b"Content-Length:\r\n\r\n{}", {400, 401}),
    "a length over 64 bits": (POST + b"Content-Length: 18446744073709551618\r\n\r\n{}", {400, 413}),
    "both lengths": (POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {400}),
    "both lengths the other way": (POST + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n", {400}),
    "chunked, then identity": (POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", {400}),
    "chunked twice": (POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {400}),
    "an unknown coding": (POST + b"Transfer-Encoding: gzip\r\n\r\n", {400}),
    "nearly chunked": (POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", {400}),
    "chunked with a vertical tab": (POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", {400}),
    "a chunk size that is none": (KNOWN_POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", {400}),
    "a negative chunk size": (KNOWN_POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", {400}),
    "a chunk size over 64 bits": (KNOWN_POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"F" * 17 + b"\r\n", {400, 413}),
    "a chunk without its line end": (KNOWN_POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}0\r\n\r\n", {400}),
    "an endless chunk extension": (
        KNOWN_POST + b"Transfer-Encoding: chunked\r\n\r\n2;" + b"x" * 200_000,
        {400, 413, 431, 0},
    ),
    "endless trailers": (
        KNOWN_POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X-A: 1\r\n" * 20_000,
        {400, 413, 431, 0},
    ),
    "a header of 100 KB": (GET + b"X-A: " + b"x" * 100_000 + b"\r\n\r\n", {431}),
    "ten thousand headers": (GET + b"X-A: 1\r\n" * 10_000 + b"\r\n", {431}),
    "a target of 100 KB": (b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", {431}),
    "an unknown expectation": (POST + b"Expect: 200-maybe\r\nContent-Length: 2\r\n\r\n{}", {417}),
    "a body over the limit, announced": (POST + b"Content-Length: 131073\r\n\r\n", {413}),
    "a body over every limit, announced": (POST + b"Content-Length: 9999999999999\r\n\r\n", {413}),
    "a body over the limit, in chunks": (
        KNOWN_POST + b"Transfer-Encoding: chunked\r\n\r\n" + (b"8000\r\n" + b"x" * 0x8000 + b"\r\n") * 5,
        {413},
    ),
}


@pytest.mark.parametrize("attack", MALFORMED.values(), ids=MALFORMED)
@pytest.mark.parametrize("offset", [0, 1], ids=["ingest", "fanout"])
def test_broken_http_is_refused(system, anna, attack, offset):
    data, right = attack
    data = data.replace(b"@TOKEN@", anna.token.encode())
    if offset == 1:
        # fanout has neither of the two paths and takes no body: it may also find nothing there, or the body too large.
        right = right | {404, 413}
    with Raw(system.http_port + offset) as connection:
        connection.send(data)
        response = connection.response()
        status = response.status if response else 0
        assert status in right, f"answered {status}"
        if status >= 400:
            assert str(status) in REFUSALS | {"401"}
            _check_problem(response)
            if status not in (401, 404, 405):
                assert connection.is_closed(), "where the next request begins is unknown"
    with Raw(system.http_port + offset) as other:
        other.send(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        assert other.response().status == 200


def _check_problem(response):
    assert response.headers["Content-Type"] == "application/problem+json"
    problem = json.loads(response.body)
    Contract().validate("#/components/schemas/Problem", problem)
    assert problem["status"] == response.status


def authorized(person, method, path, body=b"", *lines):
    head = [f"{method} {path} HTTP/1.1", "Host: parley", f"Authorization: Bearer {person.token}", *lines]
    if body:
        head.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*head, "", ""]).encode() + body


def test_a_request_smuggled_into_a_body_is_not_answered(system, anna):
    """Every way in which two servers may disagree where a body ends."""
    hidden = authorized(anna, "GET", "/v1/conversations")
    for framing in (
        b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % (5 + len(hidden)),
        b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding : chunked\r\nContent-Length: 0\r\n\r\n",
        b"Content-Length: 0\r\nContent-Length: %d\r\n\r\n" % len(hidden),
        b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\n\r\n\rGET",
        b"Content-Length: 0\n\r\n",
    ):
        with Raw(system.http_port) as connection:
            connection.send(POST + framing + hidden)
            answers = []
            while response := connection.response():
                answers.append(response.status)
                if response.will_close:
                    break
            assert 200 not in answers, framing


def test_a_body_that_looks_like_a_request_is_a_body(system, anna):
    hidden = authorized(anna, "GET", "/v1/conversations")
    with Raw(system.http_port) as connection:
        connection.send(authorized(anna, "POST", "/v1/conversations", hidden) + authorized(anna, "GET", "/v1/limits"))
        assert connection.response().status == 400
        assert "textBytes" in json.loads(connection.response().body)


def test_pipelined_requests_are_answered_in_order(system, anna):
    group = anna.group()
    bodies = [{"id": new_id(), "text": f"{number}"} for number in range(100)]
    path = f"/v1/conversations/{group}/messages"
    with Raw(system.http_port) as connection:
        connection.send(b"".join(authorized(anna, "POST", path, json.dumps(body).encode()) for body in bodies))
        answers = [connection.response() for _ in bodies]
    assert [answer.status for answer in answers] == [201] * 100
    assert [json.loads(answer.body)["id"] for answer in answers] == [body["id"] for body in bodies]


def test_a_request_may_come_byte_by_byte(system, anna):
    body = json.dumps({"id": new_id(), "kind": "group", "members": []}).encode()
    with Raw(system.http_port) as connection:
        for byte in authorized(anna, "POST", "/v1/conversations", body):
            connection.send(bytes([byte]))
        assert connection.response().status == 201


def test_a_body_may_come_in_chunks_with_extensions_and_trailers(system, anna):
    body = json.dumps({"id": new_id(), "kind": "group", "members": []}).encode()
    chunks = b"".join(b"%x;a=b\r\n%c\r\n" % (1, byte) for byte in body) + b"0\r\nX-Trailer: 1\r\n\r\n"
    with Raw(system.http_port) as connection:
        connection.send(authorized(anna, "POST", "/v1/conversations", b"", "Transfer-Encoding: chunked") + chunks)
        assert connection.response().status == 201
        connection.send(authorized(anna, "GET", "/v1/limits"))
        assert connection.response().status == 200


def test_a_client_that_asks_first_is_told_to_continue(system, anna):
    body = json.dumps({"id": new_id(), "kind": "group", "members": []}).encode()
    head = authorized(anna, "POST", "/v1/conversations", b"", "Expect: 100-continue", f"Content-Length: {len(body)}")
    with Raw(system.http_port) as connection:
        connection.send(head)
        assert connection.input.readline() == b"HTTP/1.1 100 Continue\r\n"
        assert connection.input.readline() == b"\r\n"
        connection.send(body)
        assert connection.response().status == 201


def test_http_1_0_is_answered_and_closed(system):
    with Raw(system.http_port) as connection:
        connection.send(b"GET /v1/limits HTTP/1.0\r\n\r\n")
        assert connection.response().status == 200
        assert connection.is_closed()


def test_a_client_that_closes_its_side_still_gets_its_answer(system, anna):
    with Raw(system.http_port) as connection:
        connection.send(authorized(anna, "GET", "/v1/conversations"))
        connection.socket.shutdown(1)
        assert connection.response().status == 200


def test_slow_and_silent_clients_are_closed_and_delay_nobody(system, anna):
    """Two hundred of them at once: some stop within the header, some drip it."""
    started = time.monotonic()
    slow = [Raw(system.http_port) for _ in range(200)]
    for connection in slow:
        connection.send(GET)
    while time.monotonic() < started + 3:
        for number, connection in enumerate(slow):
            if number % 2:
                connection.send(b"X-A: 1\r\n")
        assert anna.get("/v1/limits").status_code == 200
        time.sleep(0.1)
    for connection in slow:
        response = connection.response()
        assert response is None or response.status == 408
        assert connection.is_closed()
        connection.__exit__()
    assert time.monotonic() - started > 5


def test_a_client_that_never_reads_its_answers_is_bounded(system, anna):
    """It asks for 200 MB; what the server keeps for it is its bound, and others are served."""
    with Raw(system.http_port) as connection:
        connection.socket.settimeout(0.2)
        request = authorized(anna, "GET", "/openapi.json")
        before = system.resident_bytes("ingest")
        try:
            for _ in range(3000):
                connection.socket.sendall(request)
        except TimeoutError:
            pass
        assert anna.get("/v1/limits").status_code == 200
        assert system.resident_bytes("ingest") - before < 32 << 20
