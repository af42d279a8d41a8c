import { describe, expect, test } from "vitest";
import { type ClientSelf, clientCodec, encodeAnswer, replacementOf } from "./client-codec.ts";
import { metaKeys } from "./revision.ts";
import { revisions } from "./revisions/index.ts";

const revision = (version: string) => revisions.find((known) => known.version === version)!;
const codec = (version: string) => clientCodec(revision(version));
const all = revisions.map(({ version }) => version);
const stateful = all.filter((version) => version !== "2026-07-28");

const full: ClientSelf = {
  info: {
    name: "atlas",
    version: "1.0.0",
    title: "Atlas",
    description: "a client",
    websiteUrl: "https://example.com",
    icons: [{ src: "https://example.com/icon.png" }],
  },
  capabilities: {
    experimental: { "example.com/x": {} },
    extensions: { "example.com/y": { on: true } },
    roots: { listChanged: true },
    sampling: { tools: {}, context: {} },
    elicitation: { form: {}, url: {} },
    tasks: { list: {} },
  },
};
const plain: ClientSelf = { info: { name: "atlas", version: "1.0.0" }, capabilities: {} };

describe("handshake", () => {
  const { experimental, extensions, roots, sampling, elicitation, tasks } = full.capabilities;
  const { name, version, title } = full.info;

  test.each([
    ["2024-11-05", { name, version }, { experimental, extensions, roots, sampling: {} }],
    ["2025-03-26", { name, version }, { experimental, extensions, roots, sampling: {} }],
    ["2025-06-18", { name, version, title }, { experimental, extensions, roots, sampling: {}, elicitation: {} }],
    ["2025-11-25", full.info, { experimental, extensions, roots, sampling, elicitation, tasks }],
  ])("for %s has only members of that revision", (protocolVersion, clientInfo, capabilities) => {
    expect(codec(protocolVersion).handshake(full)).toEqual({ protocolVersion, clientInfo, capabilities });
  });

  test("keeps members that no revision defines", () => {
    const self = { info: { ...plain.info, mood: "good" }, capabilities: { teleport: {}, elicitation: { smoke: {} } } };
    const { clientInfo, capabilities } = codec("2025-06-18").handshake(self as ClientSelf);
    expect({ info: clientInfo, capabilities }).toEqual(self);
  });

  test("does not declare elicitation if the client only opens URLs and the revision has only forms", () => {
    const self: ClientSelf = { ...plain, capabilities: { elicitation: { url: {} } } };
    expect(codec("2025-06-18").handshake(self)["capabilities"]).toEqual({});
    expect(codec("2025-11-25").handshake(self)["capabilities"]).toEqual({ elicitation: { url: {} } });
  });

  test("does not change its arguments", () => {
    const before = structuredClone(full);
    for (const version of stateful) codec(version).handshake(full);
    codec("2026-07-28").requestMeta(full, "info");
    expect(full).toEqual(before);
  });

  test("throws on a stateless revision", () => {
    expect(() => codec("2026-07-28").handshake(plain)).toThrow("no handshake");
  });
});

describe("requestMeta", () => {
  test.each(stateful)("returns undefined on %s, which has a handshake", (version) => {
    expect(codec(version).requestMeta(full, "debug")).toBeUndefined();
  });

  test("has version, identity and capabilities for a stateless server", () => {
    const { roots: _, tasks: __, ...capabilities } = full.capabilities;
    expect(codec("2026-07-28").requestMeta(full)).toEqual({
      [metaKeys.protocolVersion]: "2026-07-28",
      [metaKeys.clientInfo]: full.info,
      [metaKeys.clientCapabilities]: { ...capabilities, roots: {} },
    });
  });

  test("has the log level if one is given", () => {
    expect(codec("2026-07-28").requestMeta(plain, "warning")).toHaveProperty([metaKeys.logLevel], "warning");
    expect(codec("2026-07-28").requestMeta(plain)).not.toHaveProperty([metaKeys.logLevel]);
  });
});

