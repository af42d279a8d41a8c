import { between, revisions } from "../../kit/revisions.ts";
import { host, type Row } from "./row.ts";

/** Revisions whose tools have `_meta`, and so can name an app. */
export const namesApps = between("2025-06-18", "2026-07-28");

/** MCP Apps, on the server. Those of the host are in `apps/rows.ts`. */
export const rowsApps: { readonly [row: string]: Row } = {
  X70: { about: "an app is a ui:// resource with the media type of apps and an HTML document", on: revisions },
  X71: { about: "the app that a tool names can be read; it need not be listed", on: revisions },
  X72: { about: "a tool with an app returns meaningful content all the same", on: revisions },
  X73: { about: "the server looks at the client's declaration before it names an app", on: revisions },
  X74: { about: "csp and permissions stand on the resource; only the nested member names the app", on: namesApps },
  X75: { about: "metadata of the content item wins over the listing", later: host },
};
