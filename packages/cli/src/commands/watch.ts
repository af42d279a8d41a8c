import { type LogLevel, logLevels } from "portolan";
import type { Host, HostEvent } from "portolan-host";
import { countFlag, textFlag } from "../arguments/flags.ts";
import type { CommandContext, Flags } from "../command.ts";
import { Failure, withoutOptionNames } from "../failure.ts";
import { type Catalog, changesBetween } from "../output/catalog.ts";
import { findTarget } from "../servers/find-server.ts";
import { withHost } from "../servers/host.ts";
import { quote } from "../terminal/escape.ts";

type OfferKind = Extract<HostEvent, { kind: "catalog" }>["changed"];

/** Prints events of a server, one per line, until Ctrl-C. */
export async function run(context: CommandContext, args: readonly string[], flags: Flags): Promise<undefined> {
  const { signal, terminal, screen } = context;
  const hasCommand = context.command.length > 0;
  const { entry } = await findTarget(context, hasCommand ? undefined : args[0], flags);
  const uris = hasCommand ? args : args.slice(1);
  const level = textFlag(flags, "level") ?? "info";
  if (!logLevels.some((known) => known === level)) {
    throw new Failure("usage", `--level: expected one of ${logLevels.join(", ")}, got ${JSON.stringify(level)}`);
  }
  const limit = countFlag(flags, "limit") ?? Number.POSITIVE_INFINITY;
  const watching = withHost(
    context,
    [entry],
    async (host) => {
      const events = host.events({ server: entry.name });
      await host.start(entry.name);
      const changes = new CatalogChanges(host, entry.name);
      for (const uri of uris) await host.follow(entry.name, uri);
      let shown = 0;
      let wasUp = true;
      let isLost = false;
      for await (const event of events) {
        // Output must not overwrite a question on the screen.
        await terminal.quiet();
        if (show(context, event, changes)) shown += 1;
        if (shown >= limit) return;
        if (event.kind !== "server") continue;
        const { state, reason = "" } = event.status;
        if (state === "ready") {
          // Subscriptions end with their connection.
          if (isLost) for (const uri of uris) await host.follow(entry.name, uri);
          [wasUp, isLost] = [true, false];
        } else if (state === "down") {
          // The retry failed: the server does not come back.
          if (!wasUp) throw new Failure("unreachable", reason, { next: `portolan doctor ${quote(entry.name)}` });
          [wasUp, isLost] = [false, true];
          const { retryInMs = 0 } = event.status;
          if (retryInMs > 0) terminal.waits.countdown(screen.safe(`${entry.name} is down`), retryInMs);
        }
      }
    },
    { logLevel: level as LogLevel },
  );
  await watching.catch((reason) => {
    // Ctrl-C is the normal end.
    if (!signal.aborted) throw reason;
  });
  return undefined;
}

/** Prints an event. Returns false if there is nothing to print. */
function show({ screen, isJson, print }: CommandContext, event: HostEvent, changes: CatalogChanges): boolean {
  const said = describe(event, changes);
  if (!said) return false;
  const [what, text, value] = said;
  const at = new Date().toISOString();
  if (isJson) print(JSON.stringify({ at, kind: event.kind, ...value }));
  else {
    const time = screen.style("dim", at.slice(11, 19));
    print(screen.cut(`${time} ${screen.style("cyan", screen.safe(what).padEnd(9))} ${screen.safe(text)}`));
  }
  return true;
}

/** Describes changes of the catalog since the last call. */
class CatalogChanges {
  readonly #host: Host;
  readonly #server: string;
  readonly #known: { [kind in OfferKind]: Catalog };

  constructor(host: Host, server: string) {
    this.#host = host;
    this.#server = server;
    this.#known = { tools: this.#read("tools"), prompts: this.#read("prompts"), resources: this.#read("resources") };
  }

  of(kind: OfferKind): string[] {
    const before = this.#known[kind];
    this.#known[kind] = this.#read(kind);
    return changesBetween(before, this.#known[kind]);
  }

  /** Returns one kind of the catalog. Each kind changes separately. */
  #read(kind: OfferKind): Catalog {
    const { tools, prompts, resources, templates } = this.#host.catalog;
    const own = <T extends { readonly server: string }>(of: OfferKind, items: readonly T[]) =>
      of === kind ? items.filter(({ server }) => server === this.#server) : [];
    return {
      name: this.#server,
      version: "",
      tools: own("tools", tools).map(({ definition }) => definition),
      prompts: own("prompts", prompts),
      resources: own("resources", resources),
      templates: own("resources", templates),
    };
  }
}

function describe(event: HostEvent, changes: CatalogChanges): [what: string, text: string, value: object] | undefined {
  switch (event.kind) {
    case "server": {
      const { state } = event.status;
      const reason = event.status.reason && withoutOptionNames(event.status.reason);
      return [state, reason ?? "", { state, ...(reason !== undefined && { reason }) }];
    }
    case "catalog": {
      const what = changes.of(event.changed);
      return ["changed", `${event.changed}: ${what.join("; ") || "no difference"}`, { changed: event.changed, what }];
    }
    case "definition": {
      const { name, diff } = event.change;
      return ["changed", `the definition of ${name}`, { name, diff }];
    }
    case "resource":
      return ["changed", event.uri, { uri: event.uri }];
    case "log": {
      const { level, logger, data } = event;
      const text = typeof data === "string" ? data : JSON.stringify(data);
      return [level, logger === undefined ? text : `${logger}: ${text}`, { level, ...(logger && { logger }), data }];
    }
    case "stderr":
      return ["stderr", event.line, { line: event.line }];
    case "warning":
      return ["warning", event.message, { message: event.message }];
    case "lost":
      return ["lost", `${event.count} events`, { count: event.count }];
    default:
      return undefined;
  }
}
