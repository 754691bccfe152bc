"""Pictures and files: sending, showing and keeping them."""

import base64
import os
import re

import pytest
from people import Person, Tab
from pictures import noise, picture, tone, video
from playwright.sync_api import expect
from test_access import violations
from uploads import eventually

HOSTILE_NAME = '<img src=x onerror="document.title=1">\u202egpj.exe'


def file(name: str, content: bytes, kind: str = "image/png") -> dict:
    return {"name": name, "mimeType": kind, "buffer": content}


def attach(tab: Tab, *files: dict):
    """Chooses files as the button does, of which the browser's dialog is the one thing that a test cannot use."""
    expect(tab.button("Attach")).to_be_visible()
    before = chosen(tab).count()
    tab.page.locator("parley-composer input[type=file]").set_input_files(list(files))
    expect(chosen(tab)).to_have_count(before + len(files))


def chosen(tab: Tab):
    return tab.page.get_by_role("list", name="Attachments").get_by_role("listitem")


def pictures(tab: Tab):
    """Those that are shown, not only their place."""
    return tab.log.locator("article .tile img")


def goes(tab: Tab, count: int = 1):
    """So many messages with files have been sent."""
    expect(tab.log.locator("article.carrying:not(.pending, .failed)")).to_have_count(count)


def messages(person: Person, conversation: str) -> list[dict]:
    page = person.call("GET", f"/v1/conversations/{conversation}/messages?limit=200")
    return [message for message in page["messages"] if message["kind"] != "system"]


@pytest.fixture
def pair(senders):
    """Two people in one conversation, which both have open."""

    def make(title: str, **options):
        alice, bob = senders("alice", "bob")
        group = alice.group(title, bob)
        alice.say(group, "hello")
        tabs = alice.open(**options).choose(title), bob.open(**options).choose(title)
        for tab in tabs:
            tab.shows("hello")
        return alice, bob, group, *tabs

    return make


def test_a_picture_is_sent_and_the_other_sees_it(pair):
    alice, bob, group, tab, other = pair("Pictures")
    attach(tab, file("harbour.png", picture()))
    tab.field.fill("look")
    tab.button("Send").click()
    expect(pictures(tab)).to_have_count(1)
    expect(chosen(tab)).to_have_count(0)
    expect(pictures(other)).to_have_count(1)
    shown = pictures(other).evaluate("image => [image.complete, image.naturalWidth, image.naturalHeight]")
    assert shown == [True, 640, 480]
    expect(other.message("look").get_by_role("button", name="Photo harbour.png")).to_be_visible()
    goes(tab)
    [attachment] = messages(bob, group)[-1]["attachments"]
    assert (attachment["name"], attachment["type"], attachment["width"]) == ("harbour.png", "image/png", 640)


DROPPED = """
    ([selector, kind, content, name, type]) => {
        const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
        const data = new DataTransfer();
        data.items.add(new File([bytes], name, { type }));
        const node = document.querySelector("parley-chat").shadowRoot.querySelector(selector);
        const options = { bubbles: true, cancelable: true, composed: true };
        const event = kind === "paste"
            ? new ClipboardEvent(kind, { ...options, clipboardData: data })
            : new DragEvent(kind, { ...options, dataTransfer: data });
        return node.dispatchEvent(event);
    }
"""


def give(tab: Tab, selector: str, kind: str, content: bytes, name: str, of: str = "image/png") -> bool:
    """An event with a file, as a browser makes it; whether the browser's own way with it is left to it."""
    return tab.page.evaluate(DROPPED, [selector, kind, base64.b64encode(content).decode(), name, of])


def test_pictures_are_pasted_and_dropped(pair):
    _, bob, group, tab, other = pair("Pasted")
    expect(tab.button("Attach")).to_be_visible()
    assert not give(tab, "textarea", "paste", picture(), "pasted.png")
    expect(chosen(tab)).to_have_count(1)
    assert not give(tab, ".messages", "dragover", picture(), "dropped.png")
    expect(tab.page.get_by_text("Drop files to attach them")).to_be_visible()
    assert not give(tab, ".messages", "drop", b"some text", "dropped.txt", "text/plain")
    expect(tab.page.get_by_text("Drop files to attach them")).to_be_hidden()
    expect(chosen(tab)).to_have_count(2)
    # What was chosen is still there after a look at another conversation.
    tab.person.group("Another", bob)
    tab.option("Another").click()
    expect(chosen(tab)).to_have_count(0)
    tab.choose("Pasted")
    expect(chosen(tab)).to_have_count(2)
    tab.field.press("Enter")
    expect(pictures(other)).to_have_count(1)
    expect(other.log.get_by_text("dropped.txt")).to_be_visible()
    assert [a["name"] for a in messages(bob, group)[-1]["attachments"]] == ["pasted.png", "dropped.txt"]


