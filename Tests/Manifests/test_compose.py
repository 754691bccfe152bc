"""The compose files, as the composes of this machine read them: 1.29 of Debian 12 and any later one."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
COMPOSES = [["docker", "compose"], ["docker-compose"]]
FILES = {"one database": ["docker-compose.yml"], "a cluster": ["docker-compose.yml", "docker-compose.citus.yml"]}


def works(command: list[str]) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run([*command, "version"], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("command", [command for command in COMPOSES if works(command)] or [None], ids=str)
@pytest.mark.parametrize("profiles", [[], ["--profile", "observability"]], ids=str)
@pytest.mark.parametrize("files", FILES.values(), ids=FILES.keys())
def test_compose_takes_the_files_without_a_warning(command, profiles, files):
    if command is None:
        pytest.skip("there is no compose here (deploy/bootstrap --tests)")
    named = [word for file in files for word in ("--file", file)]
    done = subprocess.run(
        [*command, *named, *profiles, "config"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "ingest" in done.stdout


def read(name: str) -> dict:
    return yaml.safe_load((REPOSITORY / name).read_text())


def mounted(service: dict) -> dict[str, str]:
    """What is mounted where."""
    return {volume.split(":")[1]: volume.split(":", 1)[0] for volume in service.get("volumes", [])}


ONE, CLUSTER = read("docker-compose.yml"), read("docker-compose.citus.yml")
WORKERS = {name: service for name, service in CLUSTER["services"].items() if name.startswith("worker-")}
NODES = WORKERS | {"database": CLUSTER["services"]["database"]}


def test_the_overlay_of_a_cluster_adds_nodes_and_changes_nothing_else():
    added = CLUSTER["services"].keys() - ONE["services"].keys()
    assert added == {*WORKERS, "join"} and len(WORKERS) >= 2
    changed = CLUSTER["services"].keys() & ONE["services"].keys()
    assert changed == {"setup", "database", "migrate-store", "migrate-receipt", "migrate-media"}
    for name in ("migrate-store", "migrate-receipt", "migrate-media"):
        assert CLUSTER["services"][name]["command"] == ["migrate", "--citus"]
    # Whoever migrates or serves waits for the cluster.
    waiting = {name for name, service in CLUSTER["services"].items() if "join" in service.get("depends_on", {})}
    assert waiting == {"migrate-store"}
    assert "migrate-store" in ONE["services"]["migrate-receipt"]["depends_on"]
    assert "migrate-receipt" in CLUSTER["services"]["migrate-media"]["depends_on"]


def test_a_node_has_what_the_database_has():
    database = ONE["services"]["database"]
    for node in NODES.values():
        for key in ("read_only", "cap_drop", "security_opt", "restart", "logging", "tmpfs", "shm_size"):
            assert node[key] == database[key], key
        assert node["stop_grace_period"] == database["stop_grace_period"]
        assert "ports" not in node and {"mem_limit", "pids_limit"} <= node.keys()
        assert node["build"]["target"] == "node" and node["image"] == CLUSTER["services"]["join"]["image"]


def test_nodes_find_each_other_by_the_names_that_join_gives_them():
    for worker in WORKERS.values():
        assert list(worker["networks"]) == ["data"]
        assert worker["networks"]["data"]["aliases"] == [worker["environment"]["PARLEY_NODE"]]
    assert NODES["database"]["environment"]["PARLEY_NODE"] == "database"
    join = CLUSTER["services"]["join"]
    assert join["environment"]["PARLEY_WORKERS"].split() == [
        worker["environment"]["PARLEY_NODE"] for worker in WORKERS.values()
    ]
    assert join["depends_on"] == {name: {"condition": "service_healthy"} for name in NODES}


def test_each_worker_has_its_data_and_only_nodes_have_their_secrets():
    data = [mounted(worker)["/var/lib/parley"] for worker in WORKERS.values()]
    assert len(set(data)) == len(WORKERS) and not {*data} & ONE["volumes"].keys()
    assert CLUSTER["volumes"].keys() == {*data, "secrets-nodes"}
    for name, service in CLUSTER["services"].items():
        has_secrets = "secrets-nodes" in mounted(service).values()
        assert has_secrets == (name in {*NODES, "join", "setup"}), name
        read_only = [volume for volume in service.get("volumes", []) if volume.endswith(":ro")]
        assert name == "setup" or sum("secrets-" in volume for volume in service.get("volumes", [])) == len(read_only)
