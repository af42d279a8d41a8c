// Records the messages of all HTTP servers in a process, over Streamable HTTP or HTTP+SSE.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { splitter, wrap } from "./tap-streams.mjs";

let requests = 0;

/** Calls `note(connection, from, text)` for every message of all HTTP servers in this process. */
export function tapHttp(note) {
  const onRequest = ({ request, response }) => tapExchange(request, response, note);
  subscribe("http.server.request.start", onRequest);
  return () => unsubscribe("http.server.request.start", onRequest);
}

function tapExchange(request, response, note) {
  requests += 1;
  const alone = `request ${requests}`;
  const posted = collector();
  let connection = connectionOf(request);
  let hasBegun = false;
  let isNoted = false;
  let onChunk = (_chunk) => {};
  let end = () => {};

  // The session of a first message is known only with the head of its answer.
  const notePosted = () => {
    if (isNoted || !request.complete || (connection === undefined && !hasBegun)) return;
    isNoted = true;
    connection ??= alone;
    note(connection, "client", posted.text());
  };
  const onEvent = (text) => {
    const lines = text.split(/\r?\n/);
    const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim());
    if (lines.some((line) => /^event: ?endpoint$/.test(line))) connection = pathOf(data.join(""));
    else note(connection ?? alone, "server", data.join("\n"));
  };
  const begin = (given) => {
    if (hasBegun) return;
    hasBegun = true;
    const type = headerOf(response, given, "content-type");
    connection ??= headerOf(response, given, "mcp-session-id") || undefined;
    if (type.startsWith("text/event-stream")) onChunk = splitter(/\r?\n\r?\n/, onEvent);
    else if (type.startsWith("application/json")) {
      const answer = collector();
      onChunk = answer.add;
      end = () => note(connection ?? alone, "server", answer.text());
    }
    notePosted();
  };

  wrap(request, "push", (push, chunk) => {
    if (chunk !== null) posted.add(chunk);
    return push();
  });
  wrap(response, "writeHead", (writeHead, _status, ...rest) => {
    begin(rest.find((one) => typeof one === "object"));
    return writeHead();
  });
  // Recorded before it is sent, so that a test that has the answer also finds its record.
  for (const method of ["write", "end"]) {
    wrap(response, method, (write, chunk) => {
      begin();
      if (typeof chunk === "string" || chunk instanceof Uint8Array) onChunk(chunk);
      if (method === "end") end();
      return write();
    });
  }
  request.once("end", notePosted);
  response.once("close", notePosted);
}

/** Returns the connection of a request: its session or its HTTP+SSE address; undefined if it has only its own answer. */
function connectionOf({ url, headers }) {
  const isOld = /\/messages?[/?]/.test(url);
  return headers["mcp-session-id"] ?? (isOld ? pathOf(url) : undefined);
}

function pathOf(address) {
  const { pathname, search } = new URL(address, "http://localhost");
  return `${pathname}${search}`;
}

/** The value of a header that was set before or is given with the head. */
function headerOf(response, given = {}, name) {
  const flat = Array.isArray(given) && !Array.isArray(given[0]);
  const pairs = flat ? given.flatMap((key, at) => (at % 2 === 0 ? [[key, given[at + 1]]] : [])) : given;
  const [, value] = (Array.isArray(pairs) ? pairs : Object.entries(pairs)).find(isNamed(name)) ?? [];
  return String(value ?? response.getHeader(name) ?? "");
}

function isNamed(name) {
  return ([key]) => key.toLowerCase() === name;
}

function collector() {
  const chunks = [];
  return { add: (chunk) => chunks.push(Buffer.from(chunk)), text: () => Buffer.concat(chunks).toString() };
}
