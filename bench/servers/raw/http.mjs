import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createAnswer } from "./answer.mjs";

// The same over HTTP, both eras: a map of sessions, and JSON unless a notification precedes the answer.

const stateless = "2026-07-28";
const json = { "content-type": "application/json" };
const stream = { "content-type": "text/event-stream", "cache-control": "no-cache" };
/** @type {Map<string, { version: string, capabilities: object, clientInfo: object, stream?: import("node:http").ServerResponse }>} */
const sessions = new Map();

const answer = createAnswer(Number(process.env.BENCH_EXTRA_TOOLS ?? 0));

const eventOf = (text) => `event: message\ndata: ${text}\n\n`;

const server = createServer((req, res) => {
  if (req.method === "GET") return get(req, res);
  if (req.method === "DELETE") return remove(req, res);
  if (req.method !== "POST") return refuse(res, 405, "Unknown method");
  const chunks = [];
  req.on("data", (chunk) => chunks.push(chunk));
  req.on("end", () => post(req, res, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
});

function post(req, res, body) {
  let message;
  try {
    message = JSON.parse(body.toString("utf8"));
  } catch {
    return refuse(res, 400, "Parse error");
  }
  const headers = {};
  if (req.headers["mcp-protocol-version"] === stateless) {
    if (req.headers["mcp-method"] !== message.method) return refuse(res, 400, "Mcp-Method is another");
    if (req.headers["mcp-name"] !== message.params?.name) return refuse(res, 400, "Mcp-Name is another");
  } else if (message.method === "initialize") {
    const { protocolVersion: version, capabilities, clientInfo } = message.params;
    headers["mcp-session-id"] = randomUUID();
    sessions.set(headers["mcp-session-id"], { version, capabilities, clientInfo });
  } else if (!sessions.has(req.headers["mcp-session-id"])) return refuse(res, 404, "Unknown session");
  let said = "";
  const answered = answer(message, (notification) => {
    said += eventOf(JSON.stringify(notification));
  });
  const streams = !req.headers.accept.includes("application/json");
  if (answered instanceof Promise) answered.then((response) => finish(res, response, headers, streams, said));
  else finish(res, answered, headers, streams, said);
}

function finish(res, response, headers, streams, said) {
  if (response === undefined) {
    res.writeHead(202, { "content-length": 0 }).end();
    return;
  }
  const text = JSON.stringify(response);
  if (said === "" && !streams) send(res, 200, { ...json, ...headers }, text);
  else send(res, 200, stream, said + eventOf(text));
}

function get(req, res) {
  const session = sessions.get(req.headers["mcp-session-id"]);
  if (session === undefined) return refuse(res, 404, "Unknown session");
  res.writeHead(200, stream).flushHeaders();
  session.stream = res;
  res.on("close", () => {
    session.stream = undefined;
  });
}

function remove(req, res) {
  const id = req.headers["mcp-session-id"];
  sessions.get(id)?.stream?.end();
  res.writeHead(sessions.delete(id) ? 204 : 404).end();
}

function send(res, status, headers, text) {
  res.writeHead(status, { ...headers, "content-length": Buffer.byteLength(text) });
  res.end(text);
}

const refuse = (res, status, message) =>
  send(res, status, json, JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32600, message } }));

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
