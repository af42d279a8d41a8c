import { join } from "node:path";
import { type Client, connect } from "portolan/client";
import { afterEach, expect, test } from "vitest";
import { makeHome, root, runPortolan } from "./kit.ts";
import { makeProject, type Running, startPortolan } from "./make-kit.ts";

const listing = join(root, "test/cli/fixtures/listing.mjs");

const started: Running[] = [];
const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  for (const running of started.splice(0)) await running.end("SIGKILL");
});

async function serve(folder: string, command: readonly string[]): Promise<Running & { url: string }> {
  const running = startPortolan(["serve", "--http", "0", "--", process.execPath, ...command], folder);
  started.push(running);
  return Object.assign(running, { url: String((await running.event("ready"))["url"]) });
}

async function open(url: string, era: string): Promise<Client> {
  const client = await connect(url, { era });
  clients.push(client);
  return client;
}

test.each([
  [[], "listing did not list its tools: the database is locked (-32602)"],
  [["resources", "prompts"], "listing did not list its resources: the database is locked (-32602)"],
])("serve names the server, the list and the reason if nothing is left to serve (tools, %j)", async (more, why) => {
  const faults = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];
  const command = [`capabilities=${["tools", ...more].join(",")}`, ...faults.map((list) => `${list}=error`)];
  const ran = await runPortolan(["serve", "--http", "0", "--", process.execPath, listing, ...command], {
    cwd: makeHome(),
  });
  expect(ran.code).toBe(8);
  const { message } = JSON.parse(ran.stderr.trim().split("\n").at(-1) ?? "").error;
  expect(message).toContain(why);
  expect(message).toMatch(/^listing did not list its tools: /);
});

test("serve serves what it can list, and names the server, the list and the reason of the rest", async () => {
  const served = await serve(makeProject(), [listing, "tools/list=error", "prompts/list=invalid"]);
  const client = await open(served.url, "2025-11-25");
  expect((await client.listPrompts()).map(({ name }) => name)).toEqual(["greet"]);
  expect(await client.listTools()).toEqual([]);
  expect(served.errors()).toContain(
    "listing: no tools are served, because it did not list them: the database is locked (-32602)",
  );
  expect(served.errors()).toContain("listing: not served: prompts: ");
});

test.each(["2025-11-25", "2026-07-28"])("serve announces to a client of %s only what the server has", async (era) => {
  const served = await serve(makeProject(), [listing, "capabilities=tools"]);
  const client = await open(served.url, era);
  expect(client.server.capabilities).toEqual({ tools: { listChanged: true } });
  expect((await client.callTool("echo")).content).toEqual([{ type: "text", text: "said again" }]);
});

const unsorted = `
import { createInterface } from "node:readline";
const schema = { type: "object" };
const results = {
  "server/discover": {
    supportedVersions: ["2026-07-28"],
    capabilities: { tools: {}, prompts: {}, resources: { subscribe: true }, logging: {} },
  },
  "tools/list": { tools: ["zebra", "ant", "mouse"].map((name) => ({ name, inputSchema: schema })) },
  "prompts/list": { prompts: ["two", "one"].map((name) => ({ name })) },
  "resources/list": { resources: ["b:2", "b:1", "a:9"].map((uri) => ({ uri, name: uri })) },
  "resources/templates/list": { resourceTemplates: ["z:{a}", "a:{a}"].map((uriTemplate) => ({ uriTemplate, name: "x" })) },
  "tools/call": { content: [{ type: "text", text: "done" }] },
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const _meta = { "io.modelcontextprotocol/serverInfo": { name: "unsorted", version: "7" }, own: 1 };
  const result = { resultType: "complete", ttlMs: 0, cacheScope: "private", ...results[method], _meta };
  const reply = results[method] ? { result } : { error: { code: -32601, message: "no " + method } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...reply }));
});
`;

test.each(["2025-11-25", "2026-07-28"])(
  "serve lists features to a client of %s in the order of the server",
  async (era) => {
    const served = await serve(makeProject({ "unsorted.mjs": unsorted }), ["unsorted.mjs"]);
    const client = await open(served.url, era);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["zebra", "ant", "mouse"]);
    expect((await client.listPrompts()).map(({ name }) => name)).toEqual(["two", "one"]);
    expect((await client.listResources()).map(({ uri }) => uri)).toEqual(["b:2", "b:1", "a:9"]);
    expect((await client.listTemplates()).map(({ uriTemplate }) => uriTemplate)).toEqual(["z:{a}", "a:{a}"]);
    expect(client.server.capabilities).toMatchObject({ logging: {}, resources: { subscribe: true } });
  },
);

test("serve passes the identity of a stateless server only in the form of the client's revision", async () => {
  const served = await serve(makeProject({ "unsorted.mjs": unsorted }), ["unsorted.mjs"]);
  const old = await open(served.url, "2025-11-25");
  expect(await old.callTool("ant")).toEqual({ content: [{ type: "text", text: "done" }], _meta: { own: 1 } });
  const stateless = await open(served.url, "2026-07-28");
  expect((await stateless.callTool("ant"))._meta).toMatchObject({ own: 1 });
});

const patterned = `
import { createServer } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";
const input = { type: "object", properties: { text: { type: "string", pattern: "^(a+)+$" } } };
serveStdio(createServer({ name: "p", version: "1" }, { onError() {} }).tool("t", { input, run: () => "ok" }));
`;

test("serve does not warn about patterns, which it does not run", async () => {
  const served = await serve(makeProject({ "patterned.mjs": patterned }), ["patterned.mjs"]);
  const client = await open(served.url, "2025-11-25");
  expect((await client.callTool("t", { text: "a" })).content).toEqual([{ type: "text", text: "ok" }]);
  await served.end("SIGTERM");
  expect(served.errors()).not.toContain("pattern");
});
