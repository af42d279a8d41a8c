import { oauth } from "portolan/auth/client";
import { scriptedModel } from "portolan-host/models";
import { expect, test } from "vitest";
import { startWorld } from "../auth/client/kit/world.ts";
import { oldServer, openConsole, Tab } from "./kit.ts";

test("says in the words of a person that a sign-in is required, and that nothing listens at an address", async () => {
  const { server, authority } = await startWorld();
  const running = await openConsole({
    servers: { far: { url: server.url }, gone: { url: "http://127.0.0.1:9/mcp" } },
    auth: () => oauth(),
  });
  const tab = await Tab.open(running);
  const events = await tab.events();
  await events.state();
  for (const name of ["far", "gone"]) await tab.do("server.start", { server: name }).catch(() => {});
  const far = await events.ever("server", ({ server }) => server.name === "far" && server.state === "login");
  expect(far.server.reason).toBe(`Sign-in required at ${authority.issuer}`);
  const gone = await events.ever("server", ({ server }) => server.name === "gone" && server.state === "down");
  expect(gone.server.reason).toContain("nothing listens at 127.0.0.1:9");
  expect(gone.server.reason).not.toMatch(/POST|GET|failed: /);
});

test("says in the words of a person that a server is not used because nobody has trusted it", async () => {
  const target = { command: oldServer.command, args: oldServer.args };
  const file = { kind: "file", file: "/project/.mcp.json", path: "mcpServers.it", product: "claude-code" } as const;
  const entry = {
    name: "it",
    target,
    configured: target,
    settings: {},
    source: { ...file, scope: "project" },
  } as const;
  const tab = await Tab.open(await openConsole({ servers: [entry], model: scriptedModel([{ say: "Hello." }]) }));
  const events = await tab.events();
  const { id } = await tab.do("conversation.create", {});
  await tab.do("conversation.send", { id, text: "Hello" });
  const { block } = await events.next("block", (event) => event.block.kind === "notice" && event.block.server === "it");
  expect(block).toMatchObject({ text: "it is not used: you have not trusted it yet" });
});