describe("encodeParams", () => {
  const call = { name: "greet", arguments: { who: "Ada", task: 1 }, "example.com/x": 1 };
  const retry = { ...call, inputResponses: { a: { action: "accept" } }, requestState: "s" };

  test.each(all)("returns the same object if nothing changes on %s", (version) => {
    for (const method of ["tools/call", "resources/read", "prompts/get", "completion/complete", "no/such"]) {
      expect(codec(version).encodeParams(method, call)).toBe(call);
    }
  });

  test.each(stateful)("removes answers and state on %s", (version) => {
    expect(codec(version).encodeParams("tools/call", retry)).toEqual(call);
    expect(codec(version).encodeParams("resources/read", { uri: "a:b", requestState: "s" })).toEqual({ uri: "a:b" });
    expect(codec(version).encodeParams("prompts/get", { name: "p", inputResponses: {} })).toEqual({ name: "p" });
  });

  test("keeps answers and state for a stateless server", () => {
    expect(codec("2026-07-28").encodeParams("tools/call", retry)).toBe(retry);
  });

  test("keeps `task` only in 2025-11-25", () => {
    const task = { ...call, task: { ttl: 1 } };
    const takers = all.filter((version) => "task" in codec(version).encodeParams("tools/call", task));
    expect(takers).toEqual(["2025-11-25"]);
  });

  test("removes context and titles of a completion for older servers", () => {
    const ref = { type: "ref/prompt", name: "p" };
    const argument = { name: "a", value: "v" };
    const params = { ref: { ...ref, title: "P" }, argument, context: { arguments: { b: "w" } } };
    for (const version of all) {
      const known = version < "2025-06-18" ? { ref, argument } : params;
      expect(codec(version).encodeParams("completion/complete", params)).toEqual(known);
    }
  });

  test("keeps the params of unknown requests", () => {
    const params = { context: {}, task: {}, requestState: "s" };
    for (const version of all) expect(codec(version).encodeParams("example.com/own", params)).toBe(params);
  });
});

describe("decodeResult", () => {
  const decode = (result: { [member: string]: unknown }, method = "tools/call") =>
    codec("2026-07-28").decodeResult(method, result);
  const question = { method: "elicitation/create", params: { message: "Name?", requestedSchema: {} } };

  test.each(all)("returns a complete result without a copy on %s", (version) => {
    const result = { content: [] };
    const decoded = codec(version).decodeResult("tools/call", result);
    expect(decoded).toEqual({ kind: "complete", result });
    expect(decoded.kind === "complete" && decoded.result).toBe(result);
  });

  test("treats every result of a stateful server as complete", () => {
    const result = { resultType: "input_required" };
    for (const version of stateful) {
      expect(codec(version).decodeResult("tools/list", result)).toEqual({ kind: "complete", result });
    }
  });

  test("accepts questions, state, or both", () => {
    const requests = { a: question, b: { method: "roots/list" } };
    const both = decode({ resultType: "input_required", inputRequests: requests, requestState: "s" });
    expect(both).toEqual({ kind: "input_required", requests, state: "s" });
    expect(both.kind === "input_required" && both.requests).toBe(requests);
    expect(decode({ resultType: "input_required", inputRequests: requests }, "prompts/get")).toEqual({
      kind: "input_required",
      requests,
    });
    expect(decode({ resultType: "input_required", requestState: "" }, "resources/read")).toEqual({
      kind: "input_required",
      state: "",
    });
  });

  test.each([
    [
      "an unknown type",
      { resultType: "teleport" },
      'resultType: expected "complete" or "input_required", got "teleport"',
    ],
    ["a type that is no text", { resultType: null }, "got null"],
    ["neither questions nor state", { resultType: "input_required" }, "expected inputRequests or requestState"],
    ["no question and no state", { resultType: "input_required", inputRequests: {} }, "got neither"],
    ["a state that is no text", { resultType: "input_required", requestState: 1 }, "requestState: expected a string"],
    [
      "questions in a list",
      { resultType: "input_required", inputRequests: [question] },
      "inputRequests: expected an object",
    ],
    [
      "a question that is none",
      { resultType: "input_required", inputRequests: { a: null } },
      "inputRequests.a: expected an object",
    ],
    [
      "a question of an unknown method",
      { resultType: "input_required", inputRequests: { a: { method: "tools/call" } } },
      'inputRequests.a.method: expected one of "elicitation/create", "sampling/createMessage", "roots/list"',
    ],
  ])("refuses a result with %s", (_, result, why) => {
    const refusal = expect.objectContaining({ code: "answer-invalid", message: expect.stringContaining(why) });
    expect(() => decode(result)).toThrow(refusal);
  });

  test.each(["tools/list", "completion/complete", "server/discover", "no/such"])(
    "refuses questions in a result of %s",
    (method) => {
      const asking = { resultType: "input_required", inputRequests: { a: question } };
      expect(() => decode(asking, method)).toThrow(expect.objectContaining({ code: "answer-invalid" }));
    },
  );
});