def test_what_cannot_be_sent_is_said_at_once(pair, tmp_path):
    _, _, _, tab, _ = pair("Limits")
    large = tmp_path / "large.bin"
    with large.open("wb") as content:
        content.truncate(100_000_001)
    expect(tab.button("Attach")).to_be_visible()
    tab.page.locator("parley-composer input[type=file]").set_input_files(large)
    expect(tab.page.get_by_text("“large.bin” is larger than 100 MB.")).to_be_visible()
    expect(chosen(tab)).to_have_count(0)
    expect(tab.button("Send")).to_be_disabled()
    many = [file(f"{n}.txt", b"text", "text/plain") for n in range(11)]
    tab.page.locator("parley-composer input[type=file]").set_input_files(many)
    expect(tab.page.get_by_text("A message carries at most 10 files.")).to_be_visible()
    expect(chosen(tab)).to_have_count(10)
    tab.button("Remove 3.txt").click()
    expect(chosen(tab)).to_have_count(9)
    expect(tab.button("Remove 4.txt")).to_be_focused()


def offset(request) -> int:
    return int(request.headers.get("Upload-Offset", "0"))


def test_a_reload_during_an_upload_goes_on_where_the_server_is(pair, front):
    alice, _, group, tab, other = pair("Reload")
    content = noise(900, 900)
    front.holds = lambda request: request.method == "PATCH" and offset(request) > 0
    attach(tab, file("noise.png", content))
    tab.field.fill("soon")
    tab.button("Send").click()
    expect(pictures(tab)).to_have_count(1)
    eventually(lambda: front.sent("PATCH"), "a part has arrived")
    bar = tab.page.get_by_role("progressbar", name="Uploading")
    expect(bar).not_to_have_attribute("aria-valuenow", "0")
    tab.page.reload()
    tab.choose("Reload")
    expect(pictures(tab)).to_have_count(1)
    expect(tab.message("soon").get_by_role("button", name="Cancel upload")).to_be_visible()
    before = front.sent("PATCH")
    front.open()
    expect(pictures(other)).to_have_count(1)
    assert len(front.sent("POST")) == 0 or all("/url" in request.path for request in front.sent("POST"))
    parts = before + front.sent("PATCH")
    # Each byte once, from the first to the last.
    assert [offset(part) for part in parts] == [
        sum(int(part.headers["Content-Length"]) for part in parts[:index]) for index in range(len(parts))
    ]
    assert sum(int(part.headers["Content-Length"]) for part in parts) == len(content) and len(parts) > 2
    [attachment] = messages(alice, group)[-1]["attachments"]
    assert attachment["width"] == 900


def test_files_wait_for_the_network_and_keep_their_place(pair):
    alice, bob, group, tab, other = pair("Tunnel")
    expect(tab.button("Attach")).to_be_visible()
    tab.page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    alice.context.set_offline(True)
    expect(tab.page.get_by_text("No connection.")).to_be_visible()
    attach(tab, file("tunnel.png", picture()))
    tab.button("Send").click()
    expect(pictures(tab)).to_have_count(1)
    tab.send("after the picture")
    tab.page.reload()
    tab.choose("Tunnel").shows("after the picture")
    expect(pictures(tab)).to_have_count(1)
    # It can be chosen without a connection, also by a page that never had one.
    expect(tab.button("Attach")).to_be_visible()
    assert alice.texts(group) == ["hello"]
    alice.context.set_offline(False)
    other.shows("after the picture")
    expect(pictures(other)).to_have_count(1)
    assert alice.texts(group) == ["hello", None, "after the picture"]
    assert (
        tab.page.evaluate(
            "document.querySelector('parley-chat').shadowRoot.querySelectorAll('.upload:not([hidden])').length"
        )
        == 0
    )


