import type { ProviderOptions } from "portolan-host/models";
import { describe, expect, test } from "vitest";
import { collect, failureOf, modelRequest } from "./conversation.ts";
import { adapterOf, apiKey, type DialectName, dialects, eventsOf, fetchReturning } from "./providers.ts";

const address = "http://127.0.0.1:9/v1";
const text = (dialect: DialectName, said: string) =>
  dialect === "openai"
    ? { choices: [{ index: 0, delta: { content: said } }] }
    : { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: said } };
const call = (dialect: DialectName, index: number) =>
  dialect === "openai"
    ? {
        choices: [
          { index: 0, delta: { tool_calls: [{ index, id: `c${index}`, function: { name: "x", arguments: "" } }] } },
        ],
      }
    : {
        type: "content_block_start",
        index,
        content_block: { type: "tool_use", id: `c${index}`, name: "x", input: {} },
      };
const argument = (dialect: DialectName, part: string) =>
  dialect === "openai"
    ? { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: part } }] } }] }
    : { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: part } };

/** Creates a fetch whose body never ends; `state` tells how many chunks were read and whether it was cancelled. */
function endless(next: (count: number) => string) {
  const state = { taken: 0, isCancelled: false };
  const fetch: typeof globalThis.fetch = async () =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          await new Promise((resolve) => setImmediate(resolve));
          controller.enqueue(new TextEncoder().encode(next(state.taken)));
          state.taken += 1;
        },
        cancel() {
          state.isCancelled = true;
        },
      }),
      { headers: { "content-type": "text/event-stream" } },
    );
  return { state, fetch };
}

describe.each(dialects)("a response of %s is aborted", (dialect) => {
  const limits = { eventChars: 5_000, textChars: 1_000, toolCalls: 3, argumentChars: 1_000, totalChars: 20_000 };

  test.each<[string, (count: number) => string, string]>([
    ["text", () => eventsOf(text(dialect, "x".repeat(100))), "1000 characters of text"],
    ["tool calls", (count) => eventsOf(call(dialect, count)), "3 tool calls"],
    [
      "arguments",
      (count) => eventsOf(count === 0 ? call(dialect, 0) : argument(dialect, "x".repeat(100))),
      "1000 characters of arguments in one tool call",
    ],
    ["one event", (count) => (count === 0 ? "data: " : "x".repeat(100)), "5000 characters in one event"],
    ["comments", () => `: ${"x".repeat(100)}\n\n`, "20000 characters"],
    ["empty events", () => eventsOf({ type: "ping" }), "20000 characters"],
  ])("when it exceeds the limit for %s", async (_, next, limit) => {
    const { state, fetch } = endless(next);
    const { error } = await failureOf(adapterOf(dialect, address, { fetch, limits }), modelRequest("hi"));
    expect(error).toMatchObject({ code: "model-failed" });
    expect(error.message).toContain(`sent more than ${limit}, so the response was aborted`);
    expect(state.isCancelled).toBe(true);
    expect(state.taken).toBeLessThan(2_000);
  });

  test("when a JSON body is too large", async () => {
    const json = { headers: { "content-type": "application/json" } };
    const fetch = fetchReturning(
      Array.from({ length: 300 }, () => "x".repeat(100)),
      json,
    );
    const { error } = await failureOf(adapterOf(dialect, address, { fetch, limits }), modelRequest("hi"));
    expect(error.message).toContain("sent more than 20000 characters");
  });

  test("when its error body never ends, and the message shows a part of it", async () => {
    const { fetch, state } = endless(() => "no ".repeat(1_000));
    const refusing: typeof globalThis.fetch = async (...args) =>
      new Response((await fetch(...args)).body, { status: 400, headers: { "content-type": "text/plain" } });
    const { error } = await failureOf(adapterOf(dialect, address, { fetch: refusing, limits }), modelRequest("hi"));
    expect(error.message.length).toBeLessThan(600);
    expect(state.isCancelled).toBe(true);
    expect(state.taken).toBeLessThan(100);
  });
});

