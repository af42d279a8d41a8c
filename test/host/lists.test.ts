import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { type JsonObject, PortolanError, RpcError } from "portolan";
import type { CommandTarget, Host, ListProblem, ServerSettings } from "portolan-host";
import { expect, onTestFinished, test } from "vitest";
import { allow, createModel, initializeResult, makeHost, rawServer, textOf } from "./kit.ts";

const listing = fileURLToPath(new URL("../cli/fixtures/listing.mjs", import.meta.url));

function serverWith(...faults: readonly string[]): CommandTarget & ServerSettings {
  return { command: process.execPath, args: [listing, ...faults], era: "2025-06-18" };
}

async function started(...faults: readonly string[]): Promise<Host> {
  const host = await makeHost({ servers: { s: serverWith(...faults) }, policy: allow });
  await host.start("s");
  return host;
}

function problemsOf(host: Host): readonly ListProblem[] {
  return host.servers[0]?.listProblems ?? [];
}

function namesIn({ catalog }: Host): string[] {
  return [
    ...catalog.tools.map(({ name }) => name),
    ...catalog.prompts.map(({ name }) => name),
    ...catalog.resources.map(({ uri }) => uri),
    ...catalog.templates.map(({ uriTemplate }) => uriTemplate),
  ];
}

const all = ["echo", "greet", "day:///today", "day:///{day}"];

test("a server without resources/templates/list keeps its resources, with a note", async () => {
  const host = await started("resources/templates/list=missing");
  expect(namesIn(host)).toEqual(["echo", "greet", "day:///today"]);
  expect(problemsOf(host)).toEqual([
    {
      list: "templates",
      kind: "unsupported",
      message: "resource templates: the server announces them, but does not support resources/templates/list",
    },
  ]);
});

test.each([
  ["tools/list", "tools", "echo"],
  ["prompts/list", "prompts", "greet"],
  ["resources/list", "resources", "day:///today"],
  ["resources/templates/list", "templates", "day:///{day}"],
])("an error of %s affects no other list, and is kept", async (method, list, missing) => {
  const host = await started(`${method}=error`);
  expect(namesIn(host)).toEqual(all.filter((name) => name !== missing));
  expect(problemsOf(host)).toEqual([
    { list, kind: "failed", message: expect.stringContaining("the database is locked"), error: expect.any(RpcError) },
  ]);
});

test("a list that does not end affects no other list", async () => {
  const host = await makeHost({
    servers: { s: { ...serverWith("prompts/list=hang"), idleMs: 300 } },
    policy: allow,
  });
  await host.start("s");
  expect(namesIn(host)).toEqual(all.filter((name) => name !== "greet"));
  expect(problemsOf(host)).toMatchObject([{ list: "prompts", kind: "failed", error: { code: "timeout" } }]);
});

test("invalid items are left out and named, and the others can be used", async () => {
  const host = await started(
    ...["tools/list", "prompts/list", "resources/list", "resources/templates/list"].map(
      (method) => `${method}=invalid`,
    ),
  );
  expect(namesIn(host)).toEqual(all);
  expect(textOf(await host.callTool("s", "echo"))).toBe("said again");
  expect(problemsOf(host).map(({ list, kind, item }) => [list, kind, item])).toEqual([
    ["tools", "invalid", "crooked"],
    ["tools", "invalid", "odd"],
    ["tools", "invalid", undefined],
    ["prompts", "invalid", "crooked"],
    ["prompts", "invalid", undefined],
    ["resources", "invalid", undefined],
    ["resources", "invalid", "a:b"],
    ["templates", "invalid", undefined],
  ]);
  expect(problemsOf(host)[0]?.message).toBe(
    'tools: "crooked".inputSchema: expected an object, got nothing; it is left out',
  );
});

test("a server that ends while it is listed has not started, and the reason is its own", async () => {
  const host = await makeHost({ servers: { s: serverWith("tools/list=exit") }, policy: allow });
  const starting = host.start("s");
  await expect(starting).rejects.toThrow(/exited with code 3.*there is no database at \/nowhere/s);
  await expect(starting).rejects.toBeInstanceOf(PortolanError);
  expect(host.servers[0]).toMatchObject({ state: "down", reason: expect.stringContaining("no database") });
});

test("a list that can be read again has no problem any more", async () => {
  const host = await started("tools/list=error");
  expect(problemsOf(host)).toHaveLength(1);
  await host.remove("s");
  await host.add("s", serverWith());
  await host.start("s");
  expect(host.servers[0]).not.toHaveProperty("listProblems");
});

test("many invalid items are reported as a number", async () => {
  const many = Array.from({ length: 30 }, (_, at) => ({ name: `t${at}` }));
  const server = rawServer((method) => (method === "initialize" ? initializeResult : { tools: many }));
  const host = await makeHost({ servers: { s: server } });
  await host.start("s");
  const problems = problemsOf(host);
  expect(problems).toHaveLength(21);
  expect(problems.at(-1)?.message).toBe("tools: 10 more problems");
});

test("a tool that is nested too deeply is left out, and the others can be used", async () => {
  let deep: JsonObject = {};
  for (let level = 0; level < 3_000; level += 1) deep = { items: deep };
  const tools = [
    { name: "deep", inputSchema: deep },
    { name: "flat", inputSchema: {} },
  ];
  const server = rawServer((method) => (method === "initialize" ? initializeResult : { tools, content: [] }));
  const host = await makeHost({ servers: { s: server }, policy: allow });
  await host.start("s");
  expect(host.catalog.tools.map(({ name }) => name)).toEqual(["flat"]);
  expect(problemsOf(host)).toMatchObject([{ kind: "invalid", item: "deep" }]);
});

test("a run tells the user which list failed", async () => {
  const model = createModel({ say: "done" });
  const host = await makeHost({ servers: { s: serverWith("tools/list=error") }, policy: allow, model });
  const notices: string[] = [];
  for await (const event of host.run("x")) if (event.type === "notice") notices.push(event.text);
  expect(notices).toEqual([expect.stringMatching(/^s did not list its features: tools: .*the database is locked/)]);
});

test("a server that lists nothing without a login needs one, although it accepts the handshake", async () => {
  const http = createServer(async (request, response) => {
    const { id, method } = JSON.parse((await text(request)) || "{}");
    if (method === "initialize") {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ jsonrpc: "2.0", id, result: { ...initializeResult, capabilities: { tools: {} } } }),
      );
    } else if (id === undefined) response.writeHead(request.method === "POST" ? 202 : 405).end();
    else response.writeHead(401, { "www-authenticate": "Bearer" }).end();
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(() => void http.close());
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const host = await makeHost({ servers: { s: { url, era: "2025-11-25" } } });
  await expect(host.start("s")).rejects.toMatchObject({ code: "unauthorized" });
  expect(host.servers[0]?.state).toBe("login");
});
