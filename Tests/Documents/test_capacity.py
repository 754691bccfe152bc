"""The plan in docs/capacity.md: its figures are those that stand where they were measured, and its ends are ends."""

import capacity
import pytest
from capacity import Plan
from repository import text


@pytest.mark.parametrize("name", ["postgres", "store", "fanout", "ingest", "receipt", "log", "session", "disk"])
def test_a_figure_is_what_was_measured(name):
    documents = text("docs/benchmarks.md") + text("Tests/Load/results/README.md")
    figure = capacity.MEASURED[name]
    written = {f"{figure.value:g}", f"{figure.value:.2f}"}
    expected = {f"`{name}` {value}" for value in written} | {f"PostgreSQL {value}" for value in written}
    assert any(found in documents for found in (written if figure.unit != "ms" else expected))


def test_twice_the_users_need_twice_of_all_but_fanouts():
    one, two = Plan(10**7), Plan(2 * 10**7)
    for need in (
        "rate",
        "things",
        "sessions",
        "bytes_kept",
        "nodes_by_work",
        "nodes_by_disk",
        "slot_cores",
        "overheard",
    ):
        assert getattr(two, need) == pytest.approx(2 * getattr(one, need)), need


def test_fanouts_need_more_than_twice_as_they_overhear_each_other():
    """As long as their work is what they are for: with few sessions each."""
    one, two = Plan(10**8), Plan(2 * 10**8)
    assert two.fanouts >= 2 * one.fanouts
    assert Plan(10**9).fanouts == float("inf")


def test_an_end_is_where_a_plan_is_just_enough():
    users = capacity.users_until(lambda plan: plan.nodes_by_disk <= 1)
    assert Plan(users).nodes_by_disk <= 1 < Plan(users * 1.01).nodes_by_disk


@pytest.mark.parametrize(
    ("value", "shown"),
    [(17_361, "17,000"), (999, "1,000"), (0.434, "0.43"), (5e8, "500 million"), (1.74e6, "1.7 million"), (6.4, "6.4")],
)
def test_two_digits_are_shown(value, shown):
    assert capacity.short(value) == shown
