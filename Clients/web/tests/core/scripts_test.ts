/// <reference lib="deno.ns" />
import { play, type Script } from "./scripts/script.ts";
import { seeded } from "./simulation/world.ts";

const folder = new URL("../../../../Tests/ClientScripts/", import.meta.url);

for (const { name } of Deno.readDirSync(folder)) {
  if (!name.endsWith(".json")) continue;
  const script = JSON.parse(Deno.readTextFileSync(new URL(name, folder))) as Script;
  Deno.test(`${name}: ${script.about}`, () => {
    // What a client may choose by chance must not matter.
    for (let seed = 1; seed <= 5; seed++) {
      play(script, seeded(seed), (step, done, index) => {
        const [expected, found] = [JSON.stringify(step.expect), JSON.stringify(done)];
        if (expected !== found) throw new Error(`step ${index}: expected\n${expected}\nbut found\n${found}`);
      });
    }
  });
}
