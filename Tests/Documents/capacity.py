"""What a number of users needs, from what was measured: the tables of docs/capacity.md.

A figure is measured, in `MEASURED`, or assumed, in `ASSUMED`; everything else follows.
"""

import json
import re
from dataclasses import dataclass

from repository import text

SIZES = {"10 million": 10**7, "100 million": 10**8, "1 billion": 10**9}
DAY = 86_400  # seconds


@dataclass(frozen=True)
class Figure:
    value: float
    unit: str
    meaning: str
    source: str


def part_of_messages() -> float:
    """Of the things that `parley load day` does: three kinds of `write`."""
    weights = re.findall(r"case \.(\w+): (\d+)$", text("Clients/parley-load/Scenarios/DayAction.swift"), re.MULTILINE)
    return sum(int(weight) for kind, weight in weights if kind.startswith("write")) / sum(int(w) for _, w in weights)


def microseconds_overheard() -> float:
    """What all `fanout` processes together take more for a message when there is one more of them."""
    first, *_, last = json.loads(text("Tests/Load/results/growth.json"))["instances"]
    more = last["cpuSecondsPer1000"]["fanout"] - first["cpuSecondsPer1000"]["fanout"]
    return more / (last["x"] - first["x"]) * 1000


MEASURED = {
    "postgres": Figure(1.10, "ms", "CPU of PostgreSQL for a thing of a day", "[A day](benchmarks.md#a-day)"),
    "store": Figure(0.26, "ms", "of `store`", "the same"),
    "fanout": Figure(0.20, "ms", "of `fanout`", "the same"),
    "ingest": Figure(0.14, "ms", "of `ingest`", "the same"),
    "receipt": Figure(0.13, "ms", "of `receipt`", "the same"),
    "messages": Figure(part_of_messages(), "", "messages among the things of a day", "`DayAction.weight`"),
    "disk": Figure(860, "bytes", "a message with all that follows from it", "[Storage](benchmarks.md#storage)"),
    "log": Figure(622, "bytes", "of write-ahead log for a message", "[Results](benchmarks.md#results)"),
    "session": Figure(
        1.9, "KB", "memory of `fanout` for a session", "[Sessions](../Tests/Load/results/README.md#sessions)"
    ),
    "overheard": Figure(
        round(microseconds_overheard(), 1), "µs", "CPU of one more `fanout` for a change that it has no session for",
        "[Processes](../Tests/Load/results/README.md#processes)",
    ),
}  # fmt: skip
ASSUMED = {
    "written": Figure(
        50, "", "messages a user sends in a day", "100 billion a day of 2 billion users (WhatsApp, 2020)"
    ),
    "peak": Figure(3, "", "times the mean of a day in its busiest minute", "a guess: look at your own"),
    "open": Figure(0.10, "", "of the users have a session open then", "a guess"),
    "busy": Figure(0.60, "", "of a core is used at the peak", "room for a neighbour's work"),
    "cores": Figure(32, "", "cores of a database node", ""),
    "terabytes": Figure(8, "TB", "disk of a database node, of which 70 % are used", ""),
    "kept": Figure(
        90, "days", "for which messages are kept", "a guess: [for ever](operations.md#retention) by default"
    ),
    "sessions": Figure(50_000, "", "sessions of a `fanout`", "as many as were measured, in three processes"),
}
SLOTS = 256
DISK_USED = 0.7


def measured(name: str) -> float:
    return MEASURED[name].value


def assumed(name: str) -> float:
    return ASSUMED[name].value


class Plan:
    """What a number of users needs, at the busiest minute of a day."""

    def __init__(self, users: float):
        self.users = users
        self.messages = users * assumed("written")  # a day
        self.rate = self.messages / DAY * assumed("peak")  # messages a second
        self.things = self.rate / measured("messages")  # a second
        self.sessions = users * assumed("open")
        self.bytes_kept = self.messages * assumed("kept") * measured("disk")

    def cores(self, process: str) -> float:
        return self.things * measured(process) / 1000 / assumed("busy")

    @property
    def fanouts(self) -> float:
        """Whichever takes more: the sessions, or the work. Each has what it overhears besides."""
        left = assumed("busy") - self.overheard
        by_work = self.things * measured("fanout") / 1000 / left if left > 0 else float("inf")
        return max(self.sessions / assumed("sessions"), by_work)

    @property
    def overheard(self) -> float:
        """The part of a core that each `fanout` spends on changes for others."""
        return self.rate * measured("overheard") / 1e6

    @property
    def connections(self) -> float:
        """Of the bus: who listens to whom."""
        ingest, store, receipt = (self.cores(name) for name in ("ingest", "store", "receipt"))
        to_store = ingest + receipt + self.fanouts + store
        to_fanout = store + receipt + self.fanouts
        return ingest * (store + receipt) + store * to_store + receipt * to_store + self.fanouts * to_fanout

    @property
    def nodes_by_work(self) -> float:
        return self.cores("postgres") / assumed("cores")

    @property
    def nodes_by_disk(self) -> float:
        return self.bytes_kept / (assumed("terabytes") * 1e12 * DISK_USED)

    @property
    def slot_cores(self) -> float:
        """The part of a core of the `store` that has one slot alone, when all slots are alike."""
        return self.things * measured("store") / 1000 / SLOTS


