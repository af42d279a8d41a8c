// Spans and durations as a collector gets them from the real OpenTelemetry SDK.
import { context, type Span, trace } from "@opentelemetry/api";
import { createMemoryPair, RpcError } from "portolan";
import { type Client, type ConnectOptions, connect } from "portolan/client";
import { traceClient, traceServer } from "portolan/otel";
import { createServer, serveChannel } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { createMemoryStorage } from "portolan/storage";
import { createHost } from "portolan-host";
import { describe, expect, onTestFinished, test } from "vitest";
import { pathTo } from "../examples/example.ts";
import { begin } from "../http/peer.ts";
import { revisions } from "../kit/revisions.ts";
import { useTelemetry } from "./use-telemetry.ts";

const bounds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
const newest = "2026-07-28";
/** Revisions whose servers can ask for a form. */
const stateful = ["2025-06-18", "2025-11-25"];
const otel = useTelemetry();

/** Of the provider that is registered now. */
const startSpan = (name: string): Span => trace.getTracer("test").startSpan(name);

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

const form = { type: "object", properties: { size: { type: "string" } }, required: ["size"] } as const;

const plain = createServer({ name: "traced", version: "1.0.0" }, { onError: () => {} })
  .tool("greet", {
    async run() {
      await nextTurn();
      startSpan("inside").end();
      return "hello";
    },
  })
  .tool("at-once", { run: () => "now" })
  .tool("fail", {
    run: () => {
      throw new Error("secret of the handler");
    },
  })
  .tool("refuse", {
    run: () => {
      throw new RpcError(4711, "refused");
    },
  })
  .tool("wait", {
    run: (_, ctx) =>
      new Promise((resolve) => {
        started.shift()?.();
        ctx.signal.addEventListener("abort", () => resolve("too late"));
      }),
  })
  .tool("order", {
    async run(_, ctx) {
      const answer = await ctx.elicit("size", { message: "Which size?", form });
      startSpan("ordered").end();
      return answer.action;
    },
  })
  .resource("notes://today", { name: "today", read: () => "nothing" })
  .prompt("story", { get: () => "Tell a story" });

/** Called when `wait` has begun. */
const started: (() => void)[] = [];

const traced = plain.use(traceServer());

async function connectMemory(options: ConnectOptions, server = traced): Promise<Client> {
  const [near, far] = createMemoryPair({ serialize: true });
  serveChannel(server, far);
  const client = await connect(near, { observer: traceClient(), ...options });
  onTestFinished(() => client.close());
  return client;
}

async function connectHttp(options: ConnectOptions): Promise<Client> {
  const serving = serveHttp(traced);
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen();
  const client = await connect(url, { observer: traceClient(), ...options });
  onTestFinished(() => client.close());
  return client;
}

async function connectStdio(options: ConnectOptions): Promise<Client> {
  const args = [pathTo("test/peers/otel/stdio-server.mjs"), otel.collector.url];
  const client = await connect({ command: process.execPath, args }, { observer: traceClient(), ...options });
  onTestFinished(() => client.close());
  return client;
}

/** Does work inside a span of its own, as a front end would. Returns the span and the ids that it has. */
async function inSpan(work: () => Promise<unknown>): Promise<{ traceId: string; spanId: string }> {
  const span: Span = startSpan("front end");
  await context.with(trace.setSpan(context.active(), span), work);
  span.end();
  await otel.telemetry.flush();
  return span.spanContext();
}

const network = {
  memory: {},
  stdio: { "network.transport": "pipe" },
  http: { "network.transport": "tcp", "network.protocol.name": "http" },
};
const transports = { memory: connectMemory, stdio: connectStdio, http: connectHttp };