KEPT = """
    async () => {
        const [{ name }] = (await indexedDB.databases()).filter(({ name }) => name.startsWith("parley "));
        const open = indexedDB.open(name);
        const database = await new Promise((resolve) => open.onsuccess = () => resolve(open.result));
        const all = (table) => new Promise((resolve) => {
            const request = database.transaction(table).objectStore(table).getAllKeys();
            request.onsuccess = () => resolve(request.result);
        });
        const kept = [...await all("blobs"), ...await all("releases")];
        database.close();
        return kept;
    }
"""


def kept(tab: Tab) -> list[str]:
    """The content of files that this browser has."""
    return tab.page.evaluate(KEPT)


def test_a_cancelled_upload_leaves_nothing_and_sets_the_next_message_free(pair, front):
    alice, _, group, tab, other = pair("Cancelled")
    front.holds = lambda request: request.method == "PATCH" and offset(request) > 0
    attach(tab, file("noise.png", noise(900, 900)))
    tab.button("Send").click()
    eventually(lambda: front.sent("PATCH"), "a part has arrived")
    tab.send("after it")
    assert alice.texts(group) == ["hello"]
    front.holds = lambda request: False
    tab.button("Cancel upload").click()
    expect(tab.log.locator("parley-attachments")).to_have_count(0)
    other.shows("after it")
    eventually(lambda: front.sent("DELETE"), "the upload is ended")
    eventually(lambda: not kept(tab), "nothing is left in the browser")
    assert alice.texts(group) == ["hello", "after it"]


