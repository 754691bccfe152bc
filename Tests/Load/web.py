#!/usr/bin/env python3
"""Measures the web client in Chromium, against a system of its own:

    .venv/bin/python Tests/Load/web.py [--messages 100000] [--minutes 10]

after `Tests/run web`, which makes .venv and the bundle; needs the release executables. Prints what docs/benchmarks.md
has: the size of the bundle, the time until the last conversation shows with so many messages stored in the browser, the
frames while one scrolls through them, the longest task while 500 messages a second arrive, and the heap over time.
"""

import argparse
import gzip
import statistics
import sys
import threading
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path += [str(REPOSITORY / "Tests" / name) for name in ("System", "Web")]

from people import Person, Tab, start_browser  # noqa: E402
from playwright.sync_api import Browser, CDPSession, sync_playwright  # noqa: E402
from system import System  # noqa: E402

BUNDLE = REPOSITORY / ".build" / "web"
RATE = 500
PACE = 1_500
"""Messages a second while the copy is filled: less than one user may send."""

WATCH = """
    globalThis.tasks = [];
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map((task) => task.duration)))
        .observe({ type: "longtask", buffered: true });
    const look = () => {
        const root = document.querySelector("parley-chat")?.shadowRoot;
        if (root?.querySelector("article .text")) globalThis.painted = performance.now();
        else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
"""
"""In every page: its long tasks, and when its first message showed."""

SCROLL = """
    async (log, seconds) => {
        const scroller = log.parentElement;
        const frames = [];
        let [last, end] = [performance.now(), performance.now() + seconds * 1000];
        let rows = 0, first = null;
        while (performance.now() < end) {
            scroller.scrollTop -= 400;
            const now = await new Promise(requestAnimationFrame);
            frames.push(now - last);
            last = now;
            const top = log.querySelector("article")?.dataset.id;
            if (top !== first) [first, rows] = [top, rows + 1];
        }
        return { frames, rows, articles: log.querySelectorAll("article").length };
    }
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    report_bundle()
    system = System(instances=1)
    try:
        system.up()
        with sync_playwright() as playwright:
            browser = start_browser(playwright)
            measure(system, browser, options.messages, options.minutes)
            browser.close()
    finally:
        system.remove()


def report(name: str, value: str):
    print(f"{name:<56} {value}", flush=True)


def report_bundle():
    files = [BUNDLE / name for name in ("parley.js", "parley.css", "service-worker.js")]
    size = sum(file.stat().st_size for file in files)
    packed = sum(len(gzip.compress(file.read_bytes(), 9)) for file in files)
    report("script and styles, bytes; compressed", f"{size:,}; {packed:,}")


def measure(system: System, browser: Browser, messages: int, minutes: float):
    alice, bob = Person(system, browser, "alice"), Person(system, browser, "bob")
    group = alice.group("Load", bob)
    alice.say(group, "the first")
    # A narrow page shows the list alone: what is measured first is the copy, without the messages on the screen.
    tab = bob.open(viewport={"width": 600, "height": 760})
    store(alice, group, tab, messages)
    tab.page.set_viewport_size({"width": 1180, "height": 760})
    tab.choose("Load")
    tab.button("Jump to latest").click()
    tab.shows(f"message {messages - 1}")
    bob.context.add_init_script(WATCH)
    report_paint(tab)
    report_scrolling(tab)
    tab.button("Jump to latest").click()
    report_arrival(alice, group, tab)
    report_heap(alice, group, tab, minutes)


def store(alice: Person, group: str, tab: Tab, messages: int):
    """All of them arrive live, so the browser stores all of them."""
    started = time.monotonic()
    for start in range(0, messages, 500):
        alice.say_many(group, [f"message {n}" for n in range(start, min(start + 500, messages))])
        time.sleep(max(0, started + start / PACE - time.monotonic()))
    while not tab.option(f"message {messages - 1}").count():
        tab.page.wait_for_timeout(200)
    report(f"{messages:,} messages arrived and stored, messages/s", f"{messages / (time.monotonic() - started):,.0f}")


def report_paint(tab: Tab):
    times = []
    for _ in range(5):
        tab.page.reload()
        tab.page.wait_for_function("() => globalThis.painted")
        times.append(tab.page.evaluate("painted"))
    report(
        "from the navigation to the first message, ms: median, worst",
        f"{statistics.median(times):.0f}, {max(times):.0f}",
    )


def report_scrolling(tab: Tab):
    tab.page.wait_for_timeout(1_000)
    tab.page.evaluate("tasks.length = 0")
    found = tab.log.evaluate(SCROLL, 20)
    frames = sorted(found["frames"])
    parts = [f"{percentile(frames, p):.0f}" for p in (50, 95, 99, 99.9)]
    report("frames while scrolling 20 s, ms: p50, p95, p99, p99.9", ", ".join(parts))
    report("longest frame; frames over 50 ms; of", f"{frames[-1]:.0f}; {sum(f > 50 for f in frames)}; {len(frames)}")
    report("longest task while scrolling, ms", longest_task(tab))
    report("messages in the page at its end", str(found["articles"]))


def report_arrival(alice: Person, group: str, tab: Tab):
    tab.page.wait_for_timeout(1_000)
    tab.page.evaluate("tasks.length = 0")
    arrive(alice, group, tab, seconds=10, rate=RATE)
    report(f"longest task while {RATE} messages/s arrive, ms", longest_task(tab))


def report_heap(alice: Person, group: str, tab: Tab, minutes: float):
    session = tab.page.context.new_cdp_session(tab.page)
    readings = [heap(session)]
    for _ in range(4):
        arrive(alice, group, tab, seconds=minutes * 15, rate=50)
        readings.append(heap(session))
    report(f"heap over {minutes:g} minutes of 50 messages/s, MiB", ", ".join(f"{each:.1f}" for each in readings))


def arrive(alice: Person, group: str, tab: Tab, seconds: float, rate: int):
    """Messages at a rate, sent beside the page, which this thread watches."""

    def send():
        for tenth in range(int(seconds * 10)):
            due = started + tenth / 10
            time.sleep(max(0, due - time.monotonic()))
            alice.say_many(group, [f"arrival {tenth} {n}" for n in range(rate // 10)])

    started = time.monotonic()
    sender = threading.Thread(target=send)
    sender.start()
    while sender.is_alive():
        tab.page.wait_for_timeout(100)
    sender.join()
    tab.page.wait_for_timeout(1_000)


def heap(session: CDPSession) -> float:
    session.send("HeapProfiler.collectGarbage")
    return session.send("Runtime.getHeapUsage")["usedSize"] / 2**20


def longest_task(tab: Tab) -> str:
    """The browser lists tasks from 50 ms on."""
    tasks = tab.page.evaluate("tasks")
    return f"{max(tasks):.0f}" if tasks else "under 50"


def percentile(values: list[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share / 100))]


if __name__ == "__main__":
    main()