describe.each(["memory", "stdio", "http"] as const)("over %s", (transport) => {
  test.each(revisions)("a call on %s is one trace from the caller to the handler", async (era) => {
    const client = await transports[transport]({ era });
    const { traceId, spanId } = await inSpan(() => client.callTool("greet"));
    const asking = await otel.collector.span("tools/call greet", "client", traceId);
    const answering = await otel.collector.span("tools/call greet", "server", traceId);
    const inside = await otel.collector.span("inside", "internal", traceId);
    expect(asking.parentSpanId).toBe(spanId);
    expect(answering.parentSpanId).toBe(asking.spanId);
    expect(inside.parentSpanId).toBe(answering.spanId);
    const common = {
      "mcp.method.name": "tools/call",
      "gen_ai.tool.name": "greet",
      "gen_ai.operation.name": "execute_tool",
      "mcp.protocol.version": era,
      "jsonrpc.request.id": expect.stringMatching(/^\d+$/),
      ...network[transport],
      ...(transport === "http" && era !== newest && { "mcp.session.id": expect.stringMatching(/.{20,}/) }),
    };
    expect(answering.attributes).toEqual(common);
    expect(asking.attributes).toEqual({
      ...common,
      ...(transport === "http" && { "server.address": "127.0.0.1", "server.port": expect.any(Number) }),
    });
    expect([asking.isError, answering.isError]).toEqual([false, false]);
  });
});

test("the requests that agree on a revision are traced too", async () => {
  const { traceId, spanId } = await inSpan(() => connectMemory({ era: "stateful" }));
  expect((await otel.collector.span("initialize", "client", traceId)).parentSpanId).toBe(spanId);
  expect((await otel.collector.span("initialize", "server", traceId)).attributes).toMatchObject({
    "mcp.method.name": "initialize",
  });
});

test("prompts are named, and resources are not", async () => {
  const client = await connectMemory({ era: newest });
  const { traceId } = await inSpan(async () => {
    await client.getPrompt("story");
    await client.readResource("notes://today");
  });
  for (const kind of ["client", "server"] as const) {
    const prompt = await otel.collector.span("prompts/get story", kind, traceId);
    expect(prompt.attributes).toMatchObject({ "gen_ai.prompt.name": "story" });
    expect(prompt.attributes).not.toHaveProperty("gen_ai.operation.name");
    const resource = await otel.collector.span("resources/read", kind, traceId);
    expect(resource.attributes).toMatchObject({ "mcp.resource.uri": "notes://today" });
  }
});

describe.each([newest, "2025-11-25"])("on %s", (era) => {
  test("a failed tool, an error of the protocol and an unknown tool have their error types", async () => {
    const client = await connectMemory({ era });
    const { traceId } = await inSpan(async () => {
      await client.callTool("fail");
      await client.callTool("refuse").catch(() => {});
      await client.callTool("invented").catch(() => {});
    });
    for (const kind of ["client", "server"] as const) {
      const failed = await otel.collector.span("tools/call fail", kind, traceId);
      expect(failed).toMatchObject({ isError: true, attributes: { "error.type": "tool_error" } });
      expect(failed.attributes).not.toHaveProperty("rpc.response.status_code");
      const refused = await otel.collector.span("tools/call refuse", kind, traceId);
      const codes = { "error.type": "4711", "rpc.response.status_code": "4711" };
      expect(refused).toMatchObject({ isError: true, attributes: codes });
      const unknown = await otel.collector.span("tools/call invented", kind, traceId);
      expect(unknown).toMatchObject({ isError: true, attributes: { "error.type": "-32602" } });
    }
    expect(JSON.stringify(otel.collector.spans)).not.toContain("secret of the handler");
  });

  test("a cancelled call is cancelled on both sides", async () => {
    const client = await connectMemory({ era });
    const { traceId } = await inSpan(async () => {
      const stop = new AbortController();
      const begun = new Promise<void>((resolve) => started.push(resolve));
      const call = client.callTool("wait", {}, { signal: stop.signal }).catch(() => {});
      await begun;
      stop.abort();
      await call;
    });
    for (const kind of ["client", "server"] as const) {
      const span = await otel.collector.span("tools/call wait", kind, traceId);
      expect(span).toMatchObject({ isError: true, attributes: { "error.type": "cancelled" } });
    }
  });

  test("a call that takes too long timed out at the client", async () => {
    const client = await connectMemory({ era });
    const { traceId } = await inSpan(() => client.callTool("wait", {}, { totalMs: 1 }).catch(() => {}));
    const span = await otel.collector.span("tools/call wait", "client", traceId);
    expect(span).toMatchObject({ isError: true, attributes: { "error.type": "timeout" } });
  });

  test("every round of a call with questions belongs to its caller", async () => {
    const elicit = async () => {
      await nextTurn();
      startSpan("answered").end();
      return { action: "accept" as const, content: { size: "L" } };
    };
    const client = await connectMemory({ era, answers: { elicit } });
    const { traceId, spanId } = await inSpan(() => client.callTool("order"));
    const rounds = era === newest ? 2 : 1;
    const own = (kind: string) => (span: { traceId: string; kind: string; name: string }) =>
      span.traceId === traceId && span.kind === kind && span.name === "tools/call order";
    const asking = otel.collector.spans.filter(own("client"));
    expect(asking.map(({ parentSpanId }) => parentSpanId)).toEqual(Array(rounds).fill(spanId));
    const answering = otel.collector.spans.filter(own("server"));
    expect(answering.map(({ parentSpanId }) => parentSpanId).sort()).toEqual(asking.map((span) => span.spanId).sort());
    expect((await otel.collector.span("ordered", "internal", traceId)).parentSpanId).toBe(answering.at(-1)?.spanId);
    // A stateless server asks in its result, between two requests of the caller.
    if (era === newest) expect((await otel.collector.span("answered", "internal", traceId)).parentSpanId).toBe(spanId);
  });
});

