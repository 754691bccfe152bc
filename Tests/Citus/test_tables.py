"""Where the tables are after `migrate --citus`, and what later migrations do to them."""

import re
from collections import Counter
from hashlib import sha256

import pytest
from cluster import SCHEMAS, Cluster
from system import REPOSITORY

ON_THE_COORDINATOR = ["migrations", "migrations_beside", "services"]
TABLES = """
    SELECT c.relnamespace::regnamespace || '.' || c.relname, coalesce(t.citus_table_type, 'local'),
        coalesce(t.distribution_column, ''), coalesce(t.colocation_id, 0)
    FROM pg_class c LEFT JOIN citus_tables t ON t.table_name = c.oid
    WHERE c.relkind IN ('r', 'p') AND c.relnamespace::regnamespace::text IN ('store', 'receipt', 'media', 'placement')
"""
SHAPES = r"""
    SET citus.override_table_visibility = off;
    SELECT relnamespace::regnamespace || '.' || regexp_replace(relname, '_\d+$', ''), coalesce(c.reloptions::text, ''),
        (SELECT string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull,
            attcollation::regcollation, attstattarget, attstorage, pg_get_expr(adbin, adrelid)), ', ' ORDER BY attname)
         FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
         WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped),
        -- What a constraint refers to are shards. What was added without a look at the rows holds for those of shards.
        (SELECT string_agg(definition, ', ' ORDER BY definition) FROM (
            SELECT regexp_replace(pg_get_constraintdef(oid), '_\d+(?=\()| NOT VALID$', '')
            FROM pg_constraint WHERE conrelid = c.oid) d (definition)),
        (SELECT string_agg(definition, ', ' ORDER BY definition) FROM (
            SELECT substring(pg_get_indexdef(indexrelid) FROM ' USING .*')
                || CASE WHEN NOT indisvalid THEN ' INVALID' ELSE '' END
            FROM pg_index WHERE indrelid = c.oid) d (definition))
    FROM pg_class c WHERE relkind = 'r' AND relnamespace::regnamespace::text IN ('store', 'receipt', 'media')
        AND (relname ~ '_\d+$') = {are_shards}
"""
PLACES = """
    SELECT DISTINCT nodename, array(
        SELECT slot FROM generate_series(0, 255) slot
        WHERE get_shard_id_for_distribution_column(logicalrelid, slot::smallint) = shardid)
    FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid)
    JOIN pg_dist_partition USING (logicalrelid) WHERE partmethod = 'h'
"""


def tables(cluster: Cluster, database: str = "parley") -> dict[str, list[str]]:
    """Of each table its kind, the column it is distributed by, and its group."""
    return {name: rest for name, *rest in cluster.sql(TABLES, database=database)}


def distributed(cluster: Cluster, database: str = "parley") -> list[str]:
    return [name for name, (kind, *_) in tables(cluster, database).items() if kind == "distributed"]


def test_every_table_with_a_slot_is_distributed_by_it_and_the_rest_is_where_it_is_needed(cluster):
    found = tables(cluster)
    columns = cluster.sql("""
        SELECT attrelid::regclass::text, attname FROM pg_index
        JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey) JOIN pg_class c ON c.oid = indrelid
        WHERE indisprimary AND attname IN ('slot', 'user_slot') AND relkind = 'r'
            AND relnamespace::regnamespace::text IN ('store', 'receipt', 'media', 'placement')
    """)
    by_slot = {name: column for name, (kind, column, _) in found.items() if kind == "distributed"}
    assert by_slot == dict(columns)
    assert len(by_slot) > 35
    assert {name for name, (kind, *_) in found.items() if kind == "reference"} == {
        "store.deployment",
        "media.signing_key",
    }
    local = sorted(name for name, (kind, *_) in found.items() if kind == "local")
    assert local == sorted(f"{schema}.{name}" for schema in SCHEMAS for name in ON_THE_COORDINATOR)


def test_all_rows_of_a_slot_are_on_one_node_and_every_shard_has_as_many_slots(cluster):
    assert len({group for kind, _, group in tables(cluster).values() if kind == "distributed"}) == 1
    places = cluster.sql(PLACES)  # Different ones: all tables have the same.
    assert [slots.count(",") + 1 for _, slots in places] == [16] * 16
    assert Counter(node for node, _ in places) == {cluster.nodes[1]: 8, cluster.nodes[2]: 8}


