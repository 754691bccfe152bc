"""A new version of the page: pages of the old one go on, and nobody gets a mixture of both."""

import hashlib
from base64 import b64encode
from pathlib import Path

from people import Person, Tab
from playwright.sync_api import expect

BUILT = Path(__file__).resolve().parents[2] / ".build/web"


def write(folder: Path, version: int, names: tuple[str, ...] = ("index.html", "parley.js", "service-worker.js")):
    """Makes files be of a version that tells itself: the page by an attribute, the script by another one."""
    page = (
        (BUILT / "index.html")
        .read_text()
        .replace("<html", f'<html data-page="{version}"')
        .replace("?v=", f"?v={version}")
    )
    script = (BUILT / "parley.js").read_text() + f";document.documentElement.dataset.script={version};"
    worker = (
        (BUILT / "service-worker.js")
        .read_text()
        .replace("parley-page-", f"parley-page-{version}-", 1)
        .replace("?v=", f"?v={version}")
    )
    worker = worker.replace(digest((BUILT / "parley.js").read_bytes()), digest(script.encode()))
    for name, text in {"index.html": page, "parley.js": script, "service-worker.js": worker}.items():
        if name in names:
            (folder / name).write_text(text)


def digest(content: bytes) -> str:
    return b64encode(hashlib.sha256(content).digest()).decode()


def version_of(tab: Tab) -> str:
    page, script = tab.page.evaluate("Object.values({ page: '', script: '', ...document.documentElement.dataset })")
    assert page == script, "a page of one version and a script of another"
    return page


def opened(person: Person, url: str) -> Tab:
    page = person.context.new_page()
    page.goto(f"{url}#token={person.token}")
    expect(page.get_by_role("navigation", name="Conversations")).to_be_visible()
    return Tab(person, page)


UPDATE = """
    async () => {
        const registration = await navigator.serviceWorker.getRegistration();
        const found = new Promise((resolve) => registration.onupdatefound = () => resolve(registration.installing));
        await registration.update();
        const worker = registration.installing ?? await found;
        while (worker.state === "installing") await new Promise((resolve) => setTimeout(resolve, 20));
        return worker.state;
    }
"""
"""Looks for a new worker, as the browser does some time after a page was opened, and tells what became of it."""


def test_an_old_page_goes_on_and_the_next_one_is_new_as_a_whole(people, served):
    alice, bob = people("alice", "bob")
    folder, url = served.files, served.url
    write(folder, 1)
    group = alice.group("Versions", bob)
    alice.open().page.close()
    old = opened(alice, url).choose("Versions")
    old.page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    assert version_of(old) == "1"
    write(folder, 2)
    assert old.page.evaluate(UPDATE) != "redundant"
    # Whatever is opened meanwhile is of one version, and soon it is the new one.
    version = "1"
    while version == "1":
        tab = opened(alice, url)
        version = version_of(tab)
        tab.page.close()
    # A page of the old one that has yet to ask for its script gets that, not the new one.
    script = old.page.evaluate("() => fetch(document.querySelector('script').src).then((answer) => answer.text())")
    assert "dataset.script=1" in script
    new = opened(alice, url).choose("Versions")
    assert (version_of(old), version_of(new)) == ("1", "2")
    old.send("by the old one")
    new.shows("by the old one")
    new.send("by the new one")
    old.shows("by the new one")
    expect(new.button("Sent")).to_be_visible()
    bob.finds(group, ["by the old one", "by the new one"])
    old.page.reload()
    old.choose("Versions").shows("by the new one")
    assert version_of(old) == "2"
    assert len(new.page.evaluate("caches.keys()")) == 2, "more than the version before is kept"


def test_while_servers_of_two_versions_answer_nothing_mixed_is_kept(people, served):
    [alice] = people("alice")
    folder, url = served.files, served.url
    write(folder, 1)
    alice.open().page.close()
    tab = opened(alice, url)
    tab.page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    write(folder, 2, ("index.html", "service-worker.js"))  # The script is still that of the other server.
    assert tab.page.evaluate(UPDATE) == "redundant"
    tab.page.reload()
    expect(tab.page.get_by_role("navigation", name="Conversations")).to_be_visible()
    assert version_of(tab) == "1"
    alice.errors.clear()  # The browser says on the console that the script is another one.


VERSIONS = "indexedDB.databases().then((all) => all.map(({ version }) => version))"
NEWER = """
    async () => {
        const [{ name, version }] = (await indexedDB.databases()).filter(({ name }) => name.startsWith("parley "));
        const request = indexedDB.open(name, version + 1);
        return await new Promise((resolve) => {
            request.onsuccess = () => (request.result.close(), resolve("opened"));
            request.onerror = () => resolve(String(request.error));
        });
    }
"""
"""What a newer version does first: it brings the copy to its form."""


def test_an_old_tab_lets_a_newer_version_have_the_copy_and_the_lead(people):
    alice, bob = people("alice", "bob")
    alice.group("Upgrade", bob)
    old = alice.open().choose("Upgrade")
    newer = alice.context.new_page()
    newer.goto(alice.url + "icon.svg")
    [version] = newer.evaluate(VERSIONS)
    assert newer.evaluate(NEWER) == "opened"
    expect(old.page.get_by_text("A new version of Parley is here.")).to_be_visible()
    newer.wait_for_function(
        """async () => {
            const { held } = await navigator.locks.query();
            return !held.some(({ name }) => name.startsWith("parley http"));
        }"""
    )
    # A page that is too old for the copy leaves it as it is, and says so.
    old.button("Reload").click()
    expect(old.page.get_by_role("alert")).to_contain_text("A newer version of Parley has been used in this browser.")
    assert newer.evaluate(VERSIONS) == [version + 1]
