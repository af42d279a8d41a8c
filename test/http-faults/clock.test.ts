import { get } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { TestIssuer } from "../auth/issuer.ts";
import { plainHeaders, send, toInitialize } from "../http/kit.ts";
import { toHeaders, toMeta } from "../http/peer.ts";
import { Forked, ServerProcess } from "./processes.ts";

const hourMs = 3_600_000;

/** Opens the stream of a session, and counts the comments that keep it alive. */
function openStream(url: string, session: string): { next(): Promise<void> } {
  let comments = 0;
  let wake = () => {};
  const headers = { accept: "text/event-stream", "mcp-session-id": session };
  const request = get(url, { headers, agent: false }, (response) => {
    response.setEncoding("utf8").on("data", (text: string) => {
      comments += text.split(": \n\n").length - 1;
      wake();
    });
    response.on("error", () => {});
  });
  request.on("error", () => {});
  onTestFinished(() => void request.destroy());
  return {
    async next() {
      const before = comments;
      while (comments === before) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

async function begin(url: string, token = "ada") {
  const headers = { ...plainHeaders, authorization: token };
  const answer = await send(url, { headers, body: toInitialize("2025-11-25") });
  await answer.text();
  return { status: answer.status, id: String(answer.headers["mcp-session-id"]) };
}

test("keep-alives go on when the clock is set back", { timeout: 15_000 }, async () => {
  const server = await ServerProcess.start({ keepAliveMs: 200 });
  const { id } = await begin(server.url);
  const stream = openStream(server.url, id);
  await stream.next();
  await server.ask("setBack", { ms: hourMs });
  // The first one may have been under way before.
  await stream.next();
  await stream.next();
});

test("idle sessions expire and leave their places when the clock is set back", async () => {
  const sessions = { idleMs: 60_000, maxPerCaller: 2 };
  const server = await ServerProcess.start({ sessions }, 0, { byToken: true });
  const first = await begin(server.url);
  expect([first.status, (await begin(server.url)).status, (await begin(server.url)).status]).toEqual([200, 200, 429]);
  await server.ask("setBack", { ms: hourMs });
  await server.ask("advance", { ms: 61_000 });
  expect((await begin(server.url)).status).toBe(200);
  const headers = { ...plainHeaders, authorization: "ada", "mcp-session-id": first.id };
  const late = await send(server.url, { headers, body: { jsonrpc: "2.0", id: 1, method: "ping" } });
  expect(late.status).toBe(404);
});

const resource = "https://mcp.example.com/mcp";

async function startProtected(issuerOf: (issuer: TestIssuer) => object) {
  const issuer = await TestIssuer.start(resource);
  const child = new Forked("protected-server.mjs", [JSON.stringify({ resource, issuers: [issuerOf(issuer)] })]);
  const url = String((await child.received((message) => "url" in message))["url"]);
  const call = async (token: string) => {
    const params = { name: "echo", arguments: {}, _meta: toMeta() };
    const headers = { ...toHeaders("tools/call", "echo"), authorization: `Bearer ${token}` };
    const answer = await send(url, { headers, body: { jsonrpc: "2.0", id: 1, method: "tools/call", params } });
    await answer.text();
    return answer.status;
  };
  const setBackAndWait = async () => {
    await child.ask("setBack", { ms: hourMs });
    await child.ask("advance", { ms: 61_000 });
  };
  // Valid before and after the clock is set back.
  const seconds = Math.floor(Date.now() / 1_000);
  const claims = issuer.claims({ iat: seconds - 7_200, exp: seconds + 7_200 });
  return { issuer, call, setBackAndWait, claims };
}

test("a revoked opaque token is refused after a minute when the clock is set back", async () => {
  const { issuer, call, setBackAndWait, claims } = await startProtected(({ url }) => ({
    ...{ issuer: url, endpoint: `${url}/introspect`, clientId: "server", clientSecret: "s:cret" },
  }));
  issuer.opaque.set("opaque", { ...claims, active: true });
  expect(await call("opaque")).toBe(200);
  issuer.opaque.delete("opaque");
  expect(await call("opaque")).toBe(200);
  await setBackAndWait();
  expect(await call("opaque")).toBe(401);
});

test("a rotated signing key is accepted after a minute when the clock is set back", async () => {
  const { issuer, call, setBackAndWait, claims } = await startProtected(({ url }) => ({ issuer: url }));
  expect(await call(await issuer.token({ claims }))).toBe(200);
  await issuer.rotate();
  await setBackAndWait();
  expect(await call(await issuer.token({ claims }))).toBe(200);
});