def test_a_shard_has_everything_that_its_table_has(cluster):
    """Statistics of texts would keep what was deleted; fillfactor, storage, indexes and collations matter as much."""
    assert differing_shards(cluster) == []


def differing_shards(cluster: Cluster, database: str = "parley") -> list[tuple]:
    """The tables whose shards are not like them, each with the shape of a shard and its own."""
    wanted = shapes(cluster, 0, database)
    shards = shapes(cluster, 1, database) | shapes(cluster, 2, database)
    assert {name for name, _ in shards} >= set(distributed(cluster, database)) - {"placement.slots"}
    return sorted(shard for shard in shards if shard not in wanted)


def shapes(cluster: Cluster, node: int, database: str = "parley") -> set[tuple[str, ...]]:
    """What columns, constraints, indexes and options the tables of a node have: on a worker, their shards."""
    rows = cluster.sql(SHAPES.format(are_shards="false" if node == 0 else "true"), node=node, database=database)
    return {(name, " | ".join(shape)) for name, *shape in rows}


def test_published_views_are_on_every_node(cluster):
    def views(node: int) -> list[list[str]]:
        return cluster.sql(
            "SELECT schemaname, viewname FROM pg_views WHERE viewname ^@ 'published_' ORDER BY 1, 2", node=node
        )

    assert len(views(0)) == 15
    assert views(1) == views(2) == views(0)


def test_migrating_again_changes_nothing(cluster):
    before = tables(cluster), cluster.sql("SELECT shardid, nodename FROM citus_shards ORDER BY 1")
    for service in SCHEMAS:
        assert cluster.migrate(service) == cluster.migrate(service, "--citus") == f"{service}: up to date\n"
    assert (tables(cluster), cluster.sql("SELECT shardid, nodename FROM citus_shards ORDER BY 1")) == before


def test_another_layout_is_refused(cluster):
    with pytest.raises(RuntimeError, match="the tables are distributed: the layout of a database is chosen once"):
        cluster.migrate("store", "--partitions", "4")
    with pytest.raises(RuntimeError, match="the slots are in 16 shards"):
        cluster.migrate("store", "--citus", "8")


def test_each_worker_has_a_table_of_its_own_of_who_owns_slots_there(cluster):
    for service in SCHEMAS:
        for node in (1, 2):
            assert cluster.sql(f"SELECT count(*) FROM {service}.services", user=service, node=node) is not None
            assert (
                cluster.sql(f"SELECT FROM pg_dist_partition WHERE logicalrelid = '{service}.services'::regclass") == []
            )
    # What a migration of an earlier build has not made, or a node that was added later lacks.
    cluster.sql("DROP FUNCTION placement.hold(bigint, boolean)")
    cluster.sql("DROP TABLE store.services", node=2)
    cluster.migrate("store")
    cluster.grant("store")
    for node in (0, 1, 2):
        assert cluster.sql("SELECT to_regprocedure('placement.hold(bigint, boolean)') IS NULL", node=node) == [["f"]]
    assert cluster.sql("SELECT count(*) FROM store.services", user="store", node=2) == [["0"]]


def test_rights_are_granted_on_the_workers_too(cluster):
    for service in SCHEMAS:
        cluster.grant(service)
        for node in (1, 2):
            [[rights]] = cluster.sql(
                f"SELECT relacl FROM pg_class WHERE oid = '{service}.services'::regclass", node=node
            )
            assert f"{service}=arwd" in rights


ACT = """
    INSERT INTO {acts} (slot, number, id, at, administrator_id, call)
    VALUES (7, {number}, gen_random_uuid(), now(), 'backend', 'eraseUser');
    UPDATE {acts} SET status = 202 WHERE slot = 7
"""
CHANGES = [
    "UPDATE {acts} SET administrator_id = 'x' WHERE slot = 7",
    "DELETE FROM {acts} WHERE slot = 7",
    "SET citus.enable_manual_changes_to_shards = on; TRUNCATE {acts}",  # Anybody may set this.
]
SHARD = "SELECT get_shard_id_for_distribution_column('{table}', 7::smallint)"
PLACE = "SELECT nodename FROM pg_dist_placement JOIN pg_dist_node USING (groupid) WHERE shardid = {shard}"


@pytest.fixture(scope="module")
def deployed(cluster) -> str:
    """A database whose services are not the owners of its tables."""
    database = "deployed"
    cluster.create_database(database)
    for service in SCHEMAS:
        cluster.migrate(service, "--citus", "2", database=database)
    for service in SCHEMAS:
        cluster.grant(service, database)
    return database


