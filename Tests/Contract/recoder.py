"""Every value that the tests receive, in the types that clients are written with (Shared/Models).

What the judge found to have the form of a schema is decoded into the schema's type and encoded again. Nothing may be
refused, and what comes back is what came: so the types have every field that is really answered.
"""

import json
import subprocess
import threading
from pathlib import Path

# Only a client writes them, or they describe no value of the domain.
WITHOUT_TYPE = {"AuthFrame", "HelloFrame", "PingFrame", "ReceiptFrame", "TypingFrame"}


class Recoder:
    """Asks one process of `RecodeModels` for all of a run, from whichever thread."""

    def __init__(self, executable: Path):
        # Ends with its input, and so with this process.
        self._process = subprocess.Popen([executable], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._lock = threading.Lock()

    def check(self, schema: str, value):
        if schema in WITHOUT_TYPE:
            return
        recoded = self._ask(schema, json.dumps(value))
        assert recoded.startswith(("{", "[", '"')), f"{schema}: {recoded}"
        assert json.loads(recoded) == value, f"{schema} came back as {recoded[:1000]}"

    def _ask(self, schema: str, value: str) -> str:
        with self._lock:
            self._process.stdin.write(f"{schema}\n{value}\n".encode())
            self._process.stdin.flush()
            return self._process.stdout.readline().decode().rstrip("\n")

    def close(self):
        self._process.stdin.close()
        assert self._process.wait(10) == 0
