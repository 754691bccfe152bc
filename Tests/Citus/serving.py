"""Stores and an ingest on a cluster, which serve a part of the requests there and refuse the others."""

import json
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from client import token
from cluster import Cluster
from system import EXECUTABLES, PATIENCE, SECRET, System

_open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


class Serving:
    """Processes of this test, which end with it."""

    def __init__(self, cluster: Cluster, stores: int = 2, **others: int):
        """`others`: how many processes there are of further services."""
        self.cluster = cluster
        self.system = cluster.system
        self.processes: dict[tuple[str, int], subprocess.Popen] = {}
        for service, count in [("store", stores), *others.items(), ("ingest", 1)]:
            for number in range(count):
                self.start(service, number)
        self.wait_until_owned()

    @classmethod
    def of(cls, system: System) -> "Serving":
        """To ask a system that somebody else has started."""
        serving = cls.__new__(cls)
        serving.system = system
        return serving

    def start(self, service: str, number: int = 0):
        state = self.cluster.system.state
        bus = {
            f"PARLEY_BUS_{name}": f"ipc://{state}/{name.lower()}-*.sock"
            for name in ("STORE", "INGEST", "RECEIPT", "FANOUT", "MEDIA")
        }
        environment = (
            self.cluster.environment(service)
            | bus
            | {
                "PARLEY_INSTANCE": str(number),
                "PARLEY_LISTEN": self.address(service, number).removeprefix("http://"),
                "PARLEY_BUS_BIND": f"ipc://{state}/{service}-{number}.sock",
                "PARLEY_JWT_SECRET": SECRET,
                "PARLEY_WEB": "0",
                "PARLEY_MEDIA_STORAGE": f"file://{state}/media",
                "PARLEY_MEDIA_INSPECTOR": str(EXECUTABLES / "media-inspector"),
            }
        )
        (state / f"{service}-{number}.sock").unlink(missing_ok=True)
        with (state / f"{service}-{number}.log").open("a") as log:
            process = subprocess.Popen(
                [EXECUTABLES / service], env=environment, cwd=state, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.processes[service, number] = process
        # By which they are ended, too, if this process dies: Tests/guard.
        self._pid_file(service, number).write_text(f"{process.pid}\n")

    def _pid_file(self, service: str, number: int) -> Path:
        return self.cluster.system.state / "run" / f"{service}-{number}.pid"

    def address(self, service: str, number: int = 0) -> str:
        return self.system.address(service, number)

    def kill(self, service: str, number: int = 0):
        self.end(service, number, signal.SIGKILL)

    def end(self, service: str, number: int, how: signal.Signals) -> int:
        """Ends a process and returns its status."""
        process = self.processes.pop((service, number))
        process.send_signal(how)
        status = process.wait(timeout=30)
        self._pid_file(service, number).unlink()
        return status

    def stop(self):
        for service, number in [*self.processes]:
            self.end(service, number, signal.SIGTERM)

    def slots(self, service: str = "store") -> int:
        """How many slots the processes of a service own by their metrics."""
        name = f"parley_{service}_slots"
        return sum(self.metric(number, name, service) for each, number in self.processes if each == service)

    def wait_until_owned(self):
        """Until every slot has an owner of each kind, and the owners have sessions with all of their shards."""
        for service in {name for name, _ in self.processes} & {"store", "receipt", "media"}:
            self.wait(lambda service=service: self.slots(service) == 256)

    def metric(self, number: int, name: str, service: str = "store") -> int:
        try:
            with _open(self.address(service, number) + "/metrics", timeout=5) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return 0
        return int(float(next(line.split()[1] for line in lines if line.startswith(f"{name} "))))

    def wait(self, condition, within: float = PATIENCE):
        deadline = time.monotonic() + within
        while not condition():
            assert time.monotonic() < deadline, self.log_ends()
            time.sleep(0.05)

    def log_ends(self) -> str:
        return "\n".join(
            f"── {log.name}\n" + "\n".join(log.read_text().splitlines()[-20:])
            for log in sorted(self.system.state.glob("*-*.log"))
        )

    # Requests

    def request(self, user: str, method: str, path: str, body=None, key: str | None = None) -> tuple[int, Any]:
        """Of ingest."""
        request = urllib.request.Request(
            self.address("ingest") + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token(user)}", "Content-Type": "application/json"}
            | ({"Idempotency-Key": key} if key else {}),
        )
        try:
            with _open(request, timeout=30) as answer:
                return answer.status, json.loads(answer.read() or "null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def administer(self, method: str, path: str, lines: str | None = None) -> tuple[int, Any]:
        """As an administrator. Of several lines the answer is a list."""
        request = urllib.request.Request(
            self.address("ingest") + path,
            method=method,
            data=None if lines is None else lines.encode(),
            headers={"Authorization": f"Bearer {token('backend', adm=True)}", "Content-Type": "application/x-ndjson"},
        )
        try:
            with _open(request, timeout=60) as answer:
                found = answer.read().decode().splitlines()
                return answer.status, [json.loads(line) for line in found] if lines else None
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def send(self, user: str, conversation: str, text: str, id: str | None = None) -> tuple[int, Any]:
        body = {"id": id or str(uuid.uuid4()), "text": text}
        return self.request(user, "POST", f"/v1/conversations/{conversation}/messages", body)

    def send_until_taken(self, user: str, conversation: str, text: str):
        """As clients do: the same message again until it is acknowledged."""
        id, deadline = str(uuid.uuid4()), time.monotonic() + 2 * PATIENCE
        while (answer := self.send(user, conversation, text, id))[0] not in (200, 201):
            assert answer[0] == 503, answer
            assert time.monotonic() < deadline, self.log_ends()
            time.sleep(0.05)

    def texts(self, user: str, conversation: str) -> list[str]:
        """The whole history, oldest first."""
        found, path = [], f"/v1/conversations/{conversation}/messages?limit=100"
        while path:
            status, page = self.request(user, "GET", path)
            if status == 503:
                time.sleep(0.05)
                continue
            assert status == 200, page
            found = [message.get("text") for message in page["messages"]] + found
            path = page.get("hasMoreBefore") and (
                f"/v1/conversations/{conversation}/messages?limit=100&before={page['messages'][0]['seq']}"
            )
        return [text for text in found if text]

    def make_conversation(self, slot: int, *members: str) -> str:
        """As the tables have a group, without its first change. No request makes one yet."""
        conversation = str(uuid.UUID(int=uuid.uuid4().int & ~0xFF | slot))
        stays = ", ".join(f"({slot}, '{conversation}', '{member}', 1, 2)" for member in members)
        self.cluster.sql(f"""
            INSERT INTO store.conversations (slot, id, kind, creator_id, created_at, last_seq, last_at, member_count)
            VALUES ({slot}, '{conversation}', 1, '{members[0]}', now(), 1, now(), {len(members)});
            INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at)
            VALUES ({slot}, '{conversation}', 1, 8, '{members[0]}', now());
            INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role) VALUES {stays}
        """)
        return conversation


def shards(cluster: Cluster) -> dict[int, str]:
    """The node of each shard, by the lowest of its slots."""
    lines = [line.split("\t") for line in cluster.run("store", "placement", check=True).splitlines()]
    return {int(slots.split(",")[0]): node for _, node, _, slots in lines}


def shard_of_slots(cluster: Cluster) -> dict[int, int]:
    """The lowest slot of the shard of each slot."""
    lines = [line.split("\t")[3].split(",") for line in cluster.run("store", "placement", check=True).splitlines()]
    return {int(slot): int(slots[0]) for slots in lines for slot in slots}


def user_in(slots, prefix: str = "user") -> str:
    """A new user whose slot is among these."""
    while True:
        if slot_of(name := f"{prefix}-{uuid.uuid4()}") in slots:
            return name


def move(cluster: Cluster, slot: int, mode: str = "force_logical"):
    """Moves the shard of a slot to the other worker, with all that belongs to it."""
    [[shard, here]] = cluster.sql(f"""
        SELECT shardid, nodename FROM pg_dist_placement JOIN pg_dist_node USING (groupid)
        WHERE shardid = get_shard_id_for_distribution_column('placement.slots', {slot}::smallint)
    """)
    there = next(node for node in cluster.nodes[1:] if node != here)
    nodes = f"'{here}', 5432, '{there}', 5432"
    while True:
        try:
            cluster.sql(f"SELECT citus_move_shard_placement({shard}, {nodes}, '{mode}')")
            return
        except RuntimeError as error:  # It is just being removed there, from where it was moved the time before.
            assert "leftover from the previous move" in str(error), error


def while_repeating(count: int, step, disturb):
    """`step(0…)` again and again, each number in a thread of its own, from a moment before something happens until a
    moment after."""
    ended = threading.Event()

    def work(number: int):
        if number < count:
            while not ended.is_set():
                step(number)
                time.sleep(0.05)  # Otherwise they, not what happens, take the machine.
            return
        try:
            time.sleep(0.5)
            disturb()
            time.sleep(0.5)
        finally:
            ended.set()

    at_once(count + 1, work)


def while_sending(serving: Serving, conversation: str, disturb) -> tuple[list[str], float]:
    """Sends from four at once while something happens. Returns the texts that were acknowledged, and how long one
    had to wait at most, in seconds."""
    sent: list[str] = []
    waits: list[float] = []

    def send(number: int):
        text = f"{number} says {uuid.uuid4()}"
        begun = time.monotonic()
        serving.send_until_taken("alice", conversation, text)
        waits.append(time.monotonic() - begun)
        sent.append(text)

    while_repeating(4, send, disturb)
    assert len(sent) > 20
    return sent, max(waits)


def slot_of(user: str) -> int:
    """As `Slot(ofUserNamed:)`."""
    value = 0xCBF29CE484222325
    for byte in user.encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    value ^= value >> 32
    value ^= value >> 16
    return (value ^ value >> 8) & 0xFF


def at_once(count: int, work):
    """The results of `work(0…)`, each in a thread of its own."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))
