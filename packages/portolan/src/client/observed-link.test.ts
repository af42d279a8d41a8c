import { describe, expect, onTestFinished, test } from "vitest";
import { createMemoryPair } from "../jsonrpc/memory.ts";
import { createServer, serveChannel } from "../server/index.ts";
import type { Client } from "./api.ts";
import { connect } from "./connect.ts";
import type { ConnectOptions, ObservedRequest, ObservedSession, RequestObserver, RequestOutcome } from "./options.ts";

const server = createServer({ name: "observed", version: "1.0.0" })
  .tool("meta", { run: (_, ctx) => JSON.stringify(ctx.meta) })
  .tool("wait", {
    run: (_, ctx) => new Promise((resolve) => ctx.signal.addEventListener("abort", () => resolve("x"))),
  })
  .tool("ask", { run: async (_, ctx) => String(await ctx.confirm("sure", "Sure?")) });

async function start(options: ConnectOptions): Promise<Client> {
  const [near, far] = createMemoryPair({ serialize: true });
  serveChannel(server, far);
  const client = await connect(near, options);
  onTestFinished(() => client.close());
  return client;
}

/** An observer that writes everything down. */
function recorder(meta?: { [name: string]: string }) {
  const begun: ObservedRequest[] = [];
  const ended: RequestOutcome[] = [];
  const observer: RequestObserver = {
    begin(request) {
      begun.push(request);
      return { ...(meta && { meta }), end: (outcome) => void ended.push(outcome) };
    },
  };
  return { begun, ended, observer };
}

test.each(["stateful", "stateless"])("an observer of a %s client sees every request and its end", async (era) => {
  const { begun, ended, observer } = recorder();
  const client = await start({ era, observer });
  await client.callTool("meta");
  await expect(client.callTool("unknown")).rejects.toThrow();
  expect(begun.map(({ method }) => method)).toEqual([
    era === "stateful" ? "initialize" : "server/discover",
    ...["tools/call", "tools/call"],
  ]);
  expect(begun[0]?.server).toBeUndefined();
  expect(begun[1]).toMatchObject({ params: { name: "meta" }, server: { era }, transport: { kind: "other" } });
  expect(new Set(begun.map(({ id }) => id)).size).toBe(3);
  expect(ended).toMatchObject([{ result: {} }, { result: { content: [{}] } }, { error: { code: -32602 } }]);
});

test.each(["stateful", "stateless"])("an observer of a %s client adds members to _meta", async (era) => {
  const { observer } = recorder({ traceparent: "ours" });
  const client = await start({ era, observer });
  const result = await client.callTool("meta", {}, { meta: { "example.com/own": 1 } });
  const { text } = result.content[0] as { text: string };
  expect(JSON.parse(text)).toMatchObject({ traceparent: "ours", "example.com/own": 1 });
});

test("a call that is aborted or times out ends once, with the reason", async () => {
  const { ended, observer } = recorder();
  const client = await start({ era: "stateless", observer });
  await expect(client.callTool("wait", {}, { totalMs: 1 })).rejects.toMatchObject({ code: "timeout" });
  const stop = new AbortController();
  const call = client.callTool("wait", {}, { signal: stop.signal });
  stop.abort();
  await expect(call).rejects.toMatchObject({ code: "cancelled" });
  expect(ended.slice(1)).toMatchObject([{ error: { code: "timeout" } }, { error: { code: "cancelled" } }]);
});

test("a call that is open when the connection closes ends with the reason", async () => {
  const { ended, observer } = recorder();
  const client = await start({ era: "stateless", observer });
  const call = client.callTool("wait");
  await client.close();
  await expect(call).rejects.toMatchObject({ code: "connection-closed" });
  expect(ended.slice(1)).toMatchObject([{ error: { code: "connection-closed" } }]);
});

test("an observer that throws is reported, and fails no call", async () => {
  const errors: string[] = [];
  const fail = (why: string) => () => {
    throw new Error(why);
  };
  const onError = ({ message }: Error) => errors.push(message);
  const atBegin = await start({ era: "stateless", onError, observer: { begin: fail("at the beginning") } });
  await atBegin.callTool("meta");
  const atEnd = await start({ era: "stateless", onError, observer: { begin: () => ({ end: fail("at the end") }) } });
  await atEnd.callTool("meta");
  expect(errors).toEqual(["at the beginning", "at the beginning", "at the end", "at the end"]);
  errors.length = 0;
  const atRun = await start({
    era: "stateless",
    onError,
    observer: { begin: () => ({ end: () => {}, run: fail("in run") }) },
  });
  await atRun.callTool("meta");
  expect(errors).toEqual(["in run", "in run"]);
});

