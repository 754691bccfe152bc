"""Writes that span slots on a cluster: conversations and their members, what users have for themselves, and keys."""

import uuid

import pytest
from serving import Serving, slot_of


@pytest.fixture(scope="module")
def serving(cluster):
    serving = Serving(cluster)
    yield serving
    serving.stop()


def test_x(serving):
    status, made = serving.request("alice", "POST", "/v1/conversations", {"id": str(uuid.uuid4()), "kind": "group", "members": ["bob", "carol"], "title": "a group"})
    print(status, made)
    print(serving.cluster.sql("select * from store.inbox"))
    print(serving.cluster.sql("select * from store.user_streams"))
    print(serving.cluster.sql("select * from store.user_changes"))
    print(serving.log_ends())
    assert 0
