// Requests that a server keeps for long: they count with the memory that they take, whatever form they have.
import { createServer, live } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { describe, expect, onTestFinished, test } from "vitest";

const info = { name: "test", version: "1.0.0" };
const version = "2026-07-28";

interface Call {
  readonly method: string;
  /** JSON text of the params, without braces and `_meta`. */
  readonly params: string;
  /** JSON text of further members of `_meta`. Written by hand, because the nested ones have no other way to be written. */
  readonly meta?: string;
  /** JSON text of further members of the message. */
  readonly more?: string;
}

async function start(server: Parameters<typeof serveHttp>[0]) {
  const endpoint = serveHttp(server, { caller: (request) => request.header("x-caller") });
  onTestFinished(() => endpoint.close(0));
  const { url } = await endpoint.listen();
  return async (caller: string, { method, params, meta = '"none":0', more = "" }: Call) => {
    const described = `"io.modelcontextprotocol/protocolVersion":"${version}",
      "io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},
      "io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}`;
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const response = await fetch(url, {
      method: "POST",
      signal: stop.signal,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": version,
        "mcp-method": method,
        ...(method === "tools/call" && { "mcp-name": "ask" }),
        "x-caller": caller,
      },
      body: `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${params},"_meta":{${described},${meta}}}${more}}`,
    });
    return { response, close: () => stop.abort() };
  };
}

/** The tool of a call is `ask`, which here waits until the test ends. */
test.each([
  ["its arguments", (list: string) => ({ params: `"name":"ask","arguments":{"list":${list}}` })],
  ["members of its _meta", (list: string) => ({ meta: `"list":${list}` })],
  ["unknown members of its message", (list: string) => ({ more: `,"list":${list}` })],
])("a call in flight counts with the memory that %s take", async (_, fill) => {
  let end: (text: string) => void = () => {};
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  let calls = 0;
  const server = createServer(info).tool("ask", {
    run() {
      calls += 1;
      return ended;
    },
  });
  const send = await start(server);
  // 60 kB of text are 1.4 MB of objects; 46 of them fit into 64 MiB.
  const call: Call = { ...ask, ...fill(`[${Array(20_000).fill("{}").join(",")}]`) };
  const answers = Array.from({ length: 60 }, () => send("hostile", call));
  const refused = await Promise.all(answers.slice(47).map((answer) => answer.then(({ response }) => response.status)));
  expect(refused).toEqual(Array(60 - 47).fill(429));
  expect(calls).toBeLessThanOrEqual(47);
  expect(calls).toBeGreaterThanOrEqual(45);
  end("done");
  await Promise.all(answers);
  expect((await send("hostile", call)).response.status).toBe(200);
});

/** A tool that asks twice and waits in memory. */
const asking = () =>
  createServer(info).tool("ask", {
    asks: "park",
    run: async (_, ctx) => String((await ctx.confirm("a", "First?")) && (await ctx.confirm("b", "Second?"))),
  });
const ask: Call = { method: "tools/call", params: '"name":"ask","arguments":{}' };

describe("a parked call", () => {
  test.each([
    ["large text", `"pad":"${"x".repeat(4_000_000)}"`, 16],
    [
      "large text and a value nested deeper than the stack",
      `"d":${"[".repeat(20_000)}${"]".repeat(20_000)},"pad":"${"x".repeat(4_000_000)}"`,
      12,
    ],
    ["a list of empty objects", `"list":[${Array(400_000).fill("{}").join(",")}]`, 2],
  ])("counts with the memory of its request: %s", async (_, meta, most) => {
    const send = await start(asking());
    const statuses: number[] = [];
    for (let count = 0; count < most + 2; count += 1) {
      const { response } = await send("hostile", { ...ask, meta });
      statuses.push(response.status);
      await response.text();
    }
    // Not exact: a request also counts while it is served.
    expect(statuses.slice(0, most - 1)).toEqual(Array(most - 1).fill(200));
    expect(statuses.slice(-1)).toEqual([429]);
    const innocent = await send("innocent", ask);
    expect(await innocent.response.json()).toMatchObject({ result: { resultType: "input_required" } });
  });

  test("counts with its first request also in later rounds", async () => {
    const send = await start(asking());
    const meta = `"pad":"${"x".repeat(4_000_000)}"`;
    const answers: string[] = [];
    for (let count = 0; count < 18; count += 1) {
      const first = (await (await send("hostile", { ...ask, meta })).response.json()) as Answer;
      const { requestState } = first.result ?? {};
      if (requestState === undefined) {
        answers.push("refused");
        continue;
      }
      const params = `${ask.params},"inputResponses":{"a":{"action":"accept"}},"requestState":"${requestState}"`;
      const second = (await (await send("hostile", { ...ask, params })).response.json()) as Answer;
      answers.push(Object.keys(second.result?.inputRequests ?? {}).join());
    }
    expect(answers).toEqual([...Array(15).fill("b"), ...Array(3).fill("refused")]);
  });
});

interface Answer {
  readonly result?: { readonly requestState?: string; readonly inputRequests?: object };
}

test("a subscription counts with the memory of its request, and its end makes room", async () => {
  const send = await start(live(asking()));
  const listen: Call = {
    method: "subscriptions/listen",
    params: '"notifications":{"toolsListChanged":true}',
    // Counted twice: as a request in flight, and as one that is kept.
    meta: `"list":[${Array(220_000).fill("{}").join(",")}]`,
  };
  const open = [await send("hostile", listen), await send("hostile", listen)];
  expect(open.map(({ response }) => response.headers.get("content-type"))).toEqual(Array(2).fill("text/event-stream"));
  expect((await send("hostile", listen)).response.status).toBe(429);
  expect((await send("innocent", { ...listen, meta: '"none":0' })).response.status).toBe(200);
  open[0]?.close();
  await expect.poll(async () => (await send("hostile", listen)).response.status).toBe(200);
});
