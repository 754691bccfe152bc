#!/usr/bin/env python3
"""How long a message waits while Citus moves its shard, by the rows of the shard and the way in which it moves.

    PARLEY_EXECUTABLES=… Tests/Load/moves.py [--messages 0 100000 1000000] [--rounds 3]

A cluster of a coordinator and two workers, two stores; four people send to one conversation, each the next message when
the last one is acknowledged. The ways take turns. Seconds: what Citus takes for the move, and the longest that one of
the messages waited; what was acknowledged and is not there afterwards is counted. Files are in TMPDIR.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "Citus"))

from cluster import Cluster, missing  # noqa: E402
from serving import Serving, move, shards, while_sending  # noqa: E402

MODES = ("force_logical", "block_writes")
FILL = """
    INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at)
    SELECT {slot}, '00000000-0000-7000-8000-0000000000{slot:02x}', n, gen_random_uuid(), n, 'alice', 1,
        repeat('what somebody says ', 3), now(), now()
    FROM generate_series({first}, {last}) n
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, nargs="+", default=[0, 100_000, 1_000_000], help="in the shard")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if reason := missing():
        sys.exit(reason)
    cluster = Cluster()
    serving = Serving(cluster)
    try:
        slot, there = min(shards(cluster)), 0
        print("| messages in the shard | way | move, s | longest wait, s | lost |\n|---|---|---|---|---|")
        for wanted in options.messages:
            cluster.sql(FILL.format(slot=slot, first=there + 1, last=wanted))
            there = wanted
            for _ in range(options.rounds):
                for mode in MODES:
                    measure(serving, slot, mode, there)
    finally:
        serving.stop()
        cluster.remove()


def measure(serving: Serving, slot: int, mode: str, messages: int):
    conversation = serving.make_conversation(slot, "alice", "bob")
    taken = 0.0

    def disturb():
        nonlocal taken
        begun = time.monotonic()
        move(serving.cluster, slot, mode)
        taken = time.monotonic() - begun

    sent, waited = while_sending(serving, conversation, disturb)
    lost = len(set(sent) - set(serving.texts("bob", conversation)))
    print(f"| {messages:,} | `{mode}` | {taken:.1f} | {waited:.1f} | {lost} of {len(sent):,} |", flush=True)


if __name__ == "__main__":
    main()
