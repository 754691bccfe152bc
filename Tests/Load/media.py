#!/usr/bin/env python3
"""Measures files in a system of its own: pictures until they can be shown, and large files beside nginx and dd.

Every result stands beside a floor of the same run: nginx sends the same bytes from the same disk to the same client,
and dd writes them there and waits for it (`conv=fsync`). Parley checks who may read a file, and computes its SHA-256.

    .venv/bin/python Tests/Load/media.py [--seconds N] [--megabytes N] [--pictures N] [--runs N] [--only NAME…]

Part of `make bench`. Needs Debian's nginx and wrk. Medians of the runs. Pictures are JPEG of 100 KB. What they cost is
the processor time of the whole machine without that of this program.
"""

import argparse
import contextlib
import functools
import io
import json
import os
import random
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "Tests" / "System"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import floors  # noqa: E402
from bench import number  # noqa: E402
from client import token  # noqa: E402
from day import metric  # noqa: E402
from PIL import Image  # noqa: E402
from system import EXECUTABLES, System  # noqa: E402
from unlimited import UnlimitedSystem  # noqa: E402
from uploads import BODY, TUS, Uploader, eventually  # noqa: E402

PATH = f"{os.environ['PATH']}:/usr/sbin"
PICTURE_BYTES = 100_000
USERS = 64
"""Who read thumbnails at a time."""
CORES = os.cpu_count() or 1
# What is wanted: at least so much, or at most. Shares are of the floor in the same run.
AT_LEAST = {
    ("pictures", "readyPerMinuteAndCore"): 1_000,
    ("download", "ofNginx"): 0.7,
    ("upload", "ofDisk"): 0.7,
    ("thumbnails", "perSecond"): 10_000,
}
AT_MOST = {
    ("beside messages", "p99Growth"): 1.2,
    ("download", "residentMegabytes"): 30,
    ("upload", "residentMegabytes"): 30,
    ("thumbnails", "residentMegabytes"): 30,
}


class MediaSystem(UnlimitedSystem):
    """Its users may upload as much as they like."""

    @property
    def environment(self) -> dict[str, str]:
        unlimited = {"PARLEY_MEDIA_BYTES": str(1 << 36), "PARLEY_MEDIA_BYTES_PER_DAY": str(1 << 44)}
        streams = {"PARLEY_MEDIA_UNFINISHED": "100000", "PARLEY_MEDIA_STREAMS_PER_USER": "10000"}
        return super().environment | unlimited | streams


def main() -> int:
    options = arguments()
    if missing := [program for program in ("nginx", "wrk", "curl") if not shutil.which(program, path=PATH)]:
        sys.exit(f"files cannot be measured without {', '.join(missing)}: install Debian's packages of these names")
    system = MediaSystem()
    system.up()
    try:
        bench = Bench(system, options)
        results = {name: bench.run(name) for name in options.only or SCENARIOS}
    finally:
        system.remove()
    show(results)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=2) + "\n")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10, help="of what is measured for a time (default 10)")
    parser.add_argument("--megabytes", type=int, default=1024, help="of the large file (default 1,024)")
    parser.add_argument("--pictures", type=int, default=500, help="of each run (default 500)")
    parser.add_argument("--rate", type=int, default=1000, help="messages a second beside pictures (default 1,000)")
    parser.add_argument("--runs", type=int, default=3, help="of each scenario (default 3)")
    parser.add_argument("--only", action="append", choices=SCENARIOS, help="this scenario; may be repeated")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    return parser.parse_args()


def show(results: dict[str, dict]):
    print(f"\nThis machine: {CORES} cores\n{'':20}{'':28}{'result':>14}{'wanted':>14}")
    for name, figures in results.items():
        for key, value in figures.items():
            least, most = AT_LEAST.get((name, key)), AT_MOST.get((name, key))
            wanted = f"≥ {number(least)}" if least else f"≤ {number(most)}" if most else ""
            is_missed = (least and value < least) or (most and value > most)
            print(f"{name:<20}{key:<28}{number(value):>14}{wanted:>14}{'  missed' if is_missed else ''}")


