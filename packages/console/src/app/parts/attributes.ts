import { options, type VNode } from "preact";
import { piecesOf } from "./quoted.tsx";

/** Attributes that people read or hear, and that often name something of a server. */
const spoken = ["title", "aria-label", "alt", "placeholder"] as const;
const plain = /^[\x20-\x7e]*$/;

/** Returns a text with names in the place of characters that are invisible or change how others look. */
export function plainText(text: string): string {
  if (plain.test(text)) return text;
  return piecesOf(text)
    .map(({ text: piece }) => piece)
    .join("");
}

/** Escapes such attributes wherever the page sets them, so that no place can forget it. */
export function escapeAttributes(): void {
  const before = options.vnode;
  options.vnode = (vnode: VNode) => {
    if (typeof vnode.type === "string") {
      const props = vnode.props as { [name: string]: unknown };
      for (const name of spoken) {
        const value = props[name];
        if (typeof value === "string" && !plain.test(value)) props[name] = plainText(value);
      }
    }
    before?.(vnode);
  };
}
