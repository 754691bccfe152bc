/// <reference lib="deno.ns" />
import { groupOf } from "../../core/invitations.ts";
import { expectEqual } from "./copy.ts";

Deno.test("a code says which group it is of", () => {
  // The example of the contract.
  const code = "AZjCpF0QfD6aQT8MW34tkKgq0cXkGvJd0w3m1yPzbEQ";
  expectEqual(groupOf(code), "0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90");
  expectEqual(groupOf("_".repeat(22) + "A".repeat(21)), "ffffffff-ffff-ffff-ffff-ffffffffffff");
});

for (
  const text of ["", "x", "A".repeat(42), "A".repeat(44), "A".repeat(42) + "=", "A".repeat(42) + "/", "é".repeat(43)]
) {
  Deno.test(`what is no code is of no group: ${JSON.stringify(text)}`, () => expectEqual(groupOf(text), undefined));
}
