import { expect, test } from "vitest";
import { createMemoryPair } from "../jsonrpc/memory.ts";
import { createServer, serveChannel } from "../server/index.ts";
import { connect } from "./connect.ts";
import { http } from "./http/link.ts";
import { stdio } from "./stdio.ts";

test.each([
  ["conectMs", "connectMs"],
  ["revision", "era"],
  ["version", "era"],
  ["protocolVersion", "era"],
  ["clientInfo", "info"],
])("connect refuses the option %s and suggests %s", async (wrong, right) => {
  const [channel] = createMemoryPair();
  const connecting = connect(channel, { [wrong]: "x" } as object);
  await expect(connecting).rejects.toMatchObject({ code: "invalid-argument" });
  await expect(connecting).rejects.toThrow(`connect: unknown option \`${wrong}\`; did you mean \`${right}\`?`);
});

test("connect refuses a target with an unknown member before it starts a process", async () => {
  const connecting = connect({ command: "no-such-program", arg: [] } as { command: string });
  await expect(connecting).rejects.toThrow("stdio: unknown option `arg`; did you mean `args`?");
});

test("stdio and http refuse unknown options", () => {
  expect(() => stdio({ command: "x", onStdErrs: () => {} } as { command: string })).toThrow("did you mean `onStderr`?");
  expect(() => http("http://localhost/mcp", { header: {} } as object)).toThrow(
    "http: unknown option `header`; did you mean `headers`?",
  );
});

test.each([
  [{ command: "x" }, { auth: { authorize: () => ({}) } }, "auth: expected an http address"],
  [{}, {}, "connect: expected an http address, { command, args }, a link or a channel, got an object"],
  [undefined, {}, "connect: expected an http address, { command, args }, a link or a channel, got nothing"],
  [{ url: "http://x" }, {}, "a link or a channel, got an object; write connect(url)"],
  [createServer({ name: "x", version: "1" }), {}, "got an object; write connectInMemory(server)"],
  ["node server.js", {}, 'got "node server.js"; write { command, args } to start a program'],
  [{ command: "" }, {}, 'stdio: command: expected a program, got ""'],
  [{ command: "x", args: "y" }, {}, 'stdio: args: expected an array of strings, got "y"'],
  [{ command: "x", args: [1] }, {}, "stdio: args: expected an array of strings, got an array"],
  [{ command: "x", env: "A=1" }, {}, 'stdio: env: expected an object of strings, got "A=1"'],
  [{ command: "x", env: { A: 1 } }, {}, "stdio: env: expected an object of strings, got an object"],
  [{ command: "x", graceMs: "1" }, {}, 'graceMs: expected a number from 0 on, got "1"'],
  [{ command: "x", maxMessageBytes: Number.NaN }, {}, "maxMessageBytes: expected a number from 0 on, got number NaN"],
  [{ command: "x" }, { idleMs: "60" }, 'idleMs: expected a number from 0 on, got "60"'],
  [{ command: "x" }, { connectMs: -1 }, "connectMs: expected a number from 0 on, got number -1"],
  [{ command: "x" }, { totalMs: null }, "totalMs: expected a number from 0 on, got null"],
  [{ command: "x" }, { probeMs: Number.NaN }, "probeMs: expected a number from 0 on, got number NaN"],
  [{ command: "x" }, { answers: { elicitt: () => {} } }, "answers: unknown option `elicitt`; did you mean `elicit`?"],
  ["http://x", { auth: "token" }, "a fixed token is a header: http(url, { headers })"],
  ["http://x", { auth: { token: "x" } }, "auth: expected oauth(…) or an object with `authorize`"],
  ["http://x", { headers: {} }, "unknown option `headers`; did you mean `connect(http(url, { headers }))`?"],
  [{ command: "x" }, { onStderr() {} }, "unknown option `onStderr`; did you mean `connect({ command, onStderr })`?"],
  ["ftp://x", {}, 'url: expected an http or https address, got "ftp://x"'],
])("connect(%j, …) is refused", async (target, options, why) => {
  await expect(connect(target as string, options as object)).rejects.toThrow(why);
});

test("http refuses limits that are no numbers", () => {
  for (const name of ["maxResponseBytes", "maxEventChars", "idleStreamMs"]) {
    expect(() => http("http://x", { [name]: "1" })).toThrow(`${name}: expected a number from 0 on, got "1"`);
  }
});

test("answers of one call are checked too", async () => {
  const [near, far] = createMemoryPair();
  serveChannel(createServer({ name: "x", version: "1" }).tool("x", { run: () => "x" }), far);
  const client = await connect(near);
  const answers = { approve: () => ({}) } as object;
  await expect(client.callTool("x", {}, { answers })).rejects.toThrow("answers: unknown option `approve`");
  await client.close();
});

test("an infinite time is no timeout", async () => {
  const [near, far] = createMemoryPair();
  serveChannel(createServer({ name: "x", version: "1" }).tool("x", { run: () => "x" }), far);
  const endless = Number.POSITIVE_INFINITY;
  const client = await connect(near, { connectMs: endless, idleMs: endless, totalMs: endless, probeMs: endless });
  expect(await client.callTool("x")).toMatchObject({ content: [{ text: "x" }] });
  await client.close();
});

test("connect refuses an unknown era and lists the known ones", async () => {
  const [channel] = createMemoryPair();
  await expect(connect(channel, { era: "2020-01-01" })).rejects.toThrow(
    /^era: expected "auto", "stateless", "stateful" or one of 2026-07-28, .*2024-11-05, got "2020-01-01"$/,
  );
});