def test_the_audit_log_is_only_added_to_by_the_names_of_shards_too(cluster, deployed):
    """Wherever the shard is: what is granted on columns goes with it."""
    database = deployed
    log, placement = (
        cluster.sql(SHARD.format(table=table), database=database)[0][0] for table in ("store.acts", "placement.slots")
    )
    cluster.sql("DELETE FROM store.acts", database=database)  # Of this test before it was repeated.
    number = 0
    for _ in range(2):
        place = cluster.sql(PLACE.format(shard=log), database=database)[0][0]
        node = cluster.nodes.index(place)
        for acts, at in (("store.acts", 0), ("store.acts", node), (f"store.acts_{log}", node)):
            number += 1
            cluster.sql(ACT.format(acts=acts, number=number), user="store", node=at, database=database)
            for change in CHANGES:
                with pytest.raises(RuntimeError, match="permission denied for table acts"):
                    cluster.sql(change.format(acts=acts), user="store", node=at, database=database)
        nodes = f"'{place}', 5432, '{cluster.nodes[3 - node]}', 5432"
        cluster.sql(f"SELECT citus_move_shard_placement({placement}, {nodes}, 'block_writes')", database=database)
    acts = cluster.sql("SELECT number, status FROM store.acts ORDER BY 1", database=database)
    assert acts == [[str(each), "202"] for each in range(1, 7)]


READABLE = """
    SELECT table_schema || '.' || table_name, column_name FROM information_schema.view_column_usage
    WHERE view_schema = '{other}' AND starts_with(view_name, 'published_')
"""
COLUMNS = """
    SELECT c.relnamespace::regnamespace || '.' || c.relname, a.attname FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relkind = 'r' AND c.relnamespace = '{other}'::regnamespace
        AND has_column_privilege('{service}', c.oid, a.attname, 'SELECT')
"""


@pytest.mark.parametrize("service, other", [("receipt", "store"), ("store", "receipt")])
def test_a_service_reads_the_columns_that_are_published_to_it_and_no_others(cluster, deployed, service, other):
    """By the names of tables and of their shards, wherever these are."""
    database = deployed
    published = {tuple(row) for row in cluster.sql(READABLE.format(other=other), database=database)}
    assert len(published) > 20
    # Versions before the views read these tables as a whole (deploy/database).
    whole = {
        "receipt": {"store.memberships", "store.user_settings", "store.conversation_settings"},
        "store": {"receipt.completions", "receipt.horizons", "receipt.positions", "receipt.receipt_runs"},
    }[service]
    for node in (0, 1, 2):
        found = {
            (re.sub(r"_\d+$", "", table), column)
            for table, column in cluster.sql(COLUMNS.format(other=other, service=service), node=node, database=database)
        }
        assert {each for each in found if each[0] not in whole} == {each for each in published if each[0] not in whole}
        assert {table for table, _ in found} >= whole


def test_a_plain_database_is_not_made_one_of_two_layouts(cluster):
    cluster.create_database("plain", distributed=False)
    with pytest.raises(RuntimeError, match="the database has no extension citus"):
        cluster.migrate("store", "--citus", database="plain")
    cluster.migrate("store", "--partitions", "2", database="plain")


def test_what_a_database_holds_is_distributed_with_it_and_leaves_the_coordinator(cluster):
    cluster.create_database("filled")
    cluster.migrate("store", database="filled")
    cluster.sql(
        """
        INSERT INTO store.messages
            (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at)
        SELECT n % 256, gen_random_uuid(), 1, gen_random_uuid(), 1, 'alice', 1, 'a secret', now(), now()
        FROM generate_series(1, 1000) n
        """,
        database="filled",
    )
    cluster.migrate("store", "--citus", "1", database="filled")
    count = "SELECT count(*) FROM store.messages WHERE body = 'a secret'"
    assert cluster.sql(count, database="filled") == cluster.sql(count, node=1, database="filled") == [["1000"]]
    assert cluster.sql("SELECT pg_relation_size('store.messages'), count(*) FROM store.slots", database="filled") == [
        ["0", "256"]
    ]
    cluster.migrate("receipt", "--citus", database="filled")  # Beside what the first has placed.
    assert len(cluster.sql(PLACES, database="filled")) == 1


