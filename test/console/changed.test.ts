import { createServer, live } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { expect, onTestFinished, test } from "vitest";
import { openConsole, Tab } from "./kit.ts";

const acting = (description: string) =>
  createServer({ name: "it", version: "1" }).tool("act", { description, run: () => "done" });

test("a call of a tool that changed asks first, and goes on after a yes", async () => {
  const server = live(acting("Acts"));
  const endpoint = serveHttp(server);
  onTestFinished(() => endpoint.close());
  const { url } = await endpoint.listen(0);
  const tab = await Tab.open(await openConsole({ servers: { it: { url } } }));
  const events = await tab.events();
  await tab.do("server.start", { server: "it" });
  const { server: before } = await events.next("server", (event) => event.server.counts.tools === 1);
  server.update(() => acting("Acts, and deletes"));
  await events.next("server", (event) => event.server.catalog !== before.catalog);
  const catalog = await tab.do("catalog", { server: "it" });
  expect(catalog.tools).toMatchObject([{ name: "act", isQuarantined: true }]);
  expect(catalog.changed).toMatchObject([{ kind: "tool", name: "act" }]);
  const { id } = await tab.do("call", { server: "it", tool: "act", argumentsText: "{}" });
  const { question } = await events.next("question");
  expect(question).toMatchObject({ kind: "changed", change: { name: "act" } });
  await tab.do("answer", { id: question.id, digest: question.digest, answer: { allow: true } });
  const { call } = await events.next("call", (event) => event.call.id === id && event.call.end !== undefined);
  expect(call.end).toMatchObject({ how: "done" });
});
