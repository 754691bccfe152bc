"""The Grafana dashboard and how it is provisioned, as Grafana documents them. What Prometheus makes of the expressions
is tested in Tests/Containers/test_observability.py."""

import itertools
import json
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
GRAFANA = REPOSITORY / "deploy" / "observability" / "grafana"
DASHBOARD = json.loads((GRAFANA / "parley.json").read_text())
COMPOSE = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())["services"]
(SOURCE,) = yaml.safe_load((GRAFANA / "datasource.yml").read_text())["datasources"]
(PROVIDER,) = yaml.safe_load((GRAFANA / "dashboards.yml").read_text())["providers"]
COLUMNS = 24


def test_the_dashboard_can_be_provisioned():
    assert DASHBOARD["uid"] and DASHBOARD["title"] and DASHBOARD["schemaVersion"] >= 36
    assert "id" not in DASHBOARD, "an id is of one installation"
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids)) > 10


@pytest.mark.parametrize("panel", DASHBOARD["panels"], ids=lambda panel: panel["title"])
def test_a_panel_asks_the_provisioned_source(panel):
    source = {"type": SOURCE["type"], "uid": SOURCE["uid"]}
    assert panel["type"] == "timeseries" and panel["title"]
    assert panel["datasource"] == source and panel["targets"]
    letters = [target["refId"] for target in panel["targets"]]
    assert letters == sorted(set(letters))
    for target in panel["targets"]:
        assert target["datasource"] == source and target["expr"] and target["legendFormat"]
    assert panel["fieldConfig"]["defaults"]["unit"]


def test_no_panel_lies_on_another_or_beyond_the_edge():
    cells = [cell for panel in DASHBOARD["panels"] for cell in cells_of(**panel["gridPos"])]
    assert len(cells) == len(set(cells))
    assert max(column for column, _ in cells) < COLUMNS


def cells_of(x: int, y: int, w: int, h: int):
    return itertools.product(range(x, x + w), range(y, y + h))


def test_grafana_finds_what_it_is_given():
    mounts = dict(mount.split(":")[:2] for mount in COMPOSE["grafana"]["volumes"] if mount.startswith("./"))
    assert all((REPOSITORY / path).exists() for path in mounts)
    places = {Path(path).name: Path(place) for path, place in mounts.items()}
    assert places["parley.json"].parent == Path(PROVIDER["options"]["path"])
    assert places["datasource.yml"].parent == Path("/etc/grafana/provisioning/datasources")
    assert places["dashboards.yml"].parent == Path("/etc/grafana/provisioning/dashboards")
    assert SOURCE["url"] == f"http://prometheus:{COMPOSE['prometheus']['ports'][0].rpartition(':')[2]}"
    assert set(COMPOSE["grafana"]["networks"]) & set(COMPOSE["prometheus"]["networks"])
    assert all(PROVIDER[key] for key in ("name", "type")) and SOURCE["access"] == "proxy"
