"""Writes on a cluster whose rows are in several shards: of conversations, of their members, and of keys."""

import subprocess
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from serving import Serving, at_once, slot_of, while_repeating


@pytest.fixture(scope="module")
def serving(cluster):
    serving = Serving(cluster)
    yield serving
    serving.stop()


@pytest.fixture
def people(serving):
    """Users that no other test has, each in another shard, on both workers."""
    return people_in_all_shards(serving, 6)


def people_in_all_shards(serving, count: int) -> list[str]:
    lines = [line.split("\t") for line in serving.cluster.run("store", "placement", check=True).splitlines()]
    shard_of = {int(slot): number for number, *_, slots in lines for slot in slots.split(",")}
    mark, found = uuid.uuid4().hex[:8], {}
    for number in range(1000):
        found.setdefault(shard_of[slot_of(f"user-{mark}-{number}")], f"user-{mark}-{number}")
    return [found[shard] for shard in sorted(found)][:count]


def test_a_group_is_in_the_lists_and_on_the_streams_of_members_in_other_shards(serving, people):
    group = create(serving, people)
    path = f"/v1/conversations/{group}"
    assert set(lists(serving, people)) == {(user, group) for user in people}
    assert serving.request(people[0], "PUT", f"{path}/members/{people[0]}-friend", {})[0] == 200
    assert serving.request(people[1], "DELETE", f"{path}/members/{people[1]}")[0] == 204
    assert serving.request(people[0], "DELETE", f"{path}/members/{people[2]}")[0] == 204
    assert len(told(serving, people[1])) == 2 and len(told(serving, people[3])) == 1
    is_whole(serving, people)


def test_a_group_whose_members_are_on_the_other_worker_is_committed_in_two_phases(serving):
    """Citus keeps a record of it until it has looked whether all came to an end, every five seconds."""
    near, far = slots_of_workers(serving)
    members = [user for user in people_in_all_shards(serving, 16) if slot_of(user) in far]

    def recorded() -> bool:
        create(serving, members, slot=near[0])
        return serving.cluster.sql("SELECT count(*) FROM pg_dist_transaction", node=1) != [["0"]]

    serving.wait(recorded, within=20)


def slots_of_workers(serving) -> list[list[int]]:
    lines = [line.split("\t") for line in serving.cluster.run("store", "placement", check=True).splitlines()]
    return [
        [int(slot) for line in lines if line[1] == node for slot in line[3].split(",")]
        for node in serving.cluster.nodes[1:]
    ]


WAITING = """
    SELECT count(*) FILTER (WHERE l.mode = 'RowExclusiveLock' AND NOT l.relation::regclass::text ^@ 'store.unindexed')
    FROM pg_locks w JOIN pg_locks l USING (pid)
    WHERE w.locktype = 'advisory' AND w.mode = 'ShareLock' AND NOT w.granted GROUP BY w.pid
"""
"""Of each who waits for a shard: to how many tables it has begun to write. The notes of its own shard are not counted:
nobody elsewhere waits for them."""


def test_who_borrows_holds_the_shards_before_any_row(serving, people):
    """Otherwise it could wait for a move, which waits for somebody else, who waits for these rows: decision 0089."""
    cluster, (near, far) = serving.cluster, slots_of_workers(serving)
    lender = next(slot_of(user) for user in people if slot_of(user) in far)
    # What a move does on one node after the other.
    lock = f"lock_shard_metadata(7, ARRAY[get_shard_id_for_distribution_column('placement.slots', {lender}::smallint)])"
    with ThreadPoolExecutor() as pool:
        with holding(serving, f"SELECT {lock}", node=1):
            created = pool.submit(create, serving, people, slot=near[0], within=60)
            serving.wait(lambda: cluster.sql(WAITING, node=1))
            assert cluster.sql(WAITING, node=1) == [["0"]]
        assert created.result() in {group for _, group in lists(serving, people)}


