#!/usr/bin/env python3
"""The tables in the documents that follow from the code: configuration, limits, costs of calls, metrics,
and how much a number of users needs.

    Tests/Documents/tables.py            says which of them differ from what is committed
    Tests/Documents/tables.py --write    writes them

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`. Columns that no program can know, such as
what a variable is for, are written there by hand and kept. Defaults and limits come from the executables of
PARLEY_EXECUTABLES (default: .build/release), which are started for an instant, without a database.
"""

import argparse
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from repository import EXECUTABLES, REPOSITORY, files, text

sys.path.append(str(REPOSITORY / "Tests"))

import capacity  # noqa: E402
import services  # noqa: E402
from services import SERVICES  # noqa: E402

BUS_PORTS = {service.name: service.bus_port for service in services.ALL if not service.has_database}
# What a service does not start without. Nothing listens at the database's port.
REQUIRED = {"PARLEY_JWT_SECRET": "s" * 32, "PARLEY_DATABASE_URL": "postgresql://parley@127.0.0.1:1/parley"}
MARKED = re.compile(r"(<!-- table: (\w+) -->\n\n)(.*?)(\n<!-- end of table -->)", re.DOTALL)
UNITS = {"hours": "h", "minutes": "m", "seconds": "s", "milliseconds": "ms"}

Rows = list[list[str]]


def table(header: list[str], rows: Rows) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |\n" for line in lines)


def cells(committed: str) -> dict[str, dict[str, str]]:
    """The rows of a committed table by their first cell, each a cell by its column."""
    lines = [
        [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in committed.splitlines()
        if line.startswith("|")
    ]
    if len(lines) < 2:
        return {}
    return {line[0]: dict(zip(lines[0], line)) for line in lines[2:]}


# MARK: What services read from their environment


@contextlib.contextmanager
def nobody_listens() -> Iterator[None]:
    """With their ports on the bus taken, ingest and fanout say what they are configured with and end."""
    with contextlib.ExitStack() as stack:
        for port in BUS_PORTS.values():
            holder = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):  # A system that runs here has it already.
                holder.bind(("127.0.0.1", port))
                holder.listen()
        yield


def first_line(service: str, variables: dict[str, str]) -> dict[str, str]:
    """The first thing that a service says: "starting" with all it read, or "configuration refused"."""
    executable = EXECUTABLES / service
    assert executable.exists(), f"{executable}: build first, or name a build in PARLEY_EXECUTABLES"
    ended = subprocess.run([executable], env=REQUIRED | variables, stderr=subprocess.PIPE, text=True, timeout=30)
    return json.loads(ended.stderr.splitlines()[0])


@cache
def defaults() -> dict[str, dict[str, str]]:
    """Of each service, what it runs with when nothing but REQUIRED is set."""
    with nobody_listens():
        return {service: first_line(service, {}) for service in SERVICES}


def named_in_source() -> set[str]:
    sources = [name for name in files() if name.endswith(".swift") and name.startswith(("Services/", "Shared/"))]
    names = set()
    for source in sources:
        code = "\n".join(line for line in text(source).splitlines() if not line.lstrip().startswith("//"))
        names |= set(re.findall(r'"(PARLEY_[A-Z0-9_]+)"', code))
        names |= {f"{name}_FILE" for name in re.findall(r'\.secret\("(PARLEY_[A-Z_]+)"\)', code)}
    return names


def candidates(name: str) -> list[str]:
    """Whoever reads a variable that has a default says so; one without may be anybody's."""
    return [service for service in SERVICES if name in defaults()[service]] or list(SERVICES)


@cache
def variables() -> dict[str, dict[str, str | None]]:
    """Of each variable the services that read it, with what each says of the value "?", None if it takes that."""
    names = named_in_source() | {name for read in defaults().values() for name in read if name.startswith("PARLEY_")}

    def tried(name: str, service: str) -> dict[str, str]:
        return first_line(service, {name: "?"})

    with nobody_listens(), ThreadPoolExecutor(os.cpu_count()) as pool:
        pairs = [(name, service) for name in sorted(names) for service in candidates(name)]
        said = list(pool.map(lambda pair: tried(*pair), pairs))
    read: dict[str, dict[str, str | None]] = {name: {} for name in names}
    for (name, service), line in zip(pairs, said):
        reason = line.get("reason", "")
        if name in line or re.search(rf"\b{name}\b", reason):
            read[name][service] = reason or None
    return read


