import type { ServerResponse } from "node:http";
import { connect } from "portolan/client";
import { HttpFailure } from "portolan/client/http";
import { createClock } from "portolan/testing";
import { describe, expect, test } from "vitest";
import {
  answerHandshake,
  begin,
  closing,
  openLink,
  type RawServer,
  reasonOf,
  resultOf,
  sendJson,
  startEvents,
  startRaw,
  stateless,
  toEvent,
  until,
} from "./kit.ts";

const gets = (server: RawServer) => server.seen.filter(({ method }) => method === "GET");

/** Begins a session whose GET stream the test's handler refuses. */
async function refuseStream(refuse: (response: ServerResponse) => void) {
  const clock = createClock();
  const server = await startRaw((seen, response) => {
    if (seen.method === "GET") refuse(response);
    else answerHandshake(seen, response, "s");
  });
  const opened = await openLink(server.url, { clock });
  await begin(opened);
  await until(() => gets(server).length === 1 && clock.pending > 0);
  // The timer that waits for the stream to open ends.
  await clock.advance(500);
  return { clock, server };
}

describe.each([429, 503])("%i to the stream of a session", (status) => {
  test("is retried after Retry-After in seconds", async () => {
    const { clock, server } = await refuseStream((response) =>
      response.writeHead(status, { "retry-after": "20" }).end(),
    );
    await clock.advance(19_400);
    expect(gets(server)).toHaveLength(1);
    await clock.advance(2_200);
    await until(() => gets(server).length === 2);
  });

  test("is retried after Retry-After as a date", async () => {
    const { clock, server } = await refuseStream((response) => {
      const date = new Date(Date.now() + 100_000).toUTCString();
      response.writeHead(status, { "retry-after": date }).end();
    });
    await clock.advance(90_000);
    expect(gets(server)).toHaveLength(1);
    await clock.advance(21_000);
    await until(() => gets(server).length === 2);
  });

  test("is retried after five minutes if Retry-After is longer", async () => {
    const { clock, server } = await refuseStream((response) =>
      response.writeHead(status, { "retry-after": "99999999" }).end(),
    );
    await clock.advance(299_000);
    expect(gets(server)).toHaveLength(1);
    await clock.advance(32_000);
    await until(() => gets(server).length === 2);
  });

  test.each(["soon", "-5", new Date(0).toUTCString(), ""])(
    "is retried after the usual back-off if Retry-After is %j",
    async (value) => {
      const { clock, server } = await refuseStream((response) =>
        response.writeHead(status, { "retry-after": value }).end(),
      );
      await clock.advance(1_400);
      await until(() => gets(server).length === 2);
    },
  );
});

test("resumes a stream after Retry-After", async () => {
  const clock = createClock();
  const server = await startRaw((seen, response) => {
    const id = seen.headers["last-event-id"];
    if (id !== undefined && gets(server).length === 2) response.writeHead(503, { "retry-after": "30" }).end();
    else if (id !== undefined) {
      const { message } = server.seen.find(({ message }) => message?.method === "tools/call")!;
      startEvents(response);
      response.end(toEvent(resultOf(message)));
    } else if (!answerHandshake(seen, response, "s")) {
      startEvents(response);
      response.end("id: 1\nretry: 600\ndata: \n\n");
    }
  });
  const opened = await openLink(server.url, { clock });
  await begin(opened);
  await until(() => gets(server).length === 1 && clock.pending === 0);
  const answer = opened.ask({ method: "tools/call" });
  await until(() => clock.pending === 1);
  await clock.advance(700);
  await until(() => gets(server).length === 2 && clock.pending === 1);
  await clock.advance(29_900);
  expect(gets(server)).toHaveLength(2);
  await clock.advance(3_200);
  expect(await answer).toMatchObject({ result: {} });
  expect(server.seen.filter(({ message }) => message?.method === "tools/call")).toHaveLength(1);
});

test.each([429, 503])("does not retry a call that is answered %i, and its failure has retryAfterMs", async (status) => {
  const server = await startRaw((_, response) => response.writeHead(status, { "retry-after": "7" }).end());
  const { ask } = await openLink(server.url);
  const reason = await reasonOf(ask(stateless("tools/call", { name: "pay" })));
  expect(reason).toBeInstanceOf(HttpFailure);
  expect(reason).toMatchObject({ status, retryAfterMs: 7_000 });
  expect(server.seen).toHaveLength(1);
});

test("the cause of a failed call has the status and retryAfterMs", async () => {
  const server = await startRaw((seen, response) => {
    if (!answerHandshake(seen, response, "s")) response.writeHead(429, { "retry-after": "3" }).end();
  });
  const client = closing(await connect(server.url));
  const reason = await reasonOf(client.callTool("x"));
  expect(reason.cause).toMatchObject({ status: 429, retryAfterMs: 3_000 });
});

test("ignores Retry-After of other statuses", async () => {
  const server = await startRaw(({ message }, response) => {
    if (message.method === "tools/list") sendJson(response, 200, resultOf(message));
    else response.writeHead(500, { "retry-after": "7" }).end();
  });
  const { ask } = await openLink(server.url);
  expect(await reasonOf(ask(stateless("prompts/list")))).toMatchObject({ status: 500, retryAfterMs: undefined });
});
