"""How much one user, or one address, may take, and what that leaves to others."""

import json
import socket

from people import Person, new_id
from raw import TEXT, Raw, build_frame, handshake

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def pipelined(person, *requests):
    """Each a method, a path and a body."""
    parts = []
    for method, path, body in requests:
        content = b"" if body is None else json.dumps(body).encode()
        head = [f"{method} {path} HTTP/1.1", "Host: parley", f"Authorization: Bearer {person.token}"]
        parts.append("\r\n".join([*head, f"Content-Length: {len(content)}", "", ""]).encode() + content)
    return b"".join(parts)


def proxied(address: str, command=0x21) -> bytes:
    """What a proxy says for a client at this address."""
    family, kind = (socket.AF_INET6, 0x21) if ":" in address else (socket.AF_INET, 0x11)
    client = socket.inet_pton(family, address)
    rest = client + client + b"\0\1\0\2"
    return SIGNATURE + bytes([command, kind]) + len(rest).to_bytes(2, "big") + rest


GET = b"GET /v1/limits HTTP/1.1\r\nHost: parley\r\n\r\n"


def test_one_user_takes_a_tenth_of_what_waits(system, anna, ben):
    """Answers never come: what is in flight stays there until its deadline."""
    group = anna.group(ben)
    messages = f"/v1/conversations/{group}/messages"
    nobody = {"PARLEY_BUS_STORE": f"ipc://{system.state}/nobody-*.sock", "PARLEY_REQUEST_DEADLINE": "4s"}
    with system.sibling("ingest", "/healthz", PARLEY_REQUESTS_IN_FLIGHT="1000", **nobody) as port:
        assert anna.http.get(f"http://127.0.0.1:{port}/v1/limits").json()["costInFlight"] == 100
        connections = [Raw(port) for _ in range(3)]
        for connection in connections:
            connection.send(pipelined(anna, *[("POST", messages, {"id": new_id(), "text": "x"})] * 50))
        other = Person(system, ben.name, port=port)
        assert other.get("/v1/conversations").json()["code"] == "unavailable", "it has waited, as if it were alone"
        codes = [json.loads(each.response().body)["code"] for each in connections for _ in range(50)]
        assert sorted(codes) == ["rateLimited"] * 50 + ["unavailable"] * 100


def test_of_few_places_one_user_takes_some(system, anna):
    nobody = {"PARLEY_BUS_STORE": f"ipc://{system.state}/nobody-*.sock", "PARLEY_REQUEST_DEADLINE": "1s"}
    with system.sibling("ingest", "/healthz", **nobody) as port, Raw(port) as connection:
        connection.send(pipelined(anna, *[("GET", "/v1/search?q=hello", None)] * 10))
        codes = [json.loads(connection.response().body)["code"] for _ in range(10)]
        assert codes == ["unavailable"] * 8 + ["rateLimited"] * 2


def test_a_large_group_costs_as_much_as_its_members(system, anna):
    with system.sibling("ingest", PARLEY_RATE_PER_SECOND="1", PARLEY_RATE_BURST="100") as port:
        costs = anna.http.get(f"http://127.0.0.1:{port}/v1/limits").json()["costs"]
        assert costs["createConversation"] == {"base": 1, "perHundredItems": 100}
        creator = Person(system, anna.name, port=port)
        members = [f"member-{number}" for number in range(80)]
        first = creator.post("/v1/conversations", {"id": new_id(), "kind": "group", "members": members})
        assert first.status_code == 201
        second = creator.post("/v1/conversations", {"id": new_id(), "kind": "group", "members": members})
        assert (second.status_code, second.json()["code"]) == (429, "rateLimited")
        assert creator.post("/v1/conversations", {"id": new_id(), "kind": "group", "members": []}).status_code == 201


