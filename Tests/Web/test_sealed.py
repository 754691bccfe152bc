"""Messages that are encrypted by the application."""

import base64

from playwright.sync_api import expect
from test_access import violations


def test_a_sealed_message_is_shown_as_encrypted_until_the_application_opens_it(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Vault", bob)
    alice.group("Others", bob)
    tab = alice.open().choose("Vault")
    id = tab.page.evaluate(
        """async ([group, sealed]) => await document.querySelector("parley-chat").sendSealed(group, sealed)""",
        [group, base64.b64encode(b"harbour").decode()],
    )
    other = bob.open().choose("Vault")
    for each in (tab, other):
        expect(each.message("Encrypted message")).to_be_visible()
        expect(each.option("Vault")).to_contain_text("Encrypted message")
    stored = bob.call("GET", f"/v1/conversations/{group}/messages/{id}")
    assert (stored["kind"], stored["text"]) == ("sealed", None)
    assert violations(other.page) == []
    items = other.menu("Encrypted message").get_by_role("menuitem").all_inner_texts()
    assert "Report…" in items and not {"Reply", "Copy", "Edit"} & set(items), items
    other.page.keyboard.press("Escape")
    items = tab.menu("Encrypted message").get_by_role("menuitem").all_inner_texts()
    assert "Delete for everyone" in items and "Edit" not in items, items
    for each in (tab, other):
        each.page.keyboard.press("Escape")
        each.choose("Others")
        each.page.evaluate(OPENS)
        each.choose("Vault")
        each.shows("opened: harbour")
        expect(each.message("Encrypted message")).to_have_count(0)


OPENS = """
() => {
  document.querySelector("parley-chat").showExtra = (message) => {
    const node = document.createElement("p");
    node.textContent = `opened: ${atob(message.sealed)}`;
    return node;
  };
}
"""
