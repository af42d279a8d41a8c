import { createServer, type LiveServer, live, type ServerOptions } from "portolan/server";
import { apps } from "portolan/server/apps";
import { tasks } from "portolan/server/tasks";
import { withModels } from "./models.ts";
import { withPrompts } from "./prompts.ts";
import { withQuestions } from "./questions.ts";
import { withResources } from "./resources.ts";
import { withResults } from "./results.ts";
import { icons } from "./samples.ts";
import { createSkills } from "./skills.ts";
import { SharedState } from "./state.ts";
import { withWork } from "./work.ts";

/** Options of `createEverything`. */
export interface EverythingOptions extends Pick<ServerOptions<undefined>, "onError" | "secrets" | "questionTtlMs"> {
  /** Features per page of a list. Default: 40. */
  readonly pageSize?: number;
}

/** Creates a server with every feature: read this file from the top, then the files it imports. */
export function createEverything(options: EverythingOptions = {}): LiveServer {
  const { pageSize = 40, ...rest } = options;
  const state = new SharedState();
  const base = createServer(
    {
      name: "portolan-everything",
      version: "0.1.0",
      // For people. The title exists since 2025-06-18, the other members since 2025-11-25.
      title: "Everything",
      description: "Every feature of every revision",
      websiteUrl: "https://example.com/everything",
      icons,
    },
    {
      // For the model: read before it uses the tools.
      instructions: "A server for learning and testing. Nothing it does has consequences; reset undoes everything.",
      // Lists have pages of this size; the client requests the next page with a cursor.
      pageSize,
      // How long and for whom clients of 2026-07-28 may cache lists.
      cache: { ttlMs: 5_000, cacheScope: "public" },
      ...rest,
    },
  )
    // Middleware around every tool call; here it adds to the `_meta` of the result.
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
    // A custom request, for every client.
    .method("everything/ping", { handle: () => ({ pong: true }) })
    // An extension, only for clients that declare it: a request, and a member of list entries.
    .extend({
      id: "com.example/popularity",
      on: () => ({
        settings: { unit: "calls" },
        requests: { "com.example/popularity/top": { handle: () => ({ tools: ["echo"] }) } },
        decorate: (entry, { kind }) => (kind === "tool" ? { ...entry, "com.example/calls": 12 } : entry),
      }),
    })
    // Tasks: the tool make-film outlives its request, for clients that know tasks.
    .extend(tasks({ ttlMs: 10 * 60_000 }))
    // Apps: hosts that have them show a page with the result of the tool measure.
    .extend(apps())
    // Skills: instructions for the model, for every client.
    .extend(createSkills())
    // Sent by stateful clients; a server asks stateless clients for their roots when it needs them.
    .notification("notifications/roots/list_changed", () => {
      state.rootChanges += 1;
      state.tellWatchers();
    });
  // Each part takes a definition and returns an extended one; a definition itself is immutable.
  const full = withPrompts(withResources(withModels(withQuestions(withWork(withResults(base), state))), state));
  // `live` returns a server whose definition can be replaced while it is served: see change-lists.
  const served = live(full);
  state.serveBy(served);
  return served;
}
