"""Users of the system, as a client library would speak for them: an HTTP client and sockets with judged frames."""

import json
import time
import uuid
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from judged import PATIENCE, JudgedSystem
from tokens import sign


def new_id() -> str:
    """A UUID of version 7: 48 bits of milliseconds, the rest random."""
    number = int(time.time() * 1000) << 80 | uuid.uuid4().int & ((1 << 80) - 1)
    number = number & ~(0xF << 76) | 7 << 76
    return str(uuid.UUID(int=number & ~(0b11 << 62) | 0b10 << 62))


def soon(seconds: float = 3600) -> str:
    """A time from now."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


class Person:
    def __init__(self, system: JudgedSystem, name: str, port: int | None = None, **claims):
        self.system = system
        self.name = name
        self.token = sign(system.secret, **{"sub": name} | claims)
        self.http = system.http(port, headers={"Authorization": f"Bearer {self.token}"})
        self.get = self.http.get

    def post(self, path: str, body=None, **options):
        """`body` is sent as JSON, bytes as they are."""
        if isinstance(body, bytes):
            return self.http.post(path, content=body, **options)
        # Not httpx's `json`: it refuses lone surrogates and NaN, which bad clients send.
        return self.http.post(path, content=json.dumps(body).encode(), **options)

    def group(self, *others: "Person", **fields) -> str:
        """A new group with the others; returns its id."""
        members = [other.name for other in others]
        body = {"id": new_id(), "kind": "group", "members": members} | fields
        response = self.post("/v1/conversations", body)
        assert response.status_code == 201, response.text
        return body["id"]

    def send(self, conversation: str, text: str, **fields) -> dict:
        """Sends a new message; returns it."""
        response = self.post(f"/v1/conversations/{conversation}/messages", {"id": new_id(), "text": text} | fields)
        assert response.status_code == 201, response.text
        return response.json()

    @contextmanager
    def socket(self, port: int | None = None, **hello):
        """An open session: `hello` is sent and `welcome` was received."""
        with open_socket(self.system, port) as socket:
            socket.send(type="hello", token=self.token, **hello)
            socket.welcome = socket.expect("welcome")
            yield socket


class Socket:
    """A connection whose frames are judged in both directions."""

    welcome: dict

    def __init__(self, connection, contract):
        self.connection = connection
        self.contract = contract
        self.frames: list[dict] = []

    def send(self, **frame):
        text = json.dumps(frame)
        self.contract.check_frame("clientFrames", text)
        self.send_text(text)

    def send_text(self, text: str | bytes):
        """As it is: what a bad client, or one of the future, sends is not judged."""
        self.connection.send(text)

    def receive(self, timeout=PATIENCE) -> dict:
        text = self.connection.recv(timeout=timeout)
        assert isinstance(text, str), "a binary frame"
        frame = self.contract.check_frame("serverFrames", text)
        self.frames.append(frame)
        return frame

    def expect(self, kind: str, timeout=PATIENCE, where=lambda frame: True) -> dict:
        """The next frame of this type that meets the condition; others are judged and passed over."""
        deadline = time.monotonic() + timeout
        while True:
            frame = self.receive(max(0.001, deadline - time.monotonic()))
            if frame["type"] == kind and where(frame):
                return frame

    def expect_change(self, seq: int, conversation: str) -> dict:
        def is_meant(frame):
            change = frame["change"]
            return change["conversationId"] == conversation and change["seq"] == seq

        return self.expect("change", where=is_meant)["change"]

    def expect_silence(self, *kinds: str, during=0.5):
        """No frame of these types arrives for a while."""
        deadline = time.monotonic() + during
        while (left := deadline - time.monotonic()) > 0:
            try:
                frame = self.receive(left)
            except TimeoutError:
                return
            assert frame["type"] not in kinds, frame

    def expect_close(self, code: int, bye: str | None = None, timeout=PATIENCE):
        """The server says why, where a reason is due, and closes."""
        try:
            if bye:
                assert self.expect("bye", timeout)["code"] == bye
            while True:
                self.receive(timeout)
        except ConnectionClosed as closed:
            assert closed.rcvd and closed.rcvd.code == code, closed


@contextmanager
def open_socket(system: JudgedSystem, port: int | None = None, **options):
    """A connection that has said nothing yet."""
    # Without a bound of its own queue the library reads on, so that the close is not kept behind frames nobody took.
    options = {"subprotocols": ["parley.v1"], "compression": None, "proxy": None, "max_queue": None} | options
    with connect(f"ws://127.0.0.1:{port or system.ws_port}/v1/socket", **options) as connection:
        system.contract.saw("openSocket", connection.response.status_code)
        yield Socket(connection, system.contract)
