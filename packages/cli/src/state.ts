import { join } from "node:path";
import { fileStore, type OAuth, type OAuthOptions, oauth } from "portolan/auth/client";
import type { KeyValue } from "portolan/storage";
import { folderKeyValue } from "portolan/storage/node";
import { type ActivityLog, openActivityFile } from "portolan-host";
import { viaProxy } from "./http-proxy/choose.ts";
import type { System } from "./system.ts";

/** The state that outlives a command, in a folder of the user. */
export interface State {
  readonly folder: string;
  /** Tells the person at the terminal which file another process is using. */
  readonly onWait: (notice: string) => void;
  /** Grants, trust, accepted definitions and cached catalogs. */
  readonly kv: KeyValue;
  /** The file with credentials. */
  readonly credentials: string;
  activity(): Promise<ActivityLog>;
  /** Returns the OAuth client that uses the stored tokens. */
  auth(options?: OAuthOptions): OAuth;
}

/** Opens the state. `warn` writes a line to standard error. */
export function openState(system: System, warn: (message: string) => void): State {
  const folder = folderOf(system);
  const credentials = join(folder, "credentials.json");
  let lastNotice = "";
  const onWait = (notice: string) => {
    // Each entry of the log waits for the same lock.
    if (notice !== lastNotice) warn(notice);
    lastNotice = notice;
  };
  return {
    folder,
    onWait,
    credentials,
    kv: folderKeyValue(join(folder, "store"), { onWait }),
    activity: () => openActivityFile(join(folder, "activity.ndjson"), { onWait }),
    auth: (options) =>
      oauth({ store: fileStore(credentials, { onWait }), policy: { via: viaProxy(system.env) }, ...options }),
  };
}

function folderOf({ env, home, platform }: System): string {
  if (env["PORTOLAN_HOME"]) return env["PORTOLAN_HOME"];
  if (platform === "win32") return join(env["LOCALAPPDATA"] || join(home, "AppData", "Local"), "portolan");
  if (platform === "darwin") return join(home, "Library", "Application Support", "portolan");
  return join(env["XDG_STATE_HOME"] || join(home, ".local", "state"), "portolan");
}
