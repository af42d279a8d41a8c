import { createMemoryStorage } from "../storage/memory.ts";
import { partOf } from "../storage/part.ts";
import type { Host, HostOptions } from "./api.ts";
import { toEntry } from "./definition.ts";
import type { ServerEntry } from "./entry.ts";
import { LocalHost } from "./host.ts";
import { checkHostOptions } from "./options.ts";
import { createGrants } from "./policy/index.ts";

/** Brings servers together under one user's control. Nothing is started before it is needed. */
export async function createHost(options: HostOptions = {}): Promise<Host> {
  checkHostOptions(options);
  const { account, storage = createMemoryStorage() } = options;
  const kv = account === undefined ? storage.kv : partOf(storage.kv, account);
  const entries = await entriesOf(options.servers);
  const host = new LocalHost(options, await createGrants(kv), kv);
  try {
    if (options.roots) await host.setRoots(options.roots);
    for (const entry of entries) await host.add(entry.name, entry);
  } catch (reason) {
    await host.close();
    throw reason;
  }
  return host;
}

async function entriesOf(servers: HostOptions["servers"] = {}): Promise<readonly ServerEntry[]> {
  if (typeof servers === "string") {
    const { readConfigs } = await import("./node/config/index.ts");
    const { entries, errors } = await readConfigs(servers);
    for (const error of errors) throw error;
    return entries;
  }
  if (isList(servers)) return servers;
  return Object.entries(servers).map(([name, definition]) => toEntry(name, definition));
}

function isList(servers: Exclude<HostOptions["servers"], string | undefined>): servers is readonly ServerEntry[] {
  return Array.isArray(servers);
}
