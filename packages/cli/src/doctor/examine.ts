import { PortolanError } from "portolan";
import type { Host, ServerEntry } from "portolan-host";
import type { Context } from "../command.ts";
import { quote } from "../quote.ts";
import { authFor } from "../signing-in.ts";
import { explainAddress } from "./address.ts";
import { explainCommand } from "./command.ts";
import { examineEntry } from "./configuration.ts";
import { placeOf, type Told } from "./finding.ts";
import { orProxy } from "./proxy.ts";
import { examineTools } from "./tools.ts";

/** How patient the doctor is. */
export interface Patience {
  readonly timeoutMs: number;
  /** A start that takes longer is worth a word. */
  readonly slowMs: number;
}

/** Starts one server, and says what is wrong with it. */
export async function examine(context: Context, host: Host, entry: ServerEntry, patience: Patience): Promise<Told[]> {
  const { name } = entry;
  const problem = examineEntry(entry);
  if (problem) return [problem];
  const barrier = barrierOf(host, name);
  if (barrier) return [barrier];
  const heard: string[] = [];
  const events = host.events({ kinds: ["warning"], server: name });
  const listening = (async () => {
    for await (const event of events) if (event.kind === "warning") heard.push(event.message);
  })();
  const failure = await host.start(name).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  await events.return?.();
  await listening;
  const told = failure === undefined ? examineRunning(host, name, patience) : await explain(context, entry, failure);
  return [...told, ...examineWarnings(heard, "command" in entry.target)];
}

function barrierOf(host: Host, name: string): Told | undefined {
  const state = host.servers.find((status) => status.name === name)?.state;
  if (state === "untrusted") {
    return {
      id: "untrusted",
      level: "warning",
      what: "it was not looked at: nobody has agreed to it yet",
      why: "what a file names is started only after you have seen it",
      next: `portolan trust ${quote(name)}`,
    };
  }
  if (state !== "disabled") return undefined;
  const next = "switch it on in its file";
  return { id: "disabled", level: "note", what: "it is switched off", why: "its entry says so", next };
}

function examineRunning(host: Host, name: string, { slowMs }: Patience): Told[] {
  const { startMs = 0 } = host.servers.find((status) => status.name === name) ?? {};
  const tools = host.catalog.tools.filter(({ server }) => server === name).map(({ definition }) => definition);
  const told = examineTools(tools);
  if (startMs > slowMs) {
    told.push({
      id: "slow-start",
      level: "warning",
      what: `it took ${(startMs / 1_000).toFixed(1)} s to start`,
      why: "some clients give up before, and every one waits",
      next: "install it instead of fetching it at each start (npx, uvx), and have it do its work after it answers",
    });
  }
  if (host.changedDefinitions().some(({ server }) => server === name)) {
    told.push({
      id: "changed-definitions",
      level: "warning",
      what: "definitions have changed since they were accepted",
      why: "changed tools cannot be called before you have seen them",
      next: `portolan trust ${quote(name)} --changes`,
    });
  }
  return told;
}

/** Odd things that failed nothing. */
function examineWarnings(heard: readonly string[], isCommand: boolean): Told[] {
  const told: Told[] = [];
  const stray = isCommand
    ? heard.filter((message) => /expected a JSON object or array|not valid JSON|not valid UTF-8/.test(message))
    : [];
  const twice = heard.filter((message) => message.includes("is listed twice"));
  const others = heard.filter((message) => !stray.includes(message) && !twice.includes(message));
  if (stray[0] !== undefined) {
    told.push({
      id: "stdout-pollution",
      level: "warning",
      what: `${stray.length === 1 ? "a line" : `${stray.length} lines`} on its standard output ${stray.length === 1 ? "is" : "are"} no message`,
      why: `the first: ${stray[0]}; other clients fail at this`,
      next: "have it print to standard error (console.error, stderr), and its libraries say nothing",
    });
  }
  for (const message of twice) {
    const next = "give one of them another name";
    told.push({ id: "tool-collision", level: "warning", what: "two things have one name", why: message, next });
  }
  for (const message of new Set(others)) {
    const next = "portolan check shows what the protocol asks for";
    told.push({ id: "odd", level: "note", what: "it does something odd", why: message, next });
  }
  return told;
}

async function explain(context: Context, entry: ServerEntry, failure: unknown): Promise<Told[]> {
  const { target: way } = entry;
  const message = failure instanceof Error ? failure.message : String(failure);
  const code = failure instanceof PortolanError ? failure.code : undefined;
  if (code === "invalid-argument") {
    const next = `correct ${placeOf(entry)}`;
    return [{ id: "unusable-entry", level: "error", what: "its entry cannot be used as it is", why: message, next }];
  }
  if (code === "version-mismatch") return [explainVersion(entry, message)];
  if (code === "timeout") {
    return [
      {
        id: "no-answer",
        level: "error",
        what: "it does not answer",
        why: message,
        next: `give it longer (--timeout), or look whether it is a server of this protocol at all${"url" in way ? orProxy(way, context.world, " is silent") : ""}`,
      },
    ];
  }
  if ("command" in way) return [explainCommand(entry, way, message, context.world)];
  if ("url" in way) {
    const url = new URL(way.url);
    const sent = await authFor(context, entry).authorize({ server: url, method: "POST", url });
    return explainAddress(entry, way, message, { world: context.world, hasToken: Object.keys(sent).length > 0 });
  }
  return [{ id: "failed", level: "error", what: "it failed", why: message, next: "look at its log" }];
}

function explainVersion({ settings }: ServerEntry, message: string): Told {
  const { era = "auto" } = settings;
  const isEra = era === "stateless" || era === "stateful";
  return {
    id: isEra ? "era-mismatch" : "wrong-revision",
    level: "error",
    what: isEra ? `it is not a ${era} server` : "it speaks no revision that is spoken here",
    why: message,
    next: era === "auto" ? "update the server, or portolan" : "let the era be found out: leave it out",
  };
}
