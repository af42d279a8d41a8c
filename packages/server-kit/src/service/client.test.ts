import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ToolError } from "portolan/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { type ServiceCall, ServiceClient } from "./client.ts";
import type { ServiceLimits } from "./limits.ts";
import type { Service } from "./service.ts";
import { type CallerContext, fixedToken, personalTokens } from "./tokens.ts";

interface Fixture {
  readonly service: Service;
  readonly seen: { readonly method: string; readonly url: string; readonly token: string; readonly body: string }[];
}

/** Starts a service that answers as told, until the test ends. */
async function serve(
  answer: (count: number, response: ServerResponse, request: IncomingMessage) => void,
): Promise<Fixture> {
  const seen: Fixture["seen"] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method = "", url = "", headers } = request;
    seen.push({ method, url, token: headers.authorization ?? "", body });
    answer(seen.length, response, request);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const tokenPage = "https://notes.example/tokens";
  return {
    service: {
      name: "Notes",
      api,
      apiVariable: "NOTES_API",
      tokenVariable: "NOTES_TOKEN",
      tokenOwner: "your account",
      tokenPage,
    },
    seen,
  };
}

function caller(subject?: string): CallerContext & { readonly shown: string[] } {
  const shown: string[] = [];
  const principal = subject === undefined ? { key: "local" } : { key: `user ${subject}`, subject, clientId: "app" };
  return { principal, signal: new AbortController().signal, status: (text) => void shown.push(text), shown };
}

const quick = { firstWaitMs: 1 };

function clientOf(service: Service, more: Partial<ServiceLimits> = {}, isReadOnly = false): ServiceClient {
  return new ServiceClient(service, {
    tokens: fixedToken(service, "secret"),
    isReadOnly,
    limits: { ...quick, ...more },
  });
}

const send = (client: ServiceClient, call: Partial<ServiceCall> = {}, context: CallerContext = caller()) =>
  client.request({ path: "/notes", ...call }, context);

test("sends the token, the query and a body, and reads the answer", async () => {
  const { service, seen } = await serve((_, response) => response.end('{"text":"hello"}'));
  const client = clientOf(service);
  expect((await send(client, { query: { page: 2, all: undefined } })).json).toEqual({ text: "hello" });
  await send(client, { json: { text: "ü" } });
  await send(client, { form: { text: "a b", cursor: undefined } });
  expect(seen).toEqual([
    { method: "GET", url: "/notes?page=2", token: "Bearer secret", body: "" },
    { method: "POST", url: "/notes", token: "Bearer secret", body: '{"text":"ü"}' },
    { method: "POST", url: "/notes", token: "Bearer secret", body: "text=a+b" },
  ]);
});

describe("a client that only reads", () => {
  test("refuses a change before it is sent", async () => {
    const { service, seen } = await serve((_, response) => response.end("{}"));
    const client = clientOf(service, {}, true);
    await expect(send(client, { json: {} })).rejects.toThrow(
      new ToolError("This server only reads. Nothing was changed"),
    );
    await expect(send(client, { method: "DELETE" })).rejects.toThrow(ToolError);
    // Some services also read by POST.
    await send(client, { form: { q: "x" }, isReading: true });
    expect(seen.map(({ method }) => method)).toEqual(["POST"]);
  });
});

test("repeats what only reads, and a change only if it says that it may be repeated", async () => {
  const { service, seen } = await serve((count, response) => response.writeHead(count % 3 === 0 ? 200 : 502).end("{}"));
  const client = clientOf(service);
  await send(client);
  expect(seen).toHaveLength(3);
  await expect(send(client, { json: {} })).rejects.toThrow("The change may have been made: look before you try again");
  expect(seen).toHaveLength(4);
  await send(client, { json: {}, isRepeatable: true });
  expect(seen).toHaveLength(6);
});

