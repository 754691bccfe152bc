import type { ParleyClient } from "../core/client.ts";
import { avatar } from "./avatar.ts";
import { blockedPeople } from "./blocking.ts";
import { confirm, openDialog, toggle } from "./dialog.ts";
import { Endings, make } from "./dom.ts";

/** The user's own settings, and signing out. */
export function openSettings(owner: Element, client: ParleyClient): void {
  const endings = new Endings();
  const switches = make("div");
  const blocked = make("div");
  const name = client.userId.value ?? "";
  const dialog = openDialog(
    owner,
    "Settings",
    make("div.heading", avatar([name], 64), make("h3", { dir: "auto" }, name)),
    switches,
    notificationButton(),
    make("h3", "Blocked"),
    blocked,
    make("div.actions", make("button.danger", { onclick: () => void signOut() }, "Sign out")),
  );
  dialog.addEventListener("close", () => endings.end());
  endings.add(client.blockedUsers.subscribe(() => blocked.replaceChildren(blockedPeople(owner, client))));
  endings.add(client.settings.subscribe((settings) => {
    if (!settings) return;
    switches.replaceChildren(
      toggle("Send read receipts", settings.readReceipts, (readReceipts) => void client.setSettings({ readReceipts })),
      toggle("Show when I am online", settings.presence, (presence) => void client.setSettings({ presence })),
    );
  }));

  async function signOut(): Promise<void> {
    const text = "Messages and drafts on this device are erased, those that were not sent yet as well.";
    if (!await confirm(owner, "Sign out?", text, "Sign out")) return;
    dialog.close();
    await client.signOut();
  }
}

/** Browsers let a page ask only when the user has clicked something. */
function notificationButton(): HTMLElement {
  const node = make("div");
  const show = () => {
    if (!("Notification" in globalThis)) return;
    const states = { granted: "Notifications are on.", denied: "Notifications are blocked in the browser’s settings." };
    const state = Notification.permission;
    node.replaceChildren(
      state === "default"
        ? make(
          "button",
          { onclick: () => void Notification.requestPermission().then(show) },
          "Turn on notifications",
        )
        : make("p.quiet", states[state]),
    );
  };
  show();
  return node;
}
