import { connect } from "portolan/client";
import { createServer } from "portolan/server";
import { connectInMemory } from "portolan/testing";
import { createHost } from "portolan-host";
import { expect, onTestFinished, test } from "vitest";
import { pathTo } from "../examples/example.ts";

const many = Array.from({ length: 30 }, (_, index) => index);

/** Returns the warnings of this process until the test ends. */
function warnings(): string[] {
  const seen: string[] = [];
  const note = ({ name }: Error) => seen.push(name);
  process.on("warning", note);
  onTestFinished(() => void process.off("warning", note));
  return seen;
}

/** Node emits a warning in the turn after its cause. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test("many calls with one signal warn of no leak, and all end when it aborts", async () => {
  const seen = warnings();
  const server = createServer({ name: "slow", version: "1" }).tool("wait", {
    run: (_, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  });
  await using client = await connectInMemory(server);
  const controller = new AbortController();
  const calls = many.map(() => client.callTool("wait", {}, { signal: controller.signal }));
  const ended = Promise.allSettled(calls);
  await client.ping();
  controller.abort();
  const results = await ended;
  expect(new Set(results.map((result) => result.status === "rejected" && result.reason.code))).toEqual(
    new Set(["cancelled"]),
  );
  await nextTurn();
  expect(seen).toEqual([]);
});

test("many connections and a host with many servers share one signal without a warning", async () => {
  const seen = warnings();
  const { signal } = new AbortController();
  const target = { command: process.execPath, args: [pathTo("examples/hello/server.mjs")] };
  const twelve = many.slice(0, 12);
  await using host = await createHost({
    servers: Object.fromEntries(twelve.map((index) => [`weather${index}`, target])),
    policy: [{ then: "allow" }],
  });
  const called = Promise.all(
    twelve.map((index) => host.callTool(`weather${index}`, "forecast", { city: "Oslo" }, { signal })),
  );
  const clients = await Promise.all(twelve.map(() => connect(target, { signal })));
  expect(await called).toHaveLength(12);
  await Promise.all(clients.map((client) => client.close()));
  await nextTurn();
  expect(seen).toEqual([]);
});