class Bench:
    def __init__(self, system: System, options: argparse.Namespace):
        self.system = system
        self.options = options
        self.user = Uploader(system)

    def run(self, name: str) -> dict:
        runs = []
        for _ in range(self.options.runs):
            runs.append(SCENARIOS[name](self))
            print(name, json.dumps(runs[-1]), file=sys.stderr)
        return {key: statistics.median(run[key] for run in runs) for key in runs[0]}

    # Pictures

    def pictures(self) -> dict:
        """As fast as they can be: until the last is ready."""
        count, before, inspected = self.options.pictures, self.ready_pictures(), self.inspected()
        uploading = Uploading(self.system, count)
        with Usage(self.system) as usage:
            uploading.start()
            # Cheaper than asking the database.
            eventually(lambda: self.inspected() - inspected >= count, "all pictures are looked into")
            eventually(lambda: self.ready_pictures() - before >= count, "all pictures are ready")
        uploading.join()
        return {
            "readyPerMinuteAndCore": 60 * count / usage.seconds / CORES,
            "millisecondsOfCPUEach": 1000 * usage.cpu / count,
            "residentMegabytes": usage.resident,
        }

    def beside_messages(self) -> dict:
        """The latency of messages alone, and while 1,000 pictures a minute are uploaded and looked into."""
        alone = self.live()
        before, rate = self.ready_pictures(), 1000 / 60
        uploading = Uploading(self.system, int(rate * (self.options.seconds + 3)), rate)
        uploading.start()
        beside = self.live()
        uploading.join()
        eventually(lambda: self.ready_pictures() - before >= uploading.count, "all pictures are ready")
        return {
            **{f"{key}Alone": alone[key] for key in ("p50", "p99")},
            **{f"{key}Beside": beside[key] for key in ("p50", "p99")},
            "p99Growth": beside["p99"] / alone["p99"],
        }

    def live(self) -> dict[str, float]:
        with tempfile.NamedTemporaryFile() as report:
            load = ["load", "pairs", "--pairs", "100", "--rate", str(self.options.rate), "--check", "5"]
            times = ["--duration", f"{self.options.seconds}s", "--warmup", "2s"]
            done = self.system.run(EXECUTABLES / "parley", *load, *times, "--json", report.name)
            print(done.stdout, file=sys.stderr)
            return json.loads(Path(report.name).read_text())["latencyMilliseconds"]["sendToReceive"]

    def inspected(self) -> float:
        return metric(self.system, "media", "parley_media_inspected_total")

    def ready_pictures(self) -> int:
        return int(floors.psql(self.system, "SELECT count(*) FROM media.objects WHERE type = 'image/jpeg'"))

    # Large files

    def download(self) -> dict:
        path, length = self.large_file, self.options.megabytes << 20
        name = path.rpartition("/")[2]
        [stored] = (self.system.state / "media" / "objects" / name[:2]).glob(f"{name}.*.content")
        with nginx(stored.parent) as address:
            floor = rate_of(["curl", f"{address}/{stored.name}"], length)
        with Usage(self.system) as usage:
            headers = ["-H", f"Authorization: Bearer {token(self.user.name)}"]
            result = rate_of(["curl", *headers, f"{self.user.base}{path}/content"], length)
        return {
            "megabytesPerSecond": result,
            "nginx": floor,
            "ofNginx": result / floor,
            "residentMegabytes": usage.resident,
        }

    def upload(self) -> dict:
        """Beside dd, whose result is on the disk too. Both files are removed before the next run."""
        length = self.options.megabytes << 20
        copy = self.system.state / "media" / "copy"
        floor = rate_of(["dd", f"if={self.source}", f"of={copy}", "bs=1M", "conv=fsync"], length)
        copy.unlink()
        path = self.user.created(length)
        with Usage(self.system) as usage:
            result = rate_of(self.patch(path), length)
        assert self.user.ready(path)
        assert self.user.call("DELETE", path, headers=TUS).status_code == 204
        return {
            "megabytesPerSecond": result,
            "dd": floor,
            "ofDisk": result / floor,
            "residentMegabytes": usage.resident,
        }

    @functools.cached_property
    def source(self) -> Path:
        """What is uploaded: on the same disk, in the cache of the operating system."""
        file = self.system.state / "source"
        with file.open("wb") as output:
            for _ in range(self.options.megabytes):
                output.write(random.randbytes(1 << 20))
        return file

    @functools.cached_property
    def large_file(self) -> str:
        path = self.user.created(self.options.megabytes << 20)
        rate_of(self.patch(path), 1)
        return self.user.ready(path)

    def patch(self, path: str) -> list[str]:
        fields = TUS | BODY | {"Upload-Offset": "0", "Authorization": f"Bearer {token(self.user.name)}", "Expect": ""}
        headers = [word for name, value in fields.items() for word in ("-H", f"{name}: {value}")]
        return ["curl", "--fail", "-X", "PATCH", *headers, "-T", str(self.source), self.user.base + path]

    # Thumbnails

    def thumbnails(self) -> dict:
        """Of users who each ask for their own: one may make 1,000 requests a second."""
        users = [Uploader(self.system) for _ in range(USERS)]
        paths = [user.upload(picture(), "picture.jpg") for user in users]
        objects = self.system.state / "media" / "objects"
        names = [path.rpartition("/")[2] for path in paths]
        [*files] = (next((objects / name[:2]).glob(f"{name}.*.small")) for name in names)
        with nginx(objects) as address:
            floor = self.wrk(address, [(f"/{file.relative_to(objects)}", "") for file in files])
        with Usage(self.system) as usage:
            requests = zip(paths, users, strict=True)
            result = self.wrk(
                self.user.base, [(f"{path}/thumbnail?size=small", token(user.name)) for path, user in requests]
            )
        return {
            "perSecond": result,
            "nginx": floor,
            "ofNginx": result / floor,
            "bytes": files[0].stat().st_size,
            "residentMegabytes": usage.resident,
        }

    def wrk(self, address: str, requests: list[tuple[str, str]]) -> float:
        """Requests a second over 64 connections, in turns, of paths and the tokens for them."""
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            lines = ",".join(
                f'wrk.format("GET", "{path}", {{["Authorization"] = "Bearer {token}"}})' for path, token in requests
            )
            script.write(
                f"function init() list = {{{lines}}} next = 0 end\n"
                "function request() next = next % #list + 1 return list[next] end\n"
            )
            script.flush()
            command = ["wrk", "-t1", "-c64", f"-d{self.options.seconds}s", "-s", script.name, address]
            done = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert "Non-2xx" not in done, done
        return float(re.search(r"Requests/sec:\s+([0-9.]+)", done)[1])


