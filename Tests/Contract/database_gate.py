"""A way to the database that a test can close."""

import shutil
import socket
import tempfile
import threading
from pathlib import Path

NAME = ".s.PGSQL.5432"


class Gate:
    """A directory for `host=` in the address of a database, whose socket leads to another one's until it is closed."""

    def __init__(self, directory: str):
        self.target = f"{directory}/{NAME}"
        self.directory = tempfile.mkdtemp(prefix="parley-gate-")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(Path(self.directory, NAME)))
        self.listener.listen()
        self.open = [self.listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self.target)
            self.open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for each in (source, sink):
            _end(each)

    def close(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        for each in self.open:
            _end(each)


def _end(connection: socket.socket):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()
