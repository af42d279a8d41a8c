// Messages over HTTP as the servers of a process see them, be it Streamable HTTP or HTTP+SSE.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { splitter, wrap } from "./tap-streams.mjs";

let requests = 0;

/** Tells of what passes through every HTTP server of this process: `note(connection, from, text)`. */
export function tapHttp(note) {
  const hear = ({ request, response }) => tapExchange(request, response, note);
  subscribe("http.server.request.start", hear);
  return () => unsubscribe("http.server.request.start", hear);
}

function tapExchange(request, response, note) {
  requests += 1;
  const alone = `request ${requests}`;
  const posted = collector();
  let connection = connectionOf(request);
  let hasBegun = false;
  let isTold = false;
  let hear = (_chunk) => {};
  let end = () => {};

  // Which session a first message belongs to is known with the head of its answer.
  const tellPosted = () => {
    if (isTold || !request.complete || (connection === undefined && !hasBegun)) return;
    isTold = true;
    connection ??= alone;
    note(connection, "client", posted.text());
  };
  const hearEvent = (text) => {
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
    if (type.startsWith("text/event-stream")) hear = splitter(/\r?\n\r?\n/, hearEvent);
    else if (type.startsWith("application/json")) {
      const answer = collector();
      hear = answer.add;
      end = () => note(connection ?? alone, "server", answer.text());
    }
    tellPosted();
  };

  wrap(request, "push", (push, chunk) => {
    if (chunk !== null) posted.add(chunk);
    return push();
  });
  wrap(response, "writeHead", (writeHead, _status, ...rest) => {
    begin(rest.find((one) => typeof one === "object"));
    return writeHead();
  });
  // Written down before they are sent, so that nobody who has the answer looks too early.
  for (const method of ["write", "end"]) {
    wrap(response, method, (write, chunk) => {
      begin();
      if (typeof chunk === "string" || chunk instanceof Uint8Array) hear(chunk);
      if (method === "end") end();
      return write();
    });
  }
  request.once("end", tellPosted);
  response.once("close", tellPosted);
}

/** Messages belong together by their session or by the address of an old stream, else only with their own answer. */
function connectionOf({ url, headers }) {
  const isOld = /\/messages?[/?]/.test(url);
  return headers["mcp-session-id"] ?? (isOld ? pathOf(url) : undefined);
}

function pathOf(address) {
  const { pathname, search } = new URL(address, "http://localhost");
  return `${pathname}${search}`;
}

/** What a header says, be it set before or given with the head. */
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
