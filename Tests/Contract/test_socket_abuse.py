"""Bytes that are no proper WebSocket, and frames that are no proper Parley."""

import json
import struct
import threading
import time

import pytest

from contract import Contract
from judged import PATIENCE
from people import new_id, open_socket
from raw import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, Raw, RawSocket, build_frame, handshake

UNKNOWN = "0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90"
PING_TEXT = b'{"type":"ping"}'

# The bytes after `welcome`, and the close code they earn.
BROKEN = {
    "an unmasked frame": (build_frame(TEXT, PING_TEXT, masked=False), 1002),
    "reserved bit 1": (build_frame(TEXT, PING_TEXT, reserved=4), 1002),
    "reserved bit 2": (build_frame(TEXT, PING_TEXT, reserved=2), 1002),
    "reserved bit 3": (build_frame(PING, reserved=1), 1002),
    "a reserved data opcode": (build_frame(3, PING_TEXT), 1002),
    "a reserved control opcode": (build_frame(11, b""), 1002),
    "a binary frame": (build_frame(BINARY, PING_TEXT), 1003),
    "a fragmented binary message": (build_frame(BINARY, PING_TEXT, final=False) + build_frame(CONTINUATION), 1003),
    "a continuation of nothing": (build_frame(CONTINUATION, PING_TEXT), 1002),
    "a new message within a fragmented one": (build_frame(TEXT, b"{", final=False) + build_frame(TEXT, b"}"), 1002),
    "a fragmented ping": (build_frame(PING, b"x", final=False), 1002),
    "a ping of 126 bytes": (build_frame(PING, b"x" * 126), 1002),
    "a close of 126 bytes": (build_frame(CLOSE, struct.pack(">H", 1000) + b"x" * 124), 1002),
    "a close of one byte": (build_frame(CLOSE, b"\x03"), 1002),
    "a close with a code that must not be sent": (build_frame(CLOSE, struct.pack(">H", 1005)), 1002),
    "a close with a code that does not exist": (build_frame(CLOSE, struct.pack(">H", 999)), 1002),
    "a close with a reason that is no UTF-8": (build_frame(CLOSE, struct.pack(">H", 1000) + b"\xff"), 1007),
    "text that is no UTF-8": (build_frame(TEXT, b'{"type":"\xff"}'), 1007),
    "text with an encoded surrogate": (build_frame(TEXT, b'{"type":"\xed\xa0\x80"}'), 1007),
    "text with an overlong form": (build_frame(TEXT, b'{"type":"\xc0\xaf"}'), 1007),
    "text that ends within a character": (build_frame(TEXT, b'"\xf0\x9f'), 1007),
    "fragments that end within a character": (
        build_frame(TEXT, b'"\xf0\x9f', final=False) + build_frame(CONTINUATION, b'"'),
        1007,
    ),
    "a message over 64 KiB": (build_frame(TEXT, b" " * 65537), 1009),
    "a message over 64 KiB, announced": (build_frame(TEXT, b"", length=65537), 1009),
    "a message of 2^62 bytes, announced": (build_frame(TEXT, b"", length=1 << 62), (1002, 1009)),
    "a length with the highest bit": (build_frame(TEXT, b"", length=1 << 63), (1002, 1009)),
    "fragments over 64 KiB": (
        build_frame(TEXT, b" " * 40000, final=False) + build_frame(CONTINUATION, b" " * 40000),
        1009,
    ),
    "endless empty fragments": (
        build_frame(TEXT, b"", final=False)
        + build_frame(CONTINUATION, b"", final=False) * 50_000
        + build_frame(CONTINUATION, b"x"),
        (1002, 1008, 1009),
    ),
    "plain HTTP": (b"GET / HTTP/1.1\r\nHost: parley\r\n\r\n", 1002),
}

