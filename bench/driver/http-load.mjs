import { Connection, headerOf, isStream, messagesOf } from "./keep-alive.mjs";
import { calls, check, initialize, initialized, paramsOf } from "./messages.mjs";
import { answerTasks } from "./tasks.mjs";

// Creates the load in its own process, apart from the servers and from the process that measures.

const CONNECTIONS = 32;
let lastId = 1_000_000;

/** @type {Map<number, string[]>} the sessions of calls, by server, because addresses are reused */
const callers = new Map();
/** @type {Map<string, { id: string, stream?: Connection }[]>} the idle sessions */
const idle = new Map();

const lines = (headers) => Object.entries(headers).reduce((text, [name, value]) => `${text}${name}: ${value}\r\n`, "");

function headOf(method, url, headers) {
  const { host, pathname } = new URL(url);
  return `${method} ${pathname} HTTP/1.1\r\nhost: ${host}\r\n${lines(headers)}`;
}

const posted = { "content-type": "application/json", accept: "application/json, text/event-stream" };

/** A request up to the length of its body. */
const postHead = (url, headers) => `${headOf("POST", url, { ...posted, ...headers })}content-length: `;

const post = (url, headers, message) => {
  const body = JSON.stringify(message);
  return `${postHead(url, headers)}${body.length}\r\n\r\n${body}`;
};

const ofSession = (id) => ({ "mcp-session-id": id, "mcp-protocol-version": initialize.params.protocolVersion });

const ofCall = (era, call, session) =>
  era === "stateful"
    ? ofSession(session)
    : { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": calls[call].params.name };

async function beginSession(connection, url) {
  const begun = await connection.exchange(post(url, {}, initialize));
  const id = headerOf(begun, "mcp-session-id");
  if (begun.status !== 200 || id === undefined)
    throw new Error(`initialize was answered with ${begun.status} ${begun.pieces}`);
  const { status } = await connection.exchange(post(url, ofSession(id), initialized));
  if (status !== 202 && status !== 204) throw new Error(`initialized was answered with ${status}`);
  return id;
}

async function withConnections(url, work, length = CONNECTIONS) {
  const connections = await Promise.all(Array.from({ length }, () => Connection.open(new URL(url))));
  try {
    return await Promise.all(connections.map(work));
  } finally {
    await Promise.all(connections.map((connection) => connection.close()));
  }
}

async function callersOf(server, url, era) {
  if (!callers.has(server)) {
    const begin = era === "stateful" ? (connection) => beginSession(connection, url) : () => "";
    callers.set(server, await withConnections(url, begin));
  }
  return callers.get(server);
}

/** Throws unless the answer is correct and of the measured kind: a call with a notification gets a stream. */
function checkAnswer(name, call, answer, isStreamed = call === "notify") {
  const messages = messagesOf(answer);
  check(name, call, messages.at(-1) ?? {});
  const kind = isStream(answer) ? "a stream" : "JSON";
  const isRight = isStream(answer) === isStreamed && (call !== "notify" || messages.length > 1);
  if (!isRight) throw new Error(`${name} answered ${call} with ${kind} of ${messages.length} messages`);
}

/** Requests with ids of their own for each session: enough that one is answered long before it is sent again. */
const IDS = 64;

answerTasks({
  /** Returns the requests of a call for another program to send, after one of them was answered as expected. */
  async requests({ server, name, url, era, call, isStreamed, accept = posted.accept }) {
    const sessions = await callersOf(server, url, era);
    const params = JSON.stringify(paramsOf(era, calls[call].params));
    const bodyOf = () => `{"jsonrpc":"2.0","id":${++lastId},"method":"tools/call","params":${params}}`;
    const headersOf = (session) => ({ ...posted, accept, ...ofCall(era, call, session) });
    await withConnections(
      url,
      async (connection) => {
        const answer = await connection.exchange(post(url, headersOf(sessions[0]), JSON.parse(bodyOf())));
        if (answer.status !== 200) throw new Error(`${name} answered ${call} with status ${answer.status}`);
        checkAnswer(name, call, answer, isStreamed);
      },
      1,
    );
    const requests = [];
    for (let id = 0; id < (era === "stateful" ? IDS : 1); id++) {
      for (const session of sessions) requests.push({ headers: headersOf(session), body: bodyOf() });
    }
    return { requests };
  },

  /** Makes `count` calls over 32 connections, one at a time on each: wall ms. Every hundredth answer is checked. */
  async pump({ server, name, url, era, call, isStreamed, count, accept = posted.accept }) {
    const sessions = await callersOf(server, url, era);
    const params = JSON.stringify(paramsOf(era, calls[call].params));
    const heads = sessions.map((session) => postHead(url, { accept, ...ofCall(era, call, session) }));
    let left = count;
    let start;
    await withConnections(url, (connection, index) => {
      start ??= performance.now();
      return new Promise((resolve, reject) => {
        const next = () => {
          if (left === 0) return resolve();
          const isChecked = left-- % 100 === 0;
          const body = `{"jsonrpc":"2.0","id":${++lastId},"method":"tools/call","params":${params}}`;
          connection.send(`${heads[index]}${body.length}\r\n\r\n${body}`, (error, answer) => {
            if (error) return reject(error);
            try {
              if (answer.status !== 200) throw new Error(`${name} answered ${call} with status ${answer.status}`);
              if (isChecked) checkAnswer(name, call, answer, isStreamed);
            } catch (wrong) {
              return reject(wrong);
            }
            next();
          });
        };
        next();
      });
    });
    return { wall: performance.now() - start };
  },

  /** Begins `count` sessions over a number of connections and leaves them idle, optionally with an open stream each. */
  async begin({ url, count, withStreams, connections }) {
    const begun = [];
    let left = count;
    const begin = async (connection) => {
      while (left-- > 0) begun.push({ id: await beginSession(connection, url) });
    };
    await withConnections(url, begin, connections);
    if (withStreams) for (const session of begun) session.stream = await openStream(url, session.id);
    idle.set(url, begun);
    return { begun: begun.length };
  },

  /** Ends the sessions as clients do: half of those with a stream close it first, the others leave that to the server. */
  async end({ url }) {
    const ended = idle.get(url);
    idle.delete(url);
    let next = 0;
    await withConnections(url, async (connection) => {
      while (next < ended.length) {
        const isFirst = next % 2 === 0;
        const { id, stream } = ended[next++];
        if (isFirst) await stream?.close();
        const { status } = await connection.exchange(`${headOf("DELETE", url, ofSession(id))}\r\n`);
        if (status >= 300) throw new Error(`DELETE was answered with ${status}`);
      }
    });
    await Promise.all(ended.map(({ stream }) => stream?.close()));
    return {};
  },
});

async function openStream(url, session) {
  const connection = await Connection.open(new URL(url));
  const { status } = await connection.begin(
    `${headOf("GET", url, { accept: "text/event-stream", ...ofSession(session) })}\r\n`,
  );
  if (status !== 200) throw new Error(`GET was answered with ${status}`);
  return connection;
}