test("what follows a response runs inside `run`", async () => {
  const order: string[] = [];
  const observer: RequestObserver = {
    begin: () => ({
      end: () => order.push("end"),
      run(work) {
        order.push("run");
        work();
      },
    }),
  };
  const client = await start({ era: "stateless", observer });
  await client.callTool("meta");
  expect(order).toEqual(["end", "run", "end", "run"]);
});

test("connect refuses an observer without `begin`", async () => {
  await expect(start({ observer: {} as RequestObserver })).rejects.toThrow("observer: expected an object with `begin`");
});

describe("an observer of questions", () => {
  const confirm = { elicit: () => ({ action: "accept" as const }) };

  /** An observer that writes questions down, and runs their answers. */
  function questioner(run?: (work: () => void) => void) {
    const asked: ObservedRequest[] = [];
    const ended: RequestOutcome[] = [];
    const observer: RequestObserver = {
      begin: () => undefined,
      beginQuestion(question) {
        asked.push(question);
        return { end: (outcome) => void ended.push(outcome), ...(run && { run }) };
      },
    };
    return { asked, ended, observer };
  }

  test("sees a request of a stateful server and its answer, and runs the work between them", async () => {
    let runs = 0;
    const { asked, ended, observer } = questioner((work) => {
      runs += 1;
      work();
    });
    const client = await start({ era: "stateful", observer, answers: confirm });
    expect((await client.callTool("ask")).content).toMatchObject([{ text: "true" }]);
    expect(asked).toMatchObject([{ method: "elicitation/create", params: { message: "Sure?" }, server: {} }]);
    expect(ended).toMatchObject([{ result: { action: "accept" } }]);
    expect(runs).toBe(1);
  });

  test("sees nothing of a stateless server, which asks in results", async () => {
    const { asked, observer } = questioner();
    const client = await start({ era: "stateless", observer, answers: confirm });
    expect((await client.callTool("ask")).content).toMatchObject([{ text: "true" }]);
    expect(asked).toEqual([]);
  });

  test("is told of an error, of a cancellation, and of a lost connection", async () => {
    const { ended, observer } = questioner();
    let isAsked = () => {};
    const begun = () =>
      new Promise<void>((resolve) => {
        isAsked = resolve;
      });
    const elicit = () => {
      isAsked();
      return new Promise<never>(() => {});
    };
    const failing = { elicit: () => Promise.reject(new Error("broken")) };
    const client = await start({ era: "stateful", observer, answers: { elicit } });
    await expect(client.callTool("ask", {}, { answers: failing })).rejects.toThrow("did not answer");
    expect(ended).toMatchObject([{ error: { name: "RpcError" } }]);
    const stop = new AbortController();
    const asking = begun();
    const call = client.callTool("ask", {}, { signal: stop.signal }).catch(() => {});
    await asking;
    stop.abort();
    await call;
    await expect.poll(() => ended).toHaveLength(2);
    expect(ended[1]).toMatchObject({ error: { code: "cancelled" } });
    const last = begun();
    void client.callTool("ask").catch(() => {});
    await last;
    await client.close();
    expect(ended[2]).toMatchObject({ error: { code: "connection-closed" } });
  });

  test("that throws is reported, and the question is answered", async () => {
    const errors: string[] = [];
    const observer: RequestObserver = {
      begin: () => undefined,
      beginQuestion: () => ({
        end() {
          throw new Error("end");
        },
        run() {
          throw new Error("run");
        },
      }),
    };
    const onError = ({ message }: Error) => errors.push(message);
    const client = await start({ era: "stateful", observer, answers: confirm, onError });
    expect((await client.callTool("ask")).content).toMatchObject([{ text: "true" }]);
    expect(errors).toEqual(["run", "end"]);
  });
});

describe("an observer of sessions", () => {
  function watcher() {
    const begun: ObservedSession[] = [];
    const ended: (string | undefined)[] = [];
    const observer: RequestObserver = {
      begin: () => undefined,
      beginSession(session) {
        begun.push(session);
        return (error) => void ended.push(error?.message);
      },
    };
    return { begun, ended, observer };
  }

  test("is told of the handshake, and once of the end", async () => {
    const { begun, ended, observer } = watcher();
    const client = await start({ era: "2025-06-18", observer });
    expect(begun).toMatchObject([{ version: "2025-06-18", transport: { kind: "other" } }]);
    expect(ended).toEqual([]);
    await client.close();
    await client.close();
    expect(ended).toEqual([undefined]);
  });

  test("gets the reason if the server ends it", async () => {
    const { ended, observer } = watcher();
    const [near, far] = createMemoryPair({ serialize: true });
    const served = serveChannel(server, far);
    const client = await connect(near, { era: "stateful", observer });
    onTestFinished(() => client.close());
    await served.close();
    await expect.poll(() => ended).toEqual([expect.any(String)]);
  });

  test("sees none at a stateless server", async () => {
    const { begun, observer } = watcher();
    await start({ era: "stateless", observer });
    expect(begun).toEqual([]);
  });
});
