import type { OpenAiOptions } from "portolan-host/models";
import { openaiCompatible } from "portolan-host/models";
import { describe, expect, test } from "vitest";
import {
  assistant,
  collect,
  failureOf,
  image,
  mergeText,
  modelRequest,
  result,
  use,
  user,
  weather,
} from "./conversation.ts";
import { apiKey, eventsOf, fetchReturning, startProvider } from "./providers.ts";

const baseUrl = "https://api.example.com/v1";
const open = (fetch: typeof globalThis.fetch, more: Partial<OpenAiOptions> = {}) =>
  openaiCompatible({ baseUrl, model: "m", apiKey, fetch, ...more });
const delta = (members: object, reason: string | null = null) => ({
  choices: [{ index: 0, delta: members, finish_reason: reason }],
});
const calls = (...pieces: object[]) => delta({ tool_calls: pieces });
const done = delta({}, "tool_calls");
/** Returns the events of a stream, with neighbouring text merged. */
const eventsFrom = async (...data: unknown[]) =>
  mergeText(await collect(open(fetchReturning([eventsOf(...data)])).stream(modelRequest("hi"))));
const toolsIn = async (...data: unknown[]) =>
  (await eventsFrom(...data)).flatMap((event) =>
    event.type === "tool" ? [[event.id, event.name, event.input ?? event.unreadable]] : [],
  );

/** Sends a request and returns its URL, body and headers. */
async function sent(request = modelRequest("hi"), more: Partial<OpenAiOptions> = {}) {
  const seen: { url: string; body: Record<string, unknown>; headers: Headers }[] = [];
  const fetch: typeof globalThis.fetch = async (url, init) => {
    seen.push({ url: String(url), body: JSON.parse(String(init?.body)), headers: new Headers(init?.headers) });
    return fetchReturning([eventsOf(delta({ content: "ok" }, "stop"))])(url);
  };
  await collect(open(fetch, more).stream(request));
  return seen[0]!;
}

