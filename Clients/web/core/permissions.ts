import type { ConversationRow } from "./client.ts";
import type { Permission, Permissions, Permitted } from "./model.ts";

// Who may do what in a group.

const everyone: Permissions = { write: "members", addMembers: "members", rename: "members" };

/** Who may do it. */
export function permittedIn({ conversation: { permissions } }: ConversationRow, permission: Permission): Permitted {
  return (permissions ?? everyone)[permission] ?? "admins";
}

/** Whether the user may do it now. What a later version of the server permits to others is left to owners. */
export function may(row: ConversationRow, permission: Permission): boolean {
  const permitted = permittedIn(row, permission);
  const { role } = row.conversation;
  return row.isMember && (permitted === "members" || role === "owner" || permitted === "admins" && role === "admin");
}

/** As the server tells them: nothing where everything is as by default. */
export function restricting(
  permissions: Permissions | undefined,
  changes: Partial<Permissions> = {},
): Permissions | undefined {
  const { mentionAll = "admins", ...others } = { ...everyone, ...permissions, ...changes };
  if (mentionAll !== "admins") return { ...others, mentionAll };
  return Object.values(others).every((permitted) => permitted === "members") ? undefined : others;
}
