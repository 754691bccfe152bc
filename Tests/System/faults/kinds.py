"""The kinds of faults: each begins one, waits, and ends it."""

import asyncio
import json
import os
import random
import re
import resource
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

from client import User, new_id
from system import EXECUTABLES, SERVICES

from faults.abuse import Abuser, Measured
from faults.book import Finding
from faults.database import Database
from faults.device import Device
from faults.load import Load, Talk
from faults.machine import Machine

FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
LOCKED_SECONDS = 8.0
MOVES = 3
RECONNECTING = 10_000
"""Clients that come back at once."""


class Skipped(Exception):
    """This machine cannot do it, and why."""


@dataclass
class Scene:
    """What a fault works on."""

    machine: Machine
    database: Database
    load: Load
    bus: "Bus"
    choice: random.Random
    notes: list[str] = field(default_factory=list)
    """What else is worth telling in the report."""
    abuser: Abuser | None = None
    abuses: list[Measured] = field(default_factory=list)

    def either(self) -> int:
        return self.choice.randrange(2)


@dataclass
class Kind:
    name: str
    act: Callable[[Scene], AsyncIterator[None]]
    """Begins the fault until it yields, and ends it after that."""
    seconds: float
    short_seconds: float | None = None
    """How long it lasts in the short form; None: it is not part of it."""
    stage: str = "direct"
    """direct, abuse (one client takes what it gets), bus (frames go through a proxy) or clock (processes see a clock
    that is set)"""
    is_of_cluster: bool = False
    """Whether it needs a database of several nodes."""


# Processes


def killed(service: str):
    async def act(scene: Scene):
        number = scene.either()
        await scene.machine.kill(service, number)
        yield
        await scene.machine.start(service, number)

    return act


def terminated(service: str):
    async def act(scene: Scene):
        number = scene.either()
        await scene.machine.terminate(service, number)
        yield
        await scene.machine.start(service, number)

    return act


def stopped(service: str):
    async def act(scene: Scene):
        number = scene.either()
        scene.machine.signal(service, number, signal.SIGSTOP)
        yield
        scene.machine.signal(service, number, signal.SIGCONT)

    return act


def all_killed(service: str):
    async def act(scene: Scene):
        for number in (0, 1):
            await scene.machine.kill(service, number)
        yield
        await asyncio.gather(*(scene.machine.start(service, number) for number in (0, 1)))

    return act


async def machine_crashed(scene: Scene):
    """Everything at once, PostgreSQL included."""
    for service, number in scene.machine.names:
        await scene.machine.kill(service, number)
    await scene.database.kill_all()
    yield
    await scene.database.start_all()
    await asyncio.gather(*(scene.machine.start(service, number) for service, number in scene.machine.names))


async def rolling_restart(scene: Scene):
    yield
    await scene.machine.restart_everything()


# PostgreSQL


async def database_restarted(scene: Scene):
    yield
    await scene.database.restart()


async def database_killed(scene: Scene):
    await scene.database.kill()
    yield
    await scene.database.start()


async def backends_terminated(scene: Scene):
    await scene.database.terminate_backends()
    yield
    await scene.database.terminate_backends()


async def database_stands_still(scene: Scene):
    scene.database.stand_still()
    yield
    scene.database.go_on()


async def no_connections_left(scene: Scene):
    await scene.database.refuse_connections(True)
    yield
    await scene.database.refuse_connections(False)


async def disk_full(scene: Scene):
    if not scene.database.disk:
        raise Skipped(f"no file system of its own can be mounted: {scene.database.why_no_disk}")
    await asyncio.to_thread(scene.database.fill_disk)
    yield
    scene.database.free_disk()


async def read_only(scene: Scene):
    await scene.database.set_read_only(True)
    yield
    await scene.database.set_read_only(False)


async def conflicts(scene: Scene):
    await scene.database.fail_now_and_then(True)
    yield
    await scene.database.fail_now_and_then(False)


async def serializable(scene: Scene):
    """Every transaction of the services is serializable while a stranger changes the rows that they lock: PostgreSQL
    refuses with 40001 whatever saw an older state."""
    before = scene.database.said("could not serialize access")
    await scene.database.set_isolation("serializable")
    disturbing = asyncio.create_task(scene.database.disturb([talk.id for talk in scene.load.talks]))
    yield
    await scene.database.end_strangers()
    await asyncio.wait([disturbing])
    await scene.database.set_isolation(None)
    count = scene.database.said("could not serialize access") - before
    scene.notes.append(f"PostgreSQL refused {count:,} transactions with 40001 while all were serializable.")


async def deadlocks(scene: Scene):
    """A stranger locks the conversations in the order opposite to the stores'; PostgreSQL fails one of both: 40P01."""
    before = scene.database.said("deadlock detected")
    locking = asyncio.create_task(scene.database.lock_backwards([talk.id for talk in scene.load.talks]))
    yield
    await scene.database.end_strangers()
    await asyncio.wait([locking])
    count = scene.database.said("deadlock detected") - before
    scene.notes.append(f"PostgreSQL found {count:,} deadlocks with a stranger, 40P01.")


