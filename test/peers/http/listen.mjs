// Shared code of the HTTP servers of other implementations: listening, and printing the URL.
import { createServer } from "node:http";

/** Listens on loopback and prints the URL on standard output. */
export function listen(handle) {
  const server = createServer((request, response) => {
    handle(request, response).catch((error) => {
      process.stderr.write(`${error.stack}\n`);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  server.listen(Number(process.env["PORT"] ?? 0), "127.0.0.1", () => {
    process.stdout.write(`http://127.0.0.1:${server.address().port}/mcp\n`);
  });
}

/** Serves a request with a web-standard handler. */
export async function serveWeb(handle, request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const hasBody = request.method !== "GET" && request.method !== "DELETE";
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const answer = await handle(
    new Request(new URL(request.url, `http://${request.headers.host}`), {
      method: request.method,
      headers: request.headers,
      signal: gone.signal,
      ...(hasBody && { body: Buffer.concat(chunks) }),
    }),
  );
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.flushHeaders();
  const reader = answer.body?.getReader();
  response.on("close", () => reader?.cancel().catch(() => {}));
  for (let part = await reader?.read(); part && !part.done; part = await reader.read()) response.write(part.value);
  response.end();
}

/** Stores the events of streams, in order. */
export function createEventStore() {
  const events = [];
  return {
    async storeEvent(streamId, message) {
      events.push({ streamId, message });
      return `${events.length}`;
    },
    async getStreamIdForEventId(eventId) {
      return events[Number(eventId) - 1]?.streamId;
    },
    async replayEventsAfter(lastEventId, { send }) {
      const { streamId } = events[Number(lastEventId) - 1];
      for (const [at, event] of events.entries()) {
        const isPriming = Object.keys(event.message).length === 0;
        if (at >= Number(lastEventId) && event.streamId === streamId && !isPriming)
          await send(`${at + 1}`, event.message);
      }
      return streamId;
    },
  };
}

export const toText = (text) => ({ content: [{ type: "text", text }] });