def test_what_carries_a_long_message_costs_as_much_as_the_message(system, anna, ben):
    group = anna.group(ben)
    message = anna.send(group, "x" * 15_000)
    path = f"/v1/conversations/{group}/messages"
    with system.sibling("ingest", PARLEY_RATE_PER_SECOND="1", PARLEY_RATE_BURST="40") as port:
        reader = Person(system, ben.name, port=port)
        # What everybody is told is the message, whatever the request has.
        kinds = ("love", "like", "love", "like")
        answers = [reader.http.put(f"{path}/{message['id']}/tapback", json={"kind": kind}) for kind in kinds]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        sender = Person(system, anna.name, port=port)
        forward = {"conversationId": group, "messageId": message["id"]}
        answers = [sender.post(path, {"id": new_id(), "forward": forward}) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [201, 201, 201, 429]


def test_an_administrator_for_a_user_takes_of_that_user(system, new_person, anna):
    backend = new_person("backend", adm=True)
    with system.sibling("ingest", PARLEY_RATE_PER_SECOND="1", PARLEY_RATE_BURST="12") as port:
        acting = Person(system, backend.name, port=port, adm=True)
        for_anna = {"X-Parley-User": anna.name}
        assert acting.get("/v1/conversations", headers=for_anna).status_code == 200
        assert acting.get("/v1/conversations", headers=for_anna).status_code == 200
        assert acting.get("/v1/conversations", headers=for_anna).status_code == 429
        assert Person(system, anna.name, port=port).get("/v1/conversations").status_code == 429
        assert acting.get("/v1/conversations", headers={"X-Parley-User": "dora"}).status_code == 200


def test_connections_count_for_the_address_that_a_proxy_tells(system):
    for service, path in (("ingest", b"GET /v1/limits"), ("fanout", b"GET /healthz")):
        request = path + b" HTTP/1.1\r\nHost: parley\r\n\r\n"
        with system.sibling(service, PARLEY_PROXY_PROTOCOL="1", PARLEY_CONNECTIONS_PER_ADDRESS="2") as port:
            answers, connections = [], []
            for address in ["203.0.113.7", "203.0.113.7", "203.0.113.7", "2001:db8::1", "2001:db8::2", "2001:db8::3"]:
                connections.append(Raw(port))
                connections[-1].send(proxied(address) + request)
                answers.append(connections[-1].response())
            assert [answer.status for answer in answers] == [200, 200, 429, 200, 200, 429]
            assert answers[2].headers["Retry-After"] == "1"
            assert json.loads(answers[2].body)["code"] == "rateLimited"
            for _ in range(5):
                connections.append(Raw(port))  # A health check has no proxy.
                connections[-1].send(request)
                assert connections[-1].response().status == 200
            for connection in connections:
                connection.__exit__()


def test_a_broken_proxy_header_closes_the_connection(system):
    with system.sibling("ingest", PARLEY_PROXY_PROTOCOL="127.0.0.0/8") as port:
        whole = proxied("203.0.113.7")
        for broken in (proxied("203.0.113.7", command=0x11), SIGNATURE + b"\x21\x11\xff\xff", whole[:20]):
            with Raw(port) as connection:
                connection.send(broken)
                connection.socket.shutdown(socket.SHUT_WR)
                assert connection.response() is None
        with Raw(port) as connection:
            connection.send(proxied("203.0.113.7") + GET)
            assert connection.response().status == 200
    # Who trusts nobody takes it for bad HTTP.
    with Raw(system.http_port) as connection:
        connection.send(proxied("203.0.113.7") + GET)
        assert connection.response().status == 400


def test_who_guesses_tokens_is_stopped_where_it_comes_from(system, anna):
    """Others, and its own connections that have shown a token, are served."""
    with system.sibling("ingest", PARLEY_PROXY_PROTOCOL="1", PARLEY_FAILURES_PER_ADDRESS="200") as port:
        known = Raw(port)
        known.send(proxied("203.0.113.7") + pipelined(anna, ("GET", "/v1/settings", None)))
        assert known.response().status == 200
        statuses = []
        with Raw(port) as guesser:
            guess = b"GET /v1/settings HTTP/1.1\r\nHost: parley\r\nAuthorization: Bearer a.b.c\r\n\r\n"
            guesser.send(proxied("203.0.113.7") + guess * 210)
            statuses = [guesser.response().status for _ in range(210)]
        assert statuses == [401] * 200 + [429] * 10
        known.send(pipelined(anna, ("GET", "/v1/settings", None)))
        assert known.response().status == 200
        known.__exit__()
        with Raw(port) as elsewhere:
            elsewhere.send(proxied("203.0.113.8") + pipelined(anna, ("GET", "/v1/settings", None)))
            assert elsewhere.response().status == 200


def test_who_guesses_tokens_over_websockets_opens_no_more(system):
    hello = build_frame(TEXT, json.dumps({"type": "hello", "token": "a.b.c"}).encode())
    with system.sibling("fanout", PARLEY_PROXY_PROTOCOL="1", PARLEY_FAILURES_PER_ADDRESS="200") as port:
        guessers = [Raw(port) for _ in range(200)]
        for guesser in guessers:
            guesser.send(proxied("203.0.113.7") + handshake() + hello)
        for guesser in guessers:
            assert guesser.response().status == 101
            assert b"unauthenticated" in guesser.input.read(40)
            guesser.__exit__()
        for address, status in [("203.0.113.7", 429), ("203.0.113.8", 101)]:
            with Raw(port) as visitor:
                visitor.send(proxied(address) + handshake())
                assert visitor.response().status == status
