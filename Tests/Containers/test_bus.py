"""Whoever is in the network of the bus without the key of the right role: hears nothing, and is not heard.

What must not be heard is damaged, so that whoever hears it counts it: with the right key it is shown to be counted. An
intruder has had its chance when those it meant have counted how it failed.
"""

import ssl
import subprocess
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from project import SERVICES, Project, write_talk

# Topic and group 0, then a version that nobody speaks and a made-up origin.
DAMAGED = {letter: (letter.encode() + b"\0" + b"\xff" + bytes(8)).hex() for letter in "CRFMUSDET"}
REFUSED = "parley_bus_frames_refused_total"
CONNECTIONS_REFUSED = "parley_bus_connections_refused_total"
FAILED = "parley_bus_handshakes_failed_total"


def metrics_of(service: str) -> str:
    return f"http://{service}.bus:8080/metrics"


def growth(result: dict, url: str, metric: str) -> float:
    return result["after"][url][metric] - result["before"][url][metric]


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
    plan = {
        "listen": [listen(*pair) for pair in [("right", right), *intruders.items()]],
        "metrics": [metrics_of(publisher)],
        # The right key shows that there is something to hear. Without one nobody gets as far as to be counted.
        "until": [["heard", "right", 50], [metrics_of(publisher), CONNECTIONS_REFUSED, len(intruders) - 1]],
    }
    result = project.probe(plan, secrets=(other, right) if other else (right,))
    assert set(result["heard"]) == {"right"}


# Who is impersonated, the port, another role whose key the intruder has, what is published, who hears it: commands,
# changes with private ones and digests, status with its digests, what fanouts tell each other. media only responds.
FORGERIES = [
    ("ingest", 7100, "fanout", "CRF", ("store", "receipt", "media")),
    ("store", 7101, "receipt", "MUD", ("fanout",)),
    ("receipt", 7102, "store", "SE", ("fanout",)),
    ("fanout", 7103, "ingest", "T", ("fanout",)),
]


VICTIMS = ("store", "receipt", "fanout", "media")


def forge(project: Project, intruder: str) -> dict:
    """Publishes as every role until those who listen have come, or, with the right key, have counted what it says."""
    publishers = [
        {
            "name": role,
            "port": port,
            "key": {"other": other, "right": role}.get(intruder, intruder),
            "frames": [DAMAGED[letter] for letter in letters],
        }
        for role, port, other, letters, _ in FORGERIES
    ]
    counted = [[metrics_of(victim), REFUSED, 1] for victim in VICTIMS]
    # Turned away they come again and again.
    come = [["came", publisher["name"], 10] for publisher in publishers] + [
        [metrics_of(victim), FAILED, 1] for victim in VICTIMS
    ]
    plan = {
        "metrics": [metrics_of(victim) for victim in VICTIMS],
        "publish": publishers,
        "until": counted if intruder == "right" else come,
    }
    return project.probe(plan, aliases=[f"{role}.bus" for role in SERVICES], secrets=SERVICES)


def test_only_the_role_that_has_it_to_say_is_heard(project: Project):
    with ThreadPoolExecutor() as at_once:
        results = list(at_once.map(lambda intruder: forge(project, intruder), ("none", "own", "other")))
    for result in results:
        assert min(result["sent"].values()) > 100
        assert [growth(result, metrics_of(victim), REFUSED) for victim in VICTIMS] == [0] * len(VICTIMS)
    forge(project, "right")


def test_a_forged_answer_is_not_heard(project: Project, traffic):
    plan = {
        "listen": [{"name": "ingest", "key": "store", "server": "ingest", "endpoint": "tcp://ingest.bus:7100"}],
        "until": [["heard", "ingest", 1]],
    }
    # Whoever may listen to ingest knows where its answers go: topic 2, version 1, instance 8.
    instance = project.probe(plan, secrets=("store",))["first"]["ingest"][6:22]
    frame = (b"A" + bytes.fromhex(instance) + b"\xff" + bytes(8)).hex()
    url = metrics_of("ingest")

    def forge_answers(key: str, until: list) -> float:
        plan = {
            "metrics": [url],
            "publish": [{"name": "forger", "port": 7101, "key": key, "frames": [frame]}],
            "until": [until],
        }
        return growth(project.probe(plan, aliases=["store.bus"], secrets=("store", "fanout")), url, REFUSED)

    with ThreadPoolExecutor() as at_once:
        keys = ("none", "own", "fanout")
        assert list(at_once.map(lambda key: forge_answers(key, ["came", "forger", 10]), keys)) == [0, 0, 0]
    assert forge_answers("store", [url, REFUSED, 1]) > 0


def test_a_role_speaks_for_itself_alone(project: Project):
    """With the right key of fanout, at fanout's address: commands and what only others have to say."""
    # A request of fanout's: version 1, origin, one entry: number 8, slot 0, kind 2 (sendMessages), no fields.
    entry = bytes(8) + b"\0" + b"\x02"
    command = (b"C\0" + b"\x01" + bytes(8) + len(entry).to_bytes(4, "big") + entry).hex()
    store, fanout = metrics_of("store"), metrics_of("fanout")
    frames = [command, *(DAMAGED[letter] for letter in "MUDSET")]
    plan = {
        "metrics": [store, fanout],
        "publish": [{"name": "forger", "port": 7103, "key": "fanout", "frames": frames}],
        # fanout may send commands, of other kinds: the store reads them and refuses this one. Behind what is not for
        # fanouts to say comes something that is.
        "until": [[store, "parley_store_entries_refused_total", 1], [fanout, REFUSED, 50]],
    }
    result = project.probe(plan, aliases=["fanout.bus"], secrets=("fanout",))
    assert growth(result, store, "parley_store_rows_total") == 0
    # Of each round the last frame alone.
    assert growth(result, fanout, REFUSED) <= result["sent"]["forger"] / len(frames)


def test_the_metrics_are_not_shown_outside(project: Project):
    trust = ssl.create_default_context(cafile=str(project.certificate))
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{project.origin}/metrics", context=trust)
    assert refused.value.code == 404
    with urllib.request.urlopen(f"{project.origin}/healthz", context=trust) as answer:
        assert answer.status == 200
