import { ClientProblem, type ParleyClient } from "../core/client.ts";
import { groupOf } from "../core/invitations.ts";
import type { ConversationId, Invitation, NewInvitation } from "../core/model.ts";
import { newId } from "../core/uuid.ts";
import { avatar, personOf } from "./avatar.ts";
import { attempts, confirm, openDialog, reasonOf } from "./dialog.ts";
import { make, on } from "./dom.ts";
import { wholeTime } from "./words.ts";

// Links by which others join a group. What stands behind `#` never leaves the browser: a code is in no server's log of
// pages, and in no Referer.

const dayMilliseconds = 86_400_000;

/** What the page around reads. Without the query, which may be about whoever makes the link. */
function linkOf(code: string): string {
  return `${location.origin}${location.pathname}#invite=${code}`;
}

/** Makes links, and has those that are good. */
export function invitationLinks(owner: Element, client: ParleyClient, id: ConversationId) {
  const { names } = client;
  const uses = make("select", option("", "Any number"), option("10", "10 people"), option("1", "1 person"));
  const days = make("select", option("7", "A week"), option("1", "A day"), option("", "For ever"));
  const approval = make("input", { type: "checkbox", role: "switch" });
  const approving = make("label.toggle", make("span", "New members need approval"), approval);
  const create = make("button", { onclick: () => void attempt(makeLink, create) }, "Create link");
  const made = make("div.made");
  const { problem, attempt } = attempts();
  const list = make("ul.people", { "aria-label": "Invitation links" });
  const node = make(
    "div",
    { hidden: true },
    make("h3", "Invitation link"),
    make("label.toggle", make("span", "How many can join"), uses),
    make("label.toggle", make("span", "Works for"), days),
    approving,
    create,
    made,
    problem,
    list,
  );
  let known: Invitation[] = [];
  let requests = 0;
  let askedAt: number | undefined;
  /** What was asked for and not answered: repeated, it is the same invitation. */
  let wanted: NewInvitation | undefined;
  let madeId = "";
  for (const select of [uses, days, approval]) on(select, "change", () => wanted = undefined);

  /** When so many are in the group, to who may decide about others or not. */
  function show(isOffered: boolean, memberCount: number, decides: boolean): void {
    node.hidden = !isOffered;
    approving.hidden = !decides;
    if (!decides) approval.checked = false;
    // Whoever joins has used one.
    if (isOffered && memberCount !== askedAt) void load();
    askedAt = isOffered ? memberCount : undefined;
    if (!list.matches(":focus-within")) showList();
  }

  /** Without a connection they are not shown. */
  async function load(): Promise<void> {
    const request = ++requests;
    const found = await client.invitations(id).catch(() => known);
    if (request !== requests) return;
    known = found;
    showList();
  }

  function showList(): void {
    list.replaceChildren(...known.map(item));
  }

  function item(invitation: Invitation): HTMLElement {
    const { creatorId } = invitation;
    const [face, name] = personOf(names, creatorId, creatorId === client.userId.value ? " (you)" : "");
    const state = stateOf(invitation);
    name!.append(make("span.id", state));
    const label = `Revoke the link of ${names.of(creatorId)}: ${state}`;
    const onclick = () => void attempt(() => revoke(invitation));
    return make("li", face, name, make("button.link", { "aria-label": label, onclick }, "Revoke"));
  }

  async function makeLink(): Promise<void> {
    wanted ??= {
      id: newId(),
      maxUses: Number(uses.value) || undefined,
      approval: approval.checked || undefined,
      expiresAt: days.value ? new Date(Date.now() + Number(days.value) * dayMilliseconds).toISOString() : undefined,
    };
    const { id: madeNow, code, approval: asks } = await client.invite(id, wanted);
    wanted = undefined;
    madeId = madeNow;
    showLink(linkOf(code!), asks ? "ask to join" : "join");
    await load();
  }

  function showLink(link: string, what: string): void {
    const input = make("input", { type: "text", "aria-label": "New invitation link", readonly: true });
    input.value = link;
    const copy = make("button", { "aria-live": "polite", onclick: () => void copyLink() }, "Copy");
    const copyLink = async () => {
      input.select();
      // Where a page may not do it, the user can.
      await navigator.clipboard?.writeText(link).then(() => copy.textContent = "Copied", () => {});
    };
    const text = `Whoever has this link can ${what}. It is shown only now.`;
    made.replaceChildren(make("div.inline", input, copy), make("p.quiet", text));
    input.focus();
    input.select();
  }

  async function revoke({ id: invitation }: Invitation): Promise<void> {
    const text = "Nobody can join by it any more. Those who have joined stay.";
    if (!await confirm(owner, "Revoke this link?", text, "Revoke")) return;
    await client.revokeInvitation(id, invitation);
    if (invitation === madeId) made.replaceChildren();
    known = known.filter((other) => other.id !== invitation);
    showList();
    await load();
  }

  return { node, show };
}