describe("replacementOf", () => {
  test.each([
    ["initialize", "server/discover"],
    ["ping", "server/discover"],
    ["logging/setLevel", "the logLevel of each request"],
    ["resources/subscribe", "subscriptions/listen"],
    ["resources/unsubscribe", "subscriptions/listen"],
  ])("names the successor of %s where it was removed", (method, instead) => {
    expect(replacementOf(method, revision("2026-07-28"))).toBe(instead);
    for (const version of stateful) expect(replacementOf(method, revision(version))).toBeUndefined();
  });

  test.each([
    ["server/discover", "initialize"],
    ["subscriptions/listen", "resources/subscribe"],
  ])("names the predecessor of %s where it does not exist yet", (method, instead) => {
    for (const version of stateful) expect(replacementOf(method, revision(version))).toBe(instead);
    expect(replacementOf(method, revision("2026-07-28"))).toBeUndefined();
  });

  test("returns undefined for methods that all revisions have, or none", () => {
    for (const known of revisions) {
      for (const method of ["tools/call", "no/such", "constructor", "__proto__", ""]) {
        expect(replacementOf(method, known)).toBeUndefined();
      }
    }
  });
});

test("returns the same codec for a revision each time", () => {
  for (const known of revisions) expect(clientCodec(known)).toBe(clientCodec(known));
});