def test_all_tables_have_one_owner(cluster):
    """Otherwise a shard that moves beside traffic loses messages: decision 0089."""
    owners = "SELECT DISTINCT relowner::regrole FROM pg_dist_partition JOIN pg_class c ON c.oid = logicalrelid"
    assert cluster.sql(owners) == [["postgres"]]
    cluster.create_database("owned")
    cluster.migrate("store", "--citus", "2", database="owned")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="the tables of a cluster have one owner, which is postgres"):
            cluster.migrate("media", "--citus", database="owned", owner="media")
    cluster.sql("REASSIGN OWNED BY media TO postgres", database="owned")
    cluster.migrate("media", "--citus", database="owned")
    # What a cluster of before has. Its shards are given to the one owner, too.
    cluster.sql("ALTER TABLE media.objects OWNER TO media", database="owned")
    assert cluster.sql(owners, database="owned") != [["postgres"]]
    cluster.sql("REASSIGN OWNED BY media TO postgres", database="owned")
    assert cluster.sql(owners, database="owned") == [["postgres"]]
    of_shards = "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname IN ('store', 'media')"
    for node in (1, 2):
        shown = f"SET citus.override_table_visibility = off; {of_shards}"
        assert cluster.sql(shown, node=node, database="owned") == [["postgres"]]


@pytest.mark.parametrize("service, number", [("store", 17), ("receipt", 2)])
def test_later_migrations_change_distributed_tables(cluster, service, number):
    """A database that was distributed after an earlier migration is brought up to date, and is then like a new one."""
    database = f"earlier_{service}"
    cluster.create_database(database)
    cluster.migrate("media", "--citus", database=database)
    apply_migrations(cluster, service, number, database)
    assert f"{service}: applied {number + 1} " in cluster.migrate(service, database=database)
    new = {name: rest[:2] for name, rest in tables(cluster).items() if name.startswith(service)}
    assert {name: rest[:2] for name, rest in tables(cluster, database).items() if name.startswith(service)} == new
    assert differing_shards(cluster, database) == []
    assert {each for each in shapes(cluster, 0) if each[0] in new} <= shapes(cluster, 0, database)


def test_an_index_that_some_shards_got_is_built_again(cluster):
    """What an interruption leaves: the coordinator has it, and it is not valid."""
    cluster.create_database("interrupted")
    cluster.migrate("media", "--citus", database="interrupted")
    apply_migrations(cluster, "store", 37, "interrupted")
    [[shard]] = cluster.sql(SHARD.format(table="store.messages"), database="interrupted")
    node = cluster.nodes.index(cluster.sql(PLACE.format(shard=shard), database="interrupted")[0][0])
    in_the_way = f"""
        SET citus.enable_manual_changes_to_shards = on;
        CREATE INDEX messages_mentioning_{shard} ON store.messages_{shard} (seq)
    """
    cluster.sql(in_the_way, node=node, database="interrupted")
    with pytest.raises(RuntimeError, match="CONCURRENTLY-enabled index command failed"):
        index = "CREATE INDEX CONCURRENTLY messages_mentioning ON store.messages (conversation_id, seq, slot)"
        cluster.sql(index, database="interrupted")
    cluster.migrate("store", database="interrupted")
    assert {each for each in shapes(cluster, 0) if each[0] == "store.messages"} <= shapes(cluster, 0, "interrupted")
    assert differing_shards(cluster, "interrupted") == []


def apply_migrations(cluster: Cluster, service: str, number: int, database: str):
    """What `migrate --citus` of that time did."""
    files = sorted((REPOSITORY / f"Services/{service.capitalize()}/Migrations").glob("*.sql"))[:number]
    cluster.sql(
        f"""
        CREATE SCHEMA {service};
        CREATE TABLE {service}.migrations (
            number integer PRIMARY KEY, name text NOT NULL, checksum bytea NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now());
        CREATE TABLE {service}.migrations_beside (
            LIKE {service}.migrations INCLUDING ALL, compatible_from integer NOT NULL);
        """,
        database=database,
    )
    for file in files:
        text = file.read_text()
        cluster.sql(f"SET search_path TO {service}; {text}", database=database)
        row = f"{int(file.name[:4])}, '', '\\x{sha256(text.encode()).hexdigest()}'"
        cluster.sql(f"INSERT INTO {service}.migrations VALUES ({row})", database=database)
    cluster.sql(
        f"""
        SELECT create_distributed_table(indrelid, attname, colocate_with => 'placement.slots')
        FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
        JOIN pg_class c ON c.oid = indrelid
        WHERE indisprimary AND attname IN ('slot', 'user_slot') AND relnamespace = '{service}'::regnamespace
        """,
        database=database,
    )