def test_what_was_borrowed_does_not_stay_in_the_files_of_temporary_tables(serving, people):
    """But where shards are, which a session notes when it begins."""
    filled = """
        SELECT oid::regclass FROM pg_class
        WHERE relpersistence = 't' AND relkind = 'r' AND relname <> 'lenders' AND pg_relation_size(oid) > 0
    """

    def tables():
        return [table for node in (1, 2) for table in serving.cluster.sql(filled, node=node)]

    create(serving, people)
    assert tables()
    serving.wait(lambda: not tables())


def test_nobody_waits_for_a_group_of_many_people(serving, people):
    """What borrows so much has a session of its own: decision 0086."""
    cluster, slot = serving.cluster, 7
    many = [f"one-of-many-{number}" for number in range(66)]
    create(serving, many)
    user = many[-1]
    lock = f"SELECT 1 FROM store.user_streams WHERE user_slot = {slot_of(user)} AND user_id = '{user}' FOR UPDATE"
    waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with ThreadPoolExecutor() as pool:
        with holding(serving, lock):
            created = pool.submit(create, serving, many, slot=slot, within=60)
            serving.wait(lambda: any(cluster.sql(waiting, node=node) for node in (1, 2)))
            create(serving, people[:3], slot=slot)
            assert not created.done()
        created.result()


def test_what_users_keep_for_themselves_is_of_their_slot(serving, people):
    alice, bob = people[:2]
    group = create(serving, [alice, bob])
    path = f"/v1/conversations/{group}"
    message = serving.send(bob, group, "hello")[1]["id"]
    assert serving.request(alice, "DELETE", f"{path}/messages/{message}?scope=me")[0] == 204
    assert serving.request(alice, "PUT", f"{path}/draft", {"text": "well"})[0] in (200, 204)
    assert serving.request(alice, "PUT", f"{path}/pin", {"order": 7})[0] in (200, 204)
    assert serving.request(alice, "PUT", f"{path}/mute", {"until": "2099-01-01T00:00:00Z"})[0] in (200, 204)
    assert serving.request(alice, "PUT", f"{path}/settings", {"readReceipts": False})[0] == 200
    rows = serving.cluster.sql(
        f"SELECT draft_text, pin_order, muted_until > now() FROM store.inbox WHERE user_id = '{alice}'"
    )
    assert rows == [["well", "7", "t"]]
    assert serving.request(alice, "DELETE", f"{path}/draft")[0] == 204
    assert serving.cluster.sql(f"SELECT has_draft FROM store.inbox WHERE user_id = '{alice}'") == [["f"]]
    assert serving.request(alice, "PUT", "/v1/settings", {"presence": False})[0] == 200
    assert serving.request(alice, "PUT", "/v1/profile", {"displayName": "Alice"})[0] == 200
    assert serving.request(alice, "DELETE", f"{path}/members/{alice}")[0] == 204
    assert serving.request(alice, "DELETE", path)[0] == 204
    assert lists(serving, [alice]) == []


def test_who_is_blocked_becomes_a_member_to_others_alone(serving, people):
    alice, bob, carol = people[:3]
    assert serving.request(alice, "PUT", f"/v1/blocks/{bob}")[0] == 204
    group = create(serving, [bob, alice, carol])
    assert set(lists(serving, people)) == {(bob, group), (carol, group)}
    assert serving.request(alice, "DELETE", f"/v1/blocks/{bob}")[0] == 204
    assert serving.cluster.sql(f"SELECT FROM store.blocks WHERE user_id = '{alice}'") == []