async def table_locked(scene: Scene):
    holding = asyncio.create_task(scene.database.lock_messages(LOCKED_SECONDS))
    yield
    await holding


async def conversation_locked(scene: Scene):
    holding = asyncio.create_task(scene.database.lock_conversation(scene.load.talks[0].id, LOCKED_SECONDS))
    yield
    await holding


# A cluster. What hits PostgreSQL hits any of its nodes, too.


async def worker_killed(scene: Scene):
    await scene.database.kill(scene.database.holder)
    yield
    await scene.database.start(scene.database.holder)


async def all_nodes_killed(scene: Scene):
    await scene.database.kill_all()
    yield
    await scene.database.start_all()


async def coordinator_away(scene: Scene):
    """Who has what of the metadata goes on without it."""
    await scene.database.kill(scene.database.server)
    yield
    await scene.database.start(scene.database.server)


async def shards_move(scene: Scene):
    async def move():
        for _ in range(MOVES):
            await scene.database.move_a_shard(scene.choice)

    moving = asyncio.create_task(move())
    yield
    await moving


# Bus


class Bus:
    """The proxy between publishers and listeners; see bus.py."""

    def __init__(self, sockets: Path, seed: int):
        self.sockets = sockets
        self.through = sockets / "through"
        self.seed = seed
        self.process: asyncio.subprocess.Process | None = None
        self.counts: list[int] = [0, 0, 0]

    async def open(self) -> dict[str, str]:
        """Starts it and returns the settings of processes that listen through it."""
        self.through.mkdir(mode=0o711, exist_ok=True)
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "faults.bus", self.sockets, self.through, str(self.seed),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[1],
        )  # fmt: skip
        await self.process.stdout.readline()
        return {f"PARLEY_BUS_{service.upper()}": f"ipc://{self.through}/{service}-*.sock" for service in SERVICES}

    async def order(self, **orders):
        self.process.stdin.write(json.dumps(orders).encode() + b"\n")
        self.counts = json.loads(await self.process.stdout.readline())

    async def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.kill()
            await self.process.wait()


def ordered(**orders):
    async def act(scene: Scene):
        await scene.bus.order(**orders)
        yield
        await scene.bus.order()

    return act


def cut_off(service: str):
    """Nobody hears it; it hears everybody, and so thinks that all is well."""

    async def act(scene: Scene):
        await scene.bus.order(cut=[f"{service}-{scene.either()}"])
        yield
        await scene.bus.order()

    return act


async def late_subscriptions(scene: Scene):
    await scene.bus.order(late=0.3, **{"break": True})
    yield
    await scene.bus.order(late=0.3, **{"break": True})
    await asyncio.sleep(1)
    await scene.bus.order()


async def died_unheard(scene: Scene):
    """A store commits, but nobody hears of it, neither who asked nor who listens; then it dies."""
    number = scene.either()
    await scene.bus.order(mute=[f"store-{number}"])
    await asyncio.sleep(0.3)
    await scene.machine.kill("store", number)
    await scene.bus.order()
    yield
    await scene.machine.start("store", number)


# Clients


