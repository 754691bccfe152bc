"""What a run says at its end."""

import os
import platform
import subprocess
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

from system import REPOSITORY

from faults.book import CATEGORIES, Finding, Seen, Write
from faults.load import Digests, Talk, count_repeats
from faults.weather import Weather


@dataclass
class Fault:
    """One that happened; times as of `time.monotonic()`."""

    name: str
    start: float
    end: float


@dataclass
class Skip:
    name: str
    reason: str


def recovery(talks: list[Talk], moment: float) -> float | None:
    """Seconds from the moment until every conversation had acknowledged a write begun after it; None: one never did."""
    firsts = [
        min((w.answered for w in talk.writes if w.begun >= moment and w.is_acknowledged), default=None)
        for talk in talks
    ]
    return None if None in firsts else max(firsts) - moment


def circumstances(command: str, database: str, loads: list[float]) -> str:
    """When, where, with which database and by which command."""
    now = datetime.now(UTC)
    system = platform.freedesktop_os_release()["PRETTY_NAME"].removesuffix(" (bookworm)").replace("GNU/Linux ", "")
    described = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True)
    commit = f"at commit {described.stdout.strip()}, " if described.returncode == 0 else ""
    load = f"a load of {min(loads):.0f} to {max(loads):.0f}" if loads else "no load"
    return (
        f"{now.day} {now:%B %Y}, `{command}`: {commit}{system}, {database}, "
        f"{os.cpu_count()} cores, {load}, clients included."
    )


def table(faults: list[Fault], skips: list[Skip], talks: list[Talk], calm: float, weather: Weather) -> str:
    """One line for each kind of fault, the worst of its recoveries in seconds, latencies in milliseconds. `calm`: the
    seconds before and after a fault that it is compared with."""
    lines = [
        "| fault | times | recovered, s from its begin | from its end | repeated requests "
        "| before: p50 / p99 / p99.9 ms | during | after | the machine's worst wait, s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(fault.name for fault in faults):
        lines.append(_row(name, [fault for fault in faults if fault.name == name], talks, calm, weather))
    lines += [f"| {skip.name} | skipped: {skip.reason} | | | | | | | |" for skip in skips]
    return "\n".join(lines)


def _row(name: str, faults: list[Fault], talks: list[Talk], calm: float, weather: Weather) -> str:
    writes = [write for talk in talks for write in talk.writes]
    phases = [
        [(fault.start - calm, fault.start) for fault in faults],
        [(fault.start, fault.end) for fault in faults],
        [(fault.end, fault.end + calm) for fault in faults],
    ]
    repeated = sum(count_repeats(writes, fault.start, fault.end + calm) for fault in faults)
    cells = [
        name,
        str(len(faults)),
        _seconds(recovery(talks, fault.start) for fault in faults),
        _seconds(recovery(talks, fault.end) for fault in faults),
        str(repeated),
        *(_latencies(writes, phase) for phase in phases),
        f"{max(weather.worst(fault.start - calm, fault.end + calm) for fault in faults):.2f}",
    ]
    return "| " + " | ".join(cells) + " |"


def _seconds(recoveries) -> str:
    recoveries = list(recoveries)
    return "never" if None in recoveries else f"{max(recoveries):.2f}"


def _latencies(writes: list[Write], phases: list[tuple[float, float]]) -> str:
    """Of the writes begun in these times, from the first attempt to the acknowledgement."""
    taken = sorted(
        1000 * (write.answered - write.begun)
        for write in writes
        if write.is_acknowledged and any(start <= write.begun < end for start, end in phases)
    )
    if not taken:
        return "–"
    return " / ".join(f"{taken[min(len(taken) - 1, int(share * len(taken)))]:.0f}" for share in (0.5, 0.99, 0.999))


@dataclass
class Totals:
    """What a run did, and what was found."""

    seconds: float
    writes: list[Write]
    seen: list[Seen]
    probes: int
    digests: Digests
    files: int
    findings: list[Finding]

    @property
    def text(self) -> str:
        kinds = Counter(write.kind for write in self.writes if write.is_acknowledged)
        acknowledged = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
        return (
            f"{self._beginning(f' ({acknowledged})')}, {self.probes:,} looks at what was deleted or is none of the "
            f"reader's. {self._compared}\n\n**{self._counts}**"
        )

    @property
    def quotation(self) -> str:
        """As docs/testing.md has it."""
        return f"> {self._beginning()}.\n> {self._compared}\n> **{self._counts}**"

    def _beginning(self, acknowledged: str = "") -> str:
        written = sum(write.is_acknowledged for write in self.writes)
        came = sum(len(positions) for each in self.seen for positions in each.positions.values())
        return (
            f"{self.seconds:.0f} s of load. {written:,} acknowledged writes{acknowledged}, "
            f"{sum(len(write.repeats) for write in self.writes):,} requests repeated, "
            f"{came:,} changes received by {len(self.seen)} devices, "
            f"{sum(each.reconnections for each in self.seen):,} reconnections"
        )

    @property
    def _compared(self) -> str:
        return (
            f"In the end {self.digests.copies:,} copies of conversations, {self.digests.pages:,} pages, that clients "
            f"had were compared with the server's digests: {self.digests.differing:,} differed. "
            f"{self.files:,} files were read by others, or missed where their message was deleted."
        )

    @property
    def _counts(self) -> str:
        counts = Counter(finding.category for finding in self.findings)
        return ", ".join(f"{counts[category]} {_NAMES[category]}" for category in CATEGORIES) + "."


_NAMES = {
    "lost": "lost",
    "duplicated": "duplicated",
    "reordered": "reordered",
    "visible": "wrongly visible",
    "different": "seen differently",
    "refused": "refused without cause",
}
