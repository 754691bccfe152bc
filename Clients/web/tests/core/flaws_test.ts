/// <reference lib="deno.ns" />
import { type Flaw, flaws } from "./simulation/flaws.ts";
import { Run } from "./simulation/run.ts";

// That the simulation finds mistakes. In a file of its own, so that it runs beside the simulation.

/** Some mistakes show in one run of a hundred. */
const mostRuns = 1_000;
/** Where such a one showed, as it takes long to look for. A seed that is no longer right costs that time, nothing else. */
const likelySeeds: Partial<Record<Flaw, number>> = {
  forgetsThatTheUserJoined: 149,
  forgetsPermissions: 40,
  forgetsClearedHistories: 36,
  forgetsLifetimes: 26,
  losesChanges: 19,
  keepsOutdatedRanges: 10,
  readsRequestsOnce: 8,
};

for (const flaw of flaws) {
  Deno.test(`a client that ${flaw} is noticed`, async () => {
    for (let run = 0; run < mostRuns; run++) {
      const seed = (run + (likelySeeds[flaw] ?? 0)) % mostRuns;
      const isNoticed = await new Run(seed, flaw).run().then(() => false, () => true);
      if (!isNoticed) continue;
      if (run > 10) console.log(`a client that ${flaw} is noticed with seed ${seed}`);
      return;
    }
    throw new Error(`nothing was noticed in ${mostRuns} runs`);
  });
}
