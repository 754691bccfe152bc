import type { ParleyClient } from "../core/client.ts";
import type { Device } from "../core/model.ts";
import { attempts, confirm } from "./dialog.ts";
import { make } from "./dom.ts";
import { dayText, wholeTime } from "./words.ts";

/** Where the user is signed in, and the end of that. Nothing without a connection, or where tokens name no devices. */
export function devices(owner: Element, client: ParleyClient): HTMLElement {
  const { problem, attempt } = attempts();
  const list = make("ul.people", { "aria-label": "Devices" });
  const others = make("button", { onclick: () => void endOthers() }, "Sign out all others");
  const node = make("div", { hidden: true }, make("h3", "Devices"), list, others, problem);
  void load();
  return node;

  async function load(): Promise<void> {
    const known = await client.devices().catch(() => undefined);
    if (!known) return;
    list.replaceChildren(...known.map(item));
    // Who has no name is none that could be spared. Others may be there that have no name.
    others.hidden = !known.some(({ current }) => current);
    node.hidden = !known.length;
  }

  function item({ deviceId, firstSeen, lastSeen, current }: Device): HTMLElement {
    const seen = make("span.id", `Since ${dayText(firstSeen)}, last seen ${wholeTime(lastSeen)}`);
    const label = `Sign out ${deviceId}`;
    const end = current
      ? make("span.detail", "This device")
      : make("button.link", { "aria-label": label, onclick: () => void endOne(deviceId) }, "Sign out");
    return make("li", make("span.name", make("bdi", deviceId), seen), end);
  }

  async function endOne(device: string): Promise<void> {
    const text = "It gets and sends nothing more until your application signs it in again. What is on it stays there.";
    if (!await confirm(owner, `Sign out \u2068${device}\u2069?`, text, "Sign out")) return;
    await attempt(() => client.endDevice(device));
    await load();
  }

  async function endOthers(): Promise<void> {
    const text =
      "They get and send nothing more until your application signs them in again. What is on them stays there.";
    if (!await confirm(owner, "Sign out all other devices?", text, "Sign out")) return;
    await attempt(() => client.endOtherDevices(), others);
    await load();
  }
}