NO_FRAMES = [
    b"",
    b"x",
    b"{",
    b"[]",
    b"null",
    b'"ping"',
    b"{}",
    b'{"type":7}',
    b'{"type":null}',
    b'{"type":"ping"}x',
    b'{"type":"ping","id":7}',
    b'{"type":"ping","id":"' + b"x" * 65 + b'"}',
    b'{"type":"hello","token":"x"}',
    b'{"type":"auth"}',
    b'{"type":"auth","token":7}',
    b'{"type":"read"}',
    b'{"type":"read","conversationId":"x","seq":1}',
    b'{"type":"read","conversationId":"' + UNKNOWN.encode() + b'"}',
    b'{"type":"read","conversationId":"' + UNKNOWN.encode() + b'","seq":-1}',
    b'{"type":"read","conversationId":"' + UNKNOWN.encode() + b'","seq":1.5}',
    b'{"type":"read","conversationId":"' + UNKNOWN.encode() + b'","seq":"1"}',
    b'{"type":"read","conversationId":"' + UNKNOWN.encode() + b'","seq":9007199254740992}',
    b'{"type":"read","conversationId":"' + UNKNOWN.encode() + b'","seq":9223372036854775808}',
    b'{"type":"read","conversationId":"' + UNKNOWN.encode() + b'","seq":1e2}',
    b'{"type":"read","conversationId":"' + UNKNOWN.encode() + b'","seq":1,"items":[]}',
    b'{"type":"delivered","items":{}}',
    b'{"type":"delivered","items":[1]}',
    b'{"type":"delivered","items":[{"conversationId":"' + UNKNOWN.encode() + b'"}]}',
    b'{"type":"typing","conversationId":"' + UNKNOWN.encode() + b'"}',
    b'{"type":"typing","conversationId":"' + UNKNOWN.encode() + b'","active":1}',
    b'{"type":"typing","active":true}',
    b'{"type":"ping","x":' + b"[" * 60000,
    b'{"type":"ping","x":01}',
    b'{"type":"ping","x":"\\ud800"}',
]

NO_HELLOS = [
    b"",
    b"{",
    b'{"type":"ping"}',
    b'{"type":"auth","token":"x"}',
    b'{"type":"hello"}',
    b'{"type":"hello","token":7}',
    b'{"type":"hello","token":"TOKEN","cursors":[]}',
    b'{"type":"hello","token":"TOKEN","cursors":{"x":1}}',
    b'{"type":"hello","token":"TOKEN","cursors":{"' + UNKNOWN.encode() + b'":-1}}',
    b'{"type":"hello","token":"TOKEN","cursors":{"' + UNKNOWN.encode() + b'":"1"}}',
    b'{"type":"hello","token":"TOKEN","statusVersions":{"' + UNKNOWN.encode() + b'":1.5}}',
    b'{"type":"hello","token":"TOKEN","useq":-1}',
    b'{"type":"hello","token":"TOKEN","useq":"1"}',
    b'{"type":"hello","token":"TOKEN","logId":7}',
]


@pytest.fixture
def bystander(anna, ben):
    """A conversation of two with an open session, which has to go on whatever others do."""
    group = anna.group(ben)
    with ben.socket() as socket:
        yield
        seq = anna.send(group, "Still there?")["seq"]
        socket.expect_change(seq, group)


def hello(raw: RawSocket, person, **fields):
    raw.send(build_frame(TEXT, json.dumps({"type": "hello", "token": person.token} | fields).encode()))
    opcode, payload = raw.frame()
    assert opcode == TEXT and json.loads(payload)["type"] == "welcome"


@pytest.mark.parametrize("data, codes", BROKEN.values(), ids=BROKEN)
def test_broken_framing_closes_with_the_right_code(system, carla, bystander, data, codes):
    codes = codes if isinstance(codes, tuple) else (codes,)
    # The size of the first message is another: hello may be larger.
    for is_greeted in (True,) if 1009 in codes else (True, False):
        with RawSocket(system.ws_port) as raw:
            if is_greeted:
                hello(raw, carla)
            raw.send(data)
            assert raw.close_code() in codes
            assert raw.is_closed()


