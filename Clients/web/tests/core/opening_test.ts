/// <reference lib="deno.ns" />
import { openCopy, UnreadableCopy } from "../../core/opening.ts";
import { expectEqual } from "./copy.ts";

/** What a request or a transaction comes to: the name of an error, or what it has found. */
type Outcome = string | unknown[];

/** As much of a browser's database as opening it takes: its transactions have these outcomes, one after the other. */
class FakeBrowser {
  erased: string[] = [];
  isClosed = false;

  constructor(private opening: Outcome, private transactions: Outcome[] = []) {
    Object.assign(globalThis, { indexedDB: this });
  }

  open() {
    const transaction = () => this.transaction();
    const close = () => this.isClosed = true;
    return request(this.opening, { objectStoreNames: { contains: () => true }, transaction, close });
  }

  deleteDatabase(name: string) {
    this.erased.push(name);
    return request([], undefined);
  }

  private transaction() {
    const outcome = this.transactions.shift() ?? [];
    if (typeof outcome === "string") throw new DOMException("", outcome);
    const transaction = { objectStore: () => ({ getAll: () => request(outcome, outcome) }), oncomplete: () => {} };
    setTimeout(() => transaction.oncomplete());
    return transaction;
  }
}

function request(outcome: Outcome, result: unknown) {
  const error = typeof outcome === "string" ? new DOMException("", outcome) : null;
  const request = { error, result, onsuccess: () => {}, onerror: () => {} };
  queueMicrotask(() => error ? request.onerror() : request.onsuccess());
  return request;
}

const failure = () => openCopy("copy", () => {}).then(() => undefined, (error) => error);

Deno.test("a copy that is not damaged, but used elsewhere, newer, or without room, is never erased", async () => {
  for (const name of ["VersionError", "InvalidStateError", "AbortError", "QuotaExceededError"]) {
    const places: [Outcome, Outcome[]][] = [
      [name, []],
      [[], [name]],
      // A damaged one that another page takes while it is being read.
      [[], ["UnknownError", name]],
      [[], ["UnknownError", [], name]],
    ];
    for (const [opening, transactions] of places) {
      const browser = new FakeBrowser(opening, transactions);
      expectEqual([(await failure()).name, browser.erased, browser.isClosed], [name, [], opening !== name]);
    }
  }
});

Deno.test("a damaged copy of which nothing can be read is erased when the user says so, not before", async () => {
  for (const [opening, transactions] of [["UnknownError", []], [[], ["UnknownError", "UnknownError"]]]) {
    const browser = new FakeBrowser(opening!, transactions as Outcome[]);
    const error = await failure();
    expectEqual([error instanceof UnreadableCopy, browser.erased], [true, []]);
    await error.erase();
    expectEqual(browser.erased, ["copy"]);
  }
});
