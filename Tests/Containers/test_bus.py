"""Whoever is in the network of the bus without the key of the right role: hears nothing, and is not heard.

What must not be heard is damaged, so that whoever hears it counts it: with the right key it is shown to be counted.
"""

import ssl
import subprocess
import time
import urllib.error
import urllib.request

import pytest
from project import SERVICES, Project, write_talk

# Topic and group 0, then a version that nobody speaks and a made-up origin.
DAMAGED = {letter: (letter.encode() + b"\0" + b"\xff" + bytes(8)).hex() for letter in "CRMUSDET"}
INTRUDERS = ("none", "own", "other")


@pytest.fixture
def traffic(project: Project, tmp_path):
    """Messages on their way all the time, so that there is something to hear."""
    replay = subprocess.Popen(
        project.parley("replay", write_talk(tmp_path / "talk.jsonl"), "--rate", "20"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield
    replay.kill()
    replay.wait()


@pytest.mark.parametrize(
    "publisher, port, other, right",
    # Every role listens to store.
    [("ingest", 7100, "fanout", "store"), ("fanout", 7103, "ingest", "store"), ("store", 7101, None, "fanout")],
)
def test_who_has_no_key_of_a_listening_role_hears_nothing(project: Project, traffic, publisher, port, other, right):
    def listen(name: str, key: str) -> dict:
        return {"name": name, "key": key, "server": publisher, "endpoint": f"tcp://{publisher}.bus:{port}"}

    intruders = {"none": "none", "own": "own"} | ({"other": other} if other else {})
    plan = {"seconds": 4, "listen": [listen(*pair) for pair in [("right", right), *intruders.items()]]}
    result = project.probe(plan, secrets=(other, right) if other else (right,))
    assert result["heard"].get("right", 0) > 0, "the listener with the right key shows that there is something to hear"
    assert set(result["heard"]) == {"right"}


# Who is impersonated, the port, another role whose key the intruder has, what is published, who hears it: commands,
# changes with private ones and digests, status with its digests, what fanouts tell each other.
FORGERIES = [
    ("ingest", 7100, "fanout", "CR", ("store", "receipt")),
    ("store", 7101, "receipt", "MUD", ("fanout",)),
    ("receipt", 7102, "store", "SE", ("fanout",)),
    ("fanout", 7103, "ingest", "T", ("fanout",)),
]


# To how many roles each victim listens.
LISTENS_TO = {"store": 4, "receipt": 3, "fanout": 3}


@pytest.mark.parametrize("intruder", [*INTRUDERS, "right"])
def test_only_the_role_that_has_it_to_say_is_heard(project: Project, intruder: str):
    victims = {victim: f"http://{victim}.bus:8080/metrics" for *_, listeners in FORGERIES for victim in listeners}
    publishers = [
        {
            "name": role,
            "port": port,
            "key": {"other": other, "right": role}.get(intruder, intruder),
            "frames": [DAMAGED[letter] for letter in letters],
        }
        for role, port, other, letters, _ in FORGERIES
    ]
    time.sleep(3)  # The next forger has the address of the last: the victims have to have noticed that it was gone.
    # They look for new addresses every second.
    plan = {"seconds": 5, "metrics": list(victims.values()), "publish": publishers}
    result = project.probe(plan, aliases=[f"{role}.bus" for role in SERVICES], secrets=SERVICES)
    assert min(result["sent"].values()) > 100
    for victim, url in victims.items():
        before, after = result["before"][url], result["after"][url]
        # Of each role that it listens to there is one container, and now the forger.
        assert after["parley_bus_peers"] == 2 * LISTENS_TO[victim], f"{victim} has found the forger"
        refused = after["parley_bus_frames_refused_total"] - before["parley_bus_frames_refused_total"]
        assert (refused > 0) == (intruder == "right"), victim


def test_a_forged_answer_is_not_heard(project: Project, traffic):
    plan = {
        "seconds": 3,
        "listen": [{"name": "ingest", "key": "store", "server": "ingest", "endpoint": "tcp://ingest.bus:7100"}],
    }
    # Whoever may listen to ingest knows where its answers go: topic 2, version 1, instance 8.
    instance = project.probe(plan, secrets=("store",))["first"]["ingest"][6:22]
    frame = (b"A" + bytes.fromhex(instance) + b"\xff" + bytes(8)).hex()
    url = "http://ingest.bus:8080/metrics"
    for key, heard in [("none", False), ("own", False), ("fanout", False), ("store", True)]:
        time.sleep(3)  # The next forger has the address of the last: ingest has to have noticed that it was gone.
        plan = {
            "seconds": 4,
            "metrics": [url],
            "publish": [{"name": "forger", "port": 7101, "key": key, "frames": [frame]}],
        }
        result = project.probe(plan, aliases=["store.bus"], secrets=("store", "fanout"))
        refused = [result[when][url]["parley_bus_frames_refused_total"] for when in ("before", "after")]
        assert (refused[1] > refused[0]) == heard, key


def test_a_role_speaks_for_itself_alone(project: Project):
    """With the right key of fanout, at fanout's address: commands and what only others have to say."""
    # A request of fanout's: version 1, origin, one entry: number 8, slot 0, kind 2 (sendMessages), no fields.
    entry = bytes(8) + b"\0" + b"\x02"
    command = (b"C\0" + b"\x01" + bytes(8) + len(entry).to_bytes(4, "big") + entry).hex()
    store, fanout = "http://store.bus:8080/metrics", "http://fanout.bus:8080/metrics"
    frames = [command, *(DAMAGED[letter] for letter in "MUDSE")]
    plan = {
        "seconds": 5,
        "metrics": [store, fanout],
        "publish": [{"name": "forger", "port": 7103, "key": "fanout", "frames": frames}],
    }
    result = project.probe(plan, aliases=["fanout.bus"], secrets=("fanout",))
    before, after = result["before"], result["after"]
    # fanout may send commands, of other kinds: the store reads them and refuses this one.
    assert after[store]["parley_store_entries_refused_total"] > before[store]["parley_store_entries_refused_total"]
    assert after[store]["parley_store_rows_total"] == before[store]["parley_store_rows_total"]
    assert after[fanout]["parley_bus_frames_refused_total"] == before[fanout]["parley_bus_frames_refused_total"]


def test_the_metrics_are_not_shown_outside(project: Project):
    trust = ssl.create_default_context(cafile=str(project.certificate))
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{project.origin}/metrics", context=trust)
    assert refused.value.code == 404
    with urllib.request.urlopen(f"{project.origin}/healthz", context=trust) as answer:
        assert answer.status == 200
