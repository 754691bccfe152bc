"""What the roles of the database may do, asked over its network with the passwords that the services have."""

import pytest
from project import Project


def test_receipt_cannot_read_texts_or_titles(project: Project):
    assert project.psql("receipt", "SELECT count(*) FROM store.memberships").returncode == 0
    for sql in (
        "SELECT body FROM store.messages",
        "SELECT count(*) FROM store.messages",
        "SELECT body FROM store.revisions",
        "SELECT title FROM store.conversations",
        "SELECT * FROM store.changes",
        "SELECT * FROM store.tapbacks",
    ):
        refused = project.psql("receipt", sql)
        assert refused.returncode != 0 and "permission denied" in refused.stdout, (sql, refused.stdout)


@pytest.mark.parametrize(
    "role, sql",
    [
        ("receipt", "UPDATE store.memberships SET role = 2"),
        ("receipt", "DELETE FROM store.user_settings"),
        ("store", "DELETE FROM receipt.horizons"),
        ("store", "INSERT INTO receipt.slots (slot) VALUES (1)"),
        ("store", "UPDATE store.deployment SET log_id = gen_random_uuid()"),
        ("store", "DELETE FROM store.migrations"),
        ("store", "DROP TABLE store.messages"),
        ("store", "CREATE TABLE store.mine (a integer)"),
        ("store", "CREATE TABLE public.mine (a integer)"),
        ("receipt", "CREATE SCHEMA mine"),
        ("store", "SELECT pg_read_file('/etc/passwd')"),
        ("store", "SELECT rolpassword FROM pg_authid"),
    ],
)
def test_a_service_has_only_the_rights_it_needs(project: Project, role: str, sql: str):
    refused = project.psql(role, sql)
    assert refused.returncode != 0
    assert "permission denied" in refused.stdout or "must be owner" in refused.stdout, refused.stdout


def test_only_tls_and_the_own_password_get_in(project: Project):
    assert project.psql("store", "SELECT 1").stdout.strip() == "1"
    shown = project.psql("store", "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    assert shown.stdout.strip() == "TLSv1.3"
    assert "no encryption" in project.psql("store", "SELECT 1", ssl="disable").stdout
    # The secrets of receipt have no password of store, of the owners or of the superuser.
    for role in ("store", "store_owner", "receipt_owner", "parley"):
        assert project.psql(role, "SELECT 1", secrets="receipt").returncode != 0