def test_a_refused_file_says_why_holds_back_what_follows_and_is_discarded(pair):
    alice, _, group, tab, other = pair("Refused")
    whole = picture()
    attach(tab, file("half.png", whole[: len(whole) // 2]))
    tab.button("Send").click()
    failure = tab.log.get_by_text("Not sent: “half.png” is damaged")
    expect(failure).to_be_visible()
    tab.send("behind it")
    expect(tab.option("Refused")).to_contain_text("behind it")
    tab.button("Retry").click()
    expect(failure).to_be_visible()
    assert alice.texts(group) == ["hello"]
    tab.button("Discard").click()
    other.shows("behind it")
    eventually(lambda: not kept(tab), "nothing is left in the browser")
    assert alice.texts(group) == ["hello", "behind it"]


COLOURS = """
    (canvas) => [0, canvas.height - 1].map((y) => {
        const { data } = canvas.getContext("2d").getImageData(canvas.width / 2, y, 1, 1);
        return [...data];
    })
"""


def assert_like_the_picture(colours: list[list[int]]):
    """The upper and the lower edge of the picture with a hue of 80, in rough."""
    for found, expected in zip(colours, [(90, 140, 59, 255), (110, 94, 60, 255)]):
        assert all(abs(one - other) < 40 for one, other in zip(found, expected)), colours


SHIFTS = """
    () => {
        globalThis.shifts = [];
        new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value }) => value)))
            .observe({ type: "layout-shift" });
    }
"""


def boxes(tab: Tab) -> list:
    return tab.log.locator("article").evaluate_all("all => all.map((one) => one.getBoundingClientRect().toJSON())")


def test_nothing_moves_when_pictures_come(pair, front):
    alice, _, _, tab, other = pair("Still")
    front.holds = lambda request: "/thumbnail" in request.path or "/content" in request.path
    attach(
        tab,
        file("wide.png", picture(1200, 500)),
        file("tall.png", picture(300, 900)),
        file("film.webm", video(), "video/webm"),
    )
    tab.button("Send").click()
    expect(pictures(tab)).to_have_count(2)
    attach(tab, file("alone.png", picture(700, 500, hue=80)))
    tab.page.evaluate(SHIFTS)
    tab.button("Send").click()
    expect(pictures(tab)).to_have_count(3)
    goes(tab, 2)
    # The hashes stand in the places of the pictures.
    expect(other.log.locator(".tile canvas")).to_have_count(3)
    expect(pictures(other)).to_have_count(0)
    assert_like_the_picture(other.log.locator(".tile canvas").last.evaluate(COLOURS))
    other.page.wait_for_timeout(500)
    other.page.evaluate(SHIFTS)
    before = boxes(other)
    front.open()
    bob = other.person
    bob.context.set_offline(True)
    expect(other.page.get_by_text("No connection.")).to_be_visible()
    bob.context.set_offline(False)
    expect(pictures(other)).to_have_count(3)
    expect(other.log.locator("video[poster]")).to_have_count(1)
    other.page.wait_for_timeout(300)
    assert boxes(other) == before
    assert other.page.evaluate("shifts") == []


def test_the_senders_message_keeps_its_size_from_the_first_moment(senders, front):
    alice, bob = senders("alice", "bob")
    alice.group("Same size", bob)
    tab = alice.open().choose("Same size")
    front.holds = lambda request: request.method == "POST"
    attach(
        tab,
        file("one.png", picture(700, 500)),
        file("voice.ogg", tone(), "audio/ogg"),
        file("a.txt", b"text", "text/plain"),
    )
    tab.field.fill("caption")
    tab.button("Send").click()
    expect(pictures(tab)).to_have_count(1)
    size = "node => [node.offsetWidth, node.offsetHeight]"  # Which its arrival does not change.
    bubble = tab.message("caption").locator(".bubble")
    before = bubble.evaluate(size)
    front.open()
    goes(tab)
    assert bubble.evaluate(size) == before
    # The picture is still the one of this device: nothing was loaded for it.
    assert not [request for request in front.requests if "/thumbnail" in request.path]


def test_pictures_are_viewed_with_the_keyboard(pair):
    alice, bob, group, tab, other = pair("Viewer")
    attach(tab, file("one.png", picture()), file("two.png", picture(500, 500, hue=60)))
    tab.button("Send").click()
    attach(tab, file("three.png", picture(300, 600, hue=120)))
    tab.field.fill("the last one")
    tab.button("Send").click()
    expect(pictures(other)).to_have_count(3)
    other.message("the last one").focus()
    press = other.page.keyboard.press
    press("Enter")
    expect(other.page.get_by_role("menuitem", name="Reply")).to_have_count(0)
    other.page.get_by_role("menuitem", name="Open").press("Enter")
    viewer = other.page.get_by_role("dialog", name="three.png")
    expect(viewer).to_be_visible()
    expect(viewer.get_by_role("img", name="Photo three.png")).to_be_visible()
    expect(viewer.get_by_role("status")).to_contain_text("3 of 3")
    press("ArrowRight")
    expect(viewer).to_be_visible()
    press("ArrowLeft")
    expect(other.page.get_by_role("dialog", name="two.png")).to_be_visible()
    press("Home")
    first = other.page.get_by_role("dialog", name="one.png")
    expect(first.get_by_role("img", name="Photo one.png")).to_be_visible()
    expect(first.get_by_role("button", name="Previous")).to_be_hidden()
    expect(first.get_by_role("img")).to_have_js_property("naturalWidth", 640)
    with other.page.expect_download() as download:
        first.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "one.png"
    for _ in range(6):
        press("Tab")
        # In the dialog, or in the browser's own window.
        assert first.evaluate(
            "dialog => [null, ...dialog.querySelectorAll('button')].includes(dialog.getRootNode().activeElement)"
        )
    press("Escape")
    expect(other.page.get_by_role("dialog")).to_have_count(0)
    expect(other.message("the last one")).to_be_focused()
    pictures(other).first.click()
    expect(first).to_be_visible()
    first.get_by_role("button", name="Close").click()
    expect(other.page.get_by_role("dialog")).to_have_count(0)


def test_what_was_seen_is_there_without_a_connection_and_goes_with_its_message(pair):
    alice, bob, group, tab, other = pair("Kept")
    attach(tab, file("kept.png", picture()))
    tab.field.fill("for a while")
    tab.button("Send").click()
    expect(pictures(other)).to_have_count(1)
    other.page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    assert [key.endswith("/large") for key in kept(other)] == [True]
    eventually(lambda: [key.endswith("/large") for key in kept(tab)] == [True], "what was sent is kept to be seen")
    bob.context.set_offline(True)
    other.page.reload()
    other.choose("Kept")
    expect(pictures(other)).to_have_count(1)
    bob.context.set_offline(False)
    expect(other.page.get_by_text("No connection.")).to_be_hidden()
    tab.act("for a while", "Delete for everyone")
    expect(other.message("Message deleted")).to_be_visible()
    expect(other.log.locator("parley-attachments")).to_have_count(0)
    eventually(lambda: not kept(other), "nothing is left with the reader")
    eventually(lambda: not kept(tab), "nothing is left with the sender")


def test_a_sign_out_leaves_no_picture(pair):
    alice, bob, group, tab, other = pair("Out")
    attach(tab, file("secret.png", picture()))
    tab.button("Send").click()
    expect(pictures(other)).to_have_count(1)
    other.button("Settings").click()
    other.button("Sign out").click()
    other.page.get_by_role("dialog", name="Sign out?").get_by_role("button", name="Sign out").click()
    expect(other.page.get_by_role("heading", name="Signed out")).to_be_visible()
    eventually(lambda: not other.page.evaluate("indexedDB.databases().then((all) => all.length)"), "the copy is gone")
    names = other.page.evaluate("caches.keys()")
    assert all(name.startswith("parley-page-") for name in names)


def test_a_hostile_name_stays_text(pair):
    _, bob, group, tab, other = pair("Hostile", viewport={"width": 900, "height": 700})
    name = HOSTILE_NAME.replace("/", "") + "x" * 150
    attach(tab, file(name, b"<script>document.title=2</script>", "text/html"))
    tab.button("Send").click()
    row = other.log.locator(".file")
    expect(row).to_be_visible()
    assert row.locator(".name").evaluate("node => [node.children.length, node.localName]") == [0, "bdi"]
    expect(row.locator(".name")).to_contain_text('<img src=x onerror="document.title=1">')
    assert "\u202e" not in row.locator(".name").inner_text()
    box, log = row.bounding_box(), other.log.bounding_box()
    assert box["x"] >= log["x"] and box["x"] + box["width"] <= log["x"] + log["width"]
    assert other.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(other.option("Hostile")).to_contain_text("<img src=x")
    with other.page.expect_download() as download:
        row.get_by_role("button").click()
    assert download.value.path().read_bytes() == b"<script>document.title=2</script>"
    assert "1" not in other.page.title() and "2" not in other.page.title()


def test_previews_say_what_a_message_carries(pair):
    _, _, _, tab, other = pair("Previews")
    for name, content, kind, said in [
        ("a.png", picture(), "image/png", "Photo"),
        ("b.webm", video(), "video/webm", "Video"),
        ("c.ogg", tone(), "audio/ogg", "Audio"),
        ("d.txt", b"text", "text/plain", "d.txt"),
    ]:
        attach(tab, file(name, content, kind))
        tab.button("Send").click()
        expect(other.option("Previews")).to_contain_text(f"{tab.person.name}: {said}")
        expect(tab.option("Previews")).to_contain_text(f"You: {said}")


def test_a_video_plays_though_its_first_address_is_refused(pair, front):
    alice, bob, group, tab, other = pair("Film")
    refused = []

    def refuses(request) -> bool:
        if "/content?" in request.path and not refused:
            refused.append(request.path)
            return True
        return False

    front.refuses = refuses
    attach(tab, file("film.webm", video(3), "video/webm"))
    tab.button("Send").click()
    film = other.log.locator("video")
    expect(film).to_have_attribute("src", re.compile("signature="))
    expect(film).to_have_attribute("poster", re.compile("^blob:"))
    film.evaluate("video => void video.play().catch(() => {})")
    eventually(lambda: refused, "the first address was used")
    eventually(lambda: film.evaluate("video => video.readyState > 0"), "another address was used")
    film.evaluate("video => video.play()")
    eventually(lambda: film.evaluate("video => video.currentTime > 0.2"), "it plays")
    # Neither a tapback nor a receipt stops it.
    message = messages(bob, group)[-1]["id"]
    alice.call("PUT", f"/v1/conversations/{group}/messages/{message}/tapback", {"kind": "love"})
    expect(other.log.get_by_role("button", name=re.compile("1 love"))).to_be_visible()
    assert film.evaluate("video => !video.paused || video.ended")


def test_a_voice_message_is_recorded_heard_and_sent(pair):
    alice, bob, group, tab, other = pair("Voice")
    tab.button("Record voice message").click()
    recording = tab.page.get_by_role("group", name="Voice recording")
    expect(recording.get_by_role("timer")).to_have_text("0:01")
    tab.button("Cancel recording").click()
    expect(recording).to_be_hidden()
    expect(chosen(tab)).to_have_count(0)
    tab.button("Record voice message").click()
    expect(recording.get_by_role("timer")).to_have_text("0:02")
    tab.button("Stop recording").click()
    expect(chosen(tab)).to_have_count(1)
    tab.button("Send").click()
    audio = other.log.locator("audio")
    expect(audio).to_have_attribute("src", re.compile("signature="))
    [attachment] = messages(bob, group)[-1]["attachments"]
    assert attachment["type"] == "audio/webm" and attachment["duration"] > 0.5 and len(attachment["waveform"]) > 0
    expect(other.log.locator(".wave i").first).to_be_visible()
    audio.evaluate("audio => audio.play()")
    eventually(lambda: audio.evaluate("audio => audio.currentTime > 0"), "it plays")


def test_a_tab_that_sends_a_file_may_be_closed_at_once(pair, front):
    alice, _, _, tab, other = pair("Closed")
    front.holds = lambda request: request.method == "PATCH"
    second = alice.tab()
    second.choose("Closed")
    attach(second, file("quick.png", picture()))
    second.button("Send").click()
    expect(pictures(second)).to_have_count(1)
    # Each tab tells how far it is, and may cancel it.
    for each in (tab, second):
        expect(each.page.get_by_role("progressbar", name="Uploading")).to_be_visible()
    second.page.close()
    front.open()
    expect(pictures(other)).to_have_count(1)
    goes(tab)


def test_without_a_service_for_files_nothing_is_offered(people):
    alice, bob = people("alice", "bob")
    alice.group("Plain", bob)
    tab = alice.open().choose("Plain")
    tab.send("text alone")
    expect(tab.button("Sent").or_(tab.button("Delivered"))).to_be_visible()
    expect(tab.button("Attach")).to_be_hidden()
    expect(tab.button("Record voice message")).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_where_there_are_files(pair, front, scheme):
    _, _, _, tab, other = pair("Axe", color_scheme=scheme)
    screens = {}

    def look(name: str, at: Tab):
        at.page.wait_for_timeout(300)
        screens[name] = violations(at.page)
        if folder := os.environ.get("PARLEY_SCREENSHOTS"):
            at.page.screenshot(path=f"{folder}/{scheme}-{name}.png")

    attach(
        tab,
        file("one.png", picture()),
        file("report.pdf", b"%PDF-1.4" * 900, "application/pdf"),
        file("voice.ogg", tone(), "audio/ogg"),
    )
    look("chosen", tab)
    front.holds = lambda request: request.method == "PATCH" and offset(request) > 0
    tab.field.fill("Some files")
    tab.button("Send").click()
    goes(tab)
    attach(tab, file("noise.png", noise(900, 900)))
    tab.button("Send").click()
    expect(tab.page.get_by_role("progressbar", name="Uploading")).to_be_visible()
    eventually(lambda: len(front.sent("PATCH")) > 3, "a part has arrived")
    look("uploading", tab)
    front.open()
    goes(tab, 2)
    attach(
        tab, file("a.png", picture(hue=50)), file("b.png", picture(300, 600)), file("film.webm", video(), "video/webm")
    )
    tab.button("Send").click()
    expect(pictures(other)).to_have_count(4)
    look("messages", other)
    pictures(other).last.click()
    expect(other.page.get_by_role("dialog").get_by_role("img")).to_be_visible()
    look("viewer", other)
    other.page.keyboard.press("Escape")
    half = picture()[:900]
    attach(tab, file("half.png", half))
    tab.button("Send").click()
    expect(tab.button("Retry")).to_be_visible()
    look("refused", tab)
    tab.button("Discard").click()
    tab.button("Record voice message").click()
    look("recording", tab)
    tab.button("Cancel recording").click()
    give(tab, ".messages", "dragover", picture(), "dropped.png")
    look("drop", tab)
    other.page.set_viewport_size({"width": 390, "height": 780})
    look("phone", other)
    assert other.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not {name: found for name, found in screens.items() if found}
