"""A real clamd of a test's own, which knows one signature: that of the EICAR test file."""

import socket
import subprocess
import time
from pathlib import Path

from object_store import end_with_parent

# In two parts, so that nobody takes this file for one.
EICAR = rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$" + b"EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
READY_SECONDS = 60


class VirusScanner:
    """One process. It takes files up to `megabytes`."""

    def __init__(self, directory: Path, megabytes: int = 2):
        (directory / "signatures").mkdir(parents=True)
        (directory / "signatures" / "eicar.ndb").write_text(f"Eicar-Test:0:*:{EICAR.hex()}\n")
        self.socket = directory / "clamd"
        self._log = directory / "log"
        self._configuration = directory / "clamd.conf"
        self._configuration.write_text(
            f"LocalSocket {self.socket}\nDatabaseDirectory {directory}/signatures\nForeground yes\n"
            f"StreamMaxLength {megabytes}M\nMaxThreads 2\n"
        )
        self.start()

    def start(self):
        self.socket.unlink(missing_ok=True)
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                ["/usr/sbin/clamd", f"--config-file={self._configuration}"], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, preexec_fn=end_with_parent, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + READY_SECONDS
        while not self._is_ready():
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.05)

    def _is_ready(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(self.socket))
                connection.sendall(b"zPING\0")
                return connection.recv(5) == b"PONG\0"
        except OSError:
            return False

    def kill(self):
        self._process.kill()
        self._process.wait()
