import { request } from "node:http";
import { initialize, initialized } from "./messages.mjs";

const capable = { ...initialize, params: { ...initialize.params, capabilities: { elicitation: {} } } };
/** @type {Map<string, string>} the session of each server */
const sessions = new Map();

/**
 * Calls `ask` at one server, and answers its question at another one, which may be the same: wall ms of the call, and from
 * the answer to the result.
 */
export async function questionMs(url, answerUrl) {
  if (!sessions.has(url)) sessions.set(url, await beginSession(url));
  const session = sessions.get(url);
  const begun = performance.now();
  const stream = await post(url, session, { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "ask" } });
  let answered;
  for await (const { id, method, result } of messagesOf(stream)) {
    if (method === "elicitation/create") {
      answered = performance.now();
      const sent = await post(answerUrl, session, { jsonrpc: "2.0", id, result: { action: "accept" } });
      sent.resume();
    } else if (result) {
      if (result.content?.[0]?.text !== "true") throw new Error(`ask was answered with ${JSON.stringify(result)}`);
      const now = performance.now();
      return { call: now - begun, answer: now - answered };
    }
  }
  throw new Error("ask was not answered");
}

async function beginSession(url) {
  const begun = await post(url, undefined, capable);
  begun.resume();
  const session = begun.headers["mcp-session-id"];
  (await post(url, session, initialized)).resume();
  return session;
}

function post(url, session, message) {
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...(session && { "mcp-session-id": session, "mcp-protocol-version": capable.params.protocolVersion }),
  };
  return new Promise((resolve, reject) => {
    request(url, { method: "POST", headers }, (response) => {
      if (response.statusCode < 300) resolve(response);
      else reject(new Error(`${message.method ?? "an answer"} got ${response.statusCode}`));
    })
      .on("error", reject)
      .end(JSON.stringify(message));
  });
}

async function* messagesOf(stream) {
  let text = "";
  for await (const chunk of stream.setEncoding("utf8")) {
    text += chunk;
    const lines = text.split("\n");
    text = lines.pop();
    for (const line of lines) if (/^data: ?\{/.test(line)) yield JSON.parse(line.slice(5));
  }
}