def configuration_table(committed: str) -> str:
    kept = cells(committed)
    rows = []
    for name in sorted(variables()):
        readers = variables()[name]
        values = {service: shown(name, defaults()[service].get(name)) for service in readers}
        rows.append([f"`{name}`", listed(readers), joined(values), accepted(name)])
    return table(
        ["variable", "of", "default", "accepts", "meaning"],
        [row + [kept.get(row[0], {}).get("meaning", "")] for row in rows],
    )


def listed(readers: Collection[str]) -> str:
    return "all" if len(readers) == len(SERVICES) else ", ".join(readers)


def shown(name: str, value: str | None) -> str:
    if value is None or name in REQUIRED:
        return ""
    if match := re.fullmatch(r"(\d+)\.0 (\w+)", value):
        value = match[1] + UNITS[match[2]]
    if re.search(r"(?<!MEGA)BYTES", name) and int(value) >= 1024:
        return f"`{value}` ({amount(int(value))})"
    return f"`{value}`"


def amount(count: int) -> str:
    for size, unit in ((10**9, "GB"), (10**6, "MB")):
        if count % size == 0:
            return f"{count // size} {unit}"
    for size, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return str(count)


def joined(values: dict[str, str]) -> str:
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{service} {value}" for service, value in values.items())


def accepted(name: str) -> str:
    for reason in variables()[name].values():
        if match := re.fullmatch(rf'{name} must be (?:an? )?(.*?)(?:, not "\?")?', reason or ""):
            return "" if match[1] == "set" else match[1]
    return ""


# MARK: What scripts read from their environment


def development_table(committed: str) -> str:
    scripts = [name for name in files() if name.startswith("deploy/dev/")]
    script = "\n".join(
        line for name in scripts for line in text(name).splitlines() if not line.lstrip().startswith("#")
    )
    found = {name: "" for name in re.findall(r"\$\{(PARLEY_\w+)[:-]", script)}
    found |= dict(re.findall(r"setting (PARLEY_\w+) ([\w.]*)", script))
    return with_kept(["variable", "default", "meaning"], found, committed)


def compose_table(committed: str) -> str:
    return with_kept(
        ["variable", "default", "meaning"],
        dict(re.findall(r"\$\{(PARLEY_\w+):-([^}]*)\}", text("docker-compose.yml"))),
        committed,
    )


def with_kept(header: list[str], found: dict[str, str], committed: str) -> str:
    """A default that the script computes is written by hand."""
    kept = cells(committed)
    rows = []
    for name in sorted(found):
        old = kept.get(f"`{name}`", {})
        default = f"`{found[name]}`" if found[name] else old.get("default", "")
        rows.append([f"`{name}`", default, old.get("meaning", "")])
    return table(header, rows)


# MARK: What running services say


@cache
def running(service: str) -> tuple[str, dict]:
    """The metrics of an ingest or a fanout that nobody is connected to, and the limits that it publishes."""
    with tempfile.TemporaryDirectory() as directory, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        free.close()
        bus = {f"PARLEY_BUS_{peer.upper()}": f"ipc://{directory}/{peer}-*.sock" for peer in SERVICES}
        variables = {"PARLEY_LISTEN": address, "PARLEY_BUS_BIND": f"ipc://{directory}/0.sock"} | bus
        process = subprocess.Popen([EXECUTABLES / service], env=REQUIRED | variables, stderr=subprocess.DEVNULL)
        try:
            metrics = fetched(f"http://{address}/metrics")
            return metrics, json.loads(fetched(f"http://{address}/v1/limits")) if service == "ingest" else {}
        finally:
            process.terminate()
            process.wait(10)


def fetched(url: str) -> str:
    for _ in range(200):
        with contextlib.suppress(urllib.error.URLError):
            with urllib.request.urlopen(url, timeout=10) as response:
                return response.read().decode()
        time.sleep(0.05)
    raise AssertionError(f"{url} does not answer")


def limits_table(committed: str) -> str:
    """What each limit means stands in openapi.json, and where it is set by hand in the committed table."""
    kept = cells(committed)
    described = json.loads(text("Services/Ingest/openapi.json"))["components"]["schemas"]["Limits"]["properties"]
    rows = []
    for name, value in running("ingest")[1].items():
        if name != "costs":
            size = f" ({amount(value)})" if "Bytes" in name and value >= 1024 else ""
            number = value if isinstance(value, str) else json.dumps(value)
            where = kept.get(f"`{name}`", {}).get("set in", "")
            rows.append([f"`{name}`", f"{number}{size}", described[name]["description"], where])
    return table(["limit", "default", "meaning", "set in"], rows)


