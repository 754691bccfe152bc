/// <reference lib="deno.ns" />
import { seeded } from "../simulation/world.ts";
import { play, type Script, type Step } from "./script.ts";
import { scripts } from "./scripts.ts";

// Writes the scripts into `Tests/ClientScripts`, with what this client does as what is expected: read the difference
// before it is committed. Run from `Clients/web`: deno run --allow-write tests/core/scripts/record.ts

for (const [name, { about, position, events }] of Object.entries(scripts)) {
  const steps: Step[] = events.map(({ at, within, event }) => ({ at, within, event }));
  const script: Script = { about, position, steps };
  const recorded: Step[] = [];
  play(script, seeded(1), (step, expect) => recorded.push({ ...step, expect }));
  const file = new URL(`../../../../../Tests/ClientScripts/${name}.json`, import.meta.url);
  const text = [
    `{\n  "about": ${JSON.stringify(about)},`,
    `  "position": ${JSON.stringify(position)},`,
    `  "steps": [\n${recorded.map((step) => `    ${JSON.stringify(step)}`).join(",\n")}\n  ]\n}\n`,
  ].join("\n");
  Deno.writeTextFileSync(file, text);
}
