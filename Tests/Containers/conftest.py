import pytest
from project import NAME, Project, check, run


@pytest.fixture(scope="session")
def project():
    """A running system, one container of each service."""
    project = Project()
    try:
        project.build()
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Shows what the containers said when a test failed."""
    report = yield
    if report.failed:
        ids = check("docker", "ps", "--all", "--quiet", f"--filter=label=com.docker.compose.project={NAME}").split()
        for container in ids:
            name = check("docker", "inspect", "--format={{.Name}} {{.State.Status}}", container).strip()
            report.sections.append((name, run("docker", "logs", "--tail", "15", container).stdout))
    return report
