import { type AnthropicOptions, anthropic } from "portolan-host/models";
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

const open = (fetch: typeof globalThis.fetch, more: Partial<AnthropicOptions> = {}) =>
  anthropic({ model: "m", apiKey, fetch, ...more });
const eventsFrom = async (...data: unknown[]) =>
  mergeText(await collect(open(fetchReturning([eventsOf(...data)])).stream(modelRequest("hi"))));
const start = {
  type: "message_start",
  message: { model: "m-2026", usage: { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 } },
};
const block = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block });
const delta = (index: number, change: object) => ({ type: "content_block_delta", index, delta: change });
const stop = (index: number) => ({ type: "content_block_stop", index });
const end = (reason: string) => ({
  type: "message_delta",
  delta: { stop_reason: reason },
  usage: { output_tokens: 7 },
});
const over = { type: "message_stop" };

async function sent(request = modelRequest("hi"), more: Partial<AnthropicOptions> = {}) {
  const seen: { url: string; body: Record<string, unknown>; headers: Headers }[] = [];
  const fetch: typeof globalThis.fetch = async (url, init) => {
    seen.push({ url: String(url), body: JSON.parse(String(init?.body)), headers: new Headers(init?.headers) });
    return fetchReturning([eventsOf(start, end("end_turn"), over)])(url);
  };
  await collect(open(fetch, more).stream(request));
  return seen[0]!;
}

test("turns blocks into thinking, text and calls in order, and reports input and output tokens", async () => {
  const events = await eventsFrom(
    start,
    { type: "ping" },
    block(0, { type: "thinking", thinking: "" }),
    delta(0, { type: "thinking_delta", thinking: "Hm" }),
    delta(0, { type: "signature_delta", signature: "abc" }),
    stop(0),
    block(1, { type: "redacted_thinking", data: "xyz" }),
    stop(1),
    block(2, { type: "text", text: "" }),
    delta(2, { type: "text_delta", text: "I will" }),
    delta(2, { type: "text_delta", text: " look" }),
    stop(2),
    block(3, { type: "tool_use", id: "a", name: "one", input: {} }),
    delta(3, { type: "input_json_delta", partial_json: "" }),
    delta(3, { type: "input_json_delta", partial_json: '{"x": ' }),
    block(4, { type: "tool_use", id: "b", name: "two", input: {} }),
    delta(3, { type: "input_json_delta", partial_json: "1}" }),
    stop(3),
    stop(4),
    { type: "a_later_invention" },
    end("tool_use"),
    over,
  );
  expect(events).toEqual([
    { type: "thinking", delta: "Hm" },
    { type: "text", delta: "I will look" },
    { type: "tool", id: "a", name: "one", input: { x: 1 } },
    { type: "tool", id: "b", name: "two", input: {} },
    { type: "end", stopReason: "toolUse", model: "m-2026", usage: { inputTokens: 15, outputTokens: 7 } },
  ]);
});

test("reports a call truncated by max_tokens as unreadable, even if its block has no end", async () => {
  const events = await eventsFrom(
    start,
    block(0, { type: "tool_use", id: "a", name: "one", input: {} }),
    delta(0, { type: "input_json_delta", partial_json: '{"x' }),
    end("max_tokens"),
    over,
  );
  expect(events).toMatchObject([
    { type: "tool", id: "a", name: "one", unreadable: '{"x' },
    { type: "end", stopReason: "maxTokens" },
  ]);
});

test.each([
  ["end_turn", "endTurn"],
  ["max_tokens", "maxTokens"],
  ["stop_sequence", "stopSequence"],
  ["refusal", "refusal"],
  ["pause_turn", "pause_turn"],
])("maps the stop reason %s to %s", async (reason, stopReason) => {
  expect((await eventsFrom(start, end(reason), over)).at(-1)).toMatchObject({ stopReason });
});

test("yields the same events for a response that is one JSON body", async () => {
  const body = {
    model: "m-2026",
    content: [
      { type: "thinking", thinking: "Hm" },
      { type: "text", text: "Look" },
      { type: "tool_use", id: "a", name: "one", input: { x: 1 } },
    ],
    stop_reason: "tool_use",
    usage: { input_tokens: 3, output_tokens: 4 },
  };
  const json = { headers: { "content-type": "application/json" } };
  expect(await collect(open(fetchReturning([JSON.stringify(body)], json)).stream(modelRequest("hi")))).toEqual([
    { type: "thinking", delta: "Hm" },
    { type: "text", delta: "Look" },
    { type: "tool", id: "a", name: "one", input: { x: 1 } },
    { type: "end", stopReason: "toolUse", model: "m-2026", usage: { inputTokens: 3, outputTokens: 4 } },
  ]);
  const odd = open(fetchReturning(["{}"], json));
  expect((await failureOf(odd, modelRequest("hi"))).error.message).toContain("a JSON body that is not a model turn");
});