describe("a tool call is assembled", () => {
  test("from pieces by their index, in any order", async () => {
    const tools = await toolsIn(
      calls({ index: 0, id: "a", function: { name: "one", arguments: "" } }),
      calls({ index: 1, id: "b", function: { name: "two", arguments: '{"y"' } }),
      calls({ index: 0, function: { arguments: '{"x":' } }, { index: 1, function: { arguments: ":2}" } }),
      calls({ index: 0, function: { arguments: "1}" } }),
      done,
    );
    expect(tools).toEqual([
      ["a", "one", { x: 1 }],
      ["b", "two", { y: 2 }],
    ]);
  });

  test("with a generated id if its id is missing, empty or already used", async () => {
    const tools = await toolsIn(
      calls({ index: 0, function: { name: "one", arguments: "{}" } }),
      calls({ index: 1, id: "", function: { name: "two", arguments: "{}" } }),
      calls({ index: 2, id: "call_1", function: { name: "three", arguments: "{}" } }),
      done,
    );
    expect(tools).toEqual([
      ["call_1", "one", {}],
      ["call_2", "two", {}],
      ["call_3", "three", {}],
    ]);
  });

  test("with a generated id that does not occur in the conversation", async () => {
    const messages = [
      user("x"),
      assistant(use("call_1", "one"), use("call_2", "one")),
      user(result("call_1", "1"), result("call_2", "2")),
    ];
    const fetch = fetchReturning([eventsOf(calls({ index: 0, function: { name: "one", arguments: "{}" } }), done)]);
    const events = await collect(open(fetch).stream(modelRequest(messages)));
    expect(events[0]).toMatchObject({ id: "call_3" });
  });

  test("without an index", async () => {
    const tools = await toolsIn(
      calls({ id: "a", function: { name: "one", arguments: '{"x":' } }),
      calls({ function: { arguments: "1}" } }),
      calls({ function: { name: "two", arguments: "{" } }),
      calls({ function: { arguments: "}" } }),
      done,
    );
    expect(tools).toEqual([
      ["a", "one", { x: 1 }],
      ["call_1", "two", {}],
    ]);
  });

  test("when all calls have the same index and different ids", async () => {
    const tools = await toolsIn(
      calls({ index: 0, id: "a", function: { name: "one", arguments: "{}" } }),
      calls({ index: 0, id: "b", function: { name: "two", arguments: "" } }),
      calls({ index: 0, id: "c", function: { name: "three", arguments: '{"z":' } }),
      calls({ index: 0, id: "c", function: { arguments: "1}" } }),
      done,
    );
    expect(tools).toEqual([
      ["a", "one", {}],
      ["b", "two", {}],
      ["c", "three", { z: 1 }],
    ]);
  });

  test("when all calls have the same index and no ids", async () => {
    const tools = await toolsIn(
      calls({ index: 0, function: { name: "one", arguments: '{"x":1}' } }),
      calls({ index: 0, function: { name: "one", arguments: '{"x":2}' } }),
      calls({ index: 0, function: { name: "two", arguments: { y: 3 } } }),
      done,
    );
    expect(tools).toEqual([
      ["call_1", "one", { x: 1 }],
      ["call_2", "one", { x: 2 }],
      ["call_3", "two", { y: 3 }],
    ]);
  });

  test("when each piece repeats id and name, or the name is split", async () => {
    const tools = await toolsIn(
      calls({ index: 0, id: "a", function: { name: "one", arguments: '{"x"' } }),
      calls({ index: 0, id: "a", function: { name: "one", arguments: ":1}" } }),
      calls({ index: 1, id: "b", function: { name: "get_" } }),
      calls({ index: 1, function: { name: "weather" } }),
      calls({ index: 1, function: { arguments: "{}" } }),
      done,
    );
    expect(tools).toEqual([
      ["a", "one", { x: 1 }],
      ["b", "get_weather", {}],
    ]);
  });

  test("when its arguments are an object, missing, or not an object", async () => {
    const tools = await toolsIn(
      calls({ index: 0, id: "a", function: { name: "one", arguments: { x: 1 } } }),
      calls({ index: 1, id: "b", function: { name: "two" } }),
      calls({ index: 2, id: "c", function: { name: "three", arguments: '{"x": ' } }),
      calls({ index: 3, id: "d", function: { name: "four", arguments: "[1]" } }),
      done,
    );
    expect(tools).toEqual([
      ["a", "one", { x: 1 }],
      ["b", "two", {}],
      ["c", "three", '{"x": '],
      ["d", "four", "[1]"],
    ]);
  });
});

describe("a turn ends", () => {
  test.each([
    ["stop", "endTurn"],
    ["length", "maxTokens"],
    ["tool_calls", "toolUse"],
    ["function_call", "toolUse"],
    ["content_filter", "refusal"],
    ["insufficient_system_resource", "insufficient_system_resource"],
  ])("with the provider's reason %s as %s", async (reason, stopReason) => {
    expect((await eventsFrom(delta({ content: "a" }, reason), "[DONE]")).at(-1)).toMatchObject({
      type: "end",
      stopReason,
    });
  });

  test("as toolUse if it has calls, regardless of the provider's reason", async () => {
    const piece = { index: 0, id: "a", function: { name: "one", arguments: "{}" } };
    expect((await eventsFrom(calls(piece), delta({}, "stop"))).at(-1)).toMatchObject({ stopReason: "toolUse" });
    expect((await eventsFrom(calls(piece), "[DONE]")).at(-1)).toMatchObject({ stopReason: "toolUse" });
  });

  test("with usage and the model's full name, if they are sent", async () => {
    const usage = { prompt_tokens: 12, completion_tokens: 3 };
    const events = await eventsFrom(
      { ...delta({ content: "a" }, "stop"), model: "m-2026" },
      { choices: [], usage },
      "[DONE]",
    );
    expect(events.at(-1)).toEqual({
      type: "end",
      stopReason: "endTurn",
      model: "m-2026",
      usage: { inputTokens: 12, outputTokens: 3 },
    });
  });

  test("as a refusal, with the refusal as text", async () => {
    expect(await eventsFrom(delta({ refusal: "I will " }), delta({ refusal: "not" }, "stop"))).toEqual([
      { type: "text", delta: "I will not" },
      { type: "end", stopReason: "refusal", model: "m" },
    ]);
  });

  test("even if the last event has no blank line after it and there is no [DONE]", async () => {
    const text = eventsOf(delta({ content: "a" }), delta({}, "stop")).trimEnd();
    const events = await collect(open(fetchReturning([text])).stream(modelRequest("hi")));
    expect(events.map(({ type }) => type)).toEqual(["text", "end"]);
  });
});

