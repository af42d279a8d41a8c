// @ts-check
// A web back end. A run is a stream of server-sent events; the page answers its questions with separate requests.
//   POST /runs      { "task": "…" }             → events
//   POST /answers   { "id": "…", "answer": … }  → 204
// Each request carries the token that the program prints: Authorization: Bearer <token>
// Run: node web.mjs <.mcp.json> <port>
import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { createHost } from "portolan-host";
import { demoModel } from "portolan-host/models";

/** @param {import("portolan-host").HostOptions} options */
export async function serveAssistant(options, port = 0) {
  const host = await createHost({
    model: demoModel(),
    // The page answers these with POST /answers, at any later time.
    answers: { approve: "later", elicit: "later", sample: "later" },
    ...options,
  });

  const token = randomBytes(32).toString("base64url");

  /**
   * Returns the status of a refused request. Its sender could approve what a model wants to do, so it must know the
   * token; a web site that the user visits is refused in any case.
   * @param {import("node:http").IncomingHttpHeaders} headers
   */
  function refusalOf({ host: name, origin, authorization = "", "content-type": type = "" }) {
    const own = `127.0.0.1:${address.port}`;
    if (name !== own || (origin !== undefined && origin !== `http://${own}`)) return 403;
    const [given, expected] = [Buffer.from(authorization), Buffer.from(`Bearer ${token}`)];
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 401;
    return /^application\/json *(;|$)/i.test(type) ? undefined : 415;
  }

  const server = createServer(async (request, response) => {
    try {
      const refusal = refusalOf(request.headers);
      if (refusal !== undefined) return response.writeHead(refusal).end();
      const body = await readBody(request);
      if (request.method === "POST" && request.url === "/answers") {
        await host.answer(String(body.id), body.answer);
        response.writeHead(204).end();
      } else if (request.method === "POST" && request.url === "/runs") {
        response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
        const run = host.run(String(body.task));
        // The run ends when the page is closed.
        response.on("close", () => run.cancel());
        for await (const event of run) {
          // The state stays on the server, and an Error has to be converted to JSON.
          const { state: _, error, ...shown } = { state: undefined, error: undefined, ...event };
          response.write(`event: ${event.type}\ndata: ${JSON.stringify({ ...shown, error: error?.message })}\n\n`);
        }
        response.end();
      } else response.writeHead(404).end();
    } catch (error) {
      if (!response.headersSent) response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: error instanceof Error ? error.message : String(error) }));
    }
  });

  await new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(undefined)));
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${address.port}`,
    token,
    host,
    async close() {
      server.closeAllConnections();
      server.close();
      await host.close();
    },
  };
}

/**
 * Reads a JSON body of at most 64 KB.
 * @param {import("node:http").IncomingMessage} request
 * @returns {Promise<{ task?: string, id?: string, answer?: unknown }>}
 */
async function readBody(request) {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) {
    text += chunk;
    if (text.length > 65_536) throw new Error("The body is larger than 64 KB");
  }
  return JSON.parse(text);
}

if (process.argv[1] === import.meta.filename) {
  const [, , config = ".mcp.json", port = "8080"] = process.argv;
  const { url, token } = await serveAssistant({ servers: config }, Number(port));
  console.log(`${url}\nAuthorization: Bearer ${token}`);
}
