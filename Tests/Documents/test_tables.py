"""Tables that follow from the code are what the code says, and the columns beside them are filled in."""

import re

import pytest
import tables
from repository import documents, files, text

COMMITTED = tables.committed()


def test_every_table_stands_in_a_document():
    assert set(COMMITTED) == set(tables.TABLES)


@pytest.mark.parametrize("name", tables.TABLES)
def test_a_table_is_what_the_code_says(name):
    document, content = COMMITTED[name]
    generated = tables.generated(name, content)
    assert content.splitlines() == generated.splitlines(), f"{document}: run Tests/Documents/tables.py --write"


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("configuration", "meaning"),
        ("development", "meaning"),
        ("compose", "meaning"),
        ("limits", "set in"),
        ("metrics", "what it says"),
    ],
)
def test_every_row_is_explained(name, column):
    assert not [key for key, row in tables.cells(COMMITTED[name][1]).items() if not row[column]]


def test_metrics_that_are_named_exist():
    """In documents, alerts and the dashboard."""
    known = {name.strip("`") for name in tables.cells(COMMITTED["metrics"][1])}
    places = [*documents(), *(name for name in files() if name.startswith("deploy/observability/"))]
    places += [name for name in files() if name.startswith("deploy/kubernetes/base/")]
    named = {
        (place, name)
        for place in places
        for name in re.findall(
            r"\bparley_(?:service|bus|http|ingest|store|receipt|fanout|media)_[a-z_]+\b", text(place)
        )
        if not place.endswith("alerts.yml") or not name.endswith("_info")
    }
    roots = {re.sub(r"_(bucket|sum|count)$", "", name): (place, name) for place, name in named}
    schemas = {"parley_store_owner", "parley_receipt_owner", "parley_media_owner"}
    assert not [found for name, found in roots.items() if name not in known | schemas and found[1] not in known]
