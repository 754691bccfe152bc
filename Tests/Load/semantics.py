#!/usr/bin/env python3
"""Measures what happens to messages after they were sent, through the public API of a system of its own: edits,
deletions, tapbacks, searches, and pages of a conversation of a million messages.

Every result stands beside the floor of the same run: the same number of connections asking `ingest` for /healthz, which
asks nobody. wrk makes the load, of requests that are written down before. Nothing is asserted.

    Tests/Load/semantics.py [--seconds N] [--messages N] [--data FILE] [--json FILE]
"""

import argparse
import http.client
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from urllib.parse import quote

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "Tests" / "System"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import floors  # noqa: E402
from system import EXECUTABLES, System  # noqa: E402
from unlimited import UnlimitedSystem  # noqa: E402

DATA = Path(os.environ.get("PARLEY_DATA", REPOSITORY.parent / "shared" / "data")) / "ubuntu-irc.jsonl"
READER = "bench:reader"
SENDERS = 64
CHINESE = "明天我们在北京开会 讨论新的项目 请大家准时参加 東京駅で会いましょう 会議は午後三時から"


def main():
    options = arguments()
    system = UnlimitedSystem()
    system.up()
    try:
        bench = Bench(system, options)
        bench.floors()
        bench.writes()
        bench.history()
        bench.search()
    finally:
        system.remove()
    bench.print()
    if options.json:
        Path(options.json).write_text(json.dumps(bench.results, indent=2) + "\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=5, help="of each measurement (default 5)")
    parser.add_argument("--messages", type=int, default=1_000_000, help="of the long history (default 1,000,000)")
    parser.add_argument("--data", type=Path, default=DATA, help="the conversations that are replayed and searched")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    return parser.parse_args()


class Bench:
    def __init__(self, system: System, options: argparse.Namespace):
        self.system = system
        self.options = options
        self.results: list[dict] = []
        self.floor: dict[int, dict] = {}
        self.tokens: dict[str, str] = {}

    # What is measured

    def floors(self):
        for connections in (1, 64):
            self.floor[connections] = self.wrk([("GET", "/healthz", None, None)], connections)

    def writes(self):
        """Concurrent clients, every request about another message."""
        users = [f"bench:{number}" for number in range(SENDERS)]
        groups = [(user, self.group(user, [f"{user}:friend"])) for user in users]
        per_group = 160 * self.options.seconds
        messages = [(user, group, id) for user, group in groups for id in self.fill(user, group, per_group)]
        self.wait_for_index()
        random.Random(1).shuffle(messages)
        paths = [(user, f"/v1/conversations/{group}/messages/{id}") for user, group, id in messages]
        self.rate("edits", [("PATCH", path, {"text": "another text than before"}, user) for user, path in paths])
        self.rate("tapbacks", [("PUT", f"{path}/tapback", {"kind": "love"}, f"{user}:friend") for user, path in paths])
        self.rate("deletions", [("DELETE", f"{path}?scope=everyone", None, user) for user, path in paths])

    def history(self):
        """One client that reads pages of 50, each time others."""
        count = self.options.messages
        group = self.group(READER, ["bench:0"])
        self.fill_by_sql(group, count)
        places = random.Random(2)
        path = f"/v1/conversations/{group}/messages"
        kinds = {
            "newest page": [path],
            "pages in the middle": [f"{path}?before={places.randint(count // 3, count * 2 // 3)}" for _ in range(1000)],
            "oldest pages": [f"{path}?before={places.randint(60, 1000)}" for _ in range(1000)],
            "pages around any place": [f"{path}?around={places.randint(100, count)}" for _ in range(1000)],
        }
        for kind, requests in kinds.items():
            self.latency(f"history of {count:,}, {kind}", [("GET", request, None, READER) for request in requests])

    def search(self):
        """One client that searches all conversations of the data at once."""
        texts = self.replay()
        choice = random.Random(3)
        vocabulary = [[word for word in re.findall("[a-z0-9]+", text.lower()) if word] for text in texts]
        vocabulary = [words for words in vocabulary if words]
        counts: dict[str, int] = {}
        for words in vocabulary:
            for word in set(words):
                counts[word] = counts.get(word, 0) + 1
        common = sorted(counts, key=counts.get)[-50:]
        rare = [word for word, count in counts.items() if count < 5 and len(word) > 3]
        long = [word for word in counts if len(word) > 6]

        def sample(length: int) -> list[str]:
            words = choice.choice(vocabulary)
            return choice.sample(words, min(len(words), length))

        def pieces(length: int) -> list[str]:
            starts = [choice.randint(0, len(CHINESE) - length) for _ in range(20)]
            return [CHINESE[start : start + length].strip() or "会" for start in starts]

        kinds = {
            "one to three words": [" ".join(sample(choice.randint(1, 3))) for _ in range(1000)],
            "rare words": choice.choices(rare, k=1000),
            "the commonest words": choice.choices(common, k=1000),
            "beginnings of words": [word[: choice.randint(1, 4)] for word in choice.choices(long, k=1000)],
            "parts of words": [word[2 : choice.randint(5, 7)] for word in choice.choices(long, k=1000)],
            "Chinese and Japanese": pieces(1) + pieces(2) + pieces(4),
        }
        kinds["all of these, mixed"] = [query for queries in kinds.values() for query in queries]
        choice.shuffle(kinds["all of these, mixed"])
        for kind, queries in kinds.items():
            self.latency(f"search, {kind}", [("GET", f"/v1/search?q={quote(q)}", None, READER) for q in queries])

    # How it is measured

    def rate(self, name: str, requests: list):
        measured = self.wrk(requests, 64)
        if measured["requests"] > len(requests):
            name += " (some twice: use fewer --seconds)"
        self.note(name, measured, "s", measured["perSecond"], self.floor[64]["perSecond"])

    def latency(self, name: str, requests: list):
        measured = self.wrk(requests, 1)
        self.note(name, measured, "p99 ms", measured["p99"], self.floor[1]["p99"])

    def note(self, name: str, measured: dict, unit: str, result: float, floor: float):
        self.results.append({"name": name, "unit": unit, "result": result, "floor": floor} | measured)
        print(f"{name}: {measured}", file=sys.stderr)

    def wrk(self, requests: list, connections: int) -> dict:
        """Sends the requests in turn, again from the first one when they are used up."""
        with tempfile.TemporaryDirectory() as directory:
            script = Path(directory) / "requests.lua"
            (Path(directory) / "requests").write_text("".join(self.line(*request) for request in requests))
            script.write_text(WRK_SCRIPT.replace("FILE", f"{directory}/requests"))
            command = ["wrk", "-t1", f"-c{connections}", f"-d{self.options.seconds}s", "--latency", "-s", script]
            done = subprocess.run(
                [*command, self.system.address("ingest")], check=True, capture_output=True, text=True
            ).stdout
        points = re.findall(r"(50|99)% +([0-9.]+)(us|ms|s)", done)
        refused = re.search(r"Non-2xx or 3xx responses: ([0-9]+)", done)
        return {
            "perSecond": float(re.search(r"Requests/sec: +([0-9.]+)", done)[1]),
            "requests": int(re.search(r"([0-9]+) requests in", done)[1]),
            "refused": int(refused[1]) if refused else 0,
        } | {f"p{point}": float(value) * {"us": 0.001, "ms": 1, "s": 1000}[unit] for point, value, unit in points}

    def line(self, method: str, path: str, body, user: str | None) -> str:
        return "\t".join([method, path, json.dumps(body) if body else "", self.token(user) if user else ""]) + "\n"

    # What it needs

    def token(self, user: str) -> str:
        if user not in self.tokens:
            made = self.system.run(EXECUTABLES / "parley", "token", "--user", user)
            self.tokens[user] = made.stdout.split()[-1]
        return self.tokens[user]

    def post(self, path: str, user: str, body) -> dict:
        address = self.system.address("ingest").removeprefix("http://")
        connection = http.client.HTTPConnection(address, timeout=30)
        connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {self.token(user)}"})
        response = connection.getresponse()
        answer = json.loads(response.read())
        assert response.status in (200, 201), answer
        return answer

    def group(self, user: str, members: list[str]) -> str:
        body = {"id": str(uuid.uuid4()), "kind": "group", "members": members}
        return self.post("/v1/conversations", user, body)["id"]

    def fill(self, user: str, group: str, count: int, text: str = "a text as people send it") -> list[str]:
        ids = [str(uuid.uuid4()) for _ in range(count)]
        for start in range(0, count, 500):
            items = [{"conversationId": group, "id": id, "text": text} for id in ids[start : start + 500]]
            answer = self.post("/v1/messages:batch", user, {"messages": items})
            assert all(result["status"] == 201 for result in answer["results"]), answer
        return ids

    def fill_by_sql(self, group: str, count: int):
        """As if that many messages had been sent, which would take longer; they count as indexed."""
        floors.psql(
            self.system,
            f"""
            BEGIN;
            INSERT INTO store.messages
                (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at)
                SELECT c.slot, c.id, n + 1, gen_random_uuid(), n + 1, (ARRAY['{READER}', 'bench:0'])[1 + n % 2], 1,
                    'message number ' || n || ' of a long conversation', c.last_at, c.last_at
                FROM store.conversations c, generate_series(1, {count}) n WHERE c.id = '{group}';
            UPDATE store.conversations SET last_seq = {count} + 1 WHERE id = '{group}';
            INSERT INTO store.search_positions (slot, conversation_id, indexed_seq)
                SELECT slot, id, last_seq FROM store.conversations WHERE id = '{group}'
                ON CONFLICT (conversation_id, slot) DO UPDATE SET indexed_seq = excluded.indexed_seq;
            COMMIT
            """,
        )
        floors.psql(self.system, "VACUUM ANALYZE store.messages")

    def replay(self) -> list[str]:
        """Plays the data through the API and lets the reader in from the start. Returns the texts."""
        done = self.system.run(EXECUTABLES / "parley", "replay", self.options.data, "--in-flight", "512")
        print(done.stdout, file=sys.stderr)
        self.fill(READER, self.group(READER, []), 500, CHINESE)
        floors.psql(
            self.system,
            f"""
            INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
                SELECT slot, id, '{READER}', 1, 1 FROM store.conversations
                WHERE creator_id LIKE 'irc:%' ON CONFLICT DO NOTHING;
            INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot)
                SELECT i.user_slot, i.user_id, c.id, c.slot
                FROM store.conversations c,
                    (SELECT DISTINCT user_slot, user_id FROM store.inbox WHERE user_id = '{READER}') i
                WHERE c.creator_id LIKE 'irc:%' ON CONFLICT DO NOTHING
            """,
        )
        self.wait_for_index()
        with self.options.data.open() as lines:
            return [message["text"] for line in lines for message in json.loads(line)["messages"]]

    def wait_for_index(self):
        while floors.psql(self.system, UNINDEXED) != "0":
            time.sleep(0.5)

    # What is printed

    def print(self):
        print(f"\nThis machine: {os.cpu_count()} cores; {self.options.seconds} s each")
        print(f"{'':<52}{'result':>16}{'floor':>10}{'share':>8}{'p50 ms':>9}{'p99 ms':>9}{'refused':>9}")
        for each in self.results:
            result = f"{each['result']:,.0f}/s" if each["unit"] == "s" else f"{each['result']:.2f} ms p99"
            floor = f"{each['floor']:,.0f}/s" if each["unit"] == "s" else f"{each['floor']:.2f} ms"
            share = each["result"] / each["floor"]
            share = f"{share:.0%}" if each["unit"] == "s" else f"{share:.1f} x"
            points = f"{each['p50']:>9.2f}{each['p99']:>9.2f}{each['refused']:>9}"
            print(f"{each['name']:<52}{result:>16}{floor:>10}{share:>8}{points}")


UNINDEXED = """
    SELECT count(*) FROM store.conversations c
    LEFT JOIN store.search_positions p ON p.slot = c.slot AND p.conversation_id = c.id
    WHERE coalesce(p.indexed_seq, 0) < c.last_seq
"""

WRK_SCRIPT = """
local requests, next_request = {}, 0
for line in io.lines("FILE") do
    local method, path, body, token = line:match("^([^\\t]*)\\t([^\\t]*)\\t([^\\t]*)\\t([^\\t]*)$")
    local headers = {}
    if token ~= "" then headers["Authorization"] = "Bearer " .. token end
    if body == "" then body = nil end
    requests[#requests + 1] = { method, path, headers, body }
end
function request()
    next_request = next_request % #requests + 1
    local each = requests[next_request]
    return wrk.format(each[1], each[2], each[3], each[4])
end
"""

if __name__ == "__main__":
    main()
