/// <reference lib="deno.ns" />
import { syncRequest } from "../../core/http.ts";
import { objectText } from "../../core/json.ts";
import { Names } from "../../core/names.ts";
import type { Profile } from "../../core/model.ts";
import { ProfileQueue } from "../../core/sync/profiles.ts";
import { isolated, plain, previewOf } from "../../elements/words.ts";
import { Copy, expectEqual, message } from "./copy.ts";

const some = (count: number, first = 0) => Array.from({ length: count }, (_, index) => `user-${first + index}`);

// Whom to ask for.

Deno.test("those who are shown together are asked for together, and again only after some minutes", () => {
  const queue = new ProfileQueue();
  queue.show(["anna"], 0);
  queue.show(["ben", "?", "", "anna"], 50);
  expectEqual(queue.next(50), []);
  expectEqual(queue.wakeAt, 100);
  expectEqual(queue.next(150), ["ben", "anna"]);
  queue.show(["anna", "ben"], 200_000);
  expectEqual(queue.wakeAt, undefined);
  queue.show(["ben"], 300_150);
  expectEqual(queue.next(300_250), ["ben"]);
});

Deno.test("a frame has somebody asked for at once if they are shown, and no more often than every five seconds", () => {
  const queue = new ProfileQueue();
  queue.changed("ben", 0);
  expectEqual(queue.wakeAt, undefined);
  queue.show(["ben"], 0);
  queue.next(100);
  queue.changed("ben", 60_000);
  expectEqual(queue.next(60_000), ["ben"]);
  for (let at = 60_001; at < 65_000; at += 10) {
    queue.changed("ben", at);
    expectEqual(queue.next(at), []);
  }
  expectEqual(queue.next(65_000), ["ben"]);
});

Deno.test("a request is of a hundred users at most, and of fewer if their ids are long", () => {
  const queue = new ProfileQueue();
  queue.show(some(150), 0);
  expectEqual(queue.next(100), some(100));
  expectEqual(queue.next(100), some(50, 100));
  const long = some(100).map((user) => `${user}${"@".repeat(64 - user.length)}`);
  queue.show(long, 0);
  let left = long;
  while (left.length) {
    const users = queue.next(100);
    const { path } = syncRequest({ call: "profiles", users }, users.map(() => 123_456));
    if (!users.length || path.length > 6_000) throw new Error(`${users.length} users are ${path.length} bytes`);
    left = left.slice(users.length);
  }
});

Deno.test("a queue remembers the thousand who were shown last", () => {
  const queue = new ProfileQueue();
  queue.show(some(2_000), 0);
  queue.allChanged(0);
  let found = 0;
  for (let users = queue.next(100); users.length; users = queue.next(100)) found += users.length;
  expectEqual(found, 1_000);
});

// What the copy keeps.

const profile = (version: number, displayName?: string): Profile => ({ userId: "ben", version, displayName });

const stored = (copy: Copy) => copy.database.read((rows) => rows.get("profiles", "ben"));

Deno.test("a copy keeps the latest name, and none of whom the user may not read any more", async () => {
  const copy = await Copy.begin();
  const touched = await copy.apply({ write: "profiles", profiles: [profile(3, "Ben")] });
  expectEqual(touched.profiles, true);
  await copy.apply({ write: "profiles", profiles: [profile(2, "Benjamin")] });
  expectEqual(await stored(copy), profile(3, "Ben"));
  await copy.apply({ write: "profiles", profiles: [profile(0)] });
  expectEqual(await stored(copy), undefined);
  await copy.apply({ write: "profiles", profiles: [profile(3, "Ben")] }, { write: "discardAll" });
  expectEqual(await stored(copy), undefined);
});

Deno.test("a copy with thousands of names begins anew with the next session", async () => {
  const copy = await Copy.begin();
  const profiles = some(5_000).map((userId) => ({ userId, version: 1, displayName: userId }));
  const session = { write: "session" as const, userId: "anna", logId: "log", useq: 0 };
  await copy.apply({ write: "profiles", profiles }, session);
  expectEqual((await copy.database.read((rows) => rows.all("profiles"))).length, 5_000);
  await copy.apply({ write: "profiles", profiles: [profile(1, "Ben")] }, session);
  expectEqual(await stored(copy), undefined);
});

// What is shown.

Deno.test("a name is the copy's or the id, and the session hears once of those who are asked for", async () => {
  const told: string[][] = [];
  const names = new Names((users) => told.push(users));
  names.set([{ userId: "ben", version: 1, displayName: "Ben Ä" }, { userId: "carla", version: 2 }]);
  expectEqual(["ben", "carla", "constructor"].map((user) => names.of(user)), ["Ben Ä", "carla", "constructor"]);
  await new Promise((resolve) => setTimeout(resolve, 80));
  names.of("ben");
  names.known("dave");
  await new Promise((resolve) => setTimeout(resolve, 80));
  expectEqual(told, [["ben", "carla", "constructor"]]);
  names.tellAgain();
  expectEqual(told.length, 2);
});

Deno.test("names are isolated from the text around them, ids need not be", () => {
  const names = new Names(() => {});
  names.set([{ userId: "ben", version: 1, displayName: "בן" }]);
  expectEqual(isolated(names, "ben"), "\u2068בן\u2069");
  expectEqual(plain(`${isolated(names, "ben")}: hello`), "בן: hello");
  expectEqual(isolated(names, "carla"), "carla");
});

Deno.test("what a list says of a message names those whom it mentions", () => {
  const names = new Names(() => {});
  names.set([{ userId: "ben", version: 1, displayName: "Ben" }]);
  const text = (mentions: string[]) => previewOf(message(1, { text: "@ben, @benno and @ben.", mentions }), null, names);
  expectEqual(text(["ben", "benno"]), "@\u2068Ben\u2069, @benno and @\u2068Ben\u2069.");
  expectEqual(text([]), "@ben, @benno and @ben.");
});

Deno.test("an object is taken out of a text as it stands there", () => {
  const extra = '{ "n": 12345678901234567890, "displayName":"}", "extra":{"1":[1.0]} }';
  const text = (body: string) => `{"profiles":[{"userId":"ben","displayName":"\\"extra\\":{",${body}}]}`;
  expectEqual(objectText(text(`"extra" : ${extra},"version":3`), "extra", 3), extra);
  expectEqual(objectText(text(`"version":3`), "extra", 3), undefined);
  expectEqual(objectText(`{"profiles":[{"displayName":"extra","version":3}]}`, "extra", 3), undefined);
});
