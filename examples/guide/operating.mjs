// @ts-check
// Operating a server over HTTP.
// Run: node examples/guide/operating.mjs 3000

// region server
import { hostname } from "node:os";
import { inspect } from "node:util";
import { createServer } from "portolan/server";

/** Names this process among all that write to the same log. */
const instance = `${hostname()}:${process.pid}`;

/** Writes one line of JSON, which log collectors read. Text of callers is escaped in JSON. */
export function writeLine(/** @type {object} */ line) {
  process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), instance, ...line })}\n`);
}

export const server = createServer(
  { name: "dice", version: "1.0.0" },
  {
    // `inspect` writes the stack and every `cause`.
    onError: (error, about) => writeLine({ level: "error", ...about, error: inspect(error) }),
  },
).tool("roll", { run: () => String(1 + Math.floor(Math.random() * 6)) });
// endregion

// region measure
/** The server with a line in the log for every tool call, however it ends. */
export const logged = server.use(
  async (exchange, next) => {
    const begun = performance.now();
    const line = { level: "info", tool: String(exchange.params.name).slice(0, 200), principal: exchange.principal.key };
    let end = "failed";
    try {
      const outcome = await next(exchange);
      end = outcome.kind === "complete" && outcome.result.isError ? "tool error" : outcome.kind;
      return outcome;
    } finally {
      // A handler that ignores its signal completes, although its client is gone.
      if (exchange.isCancelled) end = "cancelled";
      writeLine({ ...line, end, ms: Math.round(performance.now() - begun) });
    }
  },
  { method: "tools/call" },
);

// endregion

// region serve
import { serveHttp } from "portolan/server/http";

export const serving = serveHttp(logged, {
  allowedHosts: ["mcp.example.com", "localhost:3000"],
  // One proxy in front of this server appends the address of its client to X-Forwarded-For.
  trustProxy: 1,
  limits: { connections: 4_000, callsPerMinute: 600, bodyBytes: 256 * 1024 },
  onRefused: (refusal) => writeLine({ level: "warn", ...refusal }),
});
// endregion

// region listen
/** @param {number} port */
export const listen = (port) =>
  serving.listen(port, "127.0.0.1", { signals: true, readyPath: "/ready", drainMs: 5_000 });

// endregion

// region rejections
import { logUnhandledRejections } from "portolan/server/main";

/** Logs promises that are rejected and that nobody awaits, with the calls in progress. The process goes on. */
export const keepServing = () => logUnhandledRejections("dice", logged);

// endregion

// region own-server
import { Server } from "node:http";

/** Serves the endpoint at a server of its own. `limits.connections` and `limits.headersMs` do not apply to it. */
export function createOwnServer() {
  // A header that was sent twice must not look like one that was sent once.
  const timeouts = { headersTimeout: 10_000, requestTimeout: 60_000, keepAliveTimeout: 65_000 };
  const own = new Server({ ...timeouts, joinDuplicateHeaders: true }, serving.node);
  own.maxConnections = 4_000;
  own.on("drop", () => writeLine({ level: "warn", reason: "too many connections" }));
  return own;
}
// endregion

// region usage
/** Writes the use of the server with each SIGUSR2: `kill -USR2 <pid>`. */
export function showUsageOnSignal() {
  process.on("SIGUSR2", async () => writeLine({ level: "info", ...(await serving.usage()) }));
}
// endregion

if (process.argv[2] !== undefined) {
  keepServing();
  showUsageOnSignal();
  const { url } = await listen(Number(process.argv[2]));
  console.log(`Serving ${url}`);
}
