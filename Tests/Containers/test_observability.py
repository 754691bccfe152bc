"""The Prometheus configuration, its alerts and the dashboard, against what the services really say."""

import json
import re
import urllib.parse
import urllib.request

import pytest
from project import DEPLOY, SERVICES, Project, eventually

DIRECTORY = DEPLOY / "observability"


@pytest.fixture(scope="module")
def prometheus(project: Project):
    """A Prometheus that watches the system; gives what its API answers to a path."""

    def ask(path: str, **query: str):
        url = f"http://127.0.0.1:{project.prometheus_port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=5) as answer:
            return json.load(answer)["data"]

    def watched() -> set[str]:
        try:
            return {target["labels"]["job"] for target in ask("targets")["activeTargets"] if target["health"] == "up"}
        except OSError:
            return set()

    project.compose("--profile", "observability", "up", "--detach", "--no-build", "--no-recreate", "prometheus")
    eventually(lambda: watched() == set(SERVICES), 60, "all services are watched")
    yield ask
    project.compose("--profile", "observability", "rm", "--stop", "--force", "prometheus")


def expressions() -> list[str]:
    panels = json.loads((DIRECTORY / "grafana" / "parley.json").read_text())["panels"]
    return [target["expr"].replace("$__rate_interval", "1m") for panel in panels for target in panel["targets"]]


def test_alerts_and_dashboard_speak_of_metrics_that_exist(prometheus):
    known = set(prometheus("label/__name__/values"))
    text = (DIRECTORY / "alerts.yml").read_text() + "\n".join(expressions())
    named = set(re.findall(r"\b(?:parley|process)_[a-z_]+", text))
    assert len(named) > 30
    assert named <= known, named - known


def test_every_expression_of_the_dashboard_is_understood(prometheus):
    for expression in expressions():
        assert prometheus("query", query=expression)["resultType"] == "vector"


def test_the_alerts_are_loaded_and_none_is_about_a_system_that_is_well(prometheus):
    rules = [rule for group in prometheus("rules")["groups"] for rule in group["rules"]]
    assert len(rules) == (DIRECTORY / "alerts.yml").read_text().count("- alert:") > 8
    assert [rule["lastError"] for rule in rules if rule.get("lastError")] == []
    # Alerts that look back speak of the other tests' intruders.
    silent = {"ServiceGone", "SlotsWithoutStore", "SlotsWithoutReceipt", "WritesWait"}
    eventually(lambda: not {rule["name"] for rule in rules if rule["state"] == "firing"} & silent, 60, "silence")