def test_an_invitation_opens_a_group_unless_its_maker_has_blocked_who_comes(serving, people):
    alice, bob, carol = people[:3]
    group = create(serving, [alice])
    invitation = {"id": str(uuid.uuid4())}
    status, made = serving.request(alice, "POST", f"/v1/conversations/{group}/invitations", invitation)
    assert status == 201, made
    assert serving.request(bob, "POST", f"/v1/invitations/{made['code']}")[0] == 200
    assert serving.request(alice, "PUT", f"/v1/blocks/{carol}")[0] == 204
    assert serving.request(carol, "POST", f"/v1/invitations/{made['code']}")[0] == 404
    assert set(lists(serving, people)) == {(alice, group), (bob, group)}
    is_whole(serving, people)


def test_a_key_serves_one_write_whoever_repeats_it_at_once(serving, people):
    alice, bob = people[:2]
    group = create(serving, [alice, bob])
    message = serving.send(alice, group, "hello")[1]["id"]
    path, key = f"/v1/conversations/{group}/messages/{message}", str(uuid.uuid4())
    edits = at_once(6, lambda _: serving.request(alice, "PATCH", path, {"text": "bye"}, key=key))
    assert [status for status, _ in edits] == [200] * 6
    assert serving.cluster.sql(f"SELECT count(*) FROM store.outcomes WHERE key = '{key}'") == [["1"]]
    changes = serving.cluster.sql(f"SELECT count(*) FROM store.changes WHERE conversation_id = '{group}'")
    assert changes == [["2"]]  # its creation and one edit


def test_those_who_write_at_once_to_the_same_lists_lose_no_position(serving, people):
    def work(number: int):
        for round in range(6):
            group = create(serving, people[number:] + people[:number])
            others = people[(number + round) % 6]
            assert serving.request(people[number], "DELETE", f"/v1/conversations/{group}/members/{others}")[0] == 204

    at_once(6, work)
    is_whole(serving, people)


def test_a_private_stream_that_others_write_to_is_trimmed(serving, people):
    """Of 1,000 that are kept, once 128 more have come."""
    alice, bob = people[:2]
    group = create(serving, [alice, bob])
    slot = slot_of(bob)
    serving.cluster.sql(f"""
        INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at)
        SELECT {slot}, '{bob}', n, 1, now() FROM generate_series(2, 1150) n;
        UPDATE store.user_streams SET last_useq = 1150 WHERE user_slot = {slot} AND user_id = '{bob}'
    """)
    path = f"/v1/conversations/{group}/members/{bob}"
    assert serving.request(alice, "DELETE", path)[0] == 204
    assert len(told(serving, bob)) == 1151
    assert serving.request(alice, "PUT", path, {})[0] == 200
    assert [int(useq) for (useq,) in told(serving, bob)] == [*range(153, 1153)]


def test_nothing_is_half_done_when_a_store_is_killed(serving, people):
    def kill_one():
        serving.kill("store", 1)
        serving.wait(lambda: serving.slots() == 256)
        serving.start("store", 1)
        serving.wait(lambda: serving.metric(1, "parley_store_slots") == 128)

    while_creating(serving, people, kill_one)


def test_nothing_is_half_done_when_a_worker_is_killed(serving, people):
    def kill_one():
        serving.cluster.kill(2)
        time.sleep(0.2)
        serving.cluster.revive()
        serving.wait(lambda: serving.slots() == 256)

    while_creating(serving, people, kill_one)
    assert serving.cluster.sql("SELECT count(*) FROM pg_prepared_xacts", node=2) == [["0"]]


def test_a_worker_is_drained_and_filled_again_while_people_write(serving, people):
    """As one is added, or goes."""
    worker = serving.cluster.nodes[2]

    def shards() -> int:
        lines = serving.cluster.run("store", "placement", check=True).splitlines()
        return len([line for line in lines if line.split("\t")[1] == worker])

    def drain_and_fill():
        serving.cluster.sql(f"SELECT citus_drain_node('{worker}', 5432)")
        assert shards() == 0
        serving.wait(lambda: serving.slots() == 256)
        serving.cluster.sql(f"SELECT citus_set_node_property('{worker}', 5432, 'shouldhaveshards', true)")
        serving.cluster.sql("SELECT rebalance_table_shards(shard_transfer_mode => 'block_writes')")
        serving.wait(lambda: serving.slots() == 256)

    while_creating(serving, people, drain_and_fill)
    assert shards() == 8


