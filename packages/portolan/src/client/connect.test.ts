import { expect, test } from "vitest";
import { createMemoryPair } from "../jsonrpc/memory.ts";
import { connect } from "./connect.ts";
import { http } from "./http/link.ts";
import { stdio } from "./stdio.ts";

test.each([
  ["conectMs", "connectMs"],
  ["revision", "era"],
  ["version", "era"],
  ["protocolVersion", "era"],
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
  ["ftp://x", {}, 'url: expected an http or https address, got "ftp://x"'],
])("connect(%j, …) is refused", async (target, options, why) => {
  await expect(connect(target as string, options)).rejects.toThrow(why);
});

test("connect refuses an unknown era and lists the known ones", async () => {
  const [channel] = createMemoryPair();
  await expect(connect(channel, { era: "2020-01-01" })).rejects.toThrow(
    /^era: expected "auto", "stateless", "stateful" or one of 2026-07-28, .*2024-11-05, got "2020-01-01"$/,
  );
});