describe.each(["memory", "stdio", "http"] as const)("a question over %s", (transport) => {
  const answers = {
    elicit: async () => {
      await nextTurn();
      startSpan("answered").end();
      return { action: "accept" as const, content: { size: "L" } };
    },
  };

  test.each(stateful)("on %s is part of the trace, with a span on both sides", async (era) => {
    const client = await transports[transport]({ era, answers });
    const { traceId } = await inSpan(() => client.callTool("order"));
    const call = await otel.collector.span("tools/call order", "server", traceId);
    const sent = await otel.collector.span("elicitation/create", "client", traceId);
    const received = await otel.collector.span("elicitation/create", "server", traceId);
    expect(sent.parentSpanId).toBe(call.spanId);
    expect(received.parentSpanId).toBe(sent.spanId);
    expect((await otel.collector.span("answered", "internal", traceId)).parentSpanId).toBe(received.spanId);
    const common = {
      "mcp.method.name": "elicitation/create",
      "mcp.protocol.version": era,
      ...network[transport],
      ...(transport === "http" && { "mcp.session.id": expect.stringMatching(/.{20,}/) }),
    };
    expect(sent.attributes).toEqual(common);
    expect(received.attributes).toEqual({
      ...common,
      "jsonrpc.request.id": expect.any(String),
      ...(transport === "http" && { "server.address": "127.0.0.1", "server.port": expect.any(Number) }),
    });
  });
});

test("a question that the client refuses is an error on both sides", async () => {
  const client = await connectMemory({ era: "2025-11-25", answers: { elicit: () => Promise.reject(new Error("no")) } });
  const { traceId } = await inSpan(() => client.callTool("order").catch(() => {}));
  for (const kind of ["client", "server"] as const) {
    const span = await otel.collector.span("elicitation/create", kind, traceId);
    expect(span).toMatchObject({ isError: true, attributes: { "rpc.response.status_code": expect.any(String) } });
  }
});

