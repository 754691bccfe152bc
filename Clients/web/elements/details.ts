import type { ConversationRow, ParleyClient } from "../core/client.ts";
import type { ConversationId, Member, UserId } from "../core/model.ts";
import { avatar, personOf } from "./avatar.ts";
import { blockButton } from "./blocking.ts";
import { confirm, openDialog, toggle } from "./dialog.ts";
import { Endings, iconButton, make, nodesOf, on } from "./dom.ts";
import { isolated, titleOf } from "./words.ts";

/** All about one conversation: its name, who is in it, and what one may change. */
export function openDetails(owner: Element, client: ParleyClient, id: ConversationId, onleft: () => void): void {
  const endings = new Endings();
  const name = make("div");
  const people = make("div");
  const settings = make("div");
  const actions = make("div.actions");
  const dialog = openDialog(owner, "Details", name, people, settings, actions);
  on(dialog, "close", () => endings.end());
  const members = client.members(id);
  let isOwner = false;
  let isGroup = false;

  const conversation = client.conversation(id);
  const { names } = client;
  const show = (row: ConversationRow | null) => {
    if (!row) return;
    isGroup = row.conversation.kind !== "direct";
    isOwner = row.conversation.role === "owner" && row.isMember;
    if (!name.contains(dialog.querySelector(":focus"))) {
      name.replaceChildren(isGroup && row.isMember ? nameForm(row) : heading(row));
    }
    showPeople();
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
      maxlength: "200",
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
    return isGroup && isOwner ? [list, addForm()] : [list];
  }

  function memberItem({ userId, role }: Member): HTMLElement {
    const isSelf = userId === client.userId.value;
    return make(
      "li",
      ...personOf(names, userId, isSelf ? " (you)" : ""),
      make("span.detail", role === "owner" && isGroup ? "Owner" : ""),
      !isSelf && blockButton(owner, client, userId),
      isOwner && isGroup && !isSelf && iconButton(`Remove ${names.of(userId)}`, "close", () => void remove(userId)),
    );
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
    if (await confirm(owner, `Remove ${isolated(names, user)}?`, "They keep what they have seen so far.", "Remove")) {
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
