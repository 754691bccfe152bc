import type { HTTPRequest } from "./http.ts";
import type { NewReport } from "./model.ts";

/** Of nothing but space nothing is said. */
export function reportRequest({ text, ...report }: NewReport): HTTPRequest {
  const said = text?.trim();
  return { method: "POST", path: "/v1/reports", body: said ? { ...report, text: said } : report };
}
