"""A proxy where TLS ends, as in front of a deployed system: WebSockets go to a fanout, everything else to an ingest."""

import contextlib
import socket
import ssl
import subprocess
import threading
from pathlib import Path

from system import System


def certificate(directory: Path, name: str = "localhost") -> tuple[Path, Path]:
    """A certificate that signs itself, and its key."""
    paths = (directory / f"{name}.crt", directory / f"{name}.key")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-out", paths[0], "-keyout", paths[1]],
        check=True, capture_output=True,
    )  # fmt: skip
    return paths


class TLSProxy:
    """Listens at `origin` until it is closed."""

    def __init__(self, system: System, certificate: Path, key: Path):
        self._ports = {
            service: int(system.address(service).rpartition(":")[2]) for service in ("ingest", "fanout")
        }  # fmt: skip
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.origin = f"https://localhost:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        # Closing alone does not wake up who waits in accept.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket):
        # A client that refuses the certificate, or that goes away, ends its connection alone.
        with contextlib.suppress(OSError), self._context.wrap_socket(connection, server_side=True) as client:
            start = client.recv(65536)
            service = "fanout" if start.startswith(b"GET /v1/socket") else "ingest"
            with socket.create_connection(("127.0.0.1", self._ports[service])) as server:
                server.sendall(start)
                threading.Thread(target=_pass_on, args=(server, client), daemon=True).start()
                _pass_on(client, server)


def _pass_on(source: socket.socket, target: socket.socket):
    with contextlib.suppress(OSError):
        while part := source.recv(65536):
            target.sendall(part)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
