"""What people are called: set in one browser, seen in the others."""

import re

from playwright.sync_api import expect


def rename(tab, name: str):
    tab.button("Settings").click()
    dialog = tab.page.get_by_role("dialog", name="Settings")
    dialog.get_by_role("textbox", name="Your name").fill(name)
    dialog.get_by_role("button", name="Save name").click()
    return dialog


def called(person, name: str, **fields):
    return person.call("PUT", "/v1/profile", {"displayName": name} | fields)


def test_who_is_renamed_is_called_so_everywhere_without_a_reload(people, tmp_path):
    alice, bob, carol = people("alice", "bob", "carol")
    direct, group = alice.direct(bob), alice.group("Climbers", bob, carol)
    alice.say(direct, "Sunday?")
    question = alice.say(group, f"Who is coming, @{bob.name}?", mentions=[bob.name])
    bob.say(group, "I am", replyTo=question["id"])
    tab = bob.open(viewport={"width": 1000, "height": 700})
    tab.choose("Climbers")
    expect(tab.log.locator(".sender").first).to_have_text(alice.name)
    other = alice.open()
    other.choose("Climbers")

    dialog = rename(other, "Alice Liddell")
    expect(dialog.get_by_role("heading", name="Alice Liddell")).to_be_visible()
    expect(tab.log.locator(".sender").first).to_have_text("Alice Liddell")
    expect(tab.message("Who is").first).to_have_attribute("aria-label", re.compile("^Alice Liddell, Who is coming"))
    expect(tab.message("I am").locator(".quote .who")).to_have_text("Alice Liddell")
    expect(tab.option("Sunday?").locator(".title")).to_have_text("Alice Liddell")
    expect(tab.option("Sunday?").locator(".avatar")).to_have_text("AL")

    # Their own other tab, and what is found, typed, offered and listed.
    expect(alice.tab().message("I am").locator(".quote .who")).to_have_text("Alice Liddell")
    dialog.get_by_role("button", name="Close").click()
    other.field.fill("I am t")
    expect(tab.page.get_by_role("status").filter(has_text="Alice Liddell is typing…")).to_be_visible()
    tab.field.fill("")
    tab.field.press_sequentially("@lid")
    expect(tab.page.get_by_role("listbox", name="Members")).to_be_hidden()
    tab.field.fill("")
    tab.field.press_sequentially("@ali")
    offered = tab.page.get_by_role("listbox", name="Members").get_by_role("option")
    expect(offered).to_have_text(f"Alice Liddell{alice.name}")
    offered.click()
    expect(tab.field).to_have_value(f"@{alice.name} ")
    tab.field.press_sequentially("hello")
    tab.button("Send").click()
    expect(tab.message("hello").locator(".mention")).to_have_text("@Alice Liddell")
    tab.page.get_by_role("searchbox", name="Search").fill("Sunday")
    found = tab.page.get_by_role("list", name="Results").get_by_role("listitem")
    expect(found).to_contain_text("Alice Liddell: Sunday?")
    tab.page.get_by_role("searchbox", name="Search").fill("")
    tab.button("Details of this conversation").click()
    members = tab.page.get_by_role("list", name="Members").get_by_role("listitem")
    expect(members.filter(has_text="Alice Liddell")).to_contain_text(alice.name)
    tab.page.screenshot(path=tmp_path / "details.png")
    tab.page.keyboard.press("Escape")

    # A reload has it at once, and without a connection.
    tab.page.reload()
    expect(tab.option("Sunday?").locator(".title")).to_have_text("Alice Liddell")
    tab.option("Sunday?").click()
    expect(tab.page.get_by_role("heading", name="Alice Liddell", level=2)).to_have_attribute("title", alice.name)
    tab.page.screenshot(path=tmp_path / "renamed.png")

    # Without a name they are their id again.
    rename(other, "")
    expect(tab.option("Sunday?").locator(".title")).to_have_text(alice.name)


