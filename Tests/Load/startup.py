"""How long the services take to start, and how much memory they have when nothing happens."""

import os
import re
import signal
import socket
import statistics
import subprocess
import time
from pathlib import Path

from system import EXECUTABLES, SERVICES, System


def measure(system: System, runs: int) -> dict[str, dict]:
    """Of each service, in a system that has done nothing yet: resident megabytes; median milliseconds from `exec`
    until it answers /healthz, and until it is ready, which waits for its peers and its slots."""
    memory = {service: resident_megabytes(system.pid(service)) for service in SERVICES}
    starts = {service: [start(system, service) for _ in range(runs)] for service in SERVICES}
    return {
        service: {
            "residentMegabytes": memory[service],
            "startMilliseconds": statistics.median(answering for answering, _ in starts[service]),
            "readyMilliseconds": statistics.median(ready for _, ready in starts[service]),
        }
        for service in SERVICES
    }


def resident_megabytes(pid: int) -> float:
    kilobytes = re.search(r"VmRSS:\s+([0-9]+) kB", Path(f"/proc/{pid}/status").read_text())[1]
    return int(kilobytes) / 1024


def start(system: System, service: str) -> tuple[float, float]:
    """Takes the place of the running process by one of ours, which is replaced by a usual one at the end."""
    pid = system.pid(service)
    pairs = (entry.partition("=") for entry in Path(f"/proc/{pid}/environ").read_text().split("\0") if entry)
    environment = {name: value for name, _, value in pairs}
    os.kill(pid, signal.SIGTERM)
    until(lambda: not Path(f"/proc/{pid}").exists() or zombie(pid))
    begun = time.monotonic()
    process = subprocess.Popen(
        [EXECUTABLES / service], env=environment, cwd=system.state, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        host, _, port = environment["PARLEY_LISTEN"].rpartition(":")
        times = []
        for path in ("/healthz", "/readyz"):
            until(lambda path=path: answers(host, int(port), path))
            times.append(1000 * (time.monotonic() - begun))
        return times[0], times[1]
    finally:
        process.terminate()
        process.wait()
        system.up()


def answers(host: str, port: int, path: str) -> bool:
    """Whether it is there and says 200."""
    try:
        with socket.create_connection((host, port), timeout=5) as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n".encode())
            return connection.recv(64).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def until(condition, seconds: float = 30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.0005)
