import type { ParleyClient } from "../core/client.ts";
import type { UserId } from "../core/model.ts";
import { avatar } from "./avatar.ts";
import { blockedPeople } from "./blocking.ts";
import { devices } from "./devices.ts";
import { attempts, confirm, openDialog, toggle } from "./dialog.ts";
import { Endings, make, on } from "./dom.ts";

/** The user's own settings, and signing out. */
export function openSettings(owner: Element, client: ParleyClient): void {
  const endings = new Endings();
  const switches = make("div");
  const blocked = make("div");
  const { names, userId } = client;
  const heading = make("div.heading");
  const profile = make("div");
  const dialog = openDialog(
    owner,
    "Settings",
    heading,
    profile,
    switches,
    notificationButton(),
    make("h3", "Blocked"),
    blocked,
    devices(owner, client),
    make("div.actions", make("button.danger", { onclick: () => void signOut() }, "Sign out")),
  );
  on(dialog, "close", () => endings.end());
  const { form, showName } = nameForm(client);
  const showPeople = () => {
    const self = userId.value; // Null until the copy has been read.
    if (!self) return;
    heading.replaceChildren(avatar([self], 64, names), make("h3", { dir: "auto", title: self }, names.of(self)));
    showName(self);
    blocked.replaceChildren(blockedPeople(owner, client));
  };
  const showForm = () => {
    const writers = client.limits.value?.profileWriters;
    profile.replaceChildren(...writers === "users" || writers === "both" ? [form] : []);
  };
  endings.add(
    client.limits.subscribe(showForm),
    userId.subscribe(showPeople),
    names.subscribe(showPeople),
    client.blockedUsers.subscribe(showPeople),
  );
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

/** What the user is called by others. The server has the last word on what may be a name. */
function nameForm(client: ParleyClient) {
  const input = make("input", { type: "text", "aria-label": "Your name", placeholder: "Your name", dir: "auto" });
  const button = make("button", { type: "submit" }, "Save name");
  const { problem, attempt } = attempts();
  const form = make("form", make("div.inline", input, button), problem);
  on(form, "submit", (event) => {
    event.preventDefault();
    void attempt(() => client.setName(input.value.trim()), button);
  });
  /** The present one, unless another one is being written. */
  let shown = "";
  const showName = (self: UserId) => {
    const name = client.names.known(self) ?? "";
    if (input.value === shown) input.value = name;
    shown = name;
  };
  return { form, showName };
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
