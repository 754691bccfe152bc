"""How the containers are made: what a break-in would find."""

import subprocess
from pathlib import Path

import pytest
from project import NAME, SERVICES, Project, check, eventually, run

ALL = (*SERVICES, "database", "edge")
AUTHORITIES = "etc/ssl/certs/ca-certificates.crt"
FURTHER = {"ingest": {AUTHORITIES}, "media": {"usr/bin/media-inspector", AUTHORITIES}}
"""What looks into files, and whom the certificates of an object store and of an application are believed from."""


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
        eventually(lambda c=container: project.inspect(c)["State"]["Health"]["Status"] == "healthy", 60, service)
        assert host["RestartPolicy"]["Name"] == "unless-stopped"
        assert all(not mount["RW"] for mount in facts["Mounts"] if mount["Destination"] == "/run/parley")


@pytest.mark.parametrize("service", SERVICES)
def test_the_image_of_a_service_holds_nothing_but_the_service(project: Project, service: str):
    container = check("docker", "create", f"parley-{service}:test").strip()
    listed = subprocess.run(f"docker export {container} | tar --list", shell=True, capture_output=True, text=True)
    check("docker", "rm", container)
    files = [name for name in listed.stdout.split() if not name.endswith("/")]
    libraries = [name for name in files if ".so" in name]
    made_by_engine = {".dockerenv", "dev/console", "etc/hostname", "etc/hosts", "etc/mtab", "etc/resolv.conf"}
    assert set(files) - set(libraries) - made_by_engine == {
        f"usr/bin/{service}", "etc/passwd", "etc/group", "etc/nsswitch.conf",
    } | FURTHER.get(service, set())  # fmt: skip
    size = int(check("docker", "image", "inspect", "--format={{.Size}}", f"parley-{service}:test"))
    # Codecs are large.
    assert size < (250_000_000 if service in FURTHER else 60_000_000)


def test_only_the_proxy_is_reached_from_outside(project: Project):
    for service in ALL:
        ports = project.inspect(project.containers(service)[0])["NetworkSettings"]["Ports"]
        published = [port for port, places in ports.items() if places]
        assert bool(published) == (service == "edge"), (service, ports)


def test_a_role_finds_only_its_own_secret_keys(project: Project):
    volumes = [f"--volume={project.volume(f'secrets-{service}')}:/s/{service}:ro" for service in SERVICES]
    listed = check("docker", "run", "--rm", "--entrypoint", "find", *volumes, "parley-setup:test", "/s", "-type", "f")
    for service in SERVICES:
        names = {Path(path).name for path in listed.split() if path.startswith(f"/s/{service}/")}
        assert {name for name in names if name.endswith(".key")} == {f"{service}.key"}
        assert ("pgpass" in names) == (service in ("store", "receipt", "media"))
        assert ("jwt-secret" in names) == (service in ("ingest", "fanout", "media"))


def test_a_container_that_is_stopped_drains_and_ends_well(project: Project, restored):
    containers = [project.containers(service)[0] for service in (*SERVICES, "edge")]
    check("docker", "stop", "--time", "15", *containers)
    assert {project.inspect(container)["State"]["ExitCode"] for container in containers} == {0}


def test_an_address_that_tries_too_often_is_let_in_at_the_rate_it_may_have(project: Project):
    """Rejected attempts must not count: a crowd behind one address that tries again would be shut out for good."""
    proxy = f"{NAME}-strict-proxy"
    rate = ("-e", "PARLEY_CONNECTION_RATE_PER_ADDRESS=20")
    project.compose("run", "--detach", "--no-deps", "--name", proxy, *rate, "edge")
    try:
        eventually(lambda: run("docker", "exec", proxy, "/etc/parley/check-edge").returncode == 0, 30, "an answer")
        tried = check("docker", "exec", proxy, "bash", "-c", TRY_FOR_A_WHILE)
        answered, refused, answered_late = map(int, tried.split())
        assert answered_late > 0, tried
        # Two windows of 10 s and a part of a third.
        assert answered <= 60 and refused > 40, tried
    finally:
        check("docker", "rm", "--force", proxy)


TRY_FOR_A_WHILE = r"""
answered=0 refused=0 late=0
while ((SECONDS < 22)); do
    if (exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && read -r -t 3 line <&3) 2>&-; then
        answered=$((answered + 1)) late=$((late + (SECONDS >= 12)))
    else
        refused=$((refused + 1))
    fi
    sleep 0.05
done
echo $answered $refused $late
"""