test("reads thinking under both field names, and only once if both are present", async () => {
  const events = await eventsFrom(
    delta({ reasoning_content: "Let me " }),
    delta({ reasoning: "see" }),
    delta({ reasoning_content: "!", reasoning: "!" }),
    delta({ content: [{ type: "text", text: "Yes" }] }, "stop"),
  );
  expect(events.slice(0, 2)).toEqual([
    { type: "thinking", delta: "Let me see!" },
    { type: "text", delta: "Yes" },
  ]);
});

test("ignores comments, empty events, other choices and unknown fields", async () => {
  const text = `: PROCESSING\n\ndata:\n\n${eventsOf(
    { choices: [{ index: 1, delta: { content: "other" } }] },
    { choices: null, x: 1 },
    { ...delta({ content: "a" }, "stop"), obfuscation: "xyz" },
  )}`;
  const events = await collect(open(fetchReturning([text])).stream(modelRequest("hi")));
  expect(mergeText(events)[0]).toEqual({ type: "text", delta: "a" });
});

describe("a request", () => {
  test("contains all options of the model request", async () => {
    const { url, body, headers } = await sent(
      modelRequest("hi", {
        system: "Be brief",
        tools: [weather],
        toolChoice: { mode: "required" },
        temperature: 0.5,
        stopSequences: ["END"],
      }),
      { headers: { "x-team": "blue" }, extra: { reasoning_effort: "low", model: "ignored" } },
    );
    expect(url).toBe("https://api.example.com/v1/chat/completions");
    expect(headers.get("authorization")).toBe(`Bearer ${apiKey}`);
    expect(headers.get("x-team")).toBe("blue");
    expect(body).toEqual({
      model: "m",
      reasoning_effort: "low",
      messages: [
        { role: "system", content: "Be brief" },
        { role: "user", content: "hi" },
      ],
      max_tokens: 1_000,
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.5,
      stop: ["END"],
      tools: [
        {
          type: "function",
          function: { name: "weather", description: weather.description, parameters: weather.inputSchema },
        },
      ],
      tool_choice: "required",
    });
  });

  test.each([
    ["https://api.openai.com/v1", {}, "max_completion_tokens"],
    ["https://mine.openai.azure.com/openai/v1?api-version=preview", {}, "max_completion_tokens"],
    ["https://api.example.com/v1/", {}, "max_tokens"],
    ["https://api.openai.com/v1", { maxTokens: "max_tokens" as const }, "max_tokens"],
  ])("to %s with quirks %o limits tokens with %s", async (address, quirks, member) => {
    const { url, body } = await sent(modelRequest("hi"), { baseUrl: address, quirks });
    expect(body).toHaveProperty(member, 1_000);
    expect(Object.keys(body).filter((name) => name.startsWith("max_"))).toEqual([member]);
    expect(new URL(url).pathname).toMatch(/[^/]\/chat\/completions$/);
    expect(new URL(url).search).toBe(new URL(address).search);
  });

  test("omits or replaces fields according to the provider's quirks", async () => {
    const { body } = await sent(
      modelRequest("hi", { system: "x", tools: [weather], toolChoice: { mode: "required" } }),
      {
        quirks: { streamUsage: false, systemRole: "developer", requiredTools: false },
      },
    );
    expect(body).not.toHaveProperty("stream_options");
    expect(body).toMatchObject({ messages: [{ role: "developer" }, {}], tool_choice: "auto" });
  });

  test("contains a server's metadata only if passMetadata returns it", async () => {
    const request = modelRequest("hi", { metadata: { user: "eve", model: "expensive" } });
    const { body } = await sent(request);
    expect(JSON.stringify(body)).not.toContain("eve");
    const passed = await sent(request, { passMetadata: (metadata) => metadata });
    expect(passed.body).toMatchObject({ user: "eve", model: "m" });
  });

  test("has tool results first, then their images, then the user's text", async () => {
    const messages = [
      user("look", image),
      assistant("I will", use("a", "shot"), use("b", "fail")),
      user("by the way", { type: "tool_result", toolUseId: "a", content: [{ type: "text", text: "here" }, image] }),
      user(result("b", "no camera", { isError: true })),
    ];
    const { body } = await sent(modelRequest(messages));
    const url = `data:image/png;base64,${image.data}`;
    expect(body["messages"]).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image_url", image_url: { url } },
        ],
      },
      {
        role: "assistant",
        content: "I will",
        tool_calls: [
          { id: "a", type: "function", function: { name: "shot", arguments: "{}" } },
          { id: "b", type: "function", function: { name: "fail", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "a", content: "here\n[image 1: see the next message]" },
      { role: "tool", tool_call_id: "b", content: "The tool failed: no camera" },
      {
        role: "user",
        content: [
          { type: "text", text: "Media of the tool results, in this order: image 1" },
          { type: "image_url", image_url: { url } },
        ],
      },
      { role: "user", content: "by the way" },
    ]);
  });

  test("replaces images in tool results by text for a model without images, and rejects the user's images", async () => {
    const withoutImages = { capabilities: { images: false } };
    const shown = { type: "tool_result" as const, toolUseId: "a", content: [image] };
    const { body } = await sent(modelRequest([user("x"), assistant(use("a", "shot")), user(shown)]), withoutImages);
    expect(JSON.stringify(body)).not.toContain(image.data);
    expect(JSON.stringify(body)).toContain("image omitted");
    await expect(sent(modelRequest([user(image)]), withoutImages)).rejects.toMatchObject({
      code: "capability-missing",
    });
  });

  test("with tool calls and images is accepted by the strict fake provider", async () => {
    const { model } = await startProvider({ dialect: "openai", turns: [{ say: "fine" }] });
    const messages = [
      user("look", image),
      assistant(use("a", "shot"), use("b", "shot")),
      user({ type: "tool_result", toolUseId: "a", content: [image] }),
      user(result("b", "text")),
    ];
    const events = await collect(model.stream(modelRequest(messages, { tools: [weather], system: "s" })));
    expect(mergeText(events)[0]).toEqual({ type: "text", delta: "fine" });
  });
});

