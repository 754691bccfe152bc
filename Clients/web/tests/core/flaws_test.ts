/// <reference lib="deno.ns" />
import { flaws } from "./simulation/flaws.ts";
import { Run } from "./simulation/run.ts";

// That the simulation finds mistakes. In a file of its own, so that it runs beside the simulation.

/** Some mistakes show in one run of a hundred. */
const mostRuns = 1_000;

for (const flaw of flaws) {
  Deno.test(`a client that ${flaw} is noticed`, async () => {
    for (let seed = 0; seed < mostRuns; seed++) {
      const isNoticed = await new Run(seed, flaw).run().then(() => false, () => true);
      if (isNoticed) return;
    }
    throw new Error(`nothing was noticed in ${mostRuns} runs`);
  });
}
