/// <reference lib="deno.ns" />
import { reportRequest } from "../../core/reports.ts";
import { newId } from "../../core/uuid.ts";
import { reportReasons } from "../../elements/words.ts";
import { expectEqual } from "./copy.ts";

const about = { id: newId(), conversationId: newId(), messageId: newId(), reason: "spam" } as const;

Deno.test("a report is what its maker gave, without the space around it", () => {
  const body = { ...about, text: "Again\nand again" };
  expectEqual(reportRequest({ ...about, text: " Again\nand again \n" }), { method: "POST", path: "/v1/reports", body });
});

for (const text of [undefined, "", " \n\t"]) {
  Deno.test(`where nothing was written there is no text: ${JSON.stringify(text)}`, () => {
    expectEqual(reportRequest({ ...about, text }), { method: "POST", path: "/v1/reports", body: about });
  });
}

Deno.test("every reason of the contract can be chosen", () => {
  const contract = new URL("../../../../Services/Ingest/openapi.json", import.meta.url);
  const { schemas } = JSON.parse(Deno.readTextFileSync(contract)).components;
  expectEqual(Object.keys(reportReasons), schemas.ReportReason.enum);
});
