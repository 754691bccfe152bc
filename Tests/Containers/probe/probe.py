"""Listens and publishes on the bus as it is told, and prints as JSON what came of it.

{"listen": [{"name": …, "endpoint": "tcp://…", "key": …, "server": ROLE}, …], "seconds": 3} counts what each hears.
{"publish": [{"name": …, "port": …, "key": …, "frames": [HEX, …]}, …], "seconds": 3} sends them all the time, and counts
who connected. A key is "none", "own" (made for the occasion) or a role, whose secrets are in /keys/ROLE.
{"metrics": [URL, …]} reads metrics, before and after what else there is in the plan.
"""

import json
import re
import sys
import time
import urllib.request
from pathlib import Path

import zmq

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


def publisher(plan: dict) -> zmq.Socket:
    socket = context.socket(zmq.PUB)
    socket.linger = 0
    if plan["key"] != "none":
        socket.curve_publickey, socket.curve_secretkey = pair(plan["key"])
        socket.curve_server = True
    socket.bind(f"tcp://*:{plan['port']}")
    return socket


def metrics(url: str) -> dict:
    with urllib.request.urlopen(url, timeout=5) as answer:
        text = answer.read().decode()
    return {name: float(value) for name, value in re.findall(r"^(parley_\w+)(?:\{[^}]*\})? (\S+)$", text, re.M)}


def main():
    plan = json.loads(sys.argv[1])
    result = {"before": {url: metrics(url) for url in plan.get("metrics", [])}, "heard": {}, "first": {}, "sent": {}}
    listeners = {item["name"]: listener(item) for item in plan.get("listen", [])}
    publishers = [(item, publisher(item)) for item in plan.get("publish", [])]
    end = time.monotonic() + plan.get("seconds", 3)
    while time.monotonic() < end:
        for name, socket in listeners.items():
            while socket.poll(0):
                frame = socket.recv()
                result["heard"][name] = result["heard"].get(name, 0) + 1
                result["first"].setdefault(name, frame[:64].hex())
        for item, socket in publishers:
            for frame in item["frames"]:
                socket.send(bytes.fromhex(frame))
                result["sent"][item["name"]] = result["sent"].get(item["name"], 0) + 1
        time.sleep(0.01)
    result["after"] = {url: metrics(url) for url in plan.get("metrics", [])}
    print(json.dumps(result))


main()
