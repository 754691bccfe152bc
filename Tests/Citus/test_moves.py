"""What a session straight to a worker has to do, so that nothing that it commits is lost when the shard moves away."""

import subprocess
import tempfile
import time

import pytest
from cluster import Cluster

SLOTS = """
    SELECT min(slot) FROM generate_series(0, 255) slot
    GROUP BY get_shard_id_for_distribution_column('placement.slots', slot::smallint) ORDER BY 1
"""
"""One of each shard."""
WRITE = """
    DO $$
    BEGIN
        LOOP
            {guard}
            INSERT INTO store.early_deletions_{shard} (slot, conversation_id, message_id, user_id)
            VALUES ({slot}, gen_random_uuid(), gen_random_uuid(), 'alice');
            COMMIT;
            RAISE NOTICE 'written';
            EXIT WHEN EXISTS (SELECT FROM public.ended);
        END LOOP;
    END $$
"""
GUARD = "PERFORM placement.hold({placement}, true);"
"""What every batch of a store begins with."""
MODES = ["block_writes", "force_logical"]
"""While writes wait, and beside them."""
PLACE = "SELECT nodename FROM pg_dist_placement JOIN pg_dist_node USING (groupid) WHERE shardid = {shard}"


@pytest.fixture(scope="module")
def moving(cluster):
    cluster.create_database("moving")
    cluster.migrate("store", "--citus", "4", database="moving")
    cluster.grant("store", "moving")
    for node in (1, 2):
        sql = "CREATE TABLE public.ended (n integer); GRANT SELECT ON public.ended TO store"
        cluster.sql(sql, node=node, database="moving")
    return cluster


@pytest.mark.parametrize("mode", MODES)
def test_who_holds_the_shard_loses_nothing(moving, mode):
    slot = slots(moving)[MODES.index(mode)]
    written = move_while_writing(moving, slot, GUARD, mode)
    assert stored(moving, slot) == written > 0


def test_who_holds_a_shard_that_is_elsewhere_or_proves_nothing_is_refused(moving):
    slot = slots(moving)[2]
    placement = shard_of(moving, "placement.slots", slot)
    here = moving.nodes.index(place(moving, placement))
    hold = f"\\set VERBOSITY sqlstate\nSELECT placement.hold({placement}, {{}})"
    moving.sql(hold.format("true"), user="store", node=here, database="moving")
    for node, is_proved, state in [(3 - here, "true", "PY001"), (here, "false", "PY002"), (here, "NULL", "PY002")]:
        with pytest.raises(RuntimeError, match=state):
            moving.sql(hold.format(is_proved), user="store", node=node, database="moving")


def test_a_role_that_owns_no_table_may_hold_a_shard(moving):
    moving.sql("CREATE ROLE reader LOGIN", database="moving")
    placement = shard_of(moving, "placement.slots", slots(moving)[2])
    here = moving.nodes.index(place(moving, placement))
    moving.sql(f"SELECT placement.hold({placement}, true)", user="reader", node=here, database="moving")


def test_who_does_not_writes_where_nobody_reads(moving):
    """Why it is needed: the old shard takes rows until Citus removes it, a while after the move."""
    slot = slots(moving)[3]
    written = move_while_writing(moving, slot, "", "block_writes")
    assert stored(moving, slot) < written


def slots(cluster: Cluster) -> list[int]:
    return [int(slot) for (slot,) in cluster.sql(SLOTS, database="moving")]


def move_while_writing(cluster: Cluster, slot: int, guard: str, mode: str) -> int:
    """Moves the shard to the other worker, with all that belongs to it, and returns how many rows were committed."""
    placement, shard = (shard_of(cluster, table, slot) for table in ("placement.slots", "store.early_deletions"))
    here = cluster.nodes.index(place(cluster, placement))
    there = 3 - here
    with tempfile.TemporaryFile("w+") as said:
        sql = WRITE.format(guard=guard.format(placement=placement), shard=shard, slot=slot)
        command = ["psql", "-XAtq", "-c", sql, cluster.url("store", here, "moving")]
        writer = subprocess.Popen(command, stderr=said)
        time.sleep(0.5)  # Whoever holds the shard waits while it moves.
        nodes = ", ".join(f"'{cluster.nodes[node]}', 5432" for node in (here, there))
        cluster.sql(f"SELECT citus_move_shard_placement({placement}, {nodes}, '{mode}')", database="moving")
        assert place(cluster, placement) == place(cluster, shard) == cluster.nodes[there]
        time.sleep(0.2)  # Whoever has not noticed goes on writing.
        cluster.sql("INSERT INTO public.ended VALUES (1)", node=here, database="moving")
        writer.wait(timeout=60)
        cluster.sql("TRUNCATE public.ended", node=here, database="moving")
        said.seek(0)
        return said.read().count("written")


def shard_of(cluster: Cluster, table: str, slot: int) -> str:
    sql = f"SELECT get_shard_id_for_distribution_column('{table}', {slot}::smallint)"
    return cluster.sql(sql, database="moving")[0][0]


def place(cluster: Cluster, shard: str) -> str:
    return cluster.sql(PLACE.format(shard=shard), database="moving")[0][0]


def stored(cluster: Cluster, slot: int) -> int:
    sql = f"SELECT count(*) FROM store.early_deletions WHERE slot = {slot}"
    return int(cluster.sql(sql, database="moving")[0][0])