function option(value: string, text: string): HTMLElement {
  return make("option", { value }, text);
}

/** "Used by 2 of 10 people, until Today, 5:00 PM, with approval". */
function stateOf({ uses, maxUses, expiresAt, approval }: Invitation): string {
  const people = (count: number) => count === 1 ? "1 person" : `${count} people`;
  const used = maxUses ? `Used by ${uses} of ${people(maxUses)}` : uses ? `Used by ${people(uses)}` : "Not used yet";
  return (expiresAt ? `${used}, until ${wholeTime(expiresAt)}` : used) + (approval ? ", with approval" : "");
}

/** Shows what a code opens, and lets the user join. Who is a member gets the conversation. Ends when that is decided. */
export async function openInvitation(
  owner: Element,
  client: ParleyClient,
  code: string,
  onopen: (id: ConversationId) => void,
): Promise<void> {
  const about = make("div.heading", { hidden: true });
  const problem = make("p.problem", { role: "alert", hidden: true });
  const action = make("button.filled", { onclick: () => void attempt() }, "Try again");
  const later = make("button", { onclick: () => about.closest("dialog")!.close() }, "Not now");
  let next = lookUp;
  let isOpened = false;

  async function attempt(): Promise<void> {
    action.disabled = true;
    const error = await next().then(() => undefined, (error: unknown) => error);
    const isGone = error instanceof ClientProblem && error.problem.status === 404;
    problem.hidden = !error;
    problem.textContent = isGone ? "This invitation is not good any more." : error ? reasonOf(error) : "";
    action.hidden = isGone;
    action.disabled = false;
    if (isGone) later.textContent = "OK";
  }

  async function lookUp(): Promise<void> {
    const found = await client.lookUpInvitation(code);
    if (typeof found === "string") return open(found);
    const { title = "Group", memberCount, approval } = found;
    const members = memberCount === 1 ? "1 member" : `${memberCount} members`;
    about.hidden = false;
    about.replaceChildren(avatar([title], 64), make("h3", { dir: "auto" }, title), make("p.quiet", members));
    action.textContent = approval ? "Ask to join" : "Join";
    next = join;
  }

  async function join(): Promise<void> {
    const id = await client.join(code);
    if (id) return open(id);
    about.append(
      make("p", { role: "status" }, "Waiting for approval"),
      make("p.quiet", "The group comes into your list when you are let in."),
    );
    next = async () => {
      await client.declineJoinRequest(groupOf(code)!, client.userId.value!);
      about.closest("dialog")!.close();
    };
    action.textContent = "Take back";
    later.textContent = "OK";
  }

  function open(id: ConversationId): void {
    isOpened = true;
    about.closest("dialog")?.close();
    onopen(id);
  }

  await attempt();
  if (isOpened || !owner.isConnected) return;
  const content = make("div.stacked", about, problem, make("div.buttons", later, action));
  const dialog = openDialog(owner, "Invitation", content);
  await new Promise((resolve) => on(dialog, "close", resolve));
}
