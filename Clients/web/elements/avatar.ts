import type { UserNames } from "../core/client.ts";
import type { UserId } from "../core/model.ts";
import { make } from "./dom.ts";

/**
 * A round picture made of initials; of a group the first two, one before the other. Decoration: the name stands beside it.
 * `ids` are of users, with their names, or a title. The pictures of profiles are not loaded: their hosts would learn who looks.
 */
export function avatar(ids: string[], size: number, names?: UserNames): HTMLElement {
  const faces = ids.slice(0, 2);
  const node = make("span", { class: faces.length > 1 ? "avatar pair" : "avatar", "aria-hidden": "true" });
  node.style.setProperty("--size", `${size}px`);
  for (const id of faces) node.append(face(id, names?.of(id) ?? id));
  if (!faces.length) node.append(face("?", "?"));
  return node;
}

/** Somebody in a list of people: their face, and their name with the id that nobody chooses. */
export function personOf(names: UserNames, user: UserId, note = ""): HTMLElement[] {
  const name = names.of(user);
  const id = name === user ? [] : [make("span.id", user)];
  return [avatar([user], 32, names), make("span.name", make("bdi", name), note, ...id)];
}

/** Who is renamed keeps their colour. */
function face(id: string, name: string): HTMLElement {
  const node = make("span.initials", initials(name));
  node.style.setProperty("--hue", String(hue(id)));
  return node;
}

function initials(name: string): string {
  const words = name.split(/[\s._@:+-]+/).filter((word) => word);
  const first = [...words[0] ?? name][0] ?? "?";
  const second = words.length > 1 ? [...words.at(-1)!][0]! : "";
  return (first + second).toUpperCase();
}

function hue(name: string): number {
  let hash = 0;
  for (const character of name) hash = (hash * 31 + character.codePointAt(0)!) % 3600;
  return hash / 10;
}
