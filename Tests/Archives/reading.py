"""What users of a running system see, asked by HTTP."""

import hashlib
import json
import re
import sys
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "System"))
from system import EXECUTABLES, PATIENCE, System  # noqa: E402

PARLEY = EXECUTABLES / "parley"
_open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


class Eyes:
    """One user's."""

    def __init__(self, system: System, user: str):
        self.system = system
        self.user = user
        self.token = system.run(PARLEY, "token", "--user", user).stdout.strip()

    def get(self, path: str) -> dict:
        """Asks again where a busy machine says so."""
        request = urllib.request.Request(self.system.address("ingest") + path)
        request.add_header("Authorization", f"Bearer {self.token}")
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                with _open(request, timeout=PATIENCE) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:
                assert error.code == 503 and time.monotonic() < deadline, (path, error.code, error.read())
            time.sleep(0.1)

    def conversations(self) -> dict[str, dict]:
        return {each["id"]: each for each in self.get("/v1/conversations?limit=200")["conversations"]}

    def changes(self, conversation: str) -> list[dict]:
        changes, more = [], True
        while more:
            after = changes[-1]["seq"] if changes else 0
            page = self.get(f"/v1/conversations/{conversation}/changes?after={after}&limit=1000")
            changes += page["changes"]
            more = page["more"]
        assert [change["seq"] for change in changes] == list(range(1, len(changes) + 1))
        return changes

    def messages(self, conversation: str) -> list[dict]:
        """All but those of the system, in their order."""
        messages, more = [], True
        while more:
            after = messages[-1]["seq"] if messages else 0
            page = self.get(f"/v1/conversations/{conversation}/messages?after={after}&limit=200")
            messages += page["messages"]
            more = page["hasMoreAfter"]
        return [message for message in messages if message["kind"] != "system"]


def direct_id(*pair: str) -> str:
    """As the server derives it."""
    digest = bytearray(
        hashlib.sha256(b"\0".join([b"parley.direct", *(u.encode() for u in sorted(pair))])).digest()[:16]
    )
    digest[6], digest[8] = digest[6] & 0x0F | 0x80, digest[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(digest)))


def lines_taken(system: System) -> int:
    """The lines of imports that all processes have had a result for since they began."""
    taken = 0
    for number in range(system.instances):
        try:
            with _open(system.address("ingest", number) + "/metrics", timeout=PATIENCE) as response:
                text = response.read().decode()
        except OSError:
            continue
        taken += sum(
            int(float(value)) for value in re.findall(r"^parley_ingest_import_lines_total\S* (\S+)", text, re.M)
        )
    return taken