test("waits as long as the service asks, and shows it", async () => {
  const { service } = await serve((count, response) => {
    if (count === 1) response.writeHead(429, { "retry-after": "1" });
    response.end("{}");
  });
  const context = caller();
  const began = performance.now();
  await send(clientOf(service), { json: {} }, context);
  expect(performance.now() - began).toBeGreaterThan(900);
  expect(context.shown).toEqual(["Notes limits requests; trying again in 1 s"]);
});

test("does not wait longer than its limit, and says when to try again", async () => {
  const { service, seen } = await serve((_, response) => response.writeHead(429, { "retry-after": "90" }).end());
  await expect(send(clientOf(service))).rejects.toThrow("Notes limits requests. Try again in 90 s");
  expect(seen).toHaveLength(1);
});

test("one caller cannot fill the queue for the others", async () => {
  const held: ServerResponse[] = [];
  const { service } = await serve((_, response) => void held.push(response));
  const client = clientOf(service, { atOnce: 1, maxWaiting: 2 });
  const greedy = caller("greedy");
  const first = send(client, {}, greedy);
  const waiting = [send(client, {}, greedy), send(client, {}, greedy)];
  const refused = Promise.allSettled(waiting);
  const other = send(client, {}, caller("other"));
  for (let count = 0; count < 3; count += 1) {
    await expect.poll(() => held.length).toBe(count + 1);
    held[count]?.end("{}");
  }
  await first;
  await other;
  const results = await refused;
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  expect(String((results[1] as PromiseRejectedResult).reason)).toContain("Too many requests to Notes wait already");
});

test("a response above the limit is refused while it is read", async () => {
  const { service, seen } = await serve((_, response) => response.end("x".repeat(2_000)));
  const refusal = "The response of Notes is larger than 1000 bytes. Ask for less";
  await expect(send(clientOf(service, { maxBytes: 1_000 }))).rejects.toThrow(refusal);
  expect(seen).toHaveLength(1);
});

describe("the accounts of many people", () => {
  test("each request has the token of its caller", async () => {
    const { service, seen } = await serve((_, response) => response.end("{}"));
    const tokens = personalTokens(service, { tokenOf: async ({ subject, clientId }) => `${subject}-${clientId}` });
    const client = new ServiceClient(service, { tokens });
    await Promise.all(["ada", "bob"].map((subject) => send(client, { path: `/${subject}` }, caller(subject))));
    expect(seen.map(({ url, token }) => `${url} ${token}`).sort()).toEqual([
      "/ada Bearer ada-app",
      "/bob Bearer bob-app",
    ]);
    await expect(send(client)).rejects.toThrow("Not signed in at Notes. Sign in again");
  });

  test("a refused token is replaced once if there is a new one, and ends the sign-in if not", async () => {
    const { service, seen } = await serve((count, response) => response.writeHead(count === 2 ? 200 : 401).end("{}"));
    const given = ["old", "new", "new", "new", "new"];
    const ended: string[] = [];
    const accounts = {
      tokenOf: async () => given.shift() ?? "",
      ended: async ({ subject = "" }) => void ended.push(subject),
    };
    const client = new ServiceClient(service, { tokens: personalTokens(service, accounts) });
    await send(client, {}, caller("ada"));
    expect(ended).toEqual([]);
    await expect(send(client, {}, caller("ada"))).rejects.toThrow("Notes does not accept the sign-in. Sign in again");
    expect(ended).toEqual(["ada"]);
    expect(seen.map(({ token }) => token)).toEqual(["Bearer old", "Bearer new", "Bearer new"]);
  });

  test("a person without an account is asked to sign in, and other failures are passed on", async () => {
    const { service } = await serve((_, response) => response.end("{}"));
    const failing = (reason: Error) => {
      const tokens = personalTokens(service, { tokenOf: () => Promise.reject(reason) });
      return send(new ServiceClient(service, { tokens }), {}, caller("ada"));
    };
    await expect(failing(Object.assign(new Error("gone"), { code: "unauthorized" }))).rejects.toThrow("Not signed in");
    await expect(failing(new Error("The storage failed"))).rejects.toThrow("The storage failed");
  });
});
