from pathlib import Path

import pytest
from project import DEPLOY, NAME, NODES, REPOSITORY, Project, check, run


@pytest.fixture(scope="session")
def images():
    """All that a system is made of, but for the nodes of a cluster."""
    Project().build()


@pytest.fixture(scope="session")
def project(images):
    """A running system, one container of each service."""
    yield from running(Project())


@pytest.fixture(scope="module")
def cluster(images):
    """The same on a cluster of Citus."""
    if (done := run(DEPLOY / "citus")).returncode != 0:
        pytest.skip(done.stdout.strip())
    overlays = (REPOSITORY / "docker-compose.citus.yml", Path(__file__).with_name("citus.yml"))
    project = Project(f"{NAME}-citus", overlays)
    project.compose("build", "database")
    yield from running(project)


def running(project: Project):
    try:
        project.down()  # What an interrupted run left.
        project.up()
        project.hand_out_secrets()
        yield project
    finally:
        project.down()
        project.secret.unlink(missing_ok=True)
        project.certificate.unlink(missing_ok=True)


@pytest.fixture
def restored(project):
    """For tests that stop or scale: the next one finds one ready container of each service again."""
    yield
    project.up()


SESSIONS = """
    SELECT pid, backend_type, application_name, state, wait_event_type, wait_event, now() - xact_start,
        pg_blocking_pids(pid), left(query, 120)
    FROM pg_stat_activity WHERE state <> 'idle' OR backend_type ~ 'logical'
"""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Shows what the containers said when a test failed, and of a cluster's nodes what they do."""
    report = yield
    if report.failed:
        ids = check("docker", "ps", "--all", "--quiet", "--filter=label=com.docker.compose.project").split()
        for container in ids:
            name = check("docker", "inspect", "--format={{.Name}} {{.State.Status}}", container).strip()
            report.sections.append((name, run("docker", "logs", "--tail", "15", container).stdout))
        if cluster := item.funcargs.get("cluster"):
            for service in NODES:
                report.sections.append((f"sessions of {service}", cluster.ask(SESSIONS, service).stdout))
    return report
