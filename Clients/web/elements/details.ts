import type { ConversationRow, ParleyClient } from "../core/client.ts";
import {
  type Ban,
  type BanPage,
  type ConversationId,
  isFromReading,
  type Member,
  type Permission,
  type UserId,
} from "../core/model.ts";
import { limitsOf } from "../core/limits.ts";
import { may, permittedIn } from "../core/permissions.ts";
import { avatar, personOf } from "./avatar.ts";
import { blockButton } from "./blocking.ts";
import { confirm, openDialog, toggle } from "./dialog.ts";
import { Endings, iconButton, make, nodesOf, on } from "./dom.ts";
import { invitationLinks } from "./invitations.ts";
import { joinRequests } from "./join-requests.ts";
import { isolated, lifetimeText, titleOf } from "./words.ts";

/** How long messages stay, in seconds, as it is offered. */
const lifetimes = [3_600, 24 * 3_600, 7 * 24 * 3_600, 28 * 24 * 3_600];

/** All about one conversation: its name, who is in it, and what one may change. */
export function openDetails(
  owner: Element,
  client: ParleyClient,
  id: ConversationId,
  onleft: () => void,
  onreport: (user: UserId) => void,
): void {
  const endings = new Endings();
  const name = make("div");
  const people = make("div");
  const links = invitationLinks(owner, client, id);
  const requests = joinRequests(client, id);
  const permissions = make("div");
  const lifetime = make("div");
  const removed = make("div");
  const settings = make("div");
  const actions = make("div.actions");
  const dialog = openDialog(
    owner,
    "Details",
    name,
    people,
    requests.node,
    links.node,
    permissions,
    lifetime,
    removed,
    settings,
    actions,
  );
  on(dialog, "close", () => endings.end());
  const members = client.members(id);
  let shown: ConversationRow | undefined;
  let isOwner = false;
  let isAdmin = false;
  let isGroup = false;
  /** Who was removed was asked for when so many were in it. */
  let askedAt: number | undefined;

  const conversation = client.conversation(id);
  const { names } = client;
  const show = (row: ConversationRow | null) => {
    if (!row) return;
    isGroup = row.conversation.kind !== "direct";
    shown = row;
    const { role, memberCount } = row.conversation;
    isOwner = role === "owner" && row.isMember && isGroup;
    isAdmin = isOwner || role === "admin" && row.isMember && isGroup;
    if (!hasFocus(name)) name.replaceChildren(isGroup && may(row, "rename") ? nameForm(row) : heading(row));
    showPeople();
    links.show(isGroup && may(row, "addMembers"), memberCount, isAdmin);
    requests.show(row, isAdmin);
    if (!hasFocus(permissions)) permissions.replaceChildren(...isOwner ? [permissionChoices(row)] : []);
    if (!hasFocus(lifetime)) lifetime.replaceChildren(...lifetimeOf(row));
    if (!isAdmin) removed.replaceChildren();
    else if (memberCount !== askedAt) void showRemoved();
    askedAt = isAdmin ? memberCount : undefined;
    actions.replaceChildren(...row.request ? [] : actionsOf(row));
    settings.hidden = !!row.request;
  };
  endings.add(
    conversation.subscribe(show),
    names.subscribe(() => show(conversation.value)),
    members.subscribe(showPeople),
    client.blockedUsers.subscribe(showPeople),
    client.conversationSettings(id).subscribe((value) => {
      if (value) {
        settings.replaceChildren(
          toggle("Send read receipts", value.readReceipts, (on) => void client.setReadReceipts(id, on)),
        );
      }
    }),
  );

  function hasFocus(part: HTMLElement): boolean {
    return part.contains(dialog.querySelector(":focus"));
  }

  function showPeople(): void {
    if (people.querySelector("input:focus")) return; // Somebody is being added.
    people.replaceChildren(...peopleOf(members.value.members, members.value.isComplete));
  }

  function heading(row: ConversationRow): HTMLElement {
    return make(
      "div.heading",
      row.others.length ? avatar(row.others, 64, names) : avatar([titleOf(row, names)], 64),
      make("h3", { dir: "auto" }, ...nodesOf(titleOf(row, names))),
    );
  }

  function nameForm(row: ConversationRow): HTMLElement {
    const input = make("input", {
      type: "text",
      "aria-label": "Group name",
      placeholder: "Group name",
      maxlength: limitsOf(client).titleCharacters,
      dir: "auto",
    });
    input.value = row.conversation.title ?? "";
    const form = make("form.inline", input, make("button", { type: "submit" }, "Rename"));
    on(form, "submit", (event) => {
      event.preventDefault();
      const title = input.value.trim();
      if (title && title !== row.conversation.title) void client.rename(id, title);
      form.querySelector("button")!.focus();
    });
    return form;
  }

  function peopleOf(members: Member[], isComplete: boolean): HTMLElement[] {
    const list = make("ul.people", { "aria-label": "Members" }, ...members.slice(0, 200).map(memberItem));
    if (!isComplete || members.length > 200) {
      list.append(make("li.quiet", isComplete ? `and ${members.length - 200} more` : "Loading…"));
    }
    return isGroup && shown && may(shown, "addMembers") ? [list, addForm()] : [list];
  }

  function memberItem({ userId, role }: Member): HTMLElement {
    const isSelf = userId === client.userId.value;
    return make(
      "li",
      ...personOf(names, userId, isSelf ? " (you)" : ""),
      make("span.detail", isGroup ? { owner: "Owner", admin: "Admin" }[role] ?? "" : ""),
      isOwner && role !== "owner" && roleButton(userId, role === "admin"),
      !isSelf && blockButton(owner, client, userId),
      !isSelf && iconButton(`Report ${names.of(userId)}`, "alert", () => onreport(userId)),
      !isSelf && (isOwner || isAdmin && role === "member") &&
        iconButton(`Remove ${names.of(userId)}`, "close", () => void remove(userId)),
    );
  }

  function roleButton(user: UserId, isAdmin: boolean): HTMLElement {
    const [action, who] = [isAdmin ? "Remove as admin" : "Make admin", names.of(user)];
    const label = isAdmin ? `Remove ${who} as admin` : `Make ${who} an admin`;
    const onclick = () => void client.setRole(id, user, isAdmin ? "member" : "admin");
    return make("button.link", { "aria-label": label, onclick }, action);
  }

  function permissionChoices(row: ConversationRow): HTMLElement {
    const choice = (permission: Permission, label: string) => {
      const permitted = permittedIn(row, permission);
      const option = (value: string, text: string) => {
        return make("option", { value, selected: value === permitted }, text);
      };
      const select = make(
        "select",
        option("members", "All members"),
        option("admins", "Admins"),
        option("owners", "Owners"),
      );
      on(select, "change", () => void client.permit(id, permission, select.value));
      return make("label.toggle", make("span", label), select);
    };
    return make(
      "fieldset",
      make("legend", "Who can"),
      choice("write", "Write messages"),
      choice("addMembers", "Add people"),
      choice("rename", "Change the name"),
      choice("mentionAll", "Mention everyone"),
    );
  }

  /** How long messages stay, for whoever may change it; what others see of it is below the title of the conversation. */
  function lifetimeOf(row: ConversationRow): HTMLElement[] {
    if (!row.isMember || isGroup && !isAdmin) return [];
    const { seconds, from } = row.conversation.messageLifetime ?? {};
    const choices = [...new Set([...lifetimes, ...seconds ? [seconds] : []])];
    const option = (value: string, text: string, selected: boolean) => make("option", { value, selected }, text);
    const select = make(
      "select",
      option("", "Off", !seconds),
      ...choices.map((choice) => option(`${choice}`, lifetimeText(choice), choice === seconds)),
    );
    const start = make(
      "select",
      option("sending", "It was sent", !isFromReading(from)),
      option("reading", "Everybody has read it", isFromReading(from)),
    );
    const counted = make("label.toggle", { hidden: !seconds }, make("span", "Counted from when"), start);
    for (const choice of [select, start]) {
      on(choice, "change", () => {
        counted.hidden = !select.value;
        void client.setMessageLifetime(id, select.value ? Number(select.value) : null, start.value);
      });
    }
    return [make("label.toggle", make("span", "Disappearing messages"), select), counted];
  }

  /** Who was removed, and does not come back without an owner or admin. Without a connection they are not shown. */
  async function showRemoved(): Promise<void> {
    const { bans, nextCursor } = await client.bans(id).catch((): BanPage => ({ bans: [] }));
    if (!isAdmin) return;
    const item = ({ userId }: Ban) => {
      const onclick = async () => {
        await client.liftBan(id, userId);
        line.remove();
        if (!list.querySelector("button")) removed.replaceChildren();
      };
      const back = make("button.link", { "aria-label": `Allow ${names.of(userId)} back`, onclick }, "Allow back");
      const line = make("li", ...personOf(names, userId), back);
      return line;
    };
    const list = make("ul.people", { "aria-label": "Removed people" }, ...bans.map(item));
    if (nextCursor) list.append(make("li.quiet", "and more"));
    removed.replaceChildren(...bans.length ? [make("h3", "Removed people"), list] : []);
  }

  function addForm(): HTMLElement {
    const input = make("input", {
      type: "text",
      "aria-label": "Add a person",
      placeholder: "Add a person",
      pattern: "[A-Za-z0-9._@:+\\-]{1,64}",
      required: true,
    });
    const form = make("form.inline", input, make("button", { type: "submit" }, "Add"));
    on(form, "submit", (event) => {
      event.preventDefault();
      void client.addMember(id, input.value.trim());
      input.value = "";
    });
    return form;
  }

  async function remove(user: UserId): Promise<void> {
    const text = "They keep what they have seen so far. Only owners and admins can bring them back.";
    if (await confirm(owner, `Remove ${isolated(names, user)}?`, text, "Remove")) {
      await client.removeMember(id, user);
    }
  }

  function actionsOf(row: ConversationRow): HTMLElement[] {
    const button = (text: string, onclick: () => void) => make("button.danger", { onclick }, text);
    const clear = button(
      "Clear history for me",
      () => void ask("Clear the history?", "Others keep it.", "Clear", () => client.clearHistory(id)),
    );
    const leave = button(
      "Leave conversation",
      () =>
        void ask(
          "Leave this conversation?",
          "You can read what you have seen so far.",
          "Leave",
          () => client.leave(id),
        ),
    );
    if (row.conversation.kind === "direct" && row.isMember) return [clear];
    const unlist = button(
      "Remove from list",
      () =>
        void ask(
          "Remove it from your list?",
          row.isBlocked ? "It comes back when you unblock them." : "You have left it; it will not come back.",
          "Remove",
          () => client.removeFromList(id),
          true,
        ),
    );
    return [clear, row.isMember ? leave : unlist];
  }

  async function ask(
    title: string,
    text: string,
    action: string,
    run: () => Promise<void>,
    ends = false,
  ): Promise<void> {
    if (!await confirm(owner, title, text, action)) return;
    await run();
    dialog.close();
    if (ends) onleft();
  }
}