@pytest.mark.parametrize("text", NO_FRAMES, ids=lambda text: repr(text[:60]))
def test_a_frame_that_is_not_understood_ends_the_session_with_a_reason(system, carla, bystander, text):
    with RawSocket(system.ws_port) as raw:
        hello(raw, carla)
        raw.send(build_frame(TEXT, text))
        expect_bye(raw, "protocolError", 1008)


@pytest.mark.parametrize("text", NO_HELLOS, ids=lambda text: repr(text[:60]))
def test_a_first_frame_that_is_no_hello_ends_the_connection_with_a_reason(system, carla, bystander, text):
    with RawSocket(system.ws_port) as raw:
        raw.send(build_frame(TEXT, text.replace(b"TOKEN", carla.token.encode())))
        expect_bye(raw, "protocolError", 1008)


def expect_bye(raw: RawSocket, code: str, close_code: int):
    opcode, payload = raw.frame()
    assert opcode == TEXT, payload
    bye = Contract().check_frame("serverFrames", payload.decode())
    assert (bye["type"], bye["code"]) == ("bye", code)
    assert raw.close_code() == close_code
    assert raw.is_closed()


def test_what_is_unusual_but_right_is_understood(system, carla):
    with RawSocket(system.ws_port) as raw:
        hello(raw, carla)
        fragments = [
            build_frame(TEXT, b'{"type":"pi', final=False),
            build_frame(PING, b"between"),
            build_frame(CONTINUATION, b"", final=False),
            build_frame(CONTINUATION, b'ng","id":"\xf0\x9f', final=False),
            build_frame(CONTINUATION, b'\xa7\x97"}'),
        ]
        for byte in b"".join(fragments):
            raw.send(bytes([byte]))
        assert raw.frame() == (PONG, b"between")
        opcode, payload = raw.frame()
        assert (opcode, json.loads(payload)) == (TEXT, {"type": "pong", "id": "🧗"})
        raw.send(build_frame(PONG, b"nobody asked"))
        raw.send(build_frame(PING, b"x" * 125))
        assert raw.frame() == (PONG, b"x" * 125)
        raw.send(build_frame(TEXT, b'{"type":"ping","x":"' + b"x" * (65536 - 22) + b'"}'))
        assert json.loads(raw.frame()[1]) == {"type": "pong"}
        raw.send(build_frame(CLOSE, struct.pack(">H", 1000) + "bis später".encode()))
        assert raw.close_code() == 1000
        assert raw.is_closed()


def test_a_close_without_a_code_is_answered(system, carla):
    with RawSocket(system.ws_port) as raw:
        hello(raw, carla)
        raw.send(build_frame(CLOSE))
        assert raw.close_code() in (1000, 1005)
        assert raw.is_closed()


def test_a_client_that_does_not_answer_the_close_is_let_go(system):
    with RawSocket(system.ws_port) as raw:
        raw.send(build_frame(TEXT, b"{"))
        assert raw.close_code(answer=False) == 1008
        assert raw.is_closed()


def test_hello_may_be_a_megabyte_and_no_more(system, carla):
    cursors = {new_id(): 1 for _ in range(20_000)}
    with RawSocket(system.ws_port) as raw:
        hello(raw, carla, cursors=cursors)
    with RawSocket(system.ws_port) as raw:
        raw.send(build_frame(TEXT, b" " * ((1 << 20) + 1)))
        assert raw.close_code() == 1009


HANDSHAKES = {
    "no upgrade": ({"Upgrade": None, "Connection": "keep-alive"}, 426),
    "another upgrade": ({"Upgrade": "h2c"}, 426),
    "version 8": ({"Sec-WebSocket-Version": "8"}, 426),
    "no version": ({"Sec-WebSocket-Version": None}, 426),
    "no key": ({"Sec-WebSocket-Key": None}, 400),
    "a short key": ({"Sec-WebSocket-Key": "c2hvcnQ="}, 400),
    "a key that is no base64": ({"Sec-WebSocket-Key": "!" * 24}, 400),
    "only unknown subprotocols": ({"Sec-WebSocket-Protocol": "chat, parley.v2"}, 400),
}


