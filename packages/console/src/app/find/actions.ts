import { revokeGrants } from "../activity/revoke.ts";
import type { ConsolePage } from "../state/console.ts";
import { hrefOf } from "../state/route.ts";
import type { FindEntry } from "./found.ts";

/** The dialogs that an action can open. */
export interface FindDialogs {
  readonly onSettings: () => void;
  readonly onAddServer: () => void;
  readonly onTrust: (server: string) => void;
}

/** More grants are found in the list of all. */
const maxGrants = 200;

/** The actions that are always at hand. */
export function generalActions(page: ConsolePage, { onSettings, onAddServer }: FindDialogs): readonly FindEntry[] {
  const { api } = page;
  const theme = (name: "system" | "light" | "dark", words: string) =>
    action(`theme ${name}`, words, "settings", () =>
      page.attempt(() => api.change("settings.change", { theme: name })),
    );
  const verify = () =>
    page.attempt(async () => {
      const { isIntact, message } = await api.read("activity.verify", {});
      page.toast(`${isIntact ? "Sealed and whole" : "The log was changed"}: ${message}`, {
        tone: isIntact ? "ok" : "danger",
      });
    });
  return [
    link("new", "New conversation", "chat", hrefOf("chat")),
    action("add", "Add a server", "servers", onAddServer),
    link("activity", "Show what was done, and grants to revoke", "activity", hrefOf("activity")),
    link("log", "Show the activity log", "activity", hrefOf("activity", "log")),
    action("verify", "Verify the activity log", "activity", verify),
    action("settings", "Settings", "console", onSettings),
    theme("light", "Light theme"),
    theme("dark", "Dark theme"),
    theme("system", "Theme of the system"),
  ];
}

/** The actions for each server and each grant. There may be many: they are found by their words only. */
export function namedActions(page: ConsolePage, { onTrust }: FindDialogs): readonly FindEntry[] {
  const { store, api } = page;
  const ofServers = store.servers.all.value.flatMap(({ name, state, isTrusted }) => {
    const change = (verb: "server.start" | "server.stop") => () =>
      page.attempt(() => api.change(verb, { server: name }));
    const isRunning = state === "ready" || state === "starting" || state === "unresponsive";
    return [
      ...(isTrusted ? [] : [action(`trust ${name}`, `Trust ${name}`, name, () => onTrust(name))]),
      ...(state === "disabled"
        ? []
        : isRunning
          ? [action(`stop ${name}`, `Stop ${name}`, name, change("server.stop"))]
          : [action(`start ${name}`, `Start ${name}`, name, change("server.start"))]),
    ];
  });
  const ofGrants = store.grants.value.slice(0, maxGrants).map(({ id, kind, subject, server }) => {
    const what = kind === "trust" ? (subject === "hints" ? "the labels" : "the trust") : subject || `every ${kind}`;
    return action(`revoke ${id}`, `Revoke ${what} of ${server}`, server, () =>
      revokeGrants(page, [id], `${what} of ${server} is revoked. You are asked again.`),
    );
  });
  return [...ofServers, ...ofGrants];
}

function action(id: string, name: string, from: string, run: () => unknown): FindEntry {
  return { kind: "action", id, name, from, run: () => void run() };
}

function link(id: string, name: string, from: string, href: string): FindEntry {
  return { kind: "action", id, name, from, href };
}
