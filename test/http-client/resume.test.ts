import { spawn } from "node:child_process";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { createClock, type ManualClock } from "portolan/testing";
import { expect, test } from "vitest";
import {
  answerHandshake,
  begin,
  type Opened,
  openLink,
  type RawServer,
  reasonOf,
  resultOf,
  type Seen,
  startEvents,
  startRaw,
  toEvent,
  until,
} from "./kit.ts";

interface Scene {
  readonly server: RawServer;
  readonly clock: ManualClock;
  readonly opened: Opened;
  /** The GET requests that resume a stream. */
  readonly resumed: () => Seen[];
}

/** Begins a session; the test's handlers answer calls and resumptions. */
async function setScene(
  call: (seen: Seen, response: ServerResponse) => void,
  resume: (seen: Seen, response: ServerResponse) => void,
): Promise<Scene> {
  const clock = createClock();
  const isResumption = (seen: Seen) => seen.headers["last-event-id"] !== undefined;
  const server = await startRaw((seen, response) => {
    if (isResumption(seen)) resume(seen, response);
    else if (!answerHandshake(seen, response, "s")) call(seen, response);
  });
  const opened = await openLink(server.url, { clock });
  await begin(opened);
  // The server has no GET stream, and no timer waits for one.
  await until(() => server.seen.some(({ method }) => method === "GET") && clock.pending === 0);
  return { server, clock, opened, resumed: () => server.seen.filter(isResumption) };
}

const primed = (_: Seen, response: ServerResponse) => {
  startEvents(response);
  response.end("id: event-1\nretry: 700\ndata: \n\n");
};

test("resumes a stream that ended after an event with an id, after the retry time of the server", async () => {
  const { clock, opened, resumed } = await setScene(primed, (_, response) => {
    startEvents(response);
    response.write(toEvent({ jsonrpc: "2.0", id: "q", method: "sampling/createMessage" }, "event-2"));
    response.end(toEvent(resultOf({ jsonrpc: "2.0", id: "call", method: "" }, { late: true }), "event-3"));
  });
  const answer = opened.ask({ method: "tools/call", id: "call" });
  await until(() => clock.pending === 1);
  await clock.advance(699);
  expect(resumed()).toEqual([]);
  await clock.advance(72);
  expect(await answer).toMatchObject({ result: { late: true } });
  expect(resumed().map(({ headers }) => [headers["last-event-id"], headers["mcp-session-id"]])).toEqual([
    ["event-1", "s"],
  ]);
  expect(opened.requests).toEqual([{ request: expect.objectContaining({ id: "q" }), during: "call" }]);
});

test("resumes a cut stream from its last event, as long as it makes progress", async () => {
  let cuts = 0;
  const { clock, opened, resumed } = await setScene(
    (_, response) => {
      startEvents(response);
      response.write(toEvent({ jsonrpc: "2.0", method: "step-0" }, "0"), () => response.destroy());
    },
    (_, response) => {
      startEvents(response);
      cuts += 1;
      const isLast = cuts === 20;
      const message = isLast ? { jsonrpc: "2.0", id: "call", result: {} } : { jsonrpc: "2.0", method: `step-${cuts}` };
      response.write(toEvent(message, `${cuts}`), () => response.destroy());
    },
  );
  const answer = opened.ask({ method: "tools/call", id: "call" });
  for (let step = 1; step <= 20; step += 1) {
    await until(() => clock.pending > 0);
    await clock.advance(1_101);
    await until(() => resumed().length === step);
  }
  await answer;
  expect(opened.notifications.map(({ method }) => method)).toEqual(Array.from({ length: 20 }, (_, at) => `step-${at}`));
  expect(resumed().map(({ headers }) => headers["last-event-id"])).toEqual(
    Array.from({ length: 20 }, (_, at) => `${at}`),
  );
});

test("waits at least 500 ms even if the retry time is 0", async () => {
  const { clock, opened, resumed } = await setScene(
    (_, response) => {
      startEvents(response);
      response.end("id: 1\nretry: 0\ndata: \n\n");
    },
    (_, response) => response.writeHead(503).end(),
  );
  opened.ask({ method: "tools/call" }).catch(() => {});
  await until(() => clock.pending === 1);
  await clock.advance(499);
  expect(resumed()).toEqual([]);
});

test("rejects the call after nine failed resumptions", async () => {
  const { clock, opened, resumed } = await setScene(primed, (_, response) => response.writeHead(503).end());
  const failed = reasonOf(opened.ask({ method: "tools/call" }));
  for (let attempt = 1; attempt <= 9; attempt += 1) {
    await until(() => clock.pending > 0);
    await clock.advance(70_000);
    await until(() => resumed().length === attempt);
  }
  expect(await failed).toMatchObject({ code: "http-status", status: 503, method: "GET" });
  expect(resumed()).toHaveLength(9);
});

test.each([400, 405])("%i to the resumption rejects the call at once", async (status) => {
  const { clock, opened, resumed } = await setScene(primed, (_, response) => response.writeHead(status).end());
  const failed = reasonOf(opened.ask({ method: "tools/call" }));
  await until(() => clock.pending > 0);
  await clock.advance(800);
  expect(await failed).toMatchObject({ status });
  expect(resumed()).toHaveLength(1);
});

test("does not retry a call whose session is lost, because it may have run", async () => {
  const { clock, opened, server } = await setScene(primed, (_, response) => response.writeHead(404).end());
  const failed = reasonOf(opened.ask({ method: "tools/call" }));
  await until(() => clock.pending > 0);
  await clock.advance(800);
  expect(await failed).toMatchObject({ status: 404 });
  await until(() => opened.renewed() === 1);
  expect(server.seen.filter(({ message }) => message?.method === "tools/call")).toHaveLength(1);
});

test("does not resume a cancelled call", async () => {
  const { clock, opened, resumed, server } = await setScene(primed, (_, response) => response.writeHead(503).end());
  opened.ask({ method: "tools/call", id: "call" }).catch(() => {});
  await until(() => clock.pending > 0);
  opened.link.cancel("call", "enough");
  expect(clock.pending).toBe(0);
  await until(() => server.seen.at(-1)!.message?.method === "notifications/cancelled");
  expect(resumed()).toEqual([]);
});

test("a program stays alive while it waits to resume a stream", async () => {
  const server = await startRaw((seen, response) => {
    if (seen.headers["last-event-id"] !== undefined) {
      startEvents(response);
      const { message } = server.seen.find(({ message }) => message?.method === "tools/call")!;
      response.end(toEvent(resultOf(message, { content: [{ type: "text", text: "still here" }] }), "event-2"));
    } else if (!answerHandshake(seen, response, "s")) primed(seen, response);
  });
  const program = fileURLToPath(new URL("./fixtures/call.mjs", import.meta.url));
  const child = spawn(process.execPath, [program, server.url], { stdio: ["ignore", "pipe", "inherit"] });
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  expect([said, code]).toEqual(["still here", 0]);
});