def costs_table(_: str) -> str:
    costs = running("ingest")[1]["costs"]
    rows = [
        [f"`{name}`", *(str(cost.get(key, "")) for key in ("base", "perHundredItems", "atOnce"))]
        for name, cost in costs.items()
    ]
    return table(["call (`operationId`)", "`base`", "`perHundredItems`", "`atOnce`"], rows)


def metrics_table(_: str) -> str:
    found: dict[str, tuple[str, str, str]] = {}
    readers: dict[str, list[str]] = {}
    for service in SERVICES:
        families = scraped(running(service)[0]) if service in BUS_PORTS else declared(service)
        for name, family in families.items():
            found.setdefault(name, family)
            readers.setdefault(name, []).append(service)
    order = sorted(found, key=lambda name: (SERVICES.index(readers[name][0]) if len(readers[name]) == 1 else -1, name))
    return table(
        ["metric", "type", "of", "labels", "what it says"],
        [
            [
                f"`{name}`",
                found[name][0],
                listed(readers[name]),
                found[name][1],
                found[name][2],
            ]
            for name in order
        ],
    )


def scraped(metrics: str) -> dict[str, tuple[str, str, str]]:
    families = {}
    for name, explanation, kind in re.findall(r"# HELP (\S+) (.*)\n# TYPE \S+ (\w+)", metrics):
        labels = re.findall(rf"^{name}{{(.*)}} ", metrics, re.MULTILINE)
        names = sorted(set(re.findall(r'(\w+)="', " ".join(labels))))
        families[name] = (kind, ", ".join(f"`{label}`" for label in names), explanation.removesuffix("."))
    return families


def declared(service: str) -> dict[str, tuple[str, str, str]]:
    """Of a service that does not start without its database: what its sources declare, and what every service has,
    or every one with a server for clients."""
    folder = f"Services/{service.capitalize()}/"
    sources = [text(name) for name in files() if name.startswith(folder) and name.endswith(".swift")]
    common = ("parley_bus_", "parley_service_", "process_")
    if any("addMetrics(of: server)" in source for source in sources):
        common += ("parley_http_",)
    families = {name: family for name, family in scraped(running("ingest")[0]).items() if name.startswith(common)}
    declaration = re.compile(r'\.(counter|gauge|histogram)\(\s*"([a-z_]+)",\s*"([^"]*)"')
    for source in sources:
        for kind, metric, explanation in declaration.findall(source):
            families[metric] = (kind, "", explanation.removesuffix("."))
    return families


# MARK: What follows from what was measured


def measured_table(_: str) -> str:
    return table(["measured", "", "by"], capacity.figures_table(capacity.MEASURED))


def assumed_table(_: str) -> str:
    return table(["assumed", "", "because"], capacity.figures_table(capacity.ASSUMED))


def capacity_table(_: str) -> str:
    return table(["users", *capacity.SIZES], capacity.plan_table())


def ends_table(_: str) -> str:
    return table(["what ends", "at so many users"], capacity.ends_table())


# MARK: The documents

TABLES: dict[str, Callable[[str], str]] = {
    "configuration": configuration_table,
    "development": development_table,
    "compose": compose_table,
    "limits": limits_table,
    "costs": costs_table,
    "metrics": metrics_table,
    "measured": measured_table,
    "assumed": assumed_table,
    "capacity": capacity_table,
    "ends": ends_table,
}


def committed() -> dict[str, tuple[str, str]]:
    """Of each table its document and what stands there."""
    found = {}
    for name in files():
        if name.startswith("docs/") and name.endswith(".md"):
            for match in MARKED.finditer((REPOSITORY / name).read_text()):
                assert match[2] not in found, f"{match[2]} stands in {found[match[2]][0]} and {name}"
                found[match[2]] = (name, match[3])
    return found


def generated(name: str, content: str) -> str:
    return TABLES[name](content)


def write(name: str, document: str):
    path = REPOSITORY / document
    path.write_text(
        MARKED.sub(
            lambda match: match[1] + generated(name, match[3]) + match[4] if match[2] == name else match[0],
            path.read_text(),
        )
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the tables into the documents")
    arguments = parser.parse_args()
    differing = [name for name, (_, content) in committed().items() if generated(name, content) != content]
    for name in differing:
        document = committed()[name][0]
        print(f"{document}: the table {name} differs" + (" and is written" if arguments.write else ""))
        if arguments.write:
            write(name, document)
    return 0 if arguments.write or not differing else 1


if __name__ == "__main__":
    sys.exit(main())
