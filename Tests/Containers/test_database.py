"""How the database is reached over its network, with the passwords that the containers have. What its roles may do is
tested in Tests/System/test_roles.py."""

from project import Project


def test_only_tls_and_the_own_password_get_in(project: Project):
    shown = project.psql("store", "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    assert shown.stdout.strip() == "TLSv1.3"
    assert "no encryption" in project.psql("store", "SELECT 1", ssl="disable").stdout
    # The secrets of receipt have no password of store, of the owners or of the superuser.
    for role in ("store", "store_owner", "maintenance", "parley"):
        assert project.psql(role, "SELECT 1", secrets="receipt").returncode != 0


def test_receipt_cannot_read_texts(project: Project):
    assert project.psql("receipt", "SELECT count(*) FROM store.memberships").returncode == 0
    refused = project.psql("receipt", "SELECT body FROM store.messages")
    assert refused.returncode != 0 and "permission denied" in refused.stdout, refused.stdout


def test_what_was_deleted_is_scrubbed_from_a_running_system(project: Project):
    assert "scrubbed in " in project.compose("run", "--rm", "scrub")


def test_a_database_in_use_is_not_called_restored(project: Project):
    refused = project.compose("run", "--rm", "migrate-store", "restored", may_fail=True)
    assert "stop all services" in refused