describe.each(dialects)("after the last event of %s the adapter", (dialect) => {
  const last = dialect === "openai" ? "[DONE]" : { type: "message_stop" };

  /** Creates a fetch whose stream holds a complete turn; `finish` then closes it, fails it or leaves it open. */
  function streamWith(finish: (controller: ReadableStreamDefaultController) => void) {
    const state = { isCancelled: false, pulls: 0 };
    const body = new ReadableStream(
      {
        async pull(controller) {
          state.pulls += 1;
          if (state.pulls === 1) controller.enqueue(new TextEncoder().encode(eventsOf(text(dialect, "hi"), last)));
          else await new Promise((resolve) => setImmediate(resolve)).then(() => finish(controller));
        },
        cancel() {
          state.isCancelled = true;
        },
      },
      { highWaterMark: 0 },
    );
    const headers = { "content-type": "text/event-stream" };
    return { state, fetch: (async () => new Response(body, { headers })) as typeof globalThis.fetch };
  }

  test("waits for the end of the stream, so that the connection can be reused", async () => {
    const { state, fetch } = streamWith((controller) => controller.close());
    const events = await collect(adapterOf(dialect, address, { fetch }).stream(modelRequest("hi")));
    expect(events.at(-1)?.type).toBe("end");
    expect(state).toEqual({ isCancelled: false, pulls: 2 });
  });

  test("cancels a stream that stays open, and ignores one that fails", async () => {
    const silent = streamWith(() => {});
    const events = await collect(adapterOf(dialect, address, { fetch: silent.fetch }).stream(modelRequest("hi")));
    expect(events.at(-1)?.type).toBe("end");
    expect(silent.state.isCancelled).toBe(true);
    const broken = streamWith((controller) => controller.error(new Error("reset")));
    expect(await collect(adapterOf(dialect, address, { fetch: broken.fetch }).stream(modelRequest("hi")))).toEqual(
      events,
    );
  });
});

describe.each(dialects)("a turn of %s with a stop reason", (dialect) => {
  const reason =
    dialect === "openai"
      ? { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }
      : { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: {} };

  test.each<[string, (controller: ReadableStreamDefaultController) => void]>([
    ["fails", (controller) => controller.error(new TypeError("terminated"))],
    ["stays open", () => {}],
  ])("is complete even if the stream %s before the final event", async (_, finish) => {
    let pulls = 0;
    const body = new ReadableStream({
      pull(controller) {
        pulls += 1;
        if (pulls === 1) controller.enqueue(new TextEncoder().encode(eventsOf(text(dialect, "hi"), reason)));
        else finish(controller);
      },
    });
    const fetch = async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
    const events = await collect(adapterOf(dialect, address, { fetch }).stream(modelRequest("hi")));
    expect(events).toMatchObject([
      { type: "text", delta: "hi" },
      { type: "end", stopReason: "endTurn" },
    ]);
  });

  test("rejects with the reason of a signal that aborts before the final event", async () => {
    const controller = new AbortController();
    const stop = new Error("stop");
    const body = new ReadableStream({
      start: (stream) => stream.enqueue(new TextEncoder().encode(eventsOf(reason))),
      // Aborts after the first chunk was read, while the adapter waits for the next one.
      pull: () => new Promise(() => setImmediate(() => controller.abort(stop))),
    });
    const fetch = async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
    const { error } = await failureOf(
      adapterOf(dialect, address, { fetch }),
      modelRequest("hi", { signal: controller.signal }),
    );
    expect(error).toBe(stop);
  });
});

