import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { Expected, isId, toBytes } from "./fuzz/expected.ts";
import { requests, type Script, script, statelessMeta } from "./fuzz/script.ts";
import { openMemory, openStdio, until, type Wire, writeCut } from "./fuzz/wire.ts";

const encoder = new TextEncoder();
const wires: { stdio?: ReturnType<typeof openStdio> } = {};

afterAll(() => void wires.stdio?.channel.child.kill("SIGKILL"));

let runs = 0;

/** Plays a script and checks that everything is answered. Expectations of a wire accumulate over its scripts. */
async function play(wire: Wire, input: Script, expected: Expected = new Expected()): Promise<void> {
  runs += 1;
  const run = runs;
  const bytes = toBytes(input, run, expected);
  const start = wire.received.length;
  let refused = start;
  const counts = () => {
    const found = new Map<unknown, number>();
    for (const message of wire.received) {
      if (message["method"] === undefined && isId(message["id"]))
        found.set(message["id"], (found.get(message["id"]) ?? 0) + 1);
    }
    return found;
  };
  /** Refuses every request of the server, so that no call waits for an answer. */
  const refuse = () => {
    for (; refused < wire.received.length; refused += 1) {
      const { id, method } = wire.received[refused] ?? {};
      if (method === undefined || id === undefined) continue;
      wire.write(encoder.encode(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code: 1, message: "no" } })}\n`));
    }
  };
  const isAnswered = () => {
    refuse();
    return expected.isMet(counts());
  };
  writeCut(wire, bytes, input.cuts);
  await until(wire, isAnswered, "answers");
  const valid = [`${run} stateless`, `${run} stateful`];
  const params = { name: "echo", arguments: { message: "still here" } };
  const calls = [
    { jsonrpc: "2.0", id: valid[0], method: "tools/call", params: { ...params, _meta: statelessMeta } },
    { jsonrpc: "2.0", id: `${run} init`, method: "initialize", params: requests[0]?.["params"] },
    { jsonrpc: "2.0", id: valid[1], method: "tools/call", params },
  ];
  wire.write(encoder.encode(calls.map((call) => `${JSON.stringify(call)}\n`).join("")));
  for (const call of calls) expected.exactly(call.id);
  await until(wire, isAnswered, "answers to valid requests");
  expected.check(counts());
  for (const id of valid) {
    const answer = wire.received.findLast((message) => message["id"] === id);
    expect(answer).toMatchObject({ result: { content: [{ type: "text", text: "still here" }] } });
  }
  for (const message of wire.received.slice(start)) expect(message["jsonrpc"]).toBe("2.0");
}

test("no sequence of messages stops a server in this process, and every request is answered once", async () => {
  await fc.assert(
    fc.asyncProperty(script, (input) => play(openMemory(), input)),
    { numRuns: 300, interruptAfterTimeLimit: 45_000 },
  );
});

test("no sequence of messages stops a server process, and every request is answered once", async () => {
  const wire = openStdio();
  wires.stdio = wire;
  const expected = new Expected();
  await fc.assert(
    fc.asyncProperty(script, (input) => play(wire, input, expected)),
    { numRuns: 60, interruptAfterTimeLimit: 45_000 },
  );
  expect(wire.channel.stderr).toBe("");
});

test("random bytes never stop the framing, and the next line is read", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 20 }), async (chunks) => {
      const wire = openMemory();
      for (const chunk of chunks) wire.write(chunk);
      wire.write(encoder.encode('\n{"jsonrpc":"2.0","id":"after","method":"ping"}\n'));
      await until(wire, () => wire.received.some(({ id }) => id === "after"), "the ping");
      expect(wire.received.filter(({ id }) => id === "after")).toHaveLength(1);
    }),
    { numRuns: 300 },
  );
});
