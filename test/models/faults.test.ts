import { createServer } from "node:http";
import { createClock } from "portolan/testing";
import { ModelFailure, type Retry } from "portolan-host/models";
import type { FakeModelFaults } from "portolan-host/models/fake";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "../kit/free-port.ts";
import { collect, failureOf, mergeText, modelRequest, weather } from "./conversation.ts";
import { adapterOf, apiKey, dialects, instantClock, startProvider } from "./providers.ts";

const turns = [{ say: "Grüße aus 東京 🗼 today", call: { name: "weather", input: { city: "東京 🗼" } } }];
const request = modelRequest("weather", { tools: [weather] });
const whole = [
  { type: "text", delta: "Grüße aus 東京 🗼 today" },
  { type: "tool", id: "call_1", name: "weather", input: { city: "東京 🗼" } },
  {
    type: "end",
    stopReason: "toolUse",
    model: "test-model",
    usage: { inputTokens: expect.any(Number), outputTokens: expect.any(Number) },
  },
];

describe.each(dialects)("the %s adapter", (dialect) => {
  const open = (faults: readonly FakeModelFaults[], options: object = {}) =>
    startProvider({ dialect, turns, faults }, { clock: instantClock(), ...options });

  test.each<[string, FakeModelFaults]>([
    ["429 with Retry-After, three times", { status: { code: 429, retryAfter: "2" }, times: 3 }],
    ["500", { status: { code: 500 } }],
    ["503 with an HTML page", { status: { code: 503, message: "<html>" } }],
    ["529", { status: { code: 529, type: "overloaded_error" } }],
    ["a reset before the headers", { reset: "before-headers", times: 2 }],
    ["a reset before the first event", { reset: { afterEvents: 0 } }],
    ["an error as the first event", { error: { afterEvents: 0, type: "overloaded_error", message: "busy" } }],
    ["an empty stream", { cut: { afterEvents: 1 } }],
  ])("retries after %s", async (_, fault) => {
    const { provider, model } = await open([fault]);
    expect(mergeText(await collect(model.stream(request)))).toEqual(whole);
    expect(provider.requests).toHaveLength(1 + (fault.times ?? 1));
    expect(new Set(provider.requests.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  });

  test.each<[string, FakeModelFaults]>([
    ["that arrives byte by byte", { pieceBytes: 1 }],
    ["that arrives in chunks of three bytes", { pieceBytes: 3 }],
    ["with tool calls that arrive character by character", { splitTools: true }],
    ["that starts late", { waitFor: Promise.resolve() }],
    ["without a final event", { noDone: true }],
    ["that is one JSON body", { plain: true }],
  ])("reads a response %s", async (_, fault) => {
    const { model } = await open([fault]);
    expect(mergeText(await collect(model.stream(request)))).toEqual(whole);
  });

  test("reads a response without usage", async () => {
    const { model } = await open([{ noUsage: true }]);
    const end = (await collect(model.stream(request))).at(-1);
    expect(end).toMatchObject({ type: "end", stopReason: "toolUse" });
    expect(end).not.toHaveProperty("usage.outputTokens");
  });

  test("stops after the configured number of retries, each after the pause of Retry-After", async () => {
    const clock = instantClock();
    const retries: Retry[] = [];
    const options = { clock, retries: 2, onRetry: (retry: Retry) => retries.push(retry) };
    const { provider, model } = await open([{ status: { code: 429, retryAfter: "7" }, times: 9 }], options);
    const { error } = await failureOf(model, request);
    expect(provider.requests).toHaveLength(3);
    expect(retries.map(({ attempt, delayMs }) => [attempt, delayMs])).toEqual([
      [1, 7_000],
      [2, 7_000],
    ]);
    expect(clock.waited).toEqual([7_000, 7_000]);
    expect(error).toBeInstanceOf(ModelFailure);
    expect(error).toMatchObject({ code: "model-failed", status: 429, retryAfterMs: 7_000 });
    expect(error.message).toMatch(
      /^test-model at 127\.0\.0\.1:\d+ answered 429: Fault 429\. It asks to wait 7 s\. .* Tried 3 times\.$/,
    );
  });

  test("backs off exponentially without Retry-After", async () => {
    const clock = instantClock();
    const { model } = await open([{ status: { code: 500 }, times: 3 }], { clock });
    await collect(model.stream(request));
    const [first, second, third] = clock.waited as [number, number, number];
    expect(first).toBeGreaterThanOrEqual(500);
    expect(second).toBeGreaterThanOrEqual(1_000);
    expect(third).toBeGreaterThanOrEqual(2_000);
    expect(third).toBeLessThanOrEqual(2_500);
  });

  test("fails at once when Retry-After is longer than allowed", async () => {
    const { provider, model } = await open([{ status: { code: 429, retryAfter: "3600" } }]);
    const { error } = await failureOf(model, request);
    expect(error).toMatchObject({ status: 429, retryAfterMs: 3_600_000 });
    expect(provider.requests).toHaveLength(1);
  });

  test("reads a date in Retry-After", async () => {
    const retryAfter = new Date(Date.now() + 40_000).toUTCString();
    const { model } = await open([{ status: { code: 503, retryAfter }, times: 9 }], { retries: 0 });
    const { error } = await failureOf(model, request);
    expect(error.retryAfterMs).toBeGreaterThan(30_000);
    expect(error.retryAfterMs).toBeLessThanOrEqual(40_000);
  });

  test.each([
    [400, "Check the request"],
    [401, "Check the API key"],
    [403, "Check the permissions of the API key"],
    [404, "Check the name of the model"],
    [413, "Make the conversation shorter"],
  ])("does not retry after %i, and the error gives advice", async (code, advice) => {
    const { provider, model } = await open([{ status: { code, message: "No.\u001b[31m\nNot so" } }]);
    const { error } = await failureOf(model, request);
    expect(error).toMatchObject({ code: "model-failed", status: code });
    expect(error.message).toContain(`answered ${code}: No. [31m Not so. ${advice}`);
    expect(provider.requests).toHaveLength(1);
  });

  test("does not retry when the quota is used up", async () => {
    const { provider, model } = await open([{ status: { code: 429, type: "insufficient_quota" } }]);
    const { error } = await failureOf(model, request);
    expect(error.message).toContain("Check the plan and the balance");
    expect(provider.requests).toHaveLength(1);
  });

  test.each<[string, FakeModelFaults, RegExp]>([
    ["is reset", { reset: { afterEvents: 5 } }, /could not be reached, or the connection broke/],
    ["contains malformed JSON", { malformed: { afterEvents: 5 } }, /with data that is not JSON/],
    [
      "contains an error",
      { error: { afterEvents: 5, type: "overloaded_error", message: "busy" } },
      /sent an error: overloaded_error.*busy/,
    ],
    ["ends early", { cut: { afterEvents: 5 } }, /ended its stream before the turn was over/],
  ])("fails without a retry when a started stream %s, after the events that arrived", async (_, fault, message) => {
    const { provider, model } = await open([fault]);
    const { events, error } = await failureOf(model, request);
    expect(error).toMatchObject({ code: "model-failed" });
    expect(error.message).toMatch(message);
    const text = events.map((event) => (event.type === "text" ? event.delta : "")).join("");
    expect("Grüße aus 東京 🗼 today".startsWith(text)).toBe(true);
    // A reset may arrive before data that was sent earlier.
    if (fault.reset === undefined) {
      expect(text).not.toBe("");
      expect(error.message).toContain(`Received before: ${text.length} characters`);
    }
    if (text !== "") expect(provider.requests).toHaveLength(1);
  });

  test("fails after idleMs of silence, before and during a stream, and closes the connection", async () => {
    const clock = createClock();
    const never = new Promise(() => {});
    const faults = [{ waitFor: never }, { silent: { afterEvents: 5 } }];
    const { provider, model } = await open(faults, { clock, idleMs: 1_000 });
    for (const when of [0, 1]) {
      const failed = failureOf(model, request);
      await vi.waitFor(() => expect(provider.requests).toHaveLength(when + 1));
      let isOver = false;
      const ended = failed.finally(() => {
        isOver = true;
      });
      await vi.waitFor(async () => {
        await clock.advance(1_000);
        expect(isOver).toBe(true);
      });
      expect((await ended).error).toMatchObject({
        code: "model-failed",
        message: expect.stringContaining("was silent for 1000 ms"),
      });
      expect(await provider.requests[when]!.ended).toBe("cut");
    }
    expect(clock.pending).toBe(0);
  });

  test("fails after totalMs, even if the stream is never silent", async () => {
    const clock = createClock();
    const say = Array.from({ length: 2_000 }, (_, word) => `w${word}`).join(" ");
    const { provider, model } = await startProvider(
      { dialect, turns: [{ say }] },
      { clock, idleMs: 1_000, totalMs: 5_000 },
    );
    let received = 0;
    const listen = async () => {
      for await (const event of model.stream(request)) {
        received += event.type === "text" ? 1 : 0;
        await clock.advance(100);
      }
    };
    await expect(listen()).rejects.toMatchObject({ message: expect.stringContaining("did not finish within 5000 ms") });
    expect(received).toBeGreaterThan(0);
    expect(received).toBeLessThan(2_000);
    expect(await provider.requests[0]!.ended).toBeDefined();
    expect(clock.pending).toBe(0);
  });

  test("closes the connection when the caller aborts, before and during a stream", async () => {
    const never = new Promise(() => {});
    const { provider, model } = await open([{ waitFor: never }, { silent: { afterEvents: 5 } }]);
    for (const when of [0, 1]) {
      const controller = new AbortController();
      const failed = failureOf(model, { ...request, signal: controller.signal });
      await vi.waitFor(() => expect(provider.requests).toHaveLength(when + 1));
      const reason = new Error("never mind");
      controller.abort(reason);
      expect((await failed).error).toBe(reason);
      expect(await provider.requests[when]!.ended).toBe("cut");
    }
  });

  test("closes the connection when the reader stops early", async () => {
    const { provider, model } = await open([{ silent: { afterEvents: 5 } }]);
    for await (const event of model.stream(request)) if (event.type === "text") break;
    expect(await provider.requests[0]!.ended).toBe("cut");
  });

  test("ends the pause before a retry when the caller aborts", async () => {
    const clock = createClock();
    const controller = new AbortController();
    const reason = new Error("no time");
    const onRetry = () => controller.abort(reason);
    const { model } = await open([{ status: { code: 500 }, times: 9 }], { clock, onRetry });
    expect((await failureOf(model, { ...request, signal: controller.signal })).error).toBe(reason);
    expect(clock.pending).toBe(0);
  });

  test("reuses connections across turns", async () => {
    const { provider, model } = await startProvider({ dialect, turns: [{ say: "again", repeat: true }] });
    for (let turn = 0; turn < 8; turn += 1) await collect(model.stream(modelRequest("again")));
    // More than one is allowed: a connection may become free just after the next turn has started.
    expect(new Set(provider.requests.map(({ connection }) => connection)).size).toBeLessThan(5);
  });

  test("reports an unreachable provider after its retries", async () => {
    const clock = instantClock();
    const model = adapterOf(dialect, `http://127.0.0.1:${await freePort()}/v1`, { clock });
    const { error } = await failureOf(model, request);
    expect(error.message).toMatch(
      /could not be reached, or the connection broke: .*ECONNREFUSED.*Check that the provider runs.*Tried 4 times/,
    );
    expect(clock.waited).toHaveLength(3);
  });

  test("reports a web page in place of an API, and closes the connection", async () => {
    let onClose = () => {};
    const closed = new Promise<void>((resolve) => {
      onClose = resolve;
    });
    const server = createServer((_, response) => {
      response.once("close", () => onClose());
      // The page never ends.
      response.writeHead(200, { "content-type": "text/html" }).write("<html>Welcome");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const { error } = await failureOf(adapterOf(dialect, `http://127.0.0.1:${port}/v1`), request);
    expect(error.message).toContain("answered 200 with a web page. Check that the baseUrl is the URL of its API");
    await closed;
  });

  test("never shows a key in an error, a recorded request or the model", async () => {
    const wrong = "sk-wrong-key-that-is-quoted-0123456789";
    const { provider, model } = await open([], { apiKey: wrong });
    const { error } = await failureOf(model, request);
    expect(error.message).toContain("answered 401: Incorrect API key provided: ***. Check the API key");
    const shown = [error.stack, JSON.stringify(error), JSON.stringify(provider.requests), JSON.stringify(model)].join();
    expect(shown).not.toContain(wrong);
    expect(shown).not.toContain(apiKey);
  });

  test("does not follow a redirect to another origin with the key", async () => {
    const other = await startProvider({ dialect, turns });
    const { model } = await open([{ redirectTo: `${other.provider.url}/elsewhere` }]);
    const { error } = await failureOf(model, request);
    expect(error.message).toMatch(
      /answered 307 and redirects to http:\/\/127\.0\.0\.1:\d+\. The key .* not sent there/,
    );
    expect(other.provider.requests).toEqual([]);
  });
});
