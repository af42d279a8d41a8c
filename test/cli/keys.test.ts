// A server at an address that wants an API key in a header, and offers no sign-in.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { makeHome, runPortolan } from "./kit.ts";

/** Serves a server of 2025-06-18 to requests with the right key. Returns its address. */
async function serveWithKey(refusal: object = { error: "missing X-Api-Key" }): Promise<string> {
  const results: { readonly [method: string]: object } = {
    initialize: {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "keyed", version: "1" },
    },
    "tools/list": { tools: [] },
  };
  const server = createServer(async (request, response) => {
    const asked = await text(request);
    response.setHeader("content-type", "application/json");
    if (request.url !== "/mcp") response.writeHead(404).end("{}");
    else if (request.headers["x-api-key"] !== "k-1") response.writeHead(401).end(JSON.stringify(refusal));
    else {
      const { id, method } = JSON.parse(asked || "{}");
      const error = { code: -32601, message: "no such method" };
      const answer = { jsonrpc: "2.0", id, ...(results[method] ? { result: results[method] } : { error }) };
      response.writeHead(id === undefined ? 202 : 200).end(id === undefined ? "" : JSON.stringify(answer));
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

async function failure(args: readonly string[], cwd = makeHome()) {
  const { code, stderr } = await runPortolan(args, { cwd });
  return { code, ...JSON.parse(stderr.trim().split("\n").at(-1) ?? "").error };
}

test.each([["ls"], ["call", "next"], ["serve", "--stdio"], ["check"]])(
  "%s says what the server wants, and the step passes it",
  async (command, ...more) => {
    const url = await serveWithKey();
    const words = command === "call" ? [command, url, ...more] : [command, ...more, url];
    expect(await failure(words)).toEqual({
      code: 3,
      kind: "auth",
      message: "127.0.0.1 refused the request (401): missing X-Api-Key",
      next: `pass its key: portolan ${command} --header 'X-Api-Key=…' ${words.slice(1).join(" ")}`,
    });
  },
);

test("the step works when the key is filled in, and a wrong key is called refused", async () => {
  const url = await serveWithKey({ message: "no key" });
  const cwd = makeHome();
  expect((await failure(["ls", url], cwd)).next).toBe(`pass its key: portolan ls --header 'Authorization=…' ${url}`);
  expect(await failure(["ls", "--header", "X-Api-Key=wrong-1", url], cwd)).toEqual({
    code: 3,
    kind: "auth",
    message: "127.0.0.1 refused the request with the header X-Api-Key (401): no key",
    next: `pass its key: portolan ls --header 'X-Api-Key=…' ${url}`,
  });
  expect((await runPortolan(["ls", "--header", "X-Api-Key=k-1", url], { cwd })).code).toBe(0);
});

test("login and doctor say that there is no sign-in", async () => {
  const url = await serveWithKey();
  const next = (command: string) => `pass its key: portolan ${command} --header 'X-Api-Key=…' ${url}`;
  expect(await failure(["login", url])).toEqual({
    code: 3,
    kind: "auth",
    message: "127.0.0.1 has no sign-in; it refused the request (401): missing X-Api-Key",
    next: next("ls"),
  });
  const { stdout } = await runPortolan(["doctor", url], { cwd: makeHome() });
  expect(JSON.parse(stdout).findings).toMatchObject([
    { id: "missing-key", what: "it refused the request (401): missing X-Api-Key", next: next("doctor") },
  ]);
});

test.each([[{}], [{ "www-authenticate": "Bearer" }]])(
  "ls, doctor and login agree on a 401 without metadata and with the headers %j",
  async (headers) => {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(401, headers).end();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const cwd = makeHome();
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    await runPortolan(["add", "locked", url], { cwd });
    const either = "refused the request (401); it may require a sign-in, or a key in a header";
    const next = "pass its key: portolan add locked --header 'Authorization=…'";
    expect(await failure(["ls", "locked"], cwd)).toMatchObject({ code: 3, message: `locked ${either}`, next });
    expect(await failure(["login", "locked"], cwd)).toMatchObject({
      ...{ code: 3, message: `locked names no place to sign in; it ${either}`, next },
    });
    const { stdout } = await runPortolan(["doctor", "locked"], { cwd });
    expect(JSON.parse(stdout).findings).toMatchObject([{ id: "missing-key", what: `it ${either}`, next }]);
    expect((await failure(["ls", url], cwd)).next).toBe(`pass its key: portolan ls --header 'Authorization=…' ${url}`);
  },
);

test("a configured server gets the header in its entry", async () => {
  const url = await serveWithKey();
  const cwd = makeHome();
  expect((await runPortolan(["add", "keyed", url], { cwd })).code).toBe(0);
  const { next } = await failure(["ls", "keyed"], cwd);
  expect(next).toBe("pass its key: portolan add keyed --header 'X-Api-Key=…'");
  expect((await runPortolan(["add", "keyed", "--header", "X-Api-Key=k-1"], { cwd })).code).toBe(0);
  expect((await runPortolan(["ls", "keyed"], { cwd })).code).toBe(0);
});
