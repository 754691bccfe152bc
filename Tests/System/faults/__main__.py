"""Real processes, a real PostgreSQL, clients that write, and one fault after the other: is anything lost?

    make faults                                     about eleven minutes, every kind of fault
    PARLEY_TEST_CITUS=2 make faults                 the same on a cluster of Citus with two workers
    cd Tests/System && ../../.venv/bin/python -m faults --help       for the rest

The order of faults, whom they hit and what clients write follow from the seed, which is printed. Ends with 1 when
anything was lost, doubled, out of order or seen by whom it does not concern. Times are told, never judged.
"""

import argparse
import asyncio
import os
import random
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import aiohttp  # noqa: E402
from system import System  # noqa: E402

from faults import abuse, report  # noqa: E402
from faults.book import Finding  # noqa: E402
from faults.checker import check  # noqa: E402
from faults.database import Cluster, Database  # noqa: E402
from faults.kinds import FAKETIME, KINDS, Bus, Clock, Kind, Scene, Skipped, rolling_restart  # noqa: E402
from faults.load import Load  # noqa: E402
from faults.machine import Machine  # noqa: E402
from faults.weather import Weather  # noqa: E402

WORKERS = int(os.environ.get("PARLEY_TEST_CITUS", 0))
"""The database is one PostgreSQL, or it has so many."""
RECOVER_SECONDS = 180.0
"""After it a fault is taken to have done harm for good, and the logs are shown."""
ENDING_SECONDS = 600.0
"""So long everything may take to arrive and to be read once the faults are over."""