describe("the duration of a session", () => {
  const durations = async (side: "client" | "server") => {
    await otel.telemetry.flush();
    return otel.collector.metrics.get(`mcp.${side}.session.duration`) ?? { unit: undefined, points: [] };
  };

  test.each(["memory", "stdio", "http"] as const)("over %s is recorded when it ends", async (transport) => {
    const era = "2025-06-18";
    const client = await transports[transport]({ era });
    await client.callTool("greet");
    await client.close();
    const attributes = { "mcp.protocol.version": era, ...network[transport] };
    const atClient = {
      ...attributes,
      ...(transport === "http" && { "server.address": "127.0.0.1", "server.port": expect.any(Number) }),
    };
    const { unit, points } = await durations("client");
    expect(unit).toBe("s");
    expect(points).toContainEqual({ attributes: atClient, value: expect.any(Number), bounds });
    // A process that ends sends no metrics here.
    if (transport === "stdio") return;
    await expect
      .poll(async () => (await durations("server")).points)
      .toContainEqual({ attributes, value: expect.any(Number), bounds });
  });

  test("has the type of the error that ended it, and does not exist on the newest revision", async () => {
    const [near, far] = createMemoryPair({ serialize: true });
    const served = serveChannel(plain, far);
    const client = await connect(near, { era: "2024-11-05", observer: traceClient() });
    onTestFinished(() => client.close());
    await served.close();
    await (await connectMemory({ era: newest })).close();
    const { points } = await durations("client");
    const ofVersion = (version: string) =>
      points.filter(({ attributes }) => attributes["mcp.protocol.version"] === version);
    expect(ofVersion("2024-11-05")).toContainEqual(
      expect.objectContaining({
        attributes: { "mcp.protocol.version": "2024-11-05", "error.type": "connection-closed" },
      }),
    );
    expect(ofVersion(newest)).toEqual([]);
  });

  test("is recorded by the process that began it, also if another one ends it", async () => {
    const storage = createMemoryStorage();
    const nodes = [serveHttp(traced, { storage }), serveHttp(traced, { storage })];
    onTestFinished(() => Promise.all(nodes.map((node) => node.close(0))).then(() => {}));
    const [one, other] = await Promise.all(nodes.map((node) => node.listen()));
    const peer = await begin(one?.url ?? "", "2025-03-26");
    const headers = { "mcp-session-id": peer.id };
    expect((await fetch(other?.url ?? "", { method: "DELETE", headers })).status).toBe(204);
    const attributes = { "mcp.protocol.version": "2025-03-26", ...network.http };
    await expect
      .poll(async () => (await durations("server")).points)
      .toContainEqual({ attributes, value: expect.any(Number), bounds });
  });
});

test("a round that follows the answer of another process belongs to the caller too", async () => {
  // Its response arrives in the context in which the process was started.
  const client = await connectStdio({
    era: newest,
    answers: { elicit: () => ({ action: "accept", content: { size: "L" } }) },
  });
  const { traceId, spanId } = await inSpan(() => client.callTool("order"));
  const asking = otel.collector.spans.filter((span) => span.traceId === traceId && span.kind === "client");
  expect(asking.map(({ parentSpanId }) => parentSpanId)).toEqual([spanId, spanId]);
});

test("a parent in the message goes before the span around the request, which is linked", async () => {
  const [near, far] = createMemoryPair({ serialize: true });
  serveChannel(traced, far);
  const client = await connect(near, { era: newest });
  onTestFinished(() => client.close());
  const parent = startSpan("elsewhere");
  const { traceId, spanId } = parent.spanContext();
  parent.end();
  const around = await inSpan(async () => {
    await client.callTool("at-once", {}, { meta: { traceparent: `00-${traceId}-${spanId}-01` } });
    await client.callTool("at-once");
  });
  const told = await otel.collector.span("tools/call at-once", "server", traceId);
  expect(told).toMatchObject({ parentSpanId: spanId, links: [around.spanId] });
  const untold = await otel.collector.span("tools/call at-once", "server", around.traceId);
  expect(untold).toMatchObject({ parentSpanId: around.spanId, links: [] });
});

test.each(["x", "00-0-0-01", 7, null])("ignores the invalid parent %j", async (traceparent) => {
  const client = await connectMemory({ era: newest, observer: { begin: () => undefined } });
  const { traceId, spanId } = await inSpan(() => client.callTool("at-once", {}, { meta: { traceparent } }));
  expect((await otel.collector.span("tools/call at-once", "server", traceId)).parentSpanId).toBe(spanId);
});

test("arguments, results and messages are recorded only where that is asked for", async () => {
  const silent = await connectMemory({ era: newest });
  const first = await inSpan(() => silent.callTool("greet", { password: "hunter2" }));
  for (const kind of ["client", "server"] as const) {
    const { attributes } = await otel.collector.span("tools/call greet", kind, first.traceId);
    expect(JSON.stringify(attributes)).not.toMatch(/hunter2|hello/);
  }
  const observer = traceClient({ recordContent: true });
  const open = await connectMemory({ era: newest, observer }, plain.use(traceServer({ recordContent: true })));
  const second = await inSpan(async () => {
    await open.callTool("greet", { password: "hunter2" });
    await open.callTool("refuse").catch(() => {});
  });
  for (const kind of ["client", "server"] as const) {
    const { attributes } = await otel.collector.span("tools/call greet", kind, second.traceId);
    expect(attributes["gen_ai.tool.call.arguments"]).toBe('{"password":"hunter2"}');
    expect(attributes["gen_ai.tool.call.result"]).toContain('"text":"hello"');
    expect((await otel.collector.span("tools/call refuse", kind, second.traceId)).message).toBe("refused");
  }
});