@contextmanager
def holding(serving, lock: str, node: int = 0):
    """What a statement locks is held meanwhile by a transaction of a stranger."""
    cluster = serving.cluster
    holder = "FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    command = ["psql", "-XAtq", "-c", f"BEGIN; {lock}; SELECT pg_sleep(120)", cluster.url(node=node)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        try:
            serving.wait(lambda: cluster.sql(f"SELECT pid {holder}", node=node))
            yield
        finally:
            cluster.sql(f"SELECT pg_terminate_backend(pid) {holder}", node=node)


def while_creating(serving, people, disturb):
    """Each group is created until it is acknowledged, as clients do. Afterwards all are there, in every list."""
    created = []

    def create_one(number: int):
        created.append(create(serving, people[number:] + people[:number], within=90))
        time.sleep(0.2)  # Each is written to six shards.

    while_repeating(3, create_one, disturb)
    assert len(created) > 5
    serving.wait(lambda: not any(prepared(serving)))
    assert set(lists(serving, people)) >= {(user, group) for user in people for group in created}
    is_whole(serving, people)


def prepared(serving):
    """What waits on the nodes for the second phase: Citus looks for it every five seconds."""
    return [serving.cluster.sql("SELECT gid FROM pg_prepared_xacts", node=node) for node in (1, 2)]


def create(serving: Serving, members: list[str], within: float = 20, slot: int | None = None) -> str:
    """The slot is the last byte of the id."""
    id = uuid.uuid4().int
    if slot is not None:
        id = id & ~0xFF | slot
    body = {"id": str(uuid.UUID(int=id)), "kind": "group", "members": members[1:]}
    deadline = time.monotonic() + within
    while (answer := serving.request(members[0], "POST", "/v1/conversations", body))[0] not in (200, 201):
        assert answer[0] == 503 and time.monotonic() < deadline, (answer, serving.log_ends())
        time.sleep(0.05)
    return body["id"]


def lists(serving, people) -> list[tuple[str, str]]:
    names = ", ".join(f"'{user}'" for user in people)
    sql = f"SELECT user_id, conversation_id FROM store.inbox WHERE user_id IN ({names}) AND NOT is_removed"
    return [tuple(row) for row in serving.cluster.sql(sql)]


def told(serving, user: str) -> list[list[str]]:
    return serving.cluster.sql(f"SELECT useq FROM store.user_changes WHERE user_id = '{user}' ORDER BY useq")


def is_whole(serving, people):
    """Every stay has its place in a list and the other way round, the lists are counted right, and every position of a
    private stream has its change: of the last thousand (`PrivateTail.kept`), which a fast machine passes."""
    names = ", ".join(f"'{user}'" for user in people)
    sql = serving.cluster.sql
    stays = sql(f"SELECT user_id, conversation_id FROM store.memberships WHERE user_id IN ({names})")
    inbox = sql(f"SELECT user_id, conversation_id FROM store.inbox WHERE user_id IN ({names})")
    assert sorted({tuple(row) for row in stays}) == sorted(tuple(row) for row in inbox)
    counted = dict(sql(f"SELECT user_id, conversation_count FROM store.user_streams WHERE user_id IN ({names})"))
    for user in people:
        assert int(counted.get(user, 0)) == len([row for row in inbox if row[0] == user])
        positions = [int(useq) for (useq,) in told(serving, user)]
        last = sql(f"SELECT coalesce(max(last_useq), 0) FROM store.user_streams WHERE user_id = '{user}'")
        first = positions[0] if len(positions) >= 1_000 else 1
        assert positions == list(range(first, int(last[0][0]) + 1))
