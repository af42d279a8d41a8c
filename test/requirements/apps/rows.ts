import { namesApps } from "../rows/apps.ts";
import type { Row } from "../rows/row.ts";

/** The revision of tests in a browser: what they test comes after the protocol. */
export const inBrowser = ["2026-07-28"] as const;

/** MCP Apps on the host, in the sandbox and in the view, by their numbers in `extensions.json`. */
export const rowsAppHost: { readonly [row: string]: Row } = {
  X75: { about: "metadata of the content item wins over the listing", on: namesApps },
  X76: { about: "models see no tool that is for apps alone, and cannot call it", on: namesApps },
  X77: {
    about: "an app calls the tools for apps of its own server alone, wherever the call comes from",
    on: namesApps,
  },
  X80: { about: "nothing is sent before the app is initialized; input comes before the result", on: namesApps },
  X81: { about: "the complete input is sent once, and no partial input after it", on: namesApps },
  X82: { about: "the result is sent, or that there is none", on: namesApps },
  X83: { about: "an app is told of its end, and waited for, for a bounded time", on: namesApps },
  X84: { about: "the frame takes the size that the app asks for", on: inBrowser },
  X85: { about: "the display mode that holds is answered, and never one that the app did not declare", on: namesApps },
  X86: { about: "the last words of an app reach the next turn of the model, and only those", on: namesApps },
  X87: { about: "our apps declare what they have, and work in another mode and without partial input", on: inBrowser },
  X88: { about: "addresses are opened and files are saved after the user's consent", on: namesApps },
  X89: { about: "tools of an app live as long as it, with its limits and the user's consent", on: namesApps },
  X90: { about: "a view runs in a sandboxed frame, inside a proxy frame on another origin", on: inBrowser },
  X91: {
    about: "the proxy announces itself, loads the document and passes on all but its own messages",
    on: inBrowser,
  },
  X92: { about: "the policy follows from the declared origins", on: inBrowser },
  X93: { about: "permissions become the frame's `allow`", on: inBrowser },
  X94: { about: "undeclared connections are blocked; declared ones are named to the user and logged", on: inBrowser },
  X95: { about: "messages are checked, malformed ones refused, and all of them logged", on: namesApps },
};
