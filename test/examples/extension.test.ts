import { connect } from "portolan/client";
import { expect, onTestFinished, test } from "vitest";
import { oldestAndNewest, pathTo, run, start } from "./example.ts";

const program = "examples/extension/server.mjs";
const spend = { text: "ahoy" };

test("the client calls tools until its quota is used up", async () => {
  expect(await run(pathTo("examples/extension/client.mjs"), [])).toEqual({
    code: 0,
    stdout: [
      'shout [{"type":"text","text":"AHOY"}] left: 9',
      'translate [{"type":"text","text":"yoha"}] left: 3',
      "translate This call costs 6 units, and 3 are left in this hour.",
      "",
    ].join("\n"),
    stderr: "",
  });
});

test.each(oldestAndNewest)(
  "a client of %s without the extension sees plain tools and a failed tool",
  async (revision) => {
    const peer = await start(program, { revision });
    const { result } = await peer.request("tools/list", {});
    expect(JSON.stringify(result)).not.toContain("com.example/quota");
    await peer.callTool("translate", spend);
    const refused = await peer.callTool("translate", spend);
    expect(refused.result).toMatchObject({
      isError: true,
      content: [{ text: "This call costs 6 units, and 4 are left in this hour." }],
    });
    const read = await peer.request("com.example/quota/read", {});
    expect(read.error?.message).toContain("com.example/quota");
  },
);

test("a client with the extension sees the cost of each tool, and watches what is left", async () => {
  const { quotaClient } = await import(pathTo("examples/extension/quota.mjs"));
  const target = { command: process.execPath, args: [pathTo(program)] };
  const client = await connect(target, { extensions: [quotaClient()] });
  onTestFinished(() => client.close());
  const tools = await client.listTools();
  expect(tools.map(({ name, _meta }) => [name, _meta?.["com.example/quota"]])).toEqual([
    ["shout", { cost: 1 }],
    ["translate", { cost: 6 }],
  ]);
  const changes = await client.watch({ extensions: { quota: true } });
  await client.callTool("translate", spend);
  for await (const change of changes) {
    expect(change).toMatchObject({ kind: "extension", member: "quota", params: { left: 4 } });
    break;
  }
});
