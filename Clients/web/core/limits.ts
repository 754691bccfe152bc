import type { Watched } from "./client.ts";
import type { Limits } from "./model.ts";

/** The contract's limits, for as long as the server has not told of its own. A test compares them with a server's. */
const usual = {
  textBytes: 16_384,
  titleCharacters: 200,
  editWindowSeconds: 900,
  pollOptions: 12,
  pollOptionCharacters: 100,
  reportCharacters: 1_000,
};

/** What the server takes. */
export function limitsOf({ limits }: { limits: Watched<Limits | null> }): typeof usual {
  return { ...usual, ...limits.value };
}

/** In conversations with up to this many members receipts and typing have names. */
export const namedMembers = 50;
