"""Texts that try to run, to mislead or to break the layout."""

import pytest
from playwright.sync_api import expect

HOSTILE = {
    "markup": "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>",
    "override": "\u202eecalp gnorw eht ni\u202d",
    "isolates": "\u2066\u2067\u2068" * 200 + "x",
    "zalgo": "Z" + "\u0301\u0316\u0335\u0489" * 400,
    "one word": "w" * 16_000,
    "lines": "\n".join("line" for _ in range(3_000)),
    "wide": "\ufdfd" * 300,
    "rtl": "שלום עולם — hello — مرحبا",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_text_stays_text_and_within_its_place(people, kind):
    alice, bob = people("alice", "bob")
    group = alice.group("Hostile", bob)
    alice.say(group, "before")
    alice.say(group, HOSTILE[kind])
    alice.say(group, "after")
    tab = bob.open(viewport={"width": 900, "height": 700}).choose("Hostile")
    tab.shows("after")
    assert "owned" not in tab.page.title()
    text = tab.log.locator("article .text").nth(1)
    assert text.evaluate("node => node.textContent") == HOSTILE[kind]
    assert text.evaluate("node => node.querySelectorAll('*').length") == 0
    box = tab.log.bounding_box()
    for place in ("article", ".bubble", ".text"):
        for bounds in tab.log.locator(place).evaluate_all(
            "nodes => nodes.map(n => n.getBoundingClientRect().toJSON())"
        ):
            assert bounds["left"] >= box["x"] - 8 and bounds["right"] <= box["x"] + box["width"] + 8, place
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # Neither the message before nor the one after it is covered.
    tops = tab.log.locator("article").evaluate_all(
        "nodes => nodes.map(n => [n.getBoundingClientRect().top, n.getBoundingClientRect().bottom])"
    )
    assert all(one[1] <= other[0] + 1 for one, other in zip(tops, tops[1:]))
    assert tab.option("Hostile").bounding_box()["height"] < 90


def test_only_links_to_pages_and_addresses_are_links(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Links", bob)
    alice.say(
        group, "see https://example.org/a(b)?c=d. or mailto:a@example.org, not javascript:alert(1) nor data:text/html,x"
    )
    tab = bob.open().choose("Links")
    links = tab.message("see").get_by_role("link")
    expect(links).to_have_count(2)
    assert links.evaluate_all("nodes => nodes.map(n => [n.href, n.rel, n.target])") == [
        ["https://example.org/a(b)?c=d", "noopener noreferrer", "_blank"],
        ["mailto:a@example.org", "noopener noreferrer", "_blank"],
    ]


def test_a_link_can_not_be_turned_round_to_look_like_another(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Turned", bob)
    alice.say(group, "see https://evil.example/\u202emoc.knab//:sptth")
    tab = bob.open().choose("Turned")
    expect(tab.message("see").get_by_role("link")).to_have_text("https://evil.example/")


def test_names_and_titles_stay_text_too(people):
    alice, bob = people("alice", "bob")
    title = "<b>bold</b> \u202eevil " + "T" * 150
    group = alice.group(title, bob)
    alice.say(group, "hello")
    tab = bob.open()
    tab.option("hello").click()
    heading = tab.page.get_by_role("heading", level=2)
    expect(heading).to_have_text(title)
    assert heading.evaluate("node => node.children.length") == 0
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_html_can_not_be_made_of_a_string(people):
    [alice] = people("alice")
    tab = alice.open()
    refused = tab.page.evaluate(
        """() => {
            try { document.body.innerHTML = "<i>x</i>"; } catch (error) { return error instanceof TypeError }
            return false;
        }"""
    )
    assert refused
    alice.errors.clear()  # The browser says so on the console, too.
