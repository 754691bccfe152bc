"""Bytes on a TCP connection, for what no honest client library sends."""

import base64
import contextlib
import hashlib
import http.client
import os
import socket
import struct

from system import PATIENCE

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


class Raw:
    """A connection on which nothing is done for the test: what it sends and when is up to it."""

    def __init__(self, port: int, timeout: float = PATIENCE):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        # Small writes travel as they are made: some tests send one byte at a time.
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.input = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.input.close()
        self.socket.close()

    def send(self, data: bytes):
        """The server may have closed already: what it said before is what counts."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(data)

    def response(self, method="GET") -> http.client.HTTPResponse | None:
        """The next response with its body read, or None when the connection was closed instead."""
        response = http.client.HTTPResponse(_Unclosed(self.input), method=method)
        try:
            response.begin()
        except (http.client.RemoteDisconnected, ConnectionResetError):
            return None
        response.body = response.read()
        return response

    def is_closed(self) -> bool:
        """Waits for the server to close, ignoring what it still sends."""
        try:
            while self.input.read(65536):
                pass
        except ConnectionResetError:
            pass
        except TimeoutError:
            return False
        return True


class _Unclosed:
    """http.client wants a socket and closes its file after a response; the connection goes on."""

    def __init__(self, file):
        self.file = file

    def makefile(self, _mode):
        return self

    def close(self):
        pass

    def flush(self):
        pass

    def __getattr__(self, name):
        return getattr(self.file, name)


# MARK: WebSocket


class RawSocket(Raw):
    """After the opening handshake; frames are built by hand."""

    def __init__(self, port: int, timeout: float = PATIENCE, protocol="parley.v1"):
        super().__init__(port, timeout)
        key = base64.b64encode(os.urandom(16)).decode()
        self.send(handshake(key, protocol))
        response = http.client.HTTPResponse(_Unclosed(self.input))
        response.begin()
        assert response.status == 101, response.status
        digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        assert response.headers["Sec-WebSocket-Accept"] == base64.b64encode(digest).decode()

    def frame(self) -> tuple[int, bytes] | None:
        """The next frame as opcode and payload, or None at the end of the connection."""
        try:
            head = self.input.read(2)
            if len(head) < 2:
                return None
            assert head[1] < 0x80, "a server does not mask (RFC 6455, 5.1)"
            assert head[0] & 0xF0 == 0x80, "a fragment, or reserved bits"
            length = head[1]
            if length == 126:
                (length,) = struct.unpack(">H", self.input.read(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self.input.read(8))
            return head[0] & 0xF, self.input.read(length)
        except ConnectionResetError:
            return None

    def close_code(self, answer=True) -> int | None:
        """Reads on until the server's close frame and answers it; None when it only ended the connection."""
        while frame := self.frame():
            if frame[0] == CLOSE:
                if answer:
                    self.send(build_frame(CLOSE, frame[1]))
                return struct.unpack(">H", frame[1][:2])[0] if frame[1] else 1005
        return None


def handshake(key="dGhlIHNhbXBsZSBub25jZQ==", protocol="parley.v1", **changes) -> bytes:
    """An opening handshake. A header given as None is left out."""
    headers = {
        "Host": "127.0.0.1",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Protocol": protocol,
    } | changes
    lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return "\r\n".join(["GET /v1/socket HTTP/1.1", *lines, "", ""]).encode()


def build_frame(opcode: int, payload: bytes = b"", *, final=True, reserved=0, masked=True, length=None) -> bytes:
    """`length` overrides the true one; the mask is always the same, which no server may mind."""
    length = len(payload) if length is None else length
    head = bytes([final << 7 | reserved << 4 | opcode])
    mask_bit = masked << 7
    if length < 126:
        head += bytes([mask_bit | length])
    elif length < 1 << 16:
        head += struct.pack(">BH", mask_bit | 126, length)
    else:
        head += struct.pack(">BQ", mask_bit | 127, length)
    if not masked:
        return head + payload
    mask = b"\x13\x57\x9b\xdf"
    return head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
