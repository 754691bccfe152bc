"""Real conversations through the proxy, over TLS, while containers come, go, die and lose the network."""

from functools import partial
from pathlib import Path

import pytest
from playing import playing
from project import SERVICES, Project, check, eventually


@pytest.fixture
def load(project: Project, restored, tmp_path: Path):
    yield from playing(project, tmp_path)


def test_nothing_is_lost_while_services_are_scaled(project: Project, load):
    load(
        lambda: project.up(store=3, receipt=2, ingest=2, fanout=2),
        lambda: project.up(store=1, receipt=1, ingest=3, fanout=1),
    )


def test_nothing_is_lost_when_containers_die_stop_and_lose_the_network(project: Project, load):
    def kill(service: str):
        project.kill(project.containers(service)[0])
        eventually(lambda: project.ready(service) == 2, 60, f"{service} is back")

    def cut_off(service: str):
        container, bus = project.containers(service)[0], project.network("bus")
        check("docker", "network", "disconnect", bus, container)
        # Two of each role that stores listen to, one of media, less the one that was cut off.
        project.probe({"first": [["http://store.bus:8080/metrics", "parley_bus_peers", 8]]})
        check("docker", "network", "connect", "--alias", f"{service}.bus", bus, container)

    project.up(store=2, receipt=2, ingest=2, fanout=2)
    kills = [partial(kill, service) for service in ("store", "ingest", "fanout", "receipt")]
    load(*kills, *[partial(cut_off, service) for service in ("store", "fanout")])


def test_nothing_is_lost_while_a_system_is_upgraded(project: Project, load):
    """As docs/operations.md says: the migrations, then one service after the other is replaced by new containers."""

    def migrate():
        project.compose(
            "up", "--no-deps", "--force-recreate", "migrate-store", "migrate-receipt", "migrate-media", "grant"
        )

    def replace(service: str):
        [old] = project.containers(service)
        project.compose("up", "--detach", "--no-deps", "--force-recreate", "--no-build", service)
        eventually(lambda: project.ready(service) == 1, 60, f"a new {service}")
        assert old not in project.containers(service)

    load(migrate, *[partial(replace, service) for service in SERVICES])


def test_nothing_is_lost_when_the_database_and_the_proxy_are_restarted(project: Project, load):
    load(
        lambda: check("docker", "restart", project.containers("database")[0]),
        lambda: check("docker", "restart", project.containers("edge")[0]),
    )
