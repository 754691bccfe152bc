import type { ParleyClient } from "../core/client.ts";
import type { UserId } from "../core/model.ts";
import { personOf } from "./avatar.ts";
import { confirm } from "./dialog.ts";
import { make } from "./dom.ts";
import { isolated } from "./words.ts";

/** Blocks a user, if that is meant, or ends it. */
export async function setBlocked(owner: Element, client: ParleyClient, user: UserId, isBlocked: boolean) {
  const text = "They cannot reach you any more, and do not learn of it. " +
    "In groups you do not see what they write. What they send to you alone meanwhile never comes.";
  if (isBlocked && !await confirm(owner, `Block ${isolated(client.names, user)}?`, text, "Block")) return;
  await client.block(user, isBlocked);
}

/** Says what it does to whom, as several of them may stand below each other. */
export function blockButton(owner: Element, client: ParleyClient, user: UserId): HTMLElement {
  const isBlocked = client.blockedUsers.value.includes(user);
  const action = isBlocked ? "Unblock" : "Block";
  const onclick = () => void setBlocked(owner, client, user, !isBlocked);
  return make("button.link", { "aria-label": `${action} ${client.names.of(user)}`, onclick }, action);
}

/** Those whom the user has blocked. */
export function blockedPeople(owner: Element, client: ParleyClient): HTMLElement {
  const users = client.blockedUsers.value;
  if (!users.length) return make("p.quiet", "You have blocked nobody.");
  const item = (user: UserId) => make("li", ...personOf(client.names, user), blockButton(owner, client, user));
  return make("ul.people", { "aria-label": "Blocked people" }, ...users.map(item));
}