test("durations have the names, the unit and the bounds of the conventions, and no invented tool", async () => {
  const client = await connectMemory({ era: newest });
  await client.callTool("at-once");
  await client.callTool("made-up").catch(() => {});
  await otel.telemetry.flush();
  for (const side of ["client", "server"]) {
    const { unit, points } = otel.collector.metrics.get(`mcp.${side}.operation.duration`) ?? { points: [] };
    expect(unit).toBe("s");
    expect(points[0]?.bounds).toEqual(bounds);
    const attributes = {
      "mcp.method.name": "tools/call",
      "gen_ai.tool.name": "at-once",
      "gen_ai.operation.name": "execute_tool",
      "mcp.protocol.version": newest,
    };
    expect(points).toContainEqual({ attributes, value: expect.any(Number), bounds });
    expect(points.map((point) => point.attributes["gen_ai.tool.name"])).not.toContain("made-up");
    expect(points).toContainEqual(
      expect.objectContaining({ attributes: expect.objectContaining({ "error.type": "-32602" }) }),
    );
  }
});

test("no request invents a series in metrics, however it ends, and an id is cut off", async () => {
  const server = createServer({ name: "traced", version: "1.0.0" })
    .use(traceServer())
    .use(async (exchange, next) => {
      const { name } = exchange.params;
      if (name === "invented-refused") throw new RpcError(4711, "refused");
      if (name === "invented-cancelled")
        await new Promise((resolve) => exchange.signal.addEventListener("abort", resolve));
      return next(exchange);
    })
    .tool("real", { run: () => "now" });
  const [client, far] = createMemoryPair();
  serveChannel(server, far);
  const ids = ["1", "2", "i".repeat(5_000)];
  const answered = new Promise<void>((resolve) => {
    const message = (response: object) => "id" in response && response.id === ids[2] && resolve();
    client.open({ message, batch() {}, unreadable() {}, closed() {} });
  });
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": newest,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
    traceparent: `00-${traceId}-b7ad6b7169203331-01`,
  };
  for (const [index, name] of ["invented-cancelled", "invented-refused", "real"].entries()) {
    client.send({ jsonrpc: "2.0", id: ids[index] ?? "", method: "tools/call", params: { name, _meta } });
  }
  client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "1" } });
  await answered;
  await otel.telemetry.flush();
  const { points } = otel.collector.metrics.get("mcp.server.operation.duration") ?? { points: [] };
  const names = points.map(({ attributes }) => String(attributes["gen_ai.tool.name"]));
  expect(names).toContain("real");
  expect(names.filter((name) => name.startsWith("invented"))).toEqual([]);
  const { attributes } = await otel.collector.span("tools/call real", "server", traceId);
  expect(attributes["jsonrpc.request.id"]).toBe("i".repeat(1_000));
});

test("a context of a front end goes through a host to a server in another process", async () => {
  const args = [pathTo("test/peers/otel/stdio-server.mjs"), otel.collector.url];
  const host = await createHost({
    servers: { traced: { command: process.execPath, args } },
    policy: [{ then: "allow" }],
    observer: traceClient(),
  });
  onTestFinished(() => host.close());
  const { traceId, spanId } = await inSpan(async () => {
    const { content } = await host.callTool("traced", "greet", {}, { by: "user" });
    expect(content).toMatchObject([{ text: "hello" }]);
  });
  const asking = await otel.collector.span("tools/call greet", "client", traceId);
  const answering = await otel.collector.span("tools/call greet", "server", traceId);
  expect(asking.parentSpanId).toBe(spanId);
  expect(answering.parentSpanId).toBe(asking.spanId);
  expect((await otel.collector.span("inside", "internal", traceId)).parentSpanId).toBe(answering.spanId);
});
