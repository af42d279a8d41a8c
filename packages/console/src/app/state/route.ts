import { type Signal, signal } from "@preact/signals";

/** The side of the console, and the parts of the address below it. */
export interface PageRoute {
  readonly side: "chat" | "inspect" | "activity";
  /** For example the id of a conversation, or the server and the tab. */
  readonly path: readonly string[];
  readonly query: { readonly [name: string]: string };
}

const sides: readonly PageRoute["side"][] = ["chat", "inspect", "activity"];

/** Reads the fragment of an address. An unknown one is the chat. */
export function parseRoute(hash: string): PageRoute {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [first = "", ...rest] = path.split("/").map(decode);
  const side = sides.find((one) => one === first);
  if (side === undefined) return { side: "chat", path: [], query: {} };
  return { side, path: rest.filter(Boolean), query: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a place in the console, for links: `hrefOf("inspect", "travel", "tools")`. */
export function hrefOf(side: PageRoute["side"], ...path: readonly string[]): string {
  return `#/${[side, ...path].map(encodeURIComponent).join("/")}`;
}

/** Follows the address of the page until `signal` aborts. */
export function followRoute(signal: AbortSignal): Signal<PageRoute> {
  const route = routeSignal();
  addEventListener("hashchange", () => (route.value = parseRoute(location.hash)), { signal });
  return route;
}

/** Goes to a place. With `replace`, the place before it is not kept in the history. */
export function goTo(href: string, replace = false): void {
  if (replace) location.replace(href);
  else location.hash = href;
}

function routeSignal(): Signal<PageRoute> {
  return signal(parseRoute(location.hash));
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
