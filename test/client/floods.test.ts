import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { connect } from "portolan/client";
import { expect, onTestFinished, test } from "vitest";

const script = fileURLToPath(new URL("./fixtures/flooding-server.mjs", import.meta.url));
const flooding = (way: string) => ({ command: process.execPath, args: [script, way], graceMs: 100 });

test("a server that sends requests without end and reads no answers is disconnected, with the reason", async () => {
  const client = await connect(flooding("pings"), { era: "stateful" });
  onTestFinished(() => client.close());
  const reason = await client.closed;
  expect(reason).toMatchObject({ code: "connection-closed" });
  expect(reason?.message).toMatch(/sends requests and does not read the answers$/);
});

test("open questions are bounded by their size, and those beyond it are refused at once", async () => {
  let resolve = () => {};
  const allAreAsked = new Promise<void>((done) => {
    resolve = done;
  });
  const elicit = async () => {
    await allAreAsked;
    return { action: "decline" as const };
  };
  const onLog = () => setImmediate(() => resolve());
  const client = await connect(flooding("questions"), { era: "stateful", answers: { elicit }, onLog });
  onTestFinished(() => client.close());
  const { content } = await client.callTool("ask");
  const refused = Array.from({ length: 7 }, () => "refused");
  expect(content).toMatchObject([{ text: ["decline", "decline", "decline", ...refused].join(" ") }]);
});

test("a list of tools without end fails before it has taken 256 MB", async () => {
  const client = fileURLToPath(new URL("./fixtures/listing-client.mjs", import.meta.url));
  const child = spawn(process.execPath, ["--max-old-space-size=256", client], { stdio: ["ignore", "pipe", "ignore"] });
  const printed = await text(child.stdout);
  expect(printed).toContain('"code":"limit-reached"');
  expect(printed).toContain("tools/list: the server sent a list that takes more than 134217728 bytes of memory");
});

test("a tool and a question that are nested deeper than the stack take nothing else with them", async () => {
  const elicit = async () => ({ action: "decline" as const });
  const client = await connect(flooding("nested"), { era: "stateful", answers: { elicit } });
  onTestFinished(() => client.close());
  expect((await client.listTools()).map(({ name }) => name)).toEqual(["deep", "good"]);
  const { content } = await client.callTool("good");
  expect(content).toMatchObject([{ text: expect.stringMatching(/^(refused|decline)$/) }]);
});
