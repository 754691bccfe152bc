import type { SyncPosition } from "../sync/events.ts";
import { accountOf } from "./copy.ts";
import type { Reading } from "./database.ts";

/** Where synchronisation stands, for a page that begins. */
export async function syncPosition(rows: Reading): Promise<SyncPosition> {
  const { userId, logId, useq, syncCursor, isListComplete } = await accountOf(rows);
  const heads = await rows.all("conversations");
  heads.sort((one, other) => (one.lastActivityAt ?? "") > (other.lastActivityAt ?? "") ? -1 : 1);
  const streams = heads.flatMap(({ id, cursor, statusVersion, deliveredSeq }) =>
    cursor === undefined ? [] : [{ id, cursor, statusVersion, deliveredSeq }]
  );
  const unknown = heads.filter(({ needsHead }) => needsHead).map(({ id }) => id);
  return { userId, logId, useq, syncCursor, isListComplete, streams, unknown };
}
