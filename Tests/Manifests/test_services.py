"""Wherever the services are listed, it is those of `deploy/services`, with the same ports."""

import re
from pathlib import Path

import pytest
import yaml
from services import ALL, SERVICES

REPOSITORY = Path(__file__).resolve().parents[2]
WITH_DATABASE = {service.name for service in ALL if service.has_database}


def text(path: str) -> str:
    return (REPOSITORY / path).read_text()


def read(path: str) -> dict:
    return yaml.safe_load(text(path))


def test_a_service_starts_after_those_whose_responses_it_needs():
    """Both edges ask, and receipt's tables refer to store's."""
    assert SERVICES[:2] == ("store", "receipt")


def test_each_has_an_executable_and_a_directory():
    products = re.findall(r'\.executable\(name: "([\w-]+)", targets: \["(\w+)"\]\)', text("Package.swift"))
    assert dict(products).keys() - {"media-inspector", "parley", "parley-load"} == set(SERVICES)
    assert all(
        (REPOSITORY / "Services" / target / "Main.swift").exists() for name, target in products if name in SERVICES
    )


@pytest.mark.parametrize(
    "script", ["deploy/Dockerfile", "deploy/executables", "deploy/image/from-source/build", "deploy/dev/services.sh"]
)
def test_where_the_command_line_is_installed_its_load_generator_is_too(script):
    assert re.search(r"\bparley-load\b", text(script))


def test_each_is_a_role_on_the_bus():
    [cases] = re.findall(r"enum Role: String.*?case ([a-z, ]+)\n", text("Shared/Wire/Role.swift"), re.DOTALL)
    assert set(cases.split(", ")) == set(SERVICES)
    ports = re.findall(r"case \.(\w+): (71\d\d)", text("Shared/ServiceKit/BusConfiguration.swift"))
    assert dict(ports) == {service.name: str(service.bus_port) for service in ALL}


@pytest.mark.parametrize("service", ALL, ids=lambda service: service.name)
def test_each_has_an_image(service):
    [stage] = re.findall(
        rf"^FROM service AS {service.name}\n(.*?)\n\n", text("deploy/Dockerfile"), re.DOTALL | re.MULTILINE
    )
    assert f"PARLEY_BUS_BIND=tcp://*:{service.bus_port}\n" in stage
    assert f"EXPOSE {service.bus_port}\n" in stage


def test_compose_has_each_with_its_secrets_and_its_migrations():
    compose = read("docker-compose.yml")
    assert compose["services"].keys() >= set(SERVICES)
    assert compose["volumes"].keys() >= {f"secrets-{name}" for name in SERVICES}
    assert {name for name in compose["services"] if name.startswith("migrate-")} == {
        f"migrate-{s}" for s in WITH_DATABASE
    }
    for service in ALL:
        assert f"PARLEY_BUS_{service.name.upper()}: tcp://{service.name}.bus:{service.bus_port}" in text(
            "docker-compose.yml"
        )


def test_kubernetes_has_each_with_its_port_on_the_bus():
    files = {Path(name).stem for name in read("deploy/kubernetes/base/kustomization.yaml")["resources"]}
    assert files - {"configuration", "migrate"} == set(SERVICES)
    for service in ALL:
        assert f": {service.bus_port}" in text(f"deploy/kubernetes/base/{service.name}.yaml")


def test_each_is_watched():
    jobs = {job["job_name"] for job in read("deploy/observability/prometheus.yml")["scrape_configs"]}
    assert jobs >= set(SERVICES)
    rules = [rule for group in read("deploy/observability/alerts.yml")["groups"] for rule in group["rules"]]
    [absent] = [rule["expr"] for rule in rules if rule["expr"].startswith("absent(up")]
    assert set(re.findall(r'job="(\w+)"', absent)) == set(SERVICES)


def test_those_with_a_database_have_a_role_in_it():
    roles = set(re.findall(r"'(\w+)'", text("deploy/database/roles.sql")))
    assert roles >= WITH_DATABASE | {f"{name}_owner" for name in WITH_DATABASE}
    assert {path.stem for path in (REPOSITORY / "deploy/database").glob("*_owner.sql")} == {
        f"{name}_owner" for name in WITH_DATABASE
    }
