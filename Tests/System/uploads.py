"""Users who upload files, without a client of tus: what they send is chosen byte by byte."""

import base64
import random
import socket
import struct
import time
import uuid
import zlib

import requests
from client import token
from system import System

PATIENCE = 60
TUS = {"Tus-Resumable": "1.0.0"}
BODY = {"Content-Type": "application/offset+octet-stream"}


def eventually(what, reason: str):
    """Waits until `what` returns something, and returns it."""
    deadline = time.monotonic() + PATIENCE
    while not (result := what()):
        assert time.monotonic() < deadline, reason
        time.sleep(0.05)
    return result


class Uploader:
    """A user nobody else is, and their calls of media."""

    def __init__(self, system: System, name: str | None = None):
        self.system = system
        self.name = name or f"uploader-{uuid.uuid4()}"
        self.http = requests.Session()
        self.http.headers["Authorization"] = f"Bearer {token(self.name)}"

    @property
    def base(self) -> str:
        return self.system.address("media")

    def call(self, method: str, path: str, **options) -> requests.Response:
        return self.http.request(method, self.base + path, timeout=PATIENCE, **options)

    def create(self, size: int, metadata: str = "", **headers) -> requests.Response:
        fields = TUS | {"Upload-Length": str(size)} | ({"Upload-Metadata": metadata} if metadata else {})
        return self.call("POST", "/v1/media", headers=fields | headers)

    def created(self, size: int, **headers) -> str:
        response = self.create(size, **headers)
        assert response.status_code == 201, response.text
        return response.headers["Location"]

    def patch(self, path: str, offset: int, body: bytes, **headers) -> requests.Response:
        fields = TUS | BODY | {"Upload-Offset": str(offset)} | headers
        return self.call("PATCH", path, headers=fields, data=body)

    def offset(self, path: str) -> int:
        response = self.call("HEAD", path, headers=TUS)
        assert response.status_code == 200, response.status_code
        return int(response.headers["Upload-Offset"])

    def upload(self, content: bytes, name: str = "note.txt") -> str:
        """The path of a file that is ready."""
        path = self.create(len(content), f"filename {base64.b64encode(name.encode()).decode()}").headers["Location"]
        if content:
            assert self.patch(path, 0, content).status_code == 204
        return self.ready(path)

    def ready(self, path: str) -> str:
        eventually(lambda: self.call("GET", path).json().get("state") == "ready", "the file is ready")
        return path

    def send(self, method: str, path: str, body: dict) -> requests.Response:
        """A call of ingest."""
        return self.http.request(method, self.system.address("ingest") + path, json=body, timeout=PATIENCE)

    def shared_with(self, other: "Uploader", path: str) -> tuple[str, str]:
        """A new group of the two, and a message in it that carries a file."""
        group, message = str(uuid.uuid4()), str(uuid.uuid4())
        created = self.send("POST", "/v1/conversations", {"id": group, "kind": "group", "members": [other.name]})
        assert created.status_code == 201, created.text
        body = {"id": message, "attachments": [{"id": path.rpartition("/")[2]}]}
        assert self.send("POST", f"/v1/conversations/{group}/messages", body).status_code == 201
        return group, message

    def forward(self, message: str, source: str, target: str, id: str | None = None) -> requests.Response:
        body = {"id": id or str(uuid.uuid4()), "forward": {"conversationId": source, "messageId": message}}
        return self.send("POST", f"/v1/conversations/{target}/messages", body)

    def take_back(self, message: str, conversation: str):
        path = f"/v1/conversations/{conversation}/messages/{message}?scope=everyone"
        assert self.send("DELETE", path, None).status_code == 204

    def begin_patch(self, path: str, offset: int, body: bytes, announced: int):
        """Sends a part of a body, and then nothing any more."""
        host, port = self.base.removeprefix("http://").split(":")
        connection = socket.create_connection((host, int(port)), timeout=PATIENCE)
        head = (
            f"PATCH {path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {token(self.name)}\r\n"
            f"Tus-Resumable: 1.0.0\r\nContent-Type: application/offset+octet-stream\r\n"
            f"Upload-Offset: {offset}\r\nContent-Length: {announced}\r\n\r\n"
        )
        connection.sendall(head.encode() + body)
        return connection


def metric(system: System, name: str) -> float:
    lines = requests.get(system.address("media") + "/metrics", timeout=PATIENCE).text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith((f"{name} ", f"{name}{{")))


def stored_files(system: System, path: str) -> list[str]:
    return system.stored_files(path.rpartition("/")[2])


def picture(width: int, height: int) -> bytes:
    """A PNG that is as large as its pixels, which are random."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = b"".join(b"\0" + random.randbytes(3 * width) for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
