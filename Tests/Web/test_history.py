"""Long histories: scrolling, jumping, searching."""

import re

from playwright.sync_api import expect

COUNT = 1_200


def test_scrolling_back_reaches_the_beginning_and_nothing_jumps(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Long", bob)
    alice.say_many(group, [f"message {n} of many" for n in range(COUNT)])
    tab = bob.open().choose("Long")
    # What was unread on joining is below; the newest is one button away.
    expect(tab.button("Jump to latest").or_(tab.message(f"message {COUNT - 1} of many")).first).to_be_visible()
    if tab.button("Jump to latest").is_visible():
        tab.button("Jump to latest").click()
    expect(tab.message(f"message {COUNT - 1} of many")).to_be_in_viewport()
    seen: set[str] = set()
    for turn in range(200):
        before = places(tab, scroll_to=400 * (turn % 2))
        seen |= set(tab.order())
        if "message 0 of many" in seen:
            break
        # More rows come above. What is in sight stays where it is, but for rounding: once for each page that has come.
        first = next(iter(before))
        tab.log.evaluate(
            """async (log, first) => {
                const until = performance.now() + 5000;
                const isFirst = () => log.querySelector("article .text")?.textContent === first;
                while (isFirst() && performance.now() < until) await new Promise(requestAnimationFrame);
            }""",
            first,
        )
        after = places(tab)
        seen |= set(tab.order())
        moved = {name: after[name] - before[name] for name in before.keys() & after.keys()}
        assert moved and all(abs(distance) < 2 for distance in moved.values()), moved
    assert len(seen) == COUNT, f"{len(seen)} of {COUNT} were seen"
    assert tab.log.get_by_role("article").count() < 500, "the window grew with the history"
    tab.button("Jump to latest").click()
    expect(tab.message(f"message {COUNT - 1} of many")).to_be_in_viewport()
    tab.log.hover()
    seen: set[str] = set()
    moved = []
    for _ in range(400):
        before = places(tab)
        tab.page.mouse.wheel(0, -700)
        tab.page.wait_for_timeout(20)
        after = places(tab)
        seen |= set(tab.order())
        moved += [after[name] - before[name] for name in before.keys() & after.keys()]
        seen |= after.keys()
        if "message 0 of many" in seen:
            break
    assert len(seen) == COUNT, f"{len(seen)} of {COUNT} were seen"
    assert tab.log.get_by_role("article").count() < 500, "the window grew with the history"
    # A page that is prepended moves nothing, but for rounding: all that moved moved by at most one turn of the wheel.
    assert all(-2 < distance < 702 for distance in moved), sorted({round(d) for d in moved})
    tab.button("Jump to latest").click()
    expect(tab.message(f"message {COUNT - 1} of many")).to_be_in_viewport()


def places(tab, scroll_to: int | None = None) -> dict[str, float]:
    """Where the messages in sight are, after scrolling if asked."""
    return tab.log.evaluate(
        """(log, top) => {
            const scroller = log.parentElement;
            if (top !== null) scroller.scrollTop = top;
            const { top: above, bottom: below } = scroller.getBoundingClientRect();
            // Texts, because the name above the first of them goes when the same person's come before it.
            const rows = [...log.querySelectorAll("article .text")].map(
                (text) => [text.textContent, text.getBoundingClientRect()]);
            const inSight = rows.filter(([, box], index) => index === 0 || (box.bottom > above && box.top < below));
            return Object.fromEntries(inSight.map(([name, box]) => [name, box.top]));
        }""",
        scroll_to,
    )


def test_a_conversation_opens_where_the_unread_messages_begin(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Unread", bob)
    alice.say_many(group, [f"old {n}" for n in range(80)])
    seq = alice.call("GET", f"/v1/conversations/{group}")["lastSeq"]
    bob.call("POST", f"/v1/conversations/{group}/receipts", {"readSeq": seq})
    alice.say_many(group, [f"new {n}" for n in range(80)])
    tab = bob.open()
    tab.choose("Unread")
    expect(tab.page.get_by_role("separator", name="Unread messages")).to_be_in_viewport()
    expect(tab.message("new 0").first).to_be_in_viewport()
    jump = tab.button("Jump to latest")
    expect(jump).to_be_visible()
    jump.click()
    expect(tab.message("new 79")).to_be_in_viewport()
    expect(tab.option("Unread").locator(".badge")).to_have_count(0)


def test_what_arrives_while_reading_above_is_counted_and_moves_nothing(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Above", bob)
    alice.say_many(group, [f"line {n}" for n in range(60)])
    seq = alice.call("GET", f"/v1/conversations/{group}")["lastSeq"]
    bob.call("POST", f"/v1/conversations/{group}/receipts", {"readSeq": seq})
    tab = bob.open().choose("Above")
    expect(tab.message("line 59")).to_be_in_viewport()
    tab.log.hover()
    tab.page.mouse.wheel(0, -900)
    expect(tab.button("Jump to latest")).to_be_visible()
    tab.page.wait_for_timeout(200)
    before = places(tab)
    alice.say_many(group, ["later 0", "later 1"])
    expect(tab.button("Jump to latest")).to_contain_text("2")
    after = places(tab)
    assert all(abs(after[name] - before[name]) < 1 for name in before.keys() & after.keys())
    tab.button("Jump to latest").click()
    expect(tab.message("later 1")).to_be_in_viewport()


def test_a_search_finds_and_jumps(people):
    alice, bob = people("alice", "bob")
    group, other = alice.group("Haystack", bob), alice.group("Barn", bob)
    alice.say(group, "a golden needle")
    alice.say_many(group, [f"straw {n}" for n in range(300)])
    alice.say(other, "another needle")
    tab = bob.open().choose("Haystack")
    box = tab.page.get_by_role("searchbox", name="Search")
    box.fill("needle")
    expect(tab.button("This conversation")).to_be_visible()
    results = tab.page.get_by_role("list", name="Results")
    expect(results.get_by_role("listitem")).to_have_count(2)
    expect(results.locator("mark").first).to_have_text(re.compile("needle"))
    tab.button("This conversation").click()
    expect(results.get_by_role("listitem")).to_have_count(1)
    results.get_by_role("button", name=re.compile("golden")).click()
    expect(tab.message("a golden needle")).to_be_in_viewport()
    box.press("Escape")
    expect(tab.conversations).to_be_visible()
    expect(tab.button("Jump to latest")).to_be_visible()
