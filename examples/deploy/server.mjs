// @ts-check
// A server for any number of processes. They share their sessions in Redis, and any of them serves any request.
// Run: node examples/deploy/server.mjs
import { hostname } from "node:os";
import { inspect } from "node:util";
import { countRefusals, measureHttp, measureStorage, traceServer } from "portolan/otel";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { logUnhandledRejections, verifierOf } from "portolan/server/main";
import { createRedisStorage } from "portolan/storage/redis";
import { createClient } from "redis";
import { z } from "zod";

const {
  HOST = "127.0.0.1",
  PORT = "3000",
  REDIS_URL = "redis://127.0.0.1:6379",
  // The names that clients use, with a comma between them, such as mcp.example.com.
  ALLOWED_HOSTS,
  // The number of proxies in front of this process. Each appends an address to X-Forwarded-For.
  PROXIES,
  // The time for which a balancer may still send requests after this process was told to stop.
  DRAIN_MS = "0",
  // Clients must send it as a bearer token. Without it the server listens on a local address only.
  PORTOLAN_TOKEN,
  // The secrets that seal open questions, with a comma between them. Default: a key in Redis, which all processes share.
  SECRETS,
  // The version that is deployed. A process that finds others with another version says so.
  VERSION = "1.0.0",
} = process.env;

/** Names this process among all that write to the same log. */
const instance = `${hostname()}:${process.pid}`;

/** Writes one line of JSON, which log collectors read. */
function writeLine(/** @type {object} */ line) {
  process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), instance, ...line })}\n`);
}

function writeError(/** @type {unknown} */ error, /** @type {object} */ about = {}) {
  // `inspect` writes the stack and every `cause`.
  writeLine({ level: "error", ...about, message: String(error), error: inspect(error) });
}

/** Returns the server. Its questions, too, are kept in the storage. */
function createDeployedServer(/** @type {import("portolan/storage").Storage} */ storage) {
  return createServer(
    { name: "deploy", version: VERSION },
    { storage, onError: writeError, ...(SECRETS && { secrets: SECRETS.split(",") }) },
  )
    .tool("where", {
      description: "Returns the process that serves this call",
      annotations: { readOnlyHint: true },
      run: () => instance,
    })
    .tool("greet", {
      description: "Asks for a name, and greets. The answer may reach another process than the question came from.",
      annotations: { readOnlyHint: true },
      async run(_, ctx) {
        const answer = await ctx.elicit("name", { message: "Who are you?", form: z.object({ name: z.string() }) });
        return answer.action === "accept" ? `Hello, ${answer.content.name}` : "Hello, stranger";
      },
    })
    .use(traceServer());
}

try {
  if (!URL.canParse(REDIS_URL)) throw new Error("REDIS_URL: expected an address such as redis://127.0.0.1:6379");
  const redis = createRedisStorage(createClient({ url: REDIS_URL }), { onError: writeError });
  // Traces and metrics go to the SDK that `node --import` registers. Without one they cost nothing.
  const storage = measureStorage(redis);
  const count = countRefusals();
  const server = createDeployedServer(storage);
  // Fails with one line if Redis cannot be reached, or cannot be used as it is.
  await redis.ready();
  logUnhandledRejections("deploy", server);
  const serving = serveHttp(server, {
    storage,
    ...verifierOf(PORTOLAN_TOKEN),
    ...(ALLOWED_HOSTS && { allowedHosts: ALLOWED_HOSTS.split(",") }),
    ...(PROXIES && { trustProxy: { header: "x-forwarded-for", proxies: Number(PROXIES) } }),
    onRefused(refusal) {
      count(refusal);
      writeLine({ level: "warn", ...refusal });
    },
  });
  measureHttp(serving);
  // `kill -USR2` writes who uses this process, and its oldest calls with their tools.
  process.on("SIGUSR2", async () => writeLine({ level: "info", ...(await serving.usage()) }));
  const { url } = await serving.listen(Number(PORT), HOST, {
    signals: true,
    readyPath: "/ready",
    drainMs: Number(DRAIN_MS),
  });
  console.log(`Serving ${url} (process ${process.pid})`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
