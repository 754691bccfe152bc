"""The same rows on a cluster and on one PostgreSQL: whoever reads them gets the same."""

import json
import random
import subprocess
import time
import uuid
from datetime import UTC, datetime, timedelta

from cluster import Cluster
from serving import Serving, slot_of
from system import REPOSITORY

USERS = [f"user{number}" for number in range(6)]
READER, FEW, MANY = USERS[0], USERS[1], USERS[2]
START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = "anchor bridge candle desert engine forest garden harbour island jacket".split()


class Together:
    """A database of the coordinator that is not distributed, in the place of the cluster's."""

    def __init__(self, cluster: Cluster):
        self.cluster, self.system = cluster, cluster.system
        cluster.create_database("together", distributed=False)
        for service in ("store", "receipt"):
            cluster.migrate(service, database="together", owner=service)
        for file in ("receipt-reads", "store-reads"):
            path = REPOSITORY / f"deploy/database/{file}.sql"
            command = ["psql", "-XAtq", "--set=ON_ERROR_STOP=1", f"--file={path}", cluster.url(database="together")]
            subprocess.run(command, check=True)

    def environment(self, service: str) -> dict[str, str]:
        return self.cluster.environment(service, database="together")

    def sql(self, sql: str) -> list[list[str]]:
        return self.cluster.sql(sql, database="together")


