"""What grows in growth.py, and how a point is measured."""

import json
import subprocess
import tempfile
import time
from pathlib import Path

from long_history import INDEXED, LongHistory
from system import EXECUTABLES, System
from unlimited import UnlimitedSystem

# A process may have 20,000 open files on usual machines: idle sessions of one generator, and of one fanout.
SESSIONS_OF_A_GENERATOR = 16_000
FANOUTS_OF_SESSIONS = 3


class Growth:
    """One plot. Its points are measured in order; they share a system, which begins with the first."""

    name: str
    title: str
    # Below the plot.
    notes: list[str] = []
    # Each with the seconds it takes altogether, and those of --quick.
    points: dict[int, int]
    quick: list[int]
    # Of the left axis: what it is in a report, and its name.
    figure = "acknowledgedPerSecond"
    unit = "messages/s"
    instances = 1
    fanouts: int | None = None

    def __init__(self):
        self._system: System | None = None

    def measure(self, x: int, seconds: int) -> dict:
        """A report of `parley load`."""
        raise NotImplementedError

    def end(self):
        if self._system:
            self._system.remove()
        self._system = None

    @property
    def system(self) -> System:
        if not self._system:
            self._system = GrownSystem(self.instances, self.fanouts)
            self._system.up()
        return self._system

    def load(self, seconds: int, *scenario) -> dict:
        with tempfile.NamedTemporaryFile() as report:
            times = ["--duration", f"{seconds}s", "--warmup", "1s", "--settle", "60s", "--check", "20"]
            command = [EXECUTABLES / "parley", "load", *map(str, scenario), *times, "--json", report.name]
            done = subprocess.run(command, env=self.system.environment, capture_output=True, text=True)
            text = Path(report.name).read_text()
            if not text:
                raise RuntimeError(f"status {done.returncode}, no report: {done.stderr.strip().splitlines()[-1:]}")
            return json.loads(text)


class GrownSystem(UnlimitedSystem):
    """May have more fanouts than other services."""

    def __init__(self, instances: int, fanouts: int | None):
        self.fanouts = fanouts or instances
        super().__init__(max(instances, self.fanouts))
        self.instances = instances

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"PARLEY_FANOUTS": str(self.fanouts)}


class Members(Growth):
    name = "members"
    title = "members of a room, all online"
    notes = ["ten of them write; the more members, the fewer messages in flight (a hundred to ten in all)"]
    points = {2: 14, 10: 9, 100: 8, 1000: 9, 10_000: 45}
    quick = [2, 20]
    figure = "deliveriesPerSecond"
    unit = "deliveries/s"

    def measure(self, x: int, seconds: int) -> dict:
        """In flight until all have it, so fanout sets the pace."""
        in_flight = max(1, min(10, 5000 // x))
        return self.load(seconds, "room", "--members", x, "--senders", min(10, x), "--in-flight", in_flight)


class Conversations(Growth):
    name = "conversations"
    title = "conversations that are written to in turn"
    notes = ["a thousand messages in flight over a hundred connections; a hundred of the conversations have sessions"]
    points = {1: 14, 10: 9, 100: 9, 1000: 9, 10_000: 14, 100_000: 80}
    quick = [1, 20]

    def measure(self, x: int, seconds: int) -> dict:
        shared = ["--online", min(x, 100), "--connections", min(x, 100), "--in-flight-in-all", 1000]
        return self.load(seconds, "pairs", "--pairs", x, *shared)


class History(Growth):
    name = "history"
    title = "messages stored before"
    notes = [
        "100 new direct conversations, 10 messages in flight each; the old ones are 1,000 direct conversations,",
        "made by the services and filled by SQL as they would have filled them: with positions, receipts and private",
        f"changes, and the search index of {1000 * INDEXED:,} texts at most",
    ]
    points = {0: 15, 10_000: 12, 100_000: 25, 1_000_000: 100, 10_000_000: 240}
    quick = [0, 20_000]

    def __init__(self):
        super().__init__()
        self._history: LongHistory | None = None

    def measure(self, x: int, seconds: int) -> dict:
        self._history = self._history or LongHistory(self.system)
        self._history.grow(x)
        return self.load(seconds, "pairs", "--pairs", 100, "--in-flight", 10)


class Sessions(Growth):
    name = "sessions"
    title = "idle sessions beside 1,000 messages a second"
    notes = [f"{FANOUTS_OF_SESSIONS} fanouts; each idle session is one end of a direct conversation, its peer online"]
    points = {0: 16, 100: 8, 1000: 9, 10_000: 20, 50_000: 110}
    quick = [0, 200]
    fanouts = FANOUTS_OF_SESSIONS

    def __init__(self):
        super().__init__()
        self._generators: list[subprocess.Popen] = []
        self._count = 0

    def measure(self, x: int, seconds: int) -> dict:
        while self._count < x:
            self._add(min(x - self._count, SESSIONS_OF_A_GENERATOR))
        return self.load(seconds, "pairs", "--pairs", 100, "--rate", 1000)

    def _add(self, count: int):
        """Sessions with next to no messages, for longer than all the rest takes."""
        quiet = ["pairs", "--pairs", str(count // 2), "--rate", "1", "--connections", "1", "--duration", "3600s"]
        generator = subprocess.Popen(
            [EXECUTABLES / "parley", "load", *quiet],
            env=self.system.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._generators.append(generator)
        self._count += count
        while self._open_sessions() < self._count:
            if generator.poll() is not None:
                raise RuntimeError(f"the generator of {count:,} sessions ended with status {generator.returncode}")
            time.sleep(0.5)

    def _open_sessions(self) -> int:
        return sum(self._open_sessions_of(number) for number in range(FANOUTS_OF_SESSIONS))

    def _open_sessions_of(self, number: int) -> int:
        url = f"{self.system.address('fanout', number)}/metrics"
        lines = subprocess.run(["curl", "-sS", url], check=True, capture_output=True, text=True).stdout.splitlines()
        return sum(int(float(line.split()[-1])) for line in lines if line.startswith("parley_fanout_sessions"))

    def end(self):
        for generator in self._generators:
            generator.kill()
            generator.wait()
        self._generators, self._count = [], 0
        super().end()


class Instances(Growth):
    name = "instances"
    title = "processes of each service"
    notes = ["100 direct conversations, 10 messages in flight each"]
    points = {1: 15, 2: 18, 3: 20, 4: 22}
    quick = [1, 2]

    def measure(self, x: int, seconds: int) -> dict:
        if x != self.instances:
            self.end()
        self.instances = x
        return self.load(seconds, "pairs", "--pairs", 100, "--in-flight", 10)


GROWTHS = {growth.name: growth for growth in (Members, Conversations, History, Sessions, Instances)}
