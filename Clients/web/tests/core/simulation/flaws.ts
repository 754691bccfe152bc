import type { Reading, Writing } from "../../../core/copy/database.ts";
import type { HTTPRequest } from "../../../core/http.ts";
import type { SyncStep, SyncWrite } from "../../../core/sync/events.ts";
import type { Random } from "../../../core/backoff.ts";

/**
 * Mistakes that a client could have. A test makes each of them and requires that the simulation notices: otherwise the
 * simulation would prove nothing.
 */
export const flaws = [
  /** The cursor moves without what it stands for, now and then. */
  "losesChanges",
  /** A message is sent before it is noted that the server may know it. */
  "sendsBeforeItNotes",
  "forgetsHiddenMessages",
  "forgetsClearedHistories",
  "forgetsThatTheUserJoined",
  "forgetsPins",
  "forgetsBlocks",
  "ignoresRenames",
  "keepsWhatAResetTakes",
  /** A page counts for everything before it. */
  "believesPagesAreWhole",
  "keepsOutdatedRanges",
  /** A message gets another id with each attempt. */
  "sendsUnderNewIds",
  "sendsInReverse",
  "ignoresReloads",
  "forgetsWhatWaitsAtItsEnd",
  "forgetsDrafts",
  "forgetsRequests",
  /** What the user is asked about is read once, and then for ever as it was. */
  "readsRequestsOnce",
  /** Requests stand in the list of conversations. */
  "takesRequestsForConversations",
  /** What another device has written takes the place of what is being written here. */
  "takesOverWhatIsWritten",
  "forgetsPermissions",
  "forgetsLifetimes",
] as const;

export type Flaw = typeof flaws[number];

/** What a flawed client stores of a step. */
export function alterStep(flaw: Flaw, step: SyncStep, random: Random): SyncStep {
  step.writes = step.writes.flatMap((write): SyncWrite[] => {
    const kind = write.write === "privateChange" ? write.change.kind : "";
    const forgotten = { forgetsHiddenMessages: "message.hidden", forgetsClearedHistories: "history.cleared" };
    const others = {
      forgetsThatTheUserJoined: "conversation.joined",
      forgetsPins: "pinned",
      forgetsBlocks: "blocked",
      forgetsDrafts: "draft",
      forgetsRequests: "request",
    };
    const isForgotten = kind === { ...forgotten, ...others }[flaw as never];
    if (isForgotten && write.write === "privateChange") return [{ write: "privateStream", useq: write.change.useq }];
    if (flaw === "losesChanges" && write.write === "change" && write.movesCursor && random() < 0.05) {
      return [{ write: "passed", conversation: write.change.conversationId, through: write.change.seq }];
    }
    if (flaw === "forgetsPermissions" && write.write === "change") {
      return [{ ...write, change: { ...write.change, permissions: undefined } }];
    }
    if (flaw === "forgetsLifetimes" && write.write === "change") {
      return [{ ...write, change: { ...write.change, messageLifetime: undefined } }];
    }
    if (flaw === "readsRequestsOnce" && write.write === "conversation" && write.conversation.request) return [];
    if (flaw === "takesRequestsForConversations" && write.write === "requests") {
      return write.requests.map(({ conversation }) => {
        return { write: "conversation", conversation: { ...conversation, request: undefined }, follows: true };
      });
    }
    if (flaw === "keepsWhatAResetTakes" && write.write === "discardAll") return [];
    if (flaw === "keepsOutdatedRanges" && write.write === "outdated") return [];
    if (flaw === "believesPagesAreWhole" && write.write === "history") {
      return [{ ...write, page: { ...write.page, hasMoreBefore: false } }];
    }
    return [write];
  });
  return step;
}

/** What a flawed client sends. */
export function alterRequest(flaw: Flaw | undefined, request: HTTPRequest, newId: () => string): HTTPRequest {
  const { method, path, body } = request;
  if (flaw === "sendsInReverse" && path === "/v1/messages:batch") {
    return { ...request, body: { messages: (body as { messages: unknown[] }).messages.toReversed() } };
  }
  if (flaw === "sendsUnderNewIds" && method === "POST" && path.endsWith("/messages")) {
    return { ...request, body: { ...body as object, id: newId() } };
  }
  return request;
}

/** What a flawed client notes. */
export function alterRows(flaw: Flaw | undefined, rows: Writing): Writing {
  if (flaw === "takesOverWhatIsWritten") {
    const put: Writing["put"] = (table, record) => {
      const isHeld = table === "outbox" && "wasTried" in record && record.state === "held" && !record.wasTried;
      return isHeld ? rows.remove(table, record.key) : rows.put(table, record);
    };
    return { ...rows as Reading & Writing, put };
  }
  if (flaw !== "sendsBeforeItNotes") return rows;
  return {
    ...rows as Reading & Writing,
    put: (table, record) => {
      const isTried = table === "outbox" && "wasTried" in record && record.state === "waiting";
      return rows.put(table, isTried ? { ...record, wasTried: false } : record);
    },
  };
}
