"""The services, as `deploy/services` lists them."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Service:
    name: str
    bus_port: int
    http: str
    """The port of the first instance in a development system: "http+2" is the second behind its PARLEY_HTTP_PORT."""
    has_database: bool


def _read() -> list[Service]:
    lines = (Path(__file__).resolve().parents[1] / "deploy/services").read_text().splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return [Service(name, int(bus), http, database == "yes") for name, bus, http, database in rows]


ALL = _read()
SERVICES = tuple(service.name for service in ALL)
"""In the order in which they start."""
