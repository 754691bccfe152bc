"""The application's backend, as Parley asks it about messages and members: a server that answers as a test says."""

import base64
import hashlib
import hmac
import json
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()
OTHER_KEY = bytes(range(32, 64))
OTHER_SECRET = "whsec_" + base64.b64encode(OTHER_KEY).decode()

Answer = tuple[int, dict[str, str], bytes]


def answer(body=None, status: int = 200, **headers: str) -> Answer:
    return status, headers, b"" if body is None else json.dumps(body).encode()


ALLOW = answer({"action": "allow"})


def refuse(detail: str | None = None) -> Answer:
    return answer({"action": "refuse"} | ({"detail": detail} if detail else {}))


def is_signed(headers, body: bytes, key: bytes = KEY) -> bool:
    """As Standard Webhooks says, by nothing of Parley's."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    is_recent = abs(time.time() - int(headers["webhook-timestamp"])) < 60
    return is_recent and f"v1,{expected}" in headers["webhook-signature"].split(" ")


class Application:
    """`decide` gets the list of messages, or members, of each question and who sends them, or adds these."""

    def __init__(self):
        self.questions: list[dict] = []
        self.forged = 0
        self.connections = 0
        self.asking = self.most_asking = 0
        self.lock = threading.Lock()
        self.decide: Callable[[list[dict], str], Answer] = lambda messages, sender: ALLOW
        application = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self):
                super().setup()
                with application.lock:
                    application.connections += 1

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                application.respond(self, body)

            def do_GET(self):
                raise AssertionError("a redirection was followed")

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]

    def respond(self, handler, body: bytes):
        with self.lock:
            if not is_signed(handler.headers, body) or handler.headers["Content-Type"] != "application/json":
                self.forged += 1
            question = json.loads(body)
            self.questions.append(
                question["data"]
                | {
                    "signature": handler.headers["webhook-signature"],
                    "body": body,
                    "headers": handler.headers,
                    "type": question["type"],
                }
            )
            self.asking += 1
            self.most_asking = max(self.most_asking, self.asking)
        try:
            user, asked = question["data"].values()
            status, headers, content = self.decide(asked, user)
            handler.send_response(status)
            for name, value in headers.items():
                handler.send_header(name, value)
            if "Content_Length" not in headers and status != 204:
                handler.send_header("Content-Length", str(len(content)))
            handler.end_headers()
            handler.wfile.write(content)
        except OSError:
            handler.close_connection = True  # Parley waits no longer.
        finally:
            with self.lock:
                self.asking -= 1

    @property
    def messages(self) -> list[dict]:
        return [message for question in self.questions for message in question["messages"]]

    @contextmanager
    def serving(self, certificate: ssl.SSLContext | None = None):
        if certificate:
            self.server.socket = certificate.wrap_socket(self.server.socket, server_side=True)
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.server.shutdown()
            self.server.server_close()