@pytest.mark.parametrize("changes, status", HANDSHAKES.values(), ids=HANDSHAKES)
def test_a_wrong_handshake_is_refused(system, changes, status):
    with Raw(system.ws_port) as raw:
        raw.send(handshake(**changes))
        response = raw.response()
        assert response.status == status
        Contract().validate("#/components/schemas/Problem", json.loads(response.body))
        if status == 426:
            assert response.headers["Upgrade"] == "websocket"
            assert response.headers["Sec-WebSocket-Version"] == "13"


def test_the_plain_request_is_refused_as_described(system):
    response = system.http(system.ws_port).get("/v1/socket")
    assert response.status_code == 426
    response = system.http(system.ws_port).get(
        "/v1/socket", headers={"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    )
    assert response.status_code == 400


def test_who_does_not_say_hello_within_ten_seconds_is_closed(system):
    started = time.monotonic()
    with open_socket(system) as silent, RawSocket(system.ws_port) as dripping:
        stop = threading.Event()

        def drip():
            """A hello that never ends, a byte at a time, with pings between."""
            dripping.send(build_frame(TEXT, b'{"type":"hello",', final=False))
            while not stop.wait(0.5):
                dripping.send(build_frame(CONTINUATION, b" ", final=False) + build_frame(PING))

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            silent.expect_close(1008, "protocolError")
            assert time.monotonic() - started > 9
            assert dripping.close_code() == 1008
        finally:
            stop.set()
            thread.join()


def test_a_client_that_never_reads_is_closed_and_delays_nobody(system, new_person, anna, carla, bystander):
    """16 MB wait for it: more than the kernel and the server hold for one client, and than one user may send."""
    writers = [anna, *(new_person("writer") for _ in range(3))]
    group = anna.group(carla, *writers[1:])
    closed = slow_websockets(system)
    with RawSocket(system.ws_port) as raw:
        hello(raw, carla)
        for writer in writers:
            messages = [{"conversationId": group, "id": new_id(), "text": "x" * 16000} for _ in range(250)]
            assert writer.post("/v1/messages:batch", {"messages": messages}).status_code == 200
        # Whoever reads before the server has given up keeps up.
        deadline = time.monotonic() + PATIENCE
        while slow_websockets(system) == closed and time.monotonic() < deadline:
            time.sleep(0.1)
        received = []
        while frame := raw.frame():
            received.append(frame)
    *received, bye, closing = received
    assert json.loads(bye[1])["code"] == "slowConsumer"
    assert closing[0] == CLOSE and struct.unpack(">H", closing[1][:2]) == (4429,)
    changes = [
        json.loads(payload)["change"]["seq"]
        for opcode, payload in received
        if opcode == TEXT and b'"change"' in payload[:40]
    ]
    assert changes == list(range(2, 2 + len(changes))) and len(changes) < 1000
    with carla.socket(cursors={group: 1 + len(changes)}) as socket:
        socket.expect_change(1001, group)


def slow_websockets(system) -> float:
    lines = system.http(system.ws_port).get("/metrics").text.splitlines()
    [line] = [line for line in lines if line.startswith("parley_http_slow_websockets_total")]
    return float(line.split()[-1])


def test_connections_that_come_and_go_leave_nothing_behind(system, carla):
    before = system.open_descriptors("fanout")
    for number in range(200):
        with RawSocket(system.ws_port) as raw:
            if number % 2:
                hello(raw, carla)
    deadline = time.monotonic() + PATIENCE
    while system.open_descriptors("fanout") > before + 5 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert system.open_descriptors("fanout") <= before + 5