describe("a request", () => {
  test.each([
    ["https://proxy.example.com", "https://proxy.example.com/v1/messages"],
    ["https://proxy.example.com/anthropic/", "https://proxy.example.com/anthropic/v1/messages"],
    ["https://proxy.example.com/v1", "https://proxy.example.com/v1/messages"],
    ["https://proxy.example.com/v1/?team=a", "https://proxy.example.com/v1/messages?team=a"],
  ])("with the base URL %s goes to %s", async (baseUrl, url) => {
    expect((await sent(modelRequest("hi"), { baseUrl })).url).toBe(url);
  });

  test("contains all options of the model request", async () => {
    const { url, body, headers } = await sent(
      modelRequest("hi", {
        system: "Be brief",
        tools: [weather],
        toolChoice: { mode: "required" },
        temperature: 1,
        stopSequences: ["END"],
      }),
      { extra: { top_k: 5 } },
    );
    expect(url).toBe("https://api.anthropic.com/v1/messages");
    expect(headers.get("x-api-key")).toBe(apiKey);
    expect(headers.get("anthropic-version")).toBe("2023-06-01");
    expect(headers.has("authorization")).toBe(false);
    expect(body).toEqual({
      model: "m",
      top_k: 5,
      system: "Be brief",
      messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
      max_tokens: 1_000,
      stream: true,
      temperature: 1,
      stop_sequences: ["END"],
      tools: [{ name: "weather", description: weather.description, input_schema: weather.inputSchema }],
      tool_choice: { type: "any" },
    });
  });

  test("has tool results first, with their images inside, and no empty text", async () => {
    const messages = [
      user(image, ""),
      assistant("", use("call:1", "shot"), use("b", "fail")),
      user(
        "well?",
        { type: "tool_result", toolUseId: "call:1", content: [{ type: "text", text: "here" }, image] },
        result("b", "", { isError: true }),
      ),
      assistant(""),
      user("more"),
    ];
    const picture = { type: "image", source: { type: "base64", media_type: "image/png", data: image.data } };
    const { body } = await sent(modelRequest(messages));
    expect(body["messages"]).toEqual([
      { role: "user", content: [picture] },
      {
        role: "assistant",
        content: [
          { type: "tool_use", id: "call_1", name: "shot", input: {} },
          { type: "tool_use", id: "b", name: "fail", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "call_1", content: [{ type: "text", text: "here" }, picture] },
          { type: "tool_result", tool_use_id: "b", content: [], is_error: true },
          { type: "text", text: "well?" },
        ],
      },
      { role: "assistant", content: [{ type: "text", text: "(nothing)" }] },
      { role: "user", content: [{ type: "text", text: "more" }] },
    ]);
  });

  test("has resources and structured results as text", async () => {
    const content = [
      { type: "resource_link" as const, name: "log", uri: "file:///log" },
      { type: "resource" as const, resource: { uri: "file:///a", text: "hello" } },
    ];
    const messages = [
      user("x"),
      assistant(use("a", "one"), use("b", "two")),
      user(
        { type: "tool_result", toolUseId: "a", content },
        { type: "tool_result", toolUseId: "b", content: [], structuredContent: { n: 1 } },
      ),
    ];
    const { body } = await sent(modelRequest(messages));
    const text = JSON.stringify(body);
    expect(text).toContain("[resource: log file:///log]");
    expect(text).toContain("hello");
    expect(text).toContain(JSON.stringify('{"n":1}'));
  });

  test("with audio is rejected, because the provider does not support it", async () => {
    const audio = { type: "audio" as const, data: "AAAA", mimeType: "audio/wav" };
    await expect(sent(modelRequest([user(audio)]))).rejects.toMatchObject({ code: "capability-missing" });
  });

  test("with tool calls and images is accepted by the strict fake provider", async () => {
    const { model } = await startProvider({ dialect: "anthropic", turns: [{ say: "fine" }] });
    const messages = [
      user("look", image),
      assistant(use("a", "shot"), use("b", "shot")),
      user({ type: "tool_result", toolUseId: "a", content: [image] }, result("b", "text")),
    ];
    const events = await collect(model.stream(modelRequest(messages, { tools: [weather], system: "s" })));
    expect(mergeText(events)[0]).toEqual({ type: "text", delta: "fine" });
  });
});
