import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { JsonObject, Message, RpcNotification } from "portolan";
import { type CommandTarget, type StdioLink, stdio } from "portolan/client/stdio";

export const server: string = fileURLToPath(new URL("./fixtures/process-server.mjs", import.meta.url));

/** A link to a server process, and everything it reported. */
export interface Started {
  readonly link: StdioLink;
  readonly lost: Promise<Error>;
  readonly notifications: RpcNotification[];
  readonly invalid: string[];
  /** Resolves to the result of a request; rejects with the reason of the link. */
  call(method: string, params?: JsonObject): Promise<JsonObject>;
}

/** Starts the server of the fixtures with some faults. */
export function start(habits: readonly string[] = [], target: Partial<CommandTarget> = {}): Promise<Started> {
  return startTarget({ command: process.execPath, args: [server, ...habits], graceMs: 100, ...target });
}

export function startTarget(target: CommandTarget): Promise<Started> {
  return open(stdio(target));
}

export async function open(link: StdioLink): Promise<Started> {
  const notifications: RpcNotification[] = [];
  const invalid: string[] = [];
  let lose: (reason: Error) => void = () => {};
  const lost = new Promise<Error>((resolve) => {
    lose = resolve;
  });
  await link.open({
    request: () => {},
    notification: (notification) => notifications.push(notification),
    invalid: (why) => invalid.push(why),
    lost: lose,
  });
  let id = 0;
  const call = async (method: string, params: JsonObject = {}) => {
    id += 1;
    const request = { jsonrpc: "2.0", id, method, params } as const;
    const response = await new Promise<Message>((response, failed) => link.exchange(request, { response, failed }));
    return (response as { result: JsonObject }).result;
  };
  return { link, lost, notifications, invalid, call };
}

/** The living processes of these groups, without zombies. */
export function livingIn(groups: ReadonlySet<number>): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const [state, , group] = statOf(pid);
      return state !== undefined && !"ZX".includes(state) && groups.has(Number(group));
    })
    .map(Number);
}

export function isAlive(pid: number): boolean {
  const [state] = statOf(pid);
  return state !== undefined && !"ZX".includes(state);
}

/** State, parent and group of a process; empty if it does not exist. */
function statOf(pid: string | number): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
  } catch {
    return [];
  }
}
