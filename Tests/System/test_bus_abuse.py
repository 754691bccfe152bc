"""Strangers on the bus, where nothing but the rights of a directory keeps them away: whatever they say, every process
stays up, says once what it refused, and does what it is there for."""

import asyncio
import json
import random
import socket
import struct

import aiohttp
import pytest
from client import PATIENCE, Session
from crowd import gather_crowd
from newer import NewerPeer
from system import SERVICES, System, is_alive
from test_upgrade import REFUSED, metric, read_everything

FRAME_LIMIT = 64 << 20
LISTENER_LIMIT = 4096


class Babbler(NewerPeer):
    """Takes what the processes of a role say for a start, and says things that are no frames."""

    def __init__(self, sockets, role: str):
        self._random = random.Random(role)
        super().__init__(sockets, role)

    def hear(self, frame: bytes):
        if self.spoken == 0:
            self.send(frame[:1] + self._random.randbytes(FRAME_LIMIT // 4))
            self.send(frame[:1] + bytes(FRAME_LIMIT + 1))
        head = 18 if frame[:1] == b"A" else 11
        topic = head - 9
        self.send(frame[:topic])
        self.send(frame[:topic] + self._random.randbytes(self._random.randrange(200)))
        self.send(frame[:topic] + b"\0" + frame[topic + 1 :])
        self.send(frame[:topic] + b"\xff" + frame[topic + 1 :])
        self.send(frame[: head - 1])
        self.send(frame[:head] + b"\xff\xff\xff\xff" + frame[head:])
        # A subscription looks at the first part alone.
        self.send(frame[:topic], frame, self._random.randbytes(20))


class Mangler(NewerPeer):
    """Says again what the processes of a role say, damaged: in places nobody can tell it from what they mean."""

    EXTREMES = [b"\x7f" + b"\xff" * 7, b"\xff" * 8, b"\x80" + bytes(7), bytes(8), b"\xff" * 4, b"\xff"]

    def __init__(self, sockets, role: str):
        self._random = random.Random(role)
        super().__init__(sockets, role)

    def hear(self, frame: bytes):
        for _ in range(8):
            self.send(self._damaged(frame))

    def _damaged(self, frame: bytes) -> bytes:
        damaged = bytearray(frame)
        for _ in range(self._random.randint(1, 3)):
            place = self._random.randrange(1, len(damaged) + 1)
            match self._random.randrange(4):
                case 0 if place < len(damaged):
                    damaged[place] ^= 1 << self._random.randrange(8)
                case 1:
                    del damaged[place : place + self._random.randrange(9)]
                case _:
                    extreme = self._random.choice(self.EXTREMES)
                    damaged[place : place + len(extreme)] = extreme[: max(1, len(damaged) - place)]
        return bytes(damaged)


class Peers:
    def __init__(self, kind: type[NewerPeer], system: System):
        self._peers = {role: kind(system.state / "run", role) for role in SERVICES}

    def __enter__(self):
        return self._peers

    def __exit__(self, *_):
        for peer in self._peers.values():
            peer.close()


def refusals_told(system: System, service: str, number: int) -> list[dict]:
    log = system.state / "logs" / f"{service}-{number}.log"
    lines = [line for line in log.read_text().splitlines() if '"frames of a peer were refused"' in line]
    return [json.loads(line) for line in lines]


async def test_what_is_no_frame_is_refused_told_and_disturbs_nobody(double, people):
    processes = [(service, number) for service in SERVICES for number in range(2)]
    before = {process: await metric(double, *process, REFUSED) for process in processes}
    told = {process: len(refusals_told(double, *process)) for process in processes}
    with Peers(Babbler, double):
        quiet = processes
        while quiet:
            crowd = await gather_crowd(double, people)
            await crowd.begin()
            await crowd.expect_everything_once()
            await read_everything(crowd)
            quiet = [process for process in processes if await metric(double, *process, REFUSED) < before[process] + 20]
    for process in processes:
        lines = refusals_told(double, *process)[told[process] :]
        # Of each role at once, and then once a minute: this has taken less than two.
        assert len(lines) <= 3 * len(SERVICES), lines
        assert all(line["peer"] in SERVICES and line["times"] > 0 for line in refusals_told(double, *process))


@pytest.fixture
def own():
    system = System(instances=1)
    try:
        system.up()
        yield system
    finally:
        system.remove()


async def test_whatever_peers_are_made_to_say_no_process_ends(own, people):
    pids = own.pids()
    users = people(own, 4)
    conversation = await users[0].create_group(*users[1:])
    sessions = [await user.connect() for user in users]
    with Peers(Mangler, own) as peers:
        for n in range(2000):
            if all(peer.spoken > 1500 for peer in peers.values()):
                break
            # What comes of it is not to be trusted meanwhile: peers are. But it comes.
            await asyncio.gather(*(act(user, session, conversation, n) for user, session in zip(users, sessions)))
        assert all(peer.spoken > 1500 for peer in peers.values())
    assert own.pids() == pids
    assert [name for name, pid in pids.items() if not is_alive(pid)] == [], own.log_ends()
    for user in users:
        await user.leave(tolerating=ValueError)  # Some changes were damaged on their way to them.


async def act(user, session: Session, conversation: str, n: int):
    try:
        async with asyncio.timeout(1):
            await user.send(conversation, f"{user.name} {n}")
            await user.request("POST", f"/v1/conversations/{conversation}/receipts", {"readSeq": n + 1})
            await session.say("typing", conversationId=conversation, active=n % 2 == 0)
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError):
        pass  # of what was damaged on its way


GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x05READY" + b"\x0bSocket-Type" + struct.pack(">I", 3) + b"SUB"
SUBSCRIBED = GREETING + bytes([4, len(READY)]) + READY


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(GREETING + b"\xff" * 64, id="noise behind a greeting"),
        pytest.param(SUBSCRIBED + b"\x02" + struct.pack(">Q", FRAME_LIMIT), id="room for a large frame"),
        pytest.param(SUBSCRIBED + b"\x02" + struct.pack(">Q", 1 << 62), id="room for an impossible frame"),
        pytest.param(SUBSCRIBED + b"\x02" + struct.pack(">Q", LISTENER_LIMIT + 1), id="a frame no listener sends"),
    ],
)
async def test_a_listener_that_speaks_out_of_turn_is_closed(single, people, said):
    for service in SERVICES:
        await asyncio.to_thread(expect_closed, str(single.state / "run" / f"{service}-0.sock"), said)
    crowd = await gather_crowd(single, people)
    await crowd.begin()
    await crowd.expect_everything_once()


def expect_closed(path: str, said: bytes):
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.settimeout(PATIENCE)
        stranger.connect(path)
        try:
            stranger.sendall(said)
            while stranger.recv(4096):
                pass
        except (BrokenPipeError, ConnectionResetError):
            pass
