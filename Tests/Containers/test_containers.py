"""How the containers are made: what a break-in would find."""

import pytest
from project import SERVICES, Project, check, run

ALL = (*SERVICES, "database", "edge")


@pytest.mark.parametrize("service", ALL)
def test_a_container_has_no_rights(project: Project, service: str):
    for container in project.containers(service):
        facts = project.inspect(container)
        host = facts["HostConfig"]
        assert facts["Config"]["User"] not in ("", "0", "root")
        assert host["ReadonlyRootfs"]
        assert host["CapDrop"] == ["ALL"] and not host["CapAdd"]
        assert "no-new-privileges:true" in host["SecurityOpt"]
        assert host["Memory"] > 0 and host["PidsLimit"] > 0
        assert host["RestartPolicy"]["Name"] == "unless-stopped"
        assert all(not mount["RW"] for mount in facts["Mounts"] if mount["Destination"] == "/run/parley")


@pytest.mark.parametrize("service", SERVICES)
def test_the_image_of_a_service_holds_nothing_but_the_service(project: Project, service: str):
    for program in ("/bin/sh", "/bin/bash", "/usr/bin/env", "/usr/bin/perl"):
        tried = run("docker", "run", "--rm", "--entrypoint", program, f"parley-{service}:test")
        assert tried.returncode == 127, tried.stdout
    size = int(run("docker", "image", "inspect", "--format={{.Size}}", f"parley-{service}:test").stdout)
    assert size < 60_000_000


def test_only_the_proxy_is_reached_from_outside(project: Project):
    for service in ALL:
        ports = project.inspect(project.containers(service)[0])["NetworkSettings"]["Ports"]
        published = [port for port, places in ports.items() if places]
        assert bool(published) == (service == "edge"), (service, ports)


def test_a_role_finds_only_its_own_secret_keys(project: Project):
    for service in SERVICES:
        volume = f"{project.volume(f'secrets-{service}')}:/s:ro"
        listed = run("docker", "run", "--rm", "--entrypoint", "ls", "-v", volume, "parley-setup:test", "/s").stdout
        assert [name for name in listed.split() if name.endswith(".key")] == [f"{service}.key"]
        assert ("pgpass" in listed) == (service in ("store", "receipt"))
        assert ("jwt-secret" in listed) == (service in ("ingest", "fanout"))


def test_a_container_that_is_stopped_drains_and_ends_well(project: Project, restored):
    containers = [project.containers(service)[0] for service in (*SERVICES, "edge")]
    check("docker", "stop", "--time", "15", *containers)
    assert {project.inspect(container)["State"]["ExitCode"] for container in containers} == {0}
