"""Listens and publishes on the bus as it is told, and prints as JSON what came of it.

{"listen": [{"name": …, "endpoint": "tcp://…", "key": …, "server": ROLE}, …]} counts what each hears.
{"publish": [{"name": …, "port": …, "key": …, "frames": [HEX, …]}, …]} sends them all the time, and counts who comes.
A key is "none", "own" (made for the occasion) or a role, whose secrets are in /keys/ROLE.
{"metrics": [URL, …]} reads metrics, before and after what else there is in the plan.
{"first": [[URL, METRIC, VALUE], …]} waits for that before anything else.
{"until": [[URL, METRIC, GROWTH] or ["heard" or "came", NAME, COUNT], …]} ends when all of that has come about, and a
hundred rounds later, so that what must not happen had its time.
"""

import json
import re
import sys
import time
import urllib.request
from pathlib import Path

import zmq

PATIENCE = 120
"""Seconds until what has to come counts as missing."""

context = zmq.Context()


def key(name: str, owner: str) -> bytes:
    return (Path("/keys") / owner / name).read_bytes().strip()


def pair(which: str) -> tuple[bytes, bytes]:
    if which == "own":
        return zmq.curve_keypair()
    return key(f"{which}.pub", which), key(f"{which}.key", which)


def public_key(role: str) -> bytes:
    return next(Path("/keys").glob(f"*/{role}.pub")).read_bytes().strip()


def listener(plan: dict) -> zmq.Socket:
    subscriber = context.socket(zmq.SUB)
    subscriber.linger = 0
    if plan["key"] != "none":
        subscriber.curve_publickey, subscriber.curve_secretkey = pair(plan["key"])
        subscriber.curve_serverkey = public_key(plan["server"])
    subscriber.subscribe(b"")
    subscriber.connect(plan["endpoint"])
    return subscriber


def publisher(plan: dict) -> tuple[zmq.Socket, zmq.Socket]:
    """The socket, and one that tells of each connection to it."""
    socket = context.socket(zmq.PUB)
    socket.linger = 0
    if plan["key"] != "none":
        socket.curve_publickey, socket.curve_secretkey = pair(plan["key"])
        socket.curve_server = True
    arrivals = socket.get_monitor_socket(zmq.EVENT_ACCEPTED)
    socket.bind(f"tcp://*:{plan['port']}")
    return socket, arrivals


def metrics(url: str) -> dict:
    with urllib.request.urlopen(url, timeout=5) as answer:
        text = answer.read().decode()
    return {name: float(value) for name, value in re.findall(r"^(parley_\w+)(?:\{[^}]*\})? (\S+)$", text, re.M)}


def all_metrics(plan: dict) -> dict:
    return {url: metrics(url) for url in plan.get("metrics", [])}


def await_first(conditions: list) -> list:
    """Returns those that did not come about."""
    end = time.monotonic() + PATIENCE
    while (left := [c for c in conditions if metrics(c[0])[c[1]] != c[2]]) and time.monotonic() < end:
        time.sleep(0.2)
    return left


def has_come(condition: list, result: dict) -> bool:
    place, name, least = condition
    if place in ("heard", "came"):
        return result[place].get(name, 0) >= least
    return metrics(place)[name] - result["before"][place][name] >= least


def main():
    plan = json.loads(sys.argv[1])
    missing = await_first(plan.get("first", []))
    result = {"before": all_metrics(plan), "heard": {}, "first": {}, "sent": {}, "came": {}}
    listeners = {item["name"]: listener(item) for item in plan.get("listen", [])}
    publishers = [(item, *publisher(item)) for item in plan.get("publish", [])]

    def go_round():
        for name, socket in listeners.items():
            while socket.poll(0):
                frame = socket.recv()
                result["heard"][name] = result["heard"].get(name, 0) + 1
                result["first"].setdefault(name, frame[:64].hex())
        for item, socket, arrivals in publishers:
            while arrivals.poll(0):
                arrivals.recv_multipart()
                result["came"][item["name"]] = result["came"].get(item["name"], 0) + 1
            for frame in item["frames"]:
                socket.send(bytes.fromhex(frame))
                result["sent"][item["name"]] = result["sent"].get(item["name"], 0) + 1
        time.sleep(0.01)

    end = time.monotonic() + PATIENCE
    left = plan.get("until", [])
    while left and time.monotonic() < end:
        for _ in range(20):
            go_round()
        left = [condition for condition in left if not has_come(condition, result)]
    for _ in range(100 if listeners or publishers else 0):
        go_round()
    result["missing"] = missing + left
    result["after"] = all_metrics(plan)
    print(json.dumps(result))


main()
