import pytest
from cluster import Cluster, missing


def pytest_terminal_summary(terminalreporter):
    if reason := missing():
        terminalreporter.write_line(f"skipped: {reason}")


@pytest.fixture(scope="session")
def cluster():
    if reason := missing():
        pytest.skip(reason)
    cluster = Cluster()
    yield cluster
    cluster.remove()
