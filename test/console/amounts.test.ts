import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { openConsole, Tab } from "./kit.ts";

const text = "x".repeat(4 * 1024 * 1024);

/** A server with much of everything. */
async function largeServer(tools = 0): Promise<{ url: string }> {
  let definition = createServer({ name: "large", version: "1.0.0" })
    .tool("long", { run: () => text })
    .tool("many", {
      input: z.object({ count: z.number() }),
      run({ count }, ctx) {
        for (let n = 1; n <= count; n += 1) ctx.log("info", `${n} ${"y".repeat(1_000)}`);
        return "done";
      },
    });
  for (let n = 0; n < tools; n += 1) {
    definition = definition.tool(`tool_${n}`, {
      description: `Does ${n}`,
      input: z.object({ n: z.number() }),
      run: () => "",
    });
  }
  const server = serveHttp(definition);
  onTestFinished(() => server.close());
  return { url: (await server.listen(0)).url };
}

test("a long result comes as its start, and by pieces", async () => {
  const running = await openConsole({ servers: { it: await largeServer() } });
  const tab = await Tab.open(running);
  const events = await tab.events();
  const { id } = await tab.do("call", { server: "it", tool: "long", argumentsText: "{}" });
  const { call } = await events.next("call", (event) => event.call.end !== undefined);
  const head = call.end!.result!;
  expect(head.isWhole).toBe(false);
  expect(head.chars).toBeGreaterThan(text.length);
  expect(JSON.stringify(call).length).toBeLessThan(200_000);
  let whole = "";
  while (whole.length < head.chars) {
    const piece = await tab.do("result", { call: id, from: whole.length, chars: 1024 * 1024 });
    whole += piece.text;
  }
  expect(JSON.parse(whole).content[0].text).toBe(text);
  expect((await tab.do("content", { call: id, index: 0 })).block).toEqual({ type: "text", text });
});

test("a tab that reads slowly loses rows, and no record", async () => {
  const running = await openConsole({ servers: { it: await largeServer() } });
  const tab = await Tab.open(running);
  const [slow, quick] = [await tab.events(), await tab.events()];
  await slow.state();
  slow.pause();
  const ids: string[] = [];
  for (let round = 0; round < 4; round += 1) {
    const { id } = await tab.do("call", { server: "it", tool: "many", argumentsText: '{"count": 2000}' });
    await quick.next("call", (event) => event.call.id === id && event.call.end !== undefined);
    ids.push(id);
  }
  const { id: last } = await tab.do("call", { server: "it", tool: "many", argumentsText: '{"count": 1}' });
  await quick.next("call", (event) => event.call.id === last && event.call.end !== undefined);
  slow.resume();
  const ended = await slow.next("call", (event) => event.call.id === last && event.call.end !== undefined);
  expect(ended.call.end?.how).toBe("done");
  const lost = slow.all.flatMap(({ event }) => (event.kind === "lost" ? [event.rows] : []));
  expect(lost.reduce((sum, rows) => sum + rows, 0)).toBeGreaterThan(100);
  for (const id of ids) {
    await slow.ever("call", (event) => event.call.id === id && event.call.end !== undefined);
  }
  const { rows } = await tab.do("lines", { server: "it", limit: 10 });
  expect(rows).toHaveLength(10);
});

test("a server with 5,000 tools is listed, and every tool is measured", async () => {
  const running = await openConsole({ servers: { it: await largeServer(5_000) }, limits: { maxItems: 10_000 } });
  const tab = await Tab.open(running);
  const events = await tab.events();
  await tab.do("server.start", { server: "it" });
  const { server } = await events.next("server", (event) => event.server.toolTokens > 0);
  expect(server.counts.tools).toBe(5_002);
  const { tools } = await tab.do("catalog", { server: "it" });
  expect(tools.reduce((sum, tool) => sum + tool.tokens, 0)).toBe(server.toolTokens);
  expect(await tab.do("definition", { server: "it", tool: "tool_4999" })).toMatchObject({
    definition: { name: "tool_4999" },
    modelName: "it__tool_4999",
  });
});
