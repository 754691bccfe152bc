"""A real object store (SeaweedFS) of a test's own, seen from behind: by its filer, which needs no signatures."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from tls import certificate

BUCKET = "files"
WEED = Path(sys.executable).parent / "weed"
READY_SECONDS = 60
PR_SET_PDEATHSIG = 1

_open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
_libc = ctypes.CDLL(None)


def end_with_parent():
    """However the test process ends, what it started does as well."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class ObjectStore:
    """One process, on ten ports from `port` on, with its data in `directory`."""

    def __init__(self, directory: Path, port: int):
        self.directory = directory
        self.port = port
        (directory / "data").mkdir(parents=True)
        self.key_file = directory / "key"
        self._write_key(self.key_file, "a-secret/with+signs=")
        self.wrong_key_file = directory / "wrong-key"
        self._write_key(self.wrong_key_file, "another-secret")
        # As few as the manual asks for: no buckets can be made.
        actions = ["Read", "Write", "List"]
        key = {"accessKey": "PARLEY", "secretKey": "a-secret/with+signs="}
        identity = {"name": "parley", "credentials": [key], "actions": actions}
        (directory / "s3.json").write_text(json.dumps({"identities": [identity]}))
        self.certificate, self._certificate_key = certificate(directory)
        self._process: subprocess.Popen | None = None
        self.start()
        self._filer("POST", "/buckets/files/")

    @staticmethod
    def _write_key(path: Path, secret: str):
        path.write_text(f"PARLEY\n{secret}\n")

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def tls_endpoint(self) -> str:
        return f"https://localhost:{self.port + 8}"

    def settings(self, spool: Path, prefix: str = "parley") -> dict[str, str]:
        return {
            "PARLEY_MEDIA_STORAGE": f"s3://{BUCKET}/{prefix}",
            "PARLEY_MEDIA_SPOOL": f"file://{spool}",
            "PARLEY_MEDIA_S3_ENDPOINT": self.endpoint,
            "PARLEY_MEDIA_S3_KEY_FILE": str(self.key_file),
            "PARLEY_MEDIA_S3_PART_MEGABYTES": "5",
        }

    def start(self):
        ports = {"s3.port": 0, "s3.port.grpc": 1, "master.port": 2, "master.port.grpc": 3, "volume.port": 4}
        ports |= {"volume.port.grpc": 5, "filer.port": 6, "filer.port.grpc": 7, "s3.port.https": 8}
        options = [f"-{name}={self.port + offset}" for name, offset in ports.items()]
        options += ["-s3", "-s3.port.iceberg=0", "-s3.port.lance=0", f"-s3.config={self.directory}/s3.json"]
        options += [f"-s3.cert.file={self.certificate}", f"-s3.key.file={self._certificate_key}"]
        options += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.volumeSizeLimitMB=64", "-volume.max=40"]
        options += [f"-dir={self.directory}/data"]
        with (self.directory / "log").open("a") as log:
            self._process = subprocess.Popen(
                [WEED, "server", *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory,
                preexec_fn=end_with_parent, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + READY_SECONDS
        while not self._is_ready():
            assert time.monotonic() < deadline, (self.directory / "log").read_text()[-3000:]
            time.sleep(0.05)

    def _is_ready(self) -> bool:
        """The port of S3 is the last to be listened at; a file is only stored where a volume server is known."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                self._filer("PUT", "/ready", b"yes")
                return True
        except OSError:
            return False

    def kill(self):
        self._process.kill()
        self._process.wait()

    def freeze(self):
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self._process.pid, signal.SIGCONT)

    def _filer(self, method: str, path: str, body: bytes | None = None) -> bytes:
        address = f"http://127.0.0.1:{self.port + 6}{path}"
        request = urllib.request.Request(address, body, {"Accept": "application/json"}, method=method)
        with _open(request, timeout=10) as response:
            return response.read()

    def _entries(self, folder: str) -> list[dict]:
        try:
            listing = json.loads(self._filer("GET", f"{folder}/?limit=10000"))
        except urllib.error.HTTPError as error:
            assert error.code == 404
            return []
        return listing["Entries"] or []

    def names(self, prefix: str = "parley") -> list[str]:
        """The names of all objects below `objects`."""
        root = f"/buckets/{BUCKET}/{prefix}/objects"
        return [
            entry["FullPath"].rpartition("/")[2]
            for folder in self._entries(root)
            for entry in self._entries(folder["FullPath"])
        ]

    def pending(self) -> list[dict]:
        """What was begun in parts and neither completed nor aborted."""
        return self._entries(f"/buckets/{BUCKET}/.uploads")

    def put(self, name: str, content: bytes, prefix: str = "parley"):
        self._filer("PUT", f"/buckets/{BUCKET}/{prefix}/objects/{name[:2]}/{name}", content)

    def content(self, name: str, prefix: str = "parley") -> bytes:
        return self._filer("GET", f"/buckets/{BUCKET}/{prefix}/objects/{name[:2]}/{name}")

    def remove(self, name: str, prefix: str = "parley"):
        self._filer("DELETE", f"/buckets/{BUCKET}/{prefix}/objects/{name[:2]}/{name}")