class Run:
    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.choice = random.Random(options.seed)
        self.faults: list[report.Fault] = []
        self.skips: list[report.Skip] = []
        self.findings: list[Finding] = []
        self.calm = 0.7 if options.short else 5.0
        """Seconds before the first fault and after each, when all have recovered."""
        self.weather = Weather()
        self.loads: list[float] = []
        """Of the machine, in processes that can run, noted at every fault."""

    async def run(self) -> int:
        database = Cluster(WORKERS) if WORKERS else Database()
        system = System(instances=2, database=database.url)
        try:
            system.up()
            return await self._under_load(system, database)
        finally:
            system.remove()
            database.remove()

    async def _under_load(self, system: System, database: Database) -> int:
        short = self.options.short
        load = Load(system, self.options.seed, conversations=16 if short else 24, users=8 if short else 12,
                    pace_seconds=0.4 if short else 0.5)  # fmt: skip
        machine = Machine(system)
        sockets = Path(machine.environment("store", 0)["PARLEY_BUS_BIND"].removeprefix("ipc://")).parent
        scene = Scene(machine, database, load, Bus(sockets, self.options.seed), self.choice)
        async with asyncio.timeout(RECOVER_SECONDS):
            await load.begin()
        self.weather.begin()
        self.began = time.monotonic()
        self.talks = list(load.talks)
        try:
            await asyncio.sleep(self.calm)
            await self._all_stages(scene)
            seconds = time.monotonic() - self.began
            async with asyncio.timeout(ENDING_SECONDS):
                endings = await load.end()
            seen = [device.seen for device in load.devices]
            self.findings += load.findings + check(load.writes, seen, endings)
            return self._tell(scene, seen, seconds)
        finally:
            self.weather.end()
            await load.close()
            await scene.bus.close()

    async def _all_stages(self, scene: Scene):
        while True:
            for stage in ("direct", "abuse", "bus", "clock"):
                kinds = [kind for kind in self._kinds() if kind.stage == stage]
                self.choice.shuffle(kinds)
                if kinds and await self._enter(stage, scene):
                    for kind in kinds:
                        if kind.act is not rolling_restart:  # every stage but the first begins with one
                            await self._suffer(kind, scene)
            if time.monotonic() - self.began >= self.options.seconds:
                return
            scene.machine.extra = {}

    def _kinds(self) -> list[Kind]:
        words = self.options.only.split(",") if self.options.only else [""]
        possible = [kind for kind in KINDS if WORKERS or not kind.is_of_cluster]
        chosen = [kind for kind in possible if any(word in kind.name for word in words)]
        return [kind for kind in chosen if kind.short_seconds is not None] if self.options.short else chosen

    async def _enter(self, stage: str, scene: Scene) -> bool:
        """Starts the processes anew with what the stage needs."""
        if stage == "abuse":
            if not scene.abuser:
                conversations, messages = (2_000, 20_000) if self.options.short else (20_000, 200_000)
                scene.abuser = await abuse.Abuser.prepare(scene, conversations=conversations, messages=messages)
                await asyncio.sleep(self.calm)
            return True
        if stage == "bus":
            if not scene.bus.process:
                scene.machine.extra = await scene.bus.open()
        elif stage == "clock":
            if not FAKETIME:
                self._skip("clocks 20 minutes ahead and behind", "faketime is not installed (deploy/bootstrap --tests)")
                return False
            scene.machine.extra = Clock(scene.machine.system.state).settings()
        if stage != "direct":
            await self._suffer(next(kind for kind in KINDS if kind.act is rolling_restart), scene)
        return True

    async def _suffer(self, kind: Kind, scene: Scene):
        """One fault: begun, ended, recovered from, and a while of calm."""
        seconds = kind.short_seconds if self.options.short else kind.seconds
        scene.database.choose(self.choice)
        start = time.monotonic()
        scene.load.hurry()
        acting = kind.act(scene)
        try:
            async with asyncio.timeout(seconds + RECOVER_SECONDS):
                await anext(acting)
                await asyncio.sleep(seconds)
                await anext(acting, None)
        except Skipped as skipped:
            return self._skip(kind.name, str(skipped))
        except (AssertionError, OSError, TimeoutError, aiohttp.ClientError) as error:
            # The fault could not be made, or ended, as it should: the others still can.
            print(scene.machine.system.log_ends())
            self.findings.append(Finding("refused", f"{kind.name}: {error!r}"))
        end = time.monotonic()
        scene.load.hurry()
        self.loads.append(os.getloadavg()[0])
        fault = report.Fault(kind.name, start, end)
        self.faults.append(fault)
        await self._recovered(fault, scene)
        since = time.monotonic() - end
        print(
            f"{start - self.began:7.1f} s  {kind.name}: {end - start:.1f} s, recovered {since:.1f} s later", flush=True
        )
        await asyncio.sleep(self.calm)

    async def _recovered(self, fault: report.Fault, scene: Scene):
        while report.recovery(self.talks, fault.end) is None:
            if time.monotonic() - fault.end > RECOVER_SECONDS:
                print(scene.machine.system.log_ends())
                return self.findings.append(Finding("refused", f"no recovery from: {fault.name}"))
            await asyncio.sleep(0.05)

    def _skip(self, name: str, reason: str):
        self.skips.append(report.Skip(name, reason))
        print(f"skipping {name}: {reason}", flush=True)

    def _tell(self, scene: Scene, seen, seconds: float) -> int:
        load = scene.load
        totals = report.Totals(seconds, load.writes, seen, load.probes, load.digests, load.files.read, self.findings)
        text = "\n\n".join([
            report.circumstances(self.command, scene.database.description, self.loads),
            report.table(self.faults, self.skips, self.talks, self.calm, self.weather),
            *(abuse.table(scene.abuses, load.writes, self.calm),) * bool(scene.abuses),
            *(" ".join(scene.notes),) * bool(scene.notes),
            totals.text + "\n",
        ])  # fmt: skip
        print(f"\n{text}\nFor docs/testing.md:\n\n{totals.quotation}\n> (`{self.command}`)\n")
        for finding in self.findings[:40]:
            print(finding)
        if self.options.report:
            self.options.report.write_text(text)
        return 1 if self.findings else 0

    @property
    def command(self) -> str:
        """Which makes the same run again."""
        words = [f"--seed {self.options.seed}"]
        words += [f"--seconds {self.options.seconds:.0f}"] * (self.options.seconds > 0)
        words += [f"--only {self.options.only}"] * bool(self.options.only) + ["--short"] * self.options.short
        where = f"PARLEY_TEST_CITUS={WORKERS} " if WORKERS else ""
        return f"{where}make faults FAULTS='{' '.join(words)}'"


def main() -> int:
    options = arguments()
    print(f"seed {options.seed}", flush=True)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return asyncio.run(Run(options).run())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="faults", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--short", action="store_true", help="less than a minute, for every run of the tests")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--seconds", type=float, default=0, help="begin again until it has taken so long")
    parser.add_argument("--only", help="kinds of faults with one of these words, separated by commas, in their names")
    parser.add_argument("--report", type=Path, help="write the table there, too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
