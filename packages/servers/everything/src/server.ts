import { createServer, type LiveServer, live, type ServerOptions } from "portolan/server";
import { withModels } from "./models.ts";
import { withPrompts } from "./prompts.ts";
import { withQuestions } from "./questions.ts";
import { withResources } from "./resources.ts";
import { withResults } from "./results.ts";
import { icons } from "./samples.ts";
import { SharedState } from "./state.ts";
import { withWork } from "./work.ts";

/** What the server is told. */
export interface EverythingOptions extends Pick<ServerOptions<undefined>, "onError" | "secrets" | "questionTtlMs"> {
  /** How many features a page of a list holds; 40 unless said otherwise. */
  readonly pageSize?: number;
}

/** A server with every feature: read this file from the top, then the ones it is made of. */
export function createEverything(options: EverythingOptions = {}): LiveServer {
  const { pageSize = 40, ...rest } = options;
  const state = new SharedState();
  const base = createServer(
    {
      name: "portolan-everything",
      version: "0.1.0",
      // For people; since 2025-06-18, the rest since 2025-11-25.
      title: "Everything",
      description: "Every feature of every revision",
      websiteUrl: "https://example.com/everything",
      icons,
    },
    {
      // For the model: what it should know before it uses the tools.
      instructions: "A server to learn and to test with. Nothing it does has consequences; reset undoes all of it.",
      // Lists are cut into pages of this size; the client asks for the next one with a cursor.
      pageSize,
      // How long and by whom lists may be kept, for clients of 2026-07-28.
      cache: { ttlMs: 5_000, cacheScope: "public" },
      ...rest,
    },
  )
    // Stands around every call of a tool; here it adds to the `_meta` of the result.
    .use(
      async (exchange, next) => {
        const outcome = await next(exchange);
        if (outcome.kind !== "complete") return outcome;
        const { _meta } = outcome.result as { _meta?: object };
        return {
          ...outcome,
          result: { ...outcome.result, _meta: { ..._meta, "com.example/served-by": "everything" } },
        };
      },
      { method: "tools/call" },
    )
    // A request beyond the protocol, for every client.
    .method("everything/ping", { handle: () => ({ pong: true }) })
    // An extension, for the clients that declare it and for nobody else: a request, and a member of list entries.
    .extend({
      id: "com.example/popularity",
      on: () => ({
        settings: { unit: "calls" },
        requests: { "com.example/popularity/top": { handle: () => ({ tools: ["echo"] }) } },
        decorate: (kind, entry) => (kind === "tool" ? { ...entry, "com.example/calls": 12 } : entry),
      }),
    })
    // Heard from stateful clients; stateless ones are asked for their roots when they matter.
    .notification("notifications/roots/list_changed", () => {
      state.rootChanges += 1;
      state.tellWatchers();
    });
  // Each part takes the definition and gives a longer one back; a definition itself never changes.
  const full = withPrompts(withResources(withModels(withQuestions(withWork(withResults(base), state))), state));
  // `live` makes a server whose definition can be replaced while it is served: see change-lists.
  const served = live(full);
  state.serveBy(served);
  return served;
}