class Rows:
    """Rows of all kinds that a list, a search or a profile is made of, the same with each call."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.statements: list[str] = []
        self.conversations: list[str] = []
        self.useq = dict.fromkeys(USERS, 0)
        for number in range(70):
            self.add_conversation(number)
        for user in USERS:
            self.insert(
                "user_settings", user_slot=slot_of(user), user_id=user, read_receipts=user != FEW, presence=True
            )
            self.insert(
                "profiles", user_slot=slot_of(user), user_id=user, version=2, display_name=f'{user} "the" {{one}}'
            )
            self.insert("user_streams", user_slot=slot_of(user), user_id=user, last_useq=self.useq[user])
        self.insert("blocks", user_slot=slot_of(READER), user_id=READER, blocked_id=USERS[5], at=START)

    def insert(self, table: str, schema: str = "store", **values):
        self.statements.append(
            f"INSERT INTO {schema}.{table} ({', '.join(values)}) VALUES ({', '.join(map(quoted, values.values()))});"
        )

    def id(self, last: int | None = None) -> str:
        number = self.random.getrandbits(128) & ~(0xF << 76) & ~(3 << 62) | 4 << 76 | 2 << 62
        return str(uuid.UUID(int=number if last is None else number & ~0xFF | last))

    def add_conversation(self, number: int):
        slot = self.random.randrange(256)
        key = {"slot": slot, "conversation_id": self.id(slot)}
        conversation = key["conversation_id"]
        self.conversations.append(conversation)
        members = [user for user in USERS if user == MANY or self.random.random() < 0.5] or [MANY]
        count = self.random.choice([0, 1, 2, 5, 12])
        # Some have their last activity at the same moment.
        end = START + timedelta(hours=self.random.randrange(40))
        last = count + 1
        self.insert(
            "conversations", slot=slot, id=conversation, kind=1, creator_id=members[0], created_at=START, last_seq=last,
            last_at=end, member_count=len(members), title=self.random.choice([None, f"Group {number}"]),
        )  # fmt: skip
        self.insert("changes", **key, seq=1, kind=8, actor_id=members[0], at=START)
        for seq in range(2, last + 1):
            at = end - timedelta(seconds=last - seq)
            text = " ".join(self.random.sample(WORDS, 3))
            mentioned = [READER] if self.random.random() < 0.3 else None
            self.insert(
                "messages", **key, seq=seq, id=self.id(), changed_seq=seq, sender_id=self.random.choice(members),
                kind=1, body=text, mentions=mentioned, sent_at=at, created_at=at,
            )  # fmt: skip
        for user in members:
            self.add_member(key, user, last)
        if READER not in members and self.random.random() < 0.4:
            self.add_request(key, number)

    def add_member(self, key: dict, user: str, last: int):
        has_left = user in (READER, USERS[3]) and self.random.random() < 0.2
        self.insert(
            "memberships", **key, user_id=user, joined_seq=1, role=1, left_seq=last if has_left else None,
            left_at=START if has_left else None, cleared_seq=self.random.choice([0, 0, 1]),
        )  # fmt: skip
        pinned, archived = self.random.random() < 0.2, self.random.random() < 0.2
        draft = self.random.choice([None, None, 'a "draft", {of} \\ (this)\n and that'])
        self.insert(
            "inbox", user_slot=slot_of(user), user_id=user, **key, pin_order=self.useq[user] + 1 if pinned else None,
            archived_seq=last if archived else None, draft_text=draft, draft_at=START if draft else None,
            draft_useq=1 if draft else None,
        )  # fmt: skip
        read = self.random.randrange(last + 1)
        if read:
            self.insert(
                "horizons", "receipt", **key, user_id=user, delivered_seq=last, read_seq=read, shown_seq=read, version=1
            )
        if last > 1 and self.random.random() < 0.2:
            self.insert("hidden", **key, user_id=user, seq=last)
        self.useq[user] += 1
        self.insert(
            "user_changes", user_slot=slot_of(user), user_id=user, useq=self.useq[user],
            kind=self.random.choice([3, 6, 9]), at=START, **key,
        )  # fmt: skip

    def add_request(self, key: dict, number: int):
        self.insert("memberships", **key, user_id=READER, joined_seq=1, left_seq=2**63 - 1, role=1)
        self.insert(
            "requests", user_slot=slot_of(READER), user_id=READER, **key, is_direct=False, direct_id=self.id(),
            is_waiting=True, is_declined=False, at=START + timedelta(minutes=number),
        )  # fmt: skip


def quoted(value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, (bool, int)):
        return str(value)
    if isinstance(value, list):
        return f"ARRAY[{', '.join(map(quoted, value))}]"
    return "'" + str(value).replace("'", "''") + "'"


class Reading:
    """Everything that users read, as it is told."""

    def __init__(self, serving: Serving, conversations: list[str]):
        self.serving = serving
        self.told: dict[str, object] = {}
        for user in USERS:
            self.pages(user, "/v1/conversations?limit=7", "before")
            self.pages(user, "/v1/conversations?limit=200", "before")
            for path in ("/v1/unread", "/v1/requests", "/v1/blocks", "/v1/settings", "/v1/scheduled"):
                self.get(user, path)
            for word in WORDS[:4]:
                self.pages(user, f"/v1/search?q={word}&limit=5", "cursor")
            self.pages(user, "/v1/search?q=and&limit=20", "cursor")
            self.get(user, f"/v1/profiles?ids={','.join(USERS)}")
            self.get(user, f"/v1/profiles?ids={','.join(USERS)}&versions=2,2,0,1,0,2")
            self.sync(user)
            for conversation in conversations:
                path = f"/v1/conversations/{conversation}"
                self.get(user, path)
                # Whoever has never been in it is refused everything alike.
                is_outside = self.told[f"{user} {path}"][0] == 404
                for rest in (
                    ("/messages",)
                    if is_outside
                    else ("/messages", "/settings", "/members", "/digest", "/changes?after=0")
                ):
                    self.get(user, path + rest)

    def get(self, user: str, path: str):
        while (answer := self.serving.request(user, "GET", path))[0] == 429:
            time.sleep(0.1)  # One PostgreSQL answers faster than a user may ask.
        status, body = answer
        self.told[f"{user} {path}"] = (status, body)
        return body

    def pages(self, user: str, path: str, cursor: str):
        page = self.get(user, path)
        while "nextCursor" in page:
            page = self.get(user, f"{path}&{cursor}={page['nextCursor']}")

    def sync(self, user: str):
        """A cursor names the database, and is not told."""
        page = self.serving.request(user, "GET", "/v1/sync")[1]
        # From before all private changes.
        log, _, *rest = page.pop("cursor").split("_")
        assert not page["more"]
        self.told[f"{user} sync"] = page
        rest[0] = "0-" + rest[0].partition("-")[2] if len(rest) == 2 else rest[0]
        page = self.serving.request(user, "GET", f"/v1/sync?since={log}_0_{'_'.join(rest)}")[1]
        del page["cursor"]
        # On several nodes all that the private changes name is sent again.
        del page["conversations"]
        self.told[f"{user} sync from 0"] = page


def test_the_same_rows_are_read_alike_on_a_cluster_and_on_one_postgresql(cluster):
    rows = Rows(1)
    told = {}
    for name, database, stores in (("cluster", cluster, 2), ("together", Together(cluster), 1)):
        database.sql("\n".join(rows.statements))
        serving = Serving(database, stores)
        try:
            told[name] = Reading(serving, rows.conversations).told
        finally:
            serving.stop()
    assert len(told["cluster"]) > 1_000
    answered = [status for status, _ in (told["together"][key] for key in told["together"] if " /" in key)]
    assert answered.count(200) > 800, answered
    others = told["together"]
    different = {key: (answer, others.get(key)) for key, answer in told["cluster"].items() if others.get(key) != answer}
    assert not different, (
        json.dumps(list(different.items())[:3], indent=1) + f"\n{len(different)} differ: {[*different]}"
    )
    assert told["cluster"].keys() == told["together"].keys()
