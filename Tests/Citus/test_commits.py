"""How Citus commits a transaction of a session straight to a worker that writes on another node too."""

import subprocess

import pytest
from cluster import Cluster

SLOTS = """
    SELECT (SELECT min(slot) FROM placed WHERE groupid = 1), (SELECT min(slot) FROM placed WHERE groupid = 2)
"""
PLACED = """
    WITH placed AS (
        SELECT slot, groupid FROM generate_series(0, 255) slot JOIN pg_dist_placement
        ON shardid = get_shard_id_for_distribution_column('placement.slots', slot::smallint))
"""
WRITE = """
    SET citus.log_remote_commands = on;
    BEGIN;
    {before};
    INSERT INTO store.early_deletions_{shard} (slot, conversation_id, message_id, user_id)
    VALUES ({near}, gen_random_uuid(), gen_random_uuid(), 'alice');
    INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at)
    VALUES ({far}, gen_random_uuid()::text, 1, 1, now());
    COMMIT;
"""


@pytest.mark.parametrize(
    "before, is_prepared",
    [
        # What it writes by the shard's name, Citus does not see: the other node commits first, whatever happens then.
        ("", False),
        ("SELECT FROM store.slots WHERE slot = {near} FOR SHARE", False),
        ("UPDATE store.slots SET epoch = epoch WHERE slot = {near}", True),
        ("UPDATE store.user_streams SET last_useq = last_useq WHERE user_slot = {near} AND user_id = ''", True),
    ],
)
def test_both_nodes_commit_or_none_only_behind_a_write_that_citus_sees_here(cluster, before, is_prepared):
    said = commit_on_two_nodes(cluster, before)
    assert ("issuing PREPARE TRANSACTION" in said) == is_prepared
    assert ("issuing COMMIT PREPARED" in said) == is_prepared
    assert "issuing INSERT INTO store.user_changes" in said


def test_what_another_node_runs_for_a_batch_is_prepared_behind_an_update_of_no_row(cluster):
    """As the store borrows: what is written there by the names of shards, Citus does not see either."""
    [[near, far]] = cluster.sql(PLACED + SLOTS)
    [[table]] = cluster.sql(f"""
        SELECT shard_name(
            'store.user_changes', get_shard_id_for_distribution_column('store.user_changes', {far}::smallint))
    """)
    touch = "UPDATE store.user_streams SET last_useq = last_useq WHERE user_slot = {slot} AND user_id = ''"
    run = f"""SELECT placement.run(ARRAY['INSERT INTO {table} (user_slot, user_id, useq, kind, at)
        VALUES ({far}, ''ran'', 1, 1, now())'], NULL, NULL) FROM store.slots WHERE slot = {far}"""
    steps = [touch.format(slot=near), touch.format(slot=far), run]
    said = run_on_a_worker(cluster, f"SET citus.log_remote_commands = on; BEGIN; {'; '.join(steps)}; COMMIT;")
    assert "issuing PREPARE TRANSACTION" in said and "issuing COMMIT PREPARED" in said
    assert cluster.sql("SELECT count(*) FROM store.user_changes WHERE user_id = 'ran'") == [["1"]]


def test_what_is_run_for_a_batch_is_planned_once_and_its_arguments_are_in_no_text_of_a_statement(cluster):
    prepared = "SELECT ARRAY[count(*)::text] FROM pg_prepared_statements WHERE cardinality($1) = 2"
    failing = "SELECT 1 / (cardinality($1) - 2)"
    run = "SELECT placement.run('{{{statement}}}', '{question}', '{{a secret,b}}');"
    question = run.format(statement="SELECT cardinality($1)", question=prepared)
    assert run_on_a_worker(cluster, question * 3).split() == ["{2}", "{2}", "{2}"]
    said = run_on_a_worker(cluster, run.format(statement=failing, question=prepared), fails=True)
    assert "division by zero" in said and "EXECUTE run_" in said and "secret" not in said


def commit_on_two_nodes(cluster: Cluster, before: str) -> str:
    """What Citus tells of the commands that it sends to the other node."""
    [[near, far]] = cluster.sql(PLACED + SLOTS)
    [[shard]] = cluster.sql(f"SELECT get_shard_id_for_distribution_column('store.early_deletions', {near}::smallint)")
    return run_on_a_worker(cluster, WRITE.format(before=before.format(near=near), shard=shard, near=near, far=far))


def run_on_a_worker(cluster: Cluster, sql: str, fails: bool = False) -> str:
    done = subprocess.run(
        ["psql", "-XAtq", "--set=ON_ERROR_STOP=1", cluster.url("store", 1), "-f", "-"],
        input=sql, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
    )  # fmt: skip
    assert (done.returncode != 0) == fails, done.stdout
    return done.stdout