describe("encodeAnswer", () => {
  const sample = (content: unknown) => ({
    role: "assistant",
    model: "m",
    stopReason: "endTurn",
    content,
    _meta: { a: 1 },
  });
  const encodeSample = (version: string, content: unknown) =>
    encodeAnswer(revision(version), "sampling/createMessage", sample(content));
  const hello = { type: "text", text: "Hello" };
  const world = { type: "text", text: "World" };
  const image = { type: "image", data: "AAAA", mimeType: "image/png" };
  const audio = { type: "audio", data: "AAAA", mimeType: "audio/wav" };
  const use = { type: "tool_use", id: "1", name: "search", input: { q: "x" } };
  const oneBlock = all.filter((version) => version < "2025-11-25");
  const manyBlocks = all.filter((version) => version >= "2025-11-25");

  test.each(all)("returns the same object if nothing changes on %s", (version) => {
    const said = sample(hello);
    expect(encodeAnswer(revision(version), "sampling/createMessage", said)).toBe(said);
    const decline = { action: "decline" };
    expect(encodeAnswer(revision(version), "elicitation/create", decline)).toBe(decline);
    const roots = { roots: [{ uri: "file:///a", name: "a" }] };
    expect(encodeAnswer(revision(version), "roots/list", roots)).toBe(roots);
    expect(encodeAnswer(revision(version), "example.com/own", decline)).toBe(decline);
  });

  test.each(manyBlocks)("keeps several blocks and tool calls on %s", (version) => {
    const said = sample([hello, use]);
    expect(encodeAnswer(revision(version), "sampling/createMessage", said)).toBe(said);
  });

  test.each(oneBlock)("joins blocks to one on %s", (version) => {
    expect(encodeSample(version, [image])).toEqual(sample(image));
    expect(encodeSample(version, [hello, world])).toEqual(sample({ type: "text", text: "Hello\nWorld" }));
    expect(encodeSample(version, [])).toEqual(sample({ type: "text", text: "" }));
    expect(encodeSample(version, [hello, image])).toEqual(
      sample({ type: "text", text: "Hello\n[image/png: left out, this protocol version takes one block]" }),
    );
  });

  test.each(oneBlock)("describes tool calls in text on %s", (version) => {
    const text = '[calls the tool search with {"q":"x"}]';
    expect(encodeSample(version, use)).toEqual(sample({ type: "text", text }));
    expect(encodeSample(version, [hello, use])).toEqual(sample({ type: "text", text: `Hello\n${text}` }));
  });

  test("replaces audio for a server without audio", () => {
    const silence = { type: "text", text: "[audio/wav: no audio in this protocol version]" };
    expect(encodeSample("2024-11-05", audio)).toEqual(sample(silence));
    expect(encodeSample("2025-03-26", audio)).toEqual(sample(audio));
  });

  test("removes later members of blocks and roots", () => {
    const rich = {
      ...hello,
      _meta: { b: 2 },
      annotations: { priority: 1, lastModified: "1999-12-31T00:00:00Z" },
      own: 1,
    };
    const known = { ...hello, annotations: { priority: 1 }, own: 1 };
    const roots = { roots: [{ uri: "file:///a", _meta: { b: 2 }, own: 1 }] };
    for (const version of all) {
      const isOld = version < "2025-06-18";
      expect(encodeSample(version, rich)).toEqual(sample(isOld ? known : rich));
      const sent = encodeAnswer(revision(version), "roots/list", roots);
      expect(sent).toEqual(isOld ? { roots: [{ uri: "file:///a", own: 1 }] } : roots);
    }
  });

  test("removes `_meta` in a stateless request, except from a message", () => {
    const accept = { action: "accept", content: { a: 1 }, _meta: { a: 1 }, own: 1 };
    const { _meta, ...bare } = accept;
    for (const version of all) {
      const isBare = version === "2026-07-28";
      expect(encodeAnswer(revision(version), "elicitation/create", accept)).toEqual(isBare ? bare : accept);
      expect(encodeAnswer(revision(version), "roots/list", { roots: [], _meta })).toEqual(
        isBare ? { roots: [] } : { roots: [], _meta },
      );
      expect(encodeSample(version, hello)).toEqual(sample(hello));
    }
  });
});

describe("structured content", () => {
  const called = (structuredContent: unknown) => ({ content: [], structuredContent });

  test.each(["2025-06-18", "2025-11-25"])("of %s must be an object", (version) => {
    expect(codec(version).decodeResult("tools/call", called({ n: 1 }))).toMatchObject({ kind: "complete" });
    for (const [value, name] of [
      [[], "an array"],
      [7, "number 7"],
      [false, "boolean false"],
      [null, "null"],
    ] as const) {
      const message = `The server's result of tools/call is invalid: structuredContent: expected an object, got ${name}`;
      const decode = () => codec(version).decodeResult("tools/call", called(value));
      expect(decode).toThrow(expect.objectContaining({ code: "answer-invalid", message }));
    }
  });

  test.each(["2024-11-05", "2025-03-26", "2026-07-28"])("of %s is any value", (version) => {
    for (const value of [[], 7, false, null]) {
      expect(codec(version).decodeResult("tools/call", called(value))).toMatchObject({ kind: "complete" });
    }
  });
});
