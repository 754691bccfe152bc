"""A fixture's body: real conversations through the proxy of a system, over TLS."""

import json
import subprocess
import time
from functools import partial
from pathlib import Path

from project import REPOSITORY, Project, eventually, write_talk

CONVERSATIONS = REPOSITORY.parent / "shared" / "data" / "ubuntu-irc.jsonl"


def playing(project: Project, tmp_path: Path):
    """Plays conversations through the proxy while faults take place, one after the other. Must lose and double nothing.

    A replay that ends before the last fault is followed by another one, so that all take place under load.
    """
    started: list[subprocess.Popen] = []
    # The project's own conversations where they are, otherwise made-up ones.
    source = CONVERSATIONS if CONVERSATIONS.exists() else write_talk(tmp_path / "talk.jsonl")
    report = tmp_path / "report.json"

    def start() -> subprocess.Popen:
        command = project.parley("replay", source, "--json", report, "--limit", "20", "--rate", "40")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        started.append(process)
        return process

    def finish(process: subprocess.Popen):
        said, _ = process.communicate(timeout=300)
        print(said)
        assert process.returncode == 0, said
        figures = json.loads(report.read_text())
        assert figures["mismatches"] == 0
        assert figures["acknowledged"] == figures["messages"] > 0

    def during(*faults):
        process = start()

        def is_at_work(before: int) -> bool:
            nonlocal process
            if process.poll() is not None:
                finish(process)
                process = start()
            return project.stored() >= before + 40

        begin = time.monotonic()
        for number, fault in enumerate(faults, 1):
            before = eventually(project.stored, 240, "a number of messages")
            eventually(partial(is_at_work, before), 240, "40 more messages")
            print(f"{time.monotonic() - begin:.0f} s: fault {number}")
            fault()
            print(f"{time.monotonic() - begin:.0f} s: done")
        finish(process)

    yield during
    for process in started:
        process.kill()
        process.wait()