test("reads a response that is one JSON body, with calls and thinking, or with an error", async () => {
  const json = { headers: { "content-type": "application/json; charset=utf-8" } };
  const message = {
    reasoning: "hm",
    content: "a",
    tool_calls: [{ id: "x", function: { name: "one", arguments: "{}" } }],
  };
  const body = JSON.stringify({ choices: [{ message, finish_reason: "tool_calls" }] });
  const events = await collect(open(fetchReturning([body], json)).stream(modelRequest("hi")));
  expect(events.map(({ type }) => type)).toEqual(["thinking", "text", "tool", "end"]);
  const broken = open(fetchReturning([JSON.stringify({ error: { message: "no such thing", type: "invalid" } })], json));
  expect((await failureOf(broken, modelRequest("hi"))).error.message).toContain(
    "sent an error: invalid: no such thing",
  );
  const odd = open(fetchReturning(["[]"], json));
  expect((await failureOf(odd, modelRequest("hi"))).error.message).toContain("an array where an object was expected");
});

test.each([
  ["an array", [{ error: { message: "bad key" } }], "bad key"],
  ["a string", { error: "model not found" }, "model not found"],
  [
    "details",
    { message: { detail: [{ loc: ["body", "stop"], msg: "too many" }] } },
    '"loc":["body","stop"],"msg":"too many"',
  ],
  ["an unknown object", { oops: true }, "answered 422. Check the request"],
])("quotes an error body with %s", async (_, body, expected) => {
  const fetch = fetchReturning([JSON.stringify(body)], {
    status: 422,
    headers: { "content-type": "application/json" },
  });
  expect((await failureOf(open(fetch), modelRequest("hi"))).error.message).toContain(expected);
});
