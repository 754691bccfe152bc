"""`parley export`: what it writes is what `parley import` reads."""

import json
import signal
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from reading import PARLEY, PATIENCE, System
from test_import_command import history, imported, new_name, written


@pytest.fixture(scope="module")
def system():
    system = System(instances=2)
    try:
        system.up()
        yield system
    finally:
        system.remove()


def export(system: System, *arguments, address: str | None = None) -> subprocess.CompletedProcess:
    command = [PARLEY, "export", *map(str, arguments), "--http", address or system.address("ingest")]
    return subprocess.run(command, env=system.environment, capture_output=True, text=True, timeout=PATIENCE)


def test_a_file_and_standard_output_have_what_was_imported(system, tmp_path):
    records, ids, members = history(1_200)
    imported(system, tmp_path, "parley", written(tmp_path, records))
    file = tmp_path / "user.ndjson"
    done = export(system, "user", members[1], "--output", file)
    assert done.returncode == 0 and done.stdout == "", done.stderr
    assert f"{len(records):,} records: 1,200 messages of 6 conversations" in done.stderr
    told = [json.loads(line) for line in file.read_text().splitlines()]
    assert sum(record["type"] == "message" for record in told) == 1_200 and len(told) == len(records)
    assert not file.with_suffix(".ndjson.part").exists()
    done = export(system, "conversation", ids[0])
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert set(lines) <= set(file.read_text().splitlines()) and json.loads(lines[-1])["conversationId"] == ids[0]
    # And it is read again, as what is there.
    imported(system, tmp_path, "parley", file)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["conversation", "01900000-0000-7000-8000-0000000000ff"], 1, "notFound"),
        (["conversation", "nobody"], 2, "UUID"),
        (["user", "no body"], 2, "characters"),
        (["group", "x"], 2, "conversation or user"),
        (["user", "nobody", "--output", "/nowhere/file"], 1, "cannot be written"),
    ],
)
def test_what_cannot_be_exported_is_named(system, arguments, status, said):
    done = export(system, *arguments)
    assert done.returncode == status and said in done.stderr, done.stderr


def test_a_user_with_nothing_has_an_empty_file(system, tmp_path):
    file = tmp_path / "nothing.ndjson"
    assert export(system, "user", new_name("nobody"), "--output", file).returncode == 0
    assert file.read_text() == ""


class Cutting(BaseHTTPRequestHandler):
    """A server that cuts the first response off within a line."""

    protocol_version = "HTTP/1.1"
    line = b'{"type":"end","conversationId":"01900000-0000-7000-8000-00000000cafe"}\n'
    calls = 0

    def do_GET(self):
        Cutting.calls += 1
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        text = self.line * 3 if Cutting.calls > 1 else self.line * 5 + self.line[:9]
        self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text) + (b"0\r\n\r\n" if Cutting.calls > 1 else b""))
        self.close_connection = True

    def log_message(self, *_):
        pass


def test_what_is_cut_off_begins_anew_and_has_no_name_before(system, tmp_path):
    server = HTTPServer(("127.0.0.1", 0), Cutting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    file = tmp_path / "cut.ndjson"
    Cutting.calls = 0
    # Standard output cannot be taken back.
    assert export(system, "user", "alice", address=address).returncode == 3
    Cutting.calls = 0
    assert export(system, "user", "alice", "--output", file, address=address).returncode == 0
    assert file.read_bytes() == Cutting.line * 3 and Cutting.calls == 2
    server.shutdown()


def test_a_system_that_is_away_is_given_up(system, tmp_path):
    file = tmp_path / "away.ndjson"
    done = export(system, "user", "alice", "--output", file, "--patience", "1s", address="http://127.0.0.1:1")
    assert done.returncode == 3 and not file.exists()


def test_an_interrupted_one_leaves_no_file(system, tmp_path):
    file = tmp_path / "interrupted.ndjson"
    command = [PARLEY, "export", "user", "alice", "--output", file, "--http", "http://127.0.0.1:1"]
    process = subprocess.Popen(command, env=system.environment, stderr=subprocess.PIPE, text=True)
    part = tmp_path / "interrupted.ndjson.part"
    while not part.exists():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=PATIENCE) == 3 and not file.exists()