def test_a_name_leaves_the_rest_of_the_profile_and_a_refusal_is_told(people):
    [alice] = people("alice")
    picture = "https://pictures.example/alice.png"
    called(alice, "Alice", avatarUrl=picture, extra={"n": 12345678901234567890, "10": 1, "2": [1.50]})
    asked = []
    tab = alice.open()
    tab.page.on("request", lambda request: asked.append(request.url))
    dialog = rename(tab, "Alice Liddell")
    expect(dialog.get_by_role("heading", name="Alice Liddell")).to_be_visible()
    [profile] = alice.call("GET", f"/v1/profiles?ids={alice.name}")["profiles"]
    assert profile["avatarUrl"] == picture and profile["displayName"] == "Alice Liddell"
    assert list(profile["extra"].items()) == [("n", 12345678901234567890), ("10", 1), ("2", [1.5])]

    dialog.get_by_role("textbox", name="Your name").fill("x" * 81)
    dialog.get_by_role("button", name="Save name").click()
    expect(dialog.get_by_role("alert")).to_have_text("displayName: at most 80 characters")
    expect(dialog.get_by_role("heading", name="Alice Liddell")).to_be_visible()
    assert not [url for url in asked if "pictures.example" in url], "a picture's host learns who looks"


def test_settings_that_are_open_before_the_user_is_known_show_them_then(people):
    [alice] = people("alice")
    called(alice, "Alice Liddell")
    held = []
    # Limits are asked for before the session begins.
    tab = alice.open(lambda context: context.route("**/v1/limits", lambda route: held.append(route)))
    tab.button("Settings").click()
    dialog = tab.page.get_by_role("dialog", name="Settings")
    expect(dialog.get_by_role("button", name="Sign out")).to_be_visible()
    expect(dialog.get_by_role("heading", level=3)).to_have_text(["Blocked"])
    for route in held:
        route.continue_()
    expect(dialog.get_by_role("heading", name="Alice Liddell")).to_be_visible()
    expect(dialog.get_by_role("textbox", name="Your name")).to_have_value("Alice Liddell")


HOSTILE = {
    "markup": "<img src=x onerror=\"document.title='owned'\">",
    "long": "W" * 80,
    "zalgo": "Z" + "\u0301\u0316" * 39,
    "wide": "\ufdfd" * 80,
    "rtl": "מרים! (1)",
}


def test_a_name_stays_text_and_within_its_place(people, tmp_path):
    alice, *others = people("alice", *HOSTILE)
    group = alice.group("Hostile names", *others)
    for person, name in zip(others, HOSTILE.values()):
        called(person, name)
        person.say(alice.direct(person), "hello")
        person.say(group, f"hello from {person.name}")
    tab = alice.open(viewport={"width": 900, "height": 800}).choose("Hostile names")
    for person, name in zip(others, HOSTILE.values()):
        sender = tab.message(f"hello from {person.name}").locator(".sender")
        expect(sender).to_have_text(name)
        assert sender.evaluate("node => node.querySelectorAll('img').length") == 0
    assert "owned" not in tab.page.title()
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    heights = tab.conversations.get_by_role("option").evaluate_all("all => all.map((node) => node.offsetHeight)")
    assert max(heights) - min(heights) <= 2, heights
    senders = tab.log.locator(".sender").evaluate_all("all => all.map((node) => node.offsetHeight)")
    assert max(senders) <= 24, senders
    # "from" stands behind the name, whatever its direction: each name is a box of its own.
    preview = tab.option("Hostile names").locator(".preview bdi")
    expect(preview).to_have_text(HOSTILE["rtl"])
    tab.button("Details of this conversation").click()
    expect(tab.page.get_by_role("list", name="Members").get_by_role("listitem")).to_have_count(6)
    dialog = tab.page.get_by_role("dialog", name="Details")
    content = dialog.locator(".content")
    assert content.evaluate("node => node.scrollWidth <= node.clientWidth")
    tab.page.screenshot(path=tmp_path / "hostile.png")
