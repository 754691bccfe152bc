/// <reference lib="deno.ns" />
import { Run } from "./simulation/run.ts";

// PARLEY_SEEDS=2000 runs more than the usual number, PARLEY_SEED=7 one of them again, and PARLEY_TRACE=1 shows what every
// device receives.

const one = Deno.env.get("PARLEY_SEED");
const count = Number(Deno.env.get("PARLEY_SEEDS") ?? 200);
const seeds = one ? [Number(one)] : Array.from({ length: count }, (_, seed) => seed);

Deno.test("after faults of every kind each copy equals the server's, and nothing is lost, doubled or out of order", async () => {
  for (const seed of seeds) {
    const run = new Run(seed);
    if (Deno.env.get("PARLEY_TRACE")) run.world.trace = console.log;
    await run.run().catch((error) => {
      throw new Error(`seed ${seed}: ${error.message}`, { cause: error });
    });
  }
});
