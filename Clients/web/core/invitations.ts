import { ClientProblem } from "./client.ts";
import type { HTTPRequest } from "./http.ts";
import type { ConversationId, Problem } from "./model.ts";

// Codes, by which one joins a group. Whoever has one may join, so they are neither kept nor logged.

/** As of a code that nobody has given out: the server need not be asked about what is none. */
export const notGood: Problem = {
  status: 404,
  code: "notFound",
  title: "Not found",
  detail: "This is not the code of an invitation.",
};

/** The group that a code is of, which is its first half; undefined for what is no code. */
export function groupOf(code: string): ConversationId | undefined {
  if (!/^[\w-]{43}$/.test(code)) return undefined;
  const bytes = atob(code.replaceAll("-", "+").replaceAll("_", "/"));
  const digits = [...bytes.slice(0, 16)].map((byte) => byte.charCodeAt(0).toString(16).padStart(2, "0")).join("");
  return digits.replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export function invitationRequest(method: "GET" | "POST", code: string): HTTPRequest {
  return { method, path: `/v1/invitations/${code}` };
}

/** Whether the server says so of a conversation that was asked for, or of an id that none can have. */
export function isNoMember(error: unknown): boolean {
  return error instanceof ClientProblem && [400, 403, 404].includes(error.problem.status);
}