async def half_open(scene: Scene):
    """Connections that say nothing, or half of a request, and stay."""
    parts = (b"", b"GET /v1/conv", b"POST /v1/messages:batch HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    writers = []
    for n in range(2000):
        address = scene.machine.system.address(("ingest", "fanout")[n % 2], n // 2 % 2)
        try:
            _, writer = await asyncio.open_connection(*address.removeprefix("http://").split(":"))
        except OSError:
            continue
        writer.write(parts[n % len(parts)])
        writers.append(writer)
    yield
    for writer in writers:
        writer.transport.abort()


async def stops_reading(scene: Scene):
    """A client stops reading while far more is sent to it than is kept for it; then it reads on."""
    load, count = scene.load, 1500
    users = [User(load.system, f"{name}-{new_id()[:8]}", load.http, home=n) for n, name in enumerate(("loud", "deaf"))]
    talk = Talk(await load.create(users[0], users[1]), users, users[1])
    load.talks.append(talk)
    devices = [Device(user, load.http, {talk.id: 1}) for user in users]
    for device in devices:
        load.add_device(device)
    devices[1].reads.clear()

    async def lane(number: int):
        for n in range(count // 10):
            await load.send(talk, users[0], number, f"{n} {new_id()} " + "x" * 8000)

    await asyncio.gather(*(lane(number) for number in range(10)))
    devices[0].pause_seconds = 0.002
    yield
    for device in devices:
        device.reads.set()


async def everybody_reconnects(scene: Scene):
    """`parley load reconnect`: ten thousand clients come back at once, and get what they missed."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < RECONNECTING + 1000:
        raise Skipped(f"a process may have {files} open files, too few for {RECONNECTING} connections (ulimit -n)")
    system = scene.machine.system
    addresses = ["--http", ",".join(system.address("ingest", n) for n in range(system.instances))]
    sockets = ",".join(system.address("fanout", n).replace("http", "ws") for n in range(system.instances))
    command = [str(EXECUTABLES / "parley"), "load", "reconnect", "--clients", str(RECONNECTING)]
    command += ["--missed", "5"]
    process = await asyncio.create_subprocess_exec(
        *command, *addresses, "--ws", sockets, env=system.environment, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    yield
    said, _ = await asyncio.wait_for(process.communicate(), 170)
    for took in re.findall(r"all resumed after +(.+)", said.decode()):
        scene.notes.append(f"All {RECONNECTING:,} clients that came back at once had what they missed after {took}.")
    if process.returncode:
        scene.load.findings.append(Finding("lost", f"parley load reconnect: {said.decode()[-1500:]}"))


# Abuse


def abused(name: str, act: str):
    async def acting(scene: Scene):
        measured = Measured(name, time.monotonic())
        async with scene.abuser.acting(act, measured):
            yield
            measured.end = time.monotonic()
        scene.abuses.append(measured)

    return acting


ABUSES = {
    "nothing to the servers: it computes": "compute",
    "large bodies without a token": "send_bodies_without_a_token",
    "connects with many conversations, again and again": "connect_again_and_again",
    "asks for lists and long unread counts": "ask_for_lists",
    "searches what it has just written": "search_what_it_writes",
    "opens 300 sessions and babbles": "open_sessions_and_babble",
    "creates groups of a thousand": "create_large_groups",
    "sends batches of a megabyte": "send_large_batches",
}
SHORT_ABUSES = ("ask_for_lists", "open_sessions_and_babble", "send_large_batches")


# Clocks


class Clock:
    """The clock of processes started with its settings is what its file says (faketime(1))."""

    def __init__(self, directory: Path):
        self.file = directory / "clock"

    def settings(self) -> dict[str, str]:
        self.set("+0")
        return {
            "LD_PRELOAD": str(FAKETIME),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, step: str):
        new = self.file.with_suffix(".new")
        new.write_text(step + "\n")
        os.replace(new, self.file)


def clock_set(step: str):
    async def act(scene: Scene):
        clock = Clock(scene.machine.system.state)
        clock.set(step)
        yield
        clock.set("+0")

    return act


KINDS = [
    *(Kind(f"{service} killed", killed(service), 3, None if service == "receipt" else 0.5) for service in SERVICES),
    *(Kind(f"{service} asked to end", terminated(service), 3) for service in SERVICES),
    *(Kind(f"{service} stands still", stopped(service), 30, 1.5 if service == "store" else None)
      for service in SERVICES),
    Kind("both stores killed", all_killed("store"), 3),
    Kind("both receipts killed", all_killed("receipt"), 3),
    Kind("everything killed, PostgreSQL too", machine_crashed, 3, 0.5),
    Kind("PostgreSQL restarted", database_restarted, 0),
    Kind("PostgreSQL killed", database_killed, 5),
    Kind("PostgreSQL's sessions ended", backends_terminated, 3),
    Kind("PostgreSQL stands still", database_stands_still, 15),
    Kind("PostgreSQL out of connections", no_connections_left, 10),
    Kind("disk of PostgreSQL full", disk_full, 15),
    Kind("PostgreSQL read-only", read_only, 10),
    Kind("conflicts between transactions", conflicts, 10, 1.5),
    Kind("serializable transactions, and rows that change", serializable, 10, 1.5),
    Kind("deadlocks with a stranger", deadlocks, 10),
    Kind("a table locked by a stranger", table_locked, LOCKED_SECONDS),
    Kind("a conversation locked by a stranger", conversation_locked, LOCKED_SECONDS),
    Kind("a worker killed", worker_killed, 5, 0.5, is_of_cluster=True),
    Kind("all nodes killed", all_nodes_killed, 5, is_of_cluster=True),
    Kind("the coordinator away", coordinator_away, 10, 2, is_of_cluster=True),
    Kind("shards move", shards_move, 0, 0, is_of_cluster=True),
    Kind("half-open connections", half_open, 10),
    Kind("a client stops reading, another reads slowly", stops_reading, 5),
    Kind("10,000 clients reconnect at once", everybody_reconnects, 5),
    *(Kind(f"abuse: {name}", abused(name, act), 12, 1 if act in SHORT_ABUSES else None, stage="abuse")
      for name, act in ABUSES.items()),
    Kind("rolling restart", rolling_restart, 0, 0, stage="bus"),
    Kind("a tenth of all frames lost", ordered(lose=0.1), 15, 2, stage="bus"),
    Kind("frames repeated and out of order", ordered(repeat=0.3, delay=0.05), 15, 2, stage="bus"),
    Kind("half of all frames lost", ordered(lose=0.5), 10, stage="bus"),
    *(Kind(f"{service} cut off from the bus", cut_off(service), 10, stage="bus")
      for service in SERVICES),
    Kind("late subscriptions", late_subscriptions, 5, stage="bus"),
    Kind("store dies between commit and announcement", died_unheard, 3, 0.5, stage="bus"),
    Kind("clocks 20 minutes ahead", clock_set("+1200"), 10, stage="clock"),
    Kind("clocks 20 minutes behind", clock_set("-1200"), 10, stage="clock"),
]  # fmt: skip