describe.each(dialects)("deeply nested JSON of %s", (dialect) => {
  const deep = `${'{"a":'.repeat(200_000)}1${"}".repeat(200_000)}`;

  test("makes tool arguments unreadable, as text and as an object", async () => {
    const escaped = JSON.stringify(deep);
    const stream =
      dialect === "openai"
        ? [
            `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"x","arguments":${escaped}}}]}}]}`,
            `{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"name":"y","arguments":${deep}}}]},"finish_reason":"stop"}]}`,
          ]
        : [
            `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"x","input":{}}}`,
            `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":${escaped}}}`,
            `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","name":"y","input":${deep}}}`,
            `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`,
          ];
    const fetch = fetchReturning([eventsOf(...stream)]);
    const calls = (await collect(adapterOf(dialect, address, { fetch }).stream(modelRequest("hi")))).slice(0, 2);
    expect(calls).toMatchObject([
      { type: "tool", name: "x", unreadable: deep },
      { type: "tool", name: "y", unreadable: "(nested too deep)" },
    ]);
  });

  test.each([
    ["a message", `{"error":{"message":${deep}}}`],
    ["errors in errors", deep.replaceAll('"a"', '"error"')],
    ["lists in lists", `{"error":${"[".repeat(200_000)}${"]".repeat(200_000)}}`],
  ])("in an error is left out of the message: %s", async (_, body) => {
    const { error } = await failureOf(
      adapterOf(dialect, address, { fetch: fetchReturning([eventsOf(body)]) }),
      modelRequest("hi"),
    );
    expect(error).toMatchObject({ code: "model-failed" });
    expect(error.message).toContain("sent an error");
  });
});

describe.each(dialects)("the API key of %s", (dialect) => {
  const create =
    (baseUrl: string, options: Partial<ProviderOptions> = {}) =>
    () =>
      adapterOf(dialect, baseUrl, options);

  test.each(["http://api.example.com/v1", "http://192.168.1.5:8080/v1", "http://127.0.0.1.example.com/v1"])(
    "is not sent over plain http to %s unless allowHttp is set",
    (baseUrl) => {
      expect(create(baseUrl)).toThrow(expect.objectContaining({ code: "address-refused" }));
      expect(create(baseUrl)).toThrow(/plain http to .*; use https, or set allowHttp/);
      expect(create(baseUrl, { allowHttp: true })).not.toThrow();
    },
  );

  test.each([
    "http://127.0.0.1:11434/v1",
    "http://localhost:1234/v1",
    "http://[::1]:8000/v1",
    "https://api.example.com/v1",
  ])("may be sent to %s", (baseUrl) => expect(create(baseUrl)).not.toThrow());

  test.each(["ftp://example.com", "api.example.com/v1", ""])("is not sent to the invalid URL %j", (baseUrl) => {
    expect(create(baseUrl)).toThrow(expect.objectContaining({ code: "invalid-argument" }));
  });

  test("must not be an empty string, but may be undefined", () => {
    expect(create("https://api.example.com/v1", { apiKey: "" })).toThrow(/apiKey: expected a key, got an empty string/);
    expect(create("https://api.example.com/v1", { apiKey: undefined })).not.toThrow();
  });

  test("is not contained in errors about the options", () => {
    const secret = "sk-secret-with-line-end\n";
    const catchError = (run: () => unknown) => {
      try {
        run();
      } catch (error) {
        return error as Error;
      }
      throw new Error("Expected an error");
    };
    const badKey = catchError(create("https://api.example.com/v1", { apiKey: `${secret}x: y` }));
    const badUrl = catchError(create("https://user:sk-secret-with-line-end@api.example.com/v1"));
    for (const error of [badKey, badUrl]) {
      expect(error).toMatchObject({ code: "invalid-argument" });
      expect(`${error.stack} ${String(error.cause)}`).not.toContain("sk-secret");
    }
  });

  test("is redacted in quoted provider errors, like secret headers and queries, also where the text is truncated", async () => {
    const token = "another-secret-token";
    const quoted = `${"x".repeat(290)}${apiKey} ${token} q-secret-value`;
    for (const [status, body] of [
      [400, JSON.stringify({ error: { message: quoted } })],
      [400, JSON.stringify({ error: { message: `${apiKey} ${token} q-secret-value` } })],
      [200, eventsOf({ error: { message: `${apiKey} ${token} q-secret-value`, type: token } })],
    ] as const) {
      const headers = { "content-type": status === 200 ? "text/event-stream" : "application/json" };
      const fetch = fetchReturning([body], { status, headers });
      const options = { fetch, headers: { "x-auth": `Token ${token}` } };
      const { error } = await failureOf(
        adapterOf(dialect, `${address}?key=q-secret-value`, options),
        modelRequest("hi"),
      );
      expect(error.message).not.toMatch(/sk-|another-|q-secret/);
    }
  });
});