SCENARIOS = {
    "pictures": Bench.pictures,
    "beside messages": Bench.beside_messages,
    "download": Bench.download,
    "upload": Bench.upload,
    "thumbnails": Bench.thumbnails,
}


class Uploading(threading.Thread):
    """Uploads pictures over one connection, each in one request: one behind the other, or so many a second."""

    def __init__(self, system: System, count: int, rate: float | None = None):
        super().__init__()
        self.count = count
        self._rate = rate
        self._address = system.address("media").removeprefix("http://").split(":")
        fields = TUS | BODY | {"Authorization": f"Bearer {token(f'painter-{uuid.uuid4()}')}"}
        body = picture()
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        lengths = f"Upload-Length: {len(body)}\r\nContent-Length: {len(body)}\r\n"
        self._request = f"POST /v1/media HTTP/1.1\r\nHost: parley\r\n{head}{lengths}\r\n".encode() + body

    def run(self):
        begun = time.monotonic()
        with socket.create_connection(self._address) as connection:
            for sent in range(self.count):
                if self._rate:
                    time.sleep(max(0, begun + sent / self._rate - time.monotonic()))
                connection.sendall(self._request)
                answer = b""
                while b"\r\n\r\n" not in answer:
                    answer += connection.recv(65_536)
                assert answer.startswith(b"HTTP/1.1 201 "), answer


class Usage:
    """What happens while it is entered: seconds, processor seconds of everybody but this program, and the most memory
    that media has."""

    def __init__(self, system: System):
        self._process = Path(f"/proc/{system.pid('media')}")

    def __enter__(self) -> "Usage":
        (self._process / "clear_refs").write_text("5")
        self._begun = time.monotonic()
        self._busy = busy_seconds()
        return self

    def __exit__(self, *_: object):
        self.seconds = time.monotonic() - self._begun
        self.cpu = busy_seconds() - self._busy
        self.resident = int(re.search(r"VmHWM:\s+(\d+)", (self._process / "status").read_text())[1]) / 1024


def busy_seconds() -> float:
    """proc(5): user, nice, system, and what interrupts take."""
    fields = Path("/proc/stat").read_text().split()[1:9]
    busy = sum(int(fields[index]) for index in (0, 1, 2, 5, 6))
    own = resource.getrusage(resource.RUSAGE_SELF)
    return busy / os.sysconf("SC_CLK_TCK") - own.ru_utime - own.ru_stime


def rate_of(command: list[str], length: int) -> float:
    """Megabytes a second of a program that takes or brings so many bytes."""
    quiet = ["--silent", "--show-error", "--output", "/dev/null"] if command[0] == "curl" else []
    begun = time.monotonic()
    done = subprocess.run([*command, *quiet], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return length / 1e6 / (time.monotonic() - begun)


@contextlib.contextmanager
def nginx(folder: Path) -> Iterator[str]:
    """Serves the files of a folder, as Debian's settings have it: sendfile, one process for each core."""
    with tempfile.TemporaryDirectory() as directory, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        settings = Path(directory) / "nginx.conf"
        settings.write_text(
            f"""
            daemon off; user root; worker_processes auto; pid {directory}/pid; error_log {directory}/errors;
            events {{ worker_connections 1024; }}
            http {{
                sendfile on; tcp_nopush on; access_log off; keepalive_requests 100000000;
                server {{ listen 127.0.0.1:{port}; root {folder}; }}
            }}
            """
        )
        process = subprocess.Popen([shutil.which("nginx", path=PATH), "-c", settings])
        try:
            eventually(lambda: is_open(port), "nginx listens")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@functools.cache
def picture() -> bytes:
    """A photograph of 100 KB: light that changes slowly, and the noise of a sensor, as much as makes it so large."""
    dice = random.Random(1)
    coarse = Image.frombytes("RGB", (16, 12), dice.randbytes(16 * 12 * 3)).resize((1280, 960), Image.Resampling.BICUBIC)
    fine = Image.frombytes("RGB", (320, 240), dice.randbytes(320 * 240 * 3)).resize((1280, 960))
    candidates = (encoded(Image.blend(coarse, fine, share / 100)) for share in range(1, 100))
    return next(content for content in candidates if len(content) >= PICTURE_BYTES)


def encoded(image: Image.Image) -> bytes:
    output = io.BytesIO()
    image.save(output, "JPEG", quality=80)
    return output.getvalue()


if __name__ == "__main__":
    sys.exit(main())
