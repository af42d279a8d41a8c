// @ts-check
// Views for different callers, middleware, mounted servers, and an extension.
import { RpcError } from "portolan";
import { createServer } from "portolan/server";
import { z } from "zod";

// region callers
export const team = createServer(
  { name: "team", version: "1.0.0" },
  {
    view: ({ scopes = [] }) => (scopes.includes("admin") ? "admin" : "member"),
    app: ({ principal }) => ({ user: principal.subject ?? "anonymous" }),
    cache: { ttlMs: 60_000, cacheScope: "public" },
    pageSize: 50,
  },
)
  .tool("whoami", { run: (_, ctx) => ctx.app.user })
  .tool("restart", { visibleTo: (view) => view === "admin", run: () => "restarted" });
// endregion

/** @type {string[]} */
export const log = [];

// region middleware
export const guarded = team
  .use(async (exchange, next) => {
    const outcome = await next(exchange);
    log.push(`${exchange.principal.key}: ${exchange.method} ended as ${outcome.kind}`);
    return outcome;
  })
  .use(
    (exchange, next) => {
      if (exchange.principal.scopes?.includes("call")) return next(exchange);
      throw new RpcError(1003, 'Tool calls need the scope "call"');
    },
    { method: "tools/call" },
  );
// endregion

// region mount
const weather = createServer({ name: "weather", version: "1.0.0" })
  .tool("forecast", { input: z.object({ city: z.string() }), run: ({ city }) => `${city}: rain` })
  .resource("weather://warnings", { name: "Warnings", read: () => "none" });

export const everything = createServer({ name: "everything", version: "1.0.0" })
  .mount("weather_", weather)
  .mount("team_", team);
// endregion

// region files
/** Each file exports a server with its own tools, and the program mounts them without a prefix. */
export const inFiles = createServer({ name: "office", version: "1.0.0" }, { onError: console.error })
  .mount("", weather)
  .mount("", team);
// endregion

// region extension
export const counted = weather.extend({
  id: "com.example/popularity",
  on: () => ({
    settings: { unit: "calls" },
    requests: { "com.example/popularity/top": { handle: () => ({ tools: ["forecast"] }) } },
    decorate: (entry, { kind }) => (kind === "tool" ? { ...entry, "com.example/calls": 12 } : entry),
  }),
});
// endregion
