import { make } from "./dom.ts";

/** A round picture made of initials; of a group the first two, one before the other. Decoration: the name stands beside it. */
export function avatar(names: string[], size: number): HTMLElement {
  const faces = names.length > 1 ? names.slice(0, 2) : [names[0] ?? "?"];
  const node = make("span", { class: faces.length > 1 ? "avatar pair" : "avatar", "aria-hidden": "true" });
  node.style.setProperty("--size", `${size}px`);
  for (const name of faces) node.append(face(name));
  return node;
}

function face(name: string): HTMLElement {
  const node = make("span.initials", initials(name));
  node.style.setProperty("--hue", String(hue(name)));
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
