// @ts-check
// Operating a server over HTTP.
// Run: node examples/guide/operating.mjs 3000

// region serve
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";

/** Writes one line of JSON, which log collectors read. Text of callers is escaped in JSON. */
export function writeLine(/** @type {object} */ line) {
  process.stderr.write(`${JSON.stringify(line)}\n`);
}

export const server = createServer(
  { name: "dice", version: "1.0.0" },
  {
    onError: (error, about) => writeLine({ level: "error", ...about, error: String(error) }),
  },
).tool("roll", { run: () => String(1 + Math.floor(Math.random() * 6)) });

export const serving = serveHttp(server, {
  allowedHosts: ["mcp.example.com", "localhost:3000"],
  // One proxy in front of this server appends the address of its client to X-Forwarded-For.
  trustProxy: 1,
  limits: { connections: 4_000, callsPerMinute: 600 },
  onRefused: (refusal) => writeLine({ level: "warn", ...refusal }),
});
// endregion

// region measure
/** Counts calls by their end. A call whose client is gone ends as `complete` too, if its handler ignores the signal. */
export const counted = server.use(
  async (exchange, next) => {
    const begun = performance.now();
    const outcome = await next(exchange);
    const end = exchange.isCancelled ? "cancelled" : outcome.kind;
    writeLine({ level: "info", method: exchange.method, end, ms: Math.round(performance.now() - begun) });
    return outcome;
  },
  { method: "tools/call" },
);
// endregion

// region usage
/** Writes the use of the server with each SIGUSR2: `kill -USR2 <pid>`. */
export function showUsageOnSignal() {
  process.on("SIGUSR2", async () => writeLine({ level: "info", ...(await serving.usage()) }));
}
// endregion

// region listen
/** @param {number} port */
export const listen = (port) => serving.listen(port, "127.0.0.1", { signals: true, readyPath: "/ready" });
// endregion

if (process.argv[2] !== undefined) {
  showUsageOnSignal();
  const { url } = await listen(Number(process.argv[2]));
  console.log(`Serving ${url}`);
}