def users_until(is_enough) -> float:
    """The number of users up to which a plan is enough, by halving."""
    low, high = 1.0, 1e13
    while high / low > 1.001:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if is_enough(Plan(middle)) else (low, middle)
    return low


# MARK: Tables


def figures_table(figures: dict[str, Figure]) -> list[list[str]]:
    return [[figure.meaning, f"{figure.value:g} {figure.unit}".strip(), figure.source] for figure in figures.values()]


def plan_table() -> list[list[str]]:
    plans = [Plan(users) for users in SIZES.values()]
    rows = {
        "messages a day": [short(plan.messages) for plan in plans],
        "messages a second at the peak": [short(plan.rate) for plan in plans],
        "all things people do, a second": [short(plan.things) for plan in plans],
        "sessions open": [short(plan.sessions) for plan in plans],
        "write-ahead log at the peak": [f"{short(plan.rate * measured('log') / 1e6)} MB/s" for plan in plans],
        "disk a day": [f"{short(plan.messages * measured('disk') / 1e12)} TB" for plan in plans],
        "disk for what is kept": [f"{short(plan.bytes_kept / 1e12)} TB" for plan in plans],
        "database nodes, by their work": [short(plan.nodes_by_work) for plan in plans],
        "database nodes, by their disks": [short(plan.nodes_by_disk) for plan in plans],
        "`ingest`": [whole(plan.cores("ingest")) for plan in plans],
        "`store`": [whole(plan.cores("store"), SLOTS) for plan in plans],
        "`receipt`": [whole(plan.cores("receipt"), SLOTS) for plan in plans],
        "`fanout`": [whole(plan.fanouts) for plan in plans],
        "memory of their sessions": [f"{short(plan.sessions * measured('session') / 1e6)} GB" for plan in plans],
        "what each `fanout` overhears": [f"{plan.overheard * 100:.0f} % of a core" for plan in plans],
        "a slot's `store`": [f"{plan.slot_cores * 100:.0f} % of a core" for plan in plans],
        "connections of the bus": [short(plan.connections) for plan in plans],
    }
    return [[name, *cells] for name, cells in rows.items()]


def ends_table() -> list[list[str]]:
    busy = assumed("busy")
    ends = [
        ("one database node's disk", lambda plan: plan.nodes_by_disk <= 1),
        ("one database node's cores", lambda plan: plan.nodes_by_work <= 1),
        ("a `store` for each slot", lambda plan: plan.slot_cores <= busy),
        ("a `fanout` that reads every change", lambda plan: plan.overheard <= busy),
        ("a database node for each slot", lambda plan: max(plan.nodes_by_work, plan.nodes_by_disk) <= SLOTS),
    ]
    reached = sorted((users_until(is_enough), name) for name, is_enough in ends)
    return [[name, short(users)] for users, name in reached]


def short(value: float) -> str:
    """Two digits that count: 17,000 and 0.43."""
    if value == float("inf"):
        return ""
    for size, name in ((1e9, " billion"), (1e6, " million"), (1e3, ",000")):
        if value >= size * 0.995:
            rounded = float(f"{value / size:.2g}")
            if name == ",000":
                return f"{rounded * size:,.0f}"
            return f"{rounded:g}{name}"
    return f"{float(f'{value:.2g}'):g}"


def whole(value: float, most: float = float("inf")) -> str:
    if value == float("inf"):
        return "none would do"
    needed = short(max(1.0, float(int(value + 0.999))))
    return f"{needed}, of {most:.0f}" if value > most else needed
