// Batches whose answers are large together: each request gets an answer of its own, and what waits is counted.
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { expect, onTestFinished, test } from "vitest";
import { begin } from "../http/peer.ts";
import { connect, info } from "./peers.ts";

const revision = "2025-03-26";
const size = 1_000_000;
const count = 100;

/** A tool with a large answer, and one that ends when the test says so. */
function create() {
  let end: () => void = () => {};
  const ended = new Promise<string>((resolve) => {
    end = () => resolve("ended");
  });
  let calls = 0;
  const server = createServer(info)
    .tool("large", {
      run() {
        calls += 1;
        return String(calls % 10).repeat(size);
      },
    })
    .tool("slow", { run: () => ended });
  return { server, end, calls: () => calls };
}

const batch = Array.from({ length: count }, (_, index) => ({
  jsonrpc: "2.0" as const,
  id: `b${index}`,
  method: "tools/call",
  params: { name: index === 0 ? "slow" : "large", arguments: {} },
}));

interface Response {
  readonly id: string;
  readonly error?: { readonly code: number; readonly message: string };
  readonly result?: object;
}

/** Checks that each request has one response, and returns how many of them are results. */
function countResults(responses: readonly Response[]): number {
  expect(responses.map(({ id }) => id).sort()).toEqual(batch.map(({ id }) => id).sort());
  const refused = responses.filter(({ error }) => error);
  for (const { error } of refused) {
    expect(error).toMatchObject({ code: -31429, message: expect.stringContaining("until its batch is complete") });
  }
  return responses.length - refused.length;
}

test("over HTTP they count for their caller while the batch waits, and the rest are errors", async () => {
  const { server, end, calls } = create();
  const endpoint = serveHttp(server, {
    caller: (request) => request.header("x-caller"),
    limits: { keptBytesPerCaller: 10.5 * size },
  });
  onTestFinished(() => endpoint.close(0));
  const { url } = await endpoint.listen();
  const peer = await begin(url, revision);
  const answer = peer.post(batch, { "x-caller": "hostile" });
  await expect.poll(calls).toBe(count - 1);
  end();
  // The slow one is a result too.
  expect(countResults((await (await answer).json()) as unknown as Response[])).toBe(10 + 1);
  const again = await peer.post(batch.slice(0, 2), { "x-caller": "hostile" });
  expect((await again.json()) as unknown).toMatchObject([{ result: {} }, { result: {} }]);
});

test("on a channel they count for its connection", async () => {
  const { server, end, calls } = create();
  const peer = await connect(server, { revision });
  const answers = Promise.all(batch.map(({ id }) => peer.responseTo(id)));
  peer.sendBatch(batch);
  await expect.poll(calls).toBe(count - 1);
  end();
  // 64 MiB hold 67 of them; the slow one is a result too.
  expect(countResults((await answers) as unknown as Response[])).toBe(67 + 1);
});
