import type { ClientCapabilities, Implementation, JsonObject } from "portolan";
import { describe, expect, test } from "vitest";
import { clientCodec, encodeAnswer } from "../../packages/portolan/src/protocol/client-codec.ts";
import { revisions as library } from "../../packages/portolan/src/protocol/revisions/index.ts";
import { OfficialSchema, schemasMissing } from "../kit/official-schema.ts";
import { type RevisionDate, revisions, stateful, stateless } from "../kit/revisions.ts";
import { definitionFor } from "../transcripts/definitions.ts";

if (schemasMissing) console.log(`Messages of clients are not checked against the official schemas: ${schemasMissing}`);

const revisionOf = (date: RevisionDate) => library.find(({ version }) => version === date)!;

const info: Implementation = {
  name: "atlas",
  version: "1.0.0",
  title: "Atlas",
  description: "a client",
  websiteUrl: "https://example.com",
  icons: [{ src: "https://example.com/icon.png", mimeType: "image/png", sizes: ["48x48"], theme: "dark" }],
};
const capabilities: ClientCapabilities = {
  experimental: { "example.com/x": {} },
  roots: { listChanged: true },
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
  tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} } } },
};

const _meta = { "example.com/note": "x" };
const block = { annotations: { audience: ["user"], priority: 0.5, lastModified: "1999-12-31T23:59:59Z" }, _meta };
const text = { type: "text", text: "Hello", ...block };
const image = { type: "image", data: "AAAA", mimeType: "image/png", ...block };
const audio = { type: "audio", data: "AAAA", mimeType: "audio/wav", ...block };
const toolUse = { type: "tool_use", id: "1", name: "search", input: { q: "x" }, _meta };
const contents = [text, image, audio, toolUse, [text, image], [text, audio, toolUse], []];

/** Every kind of answer of an application, with all members. */
const answers: readonly [method: string, answer: JsonObject][] = [
  ...contents.map((content): [string, JsonObject] => [
    "sampling/createMessage",
    { role: "assistant", model: "test-model", stopReason: "endTurn", content, _meta },
  ]),
  ["elicitation/create", { action: "accept", content: { name: "Ada", age: 36.5, isMember: true }, _meta }],
  ["elicitation/create", { action: "decline" }],
  ["roots/list", { roots: [{ uri: "file:///home/ada", name: "home", _meta }], _meta }],
];

/** Params with every member that some revision knows. */
const params: { readonly [method: string]: JsonObject } = {
  "tools/call": { name: "greet", arguments: { who: "Ada" }, task: { ttl: 1000 }, ...retry() },
  "resources/read": { uri: "notes://1", ...retry() },
  "prompts/get": { name: "review", arguments: { code: "x" }, ...retry() },
  "completion/complete": {
    ref: { type: "ref/prompt", name: "review", title: "Review" },
    argument: { name: "code", value: "x" },
    context: { arguments: { language: "ts" } },
  },
  "tools/list": { cursor: "" },
  "resources/list": { cursor: "a" },
  "resources/templates/list": {},
  "prompts/list": {},
  "resources/subscribe": { uri: "notes://1" },
  "resources/unsubscribe": { uri: "notes://1" },
  "logging/setLevel": { level: "info" },
  "subscriptions/listen": { notifications: { toolsListChanged: true, resourceSubscriptions: ["notes://1"] } },
  "server/discover": {},
  ping: {},
};

function retry(): JsonObject {
  const newest = revisionOf("2026-07-28");
  const encoded = answers.map(([method, answer], index) => [`q${index}`, encodeAnswer(newest, method, answer)]);
  return { inputResponses: Object.fromEntries(encoded), requestState: "sealed" };
}

describe.skipIf(schemasMissing)("a client sends valid messages without members of another revision", () => {
  test.each(stateful)("in the handshake of %s", (date) => {
    const schema = new OfficialSchema(date);
    const sent = clientCodec(revisionOf(date)).handshake({ info, capabilities });
    expect(schema.problems("InitializeRequest", request("initialize", sent))).toEqual([]);
  });

  test.each(stateless)("in the metadata of each request of %s", (date) => {
    const schema = new OfficialSchema(date);
    const declared = { ...capabilities, extensions: { "example.com/y": {} } };
    const sent = clientCodec(revisionOf(date)).requestMeta({ info, capabilities: declared }, "info");
    expect(schema.problems("RequestMetaObject", sent)).toEqual([]);
  });

  test.each(revisions)("in every request of %s", (date) => {
    const schema = new OfficialSchema(date);
    const revision = revisionOf(date);
    const codec = clientCodec(revision);
    const methods = [...revision.requests.keys()].filter((method) => method !== "initialize");
    expect(methods.length).toBeGreaterThan(8);
    for (const method of methods) {
      const meta = codec.requestMeta({ info, capabilities }, "info");
      const sent = { ...codec.encodeParams(method, params[method]!), _meta: { progressToken: 1, ...meta } };
      expect(schema.problems(definitionFor(method, "request"), request(method, sent)), method).toEqual([]);
    }
  });

  test.each(revisions)("in every answer of %s", (date) => {
    const schema = new OfficialSchema(date);
    const known = answers.filter(([method]) => schema.has(definitionFor(method, "result")));
    expect(known.length).toBeGreaterThan(7);
    for (const [method, answer] of known) {
      const sent = encodeAnswer(revisionOf(date), method, answer);
      expect(schema.problems(definitionFor(method, "result"), sent), JSON.stringify(sent)).toEqual([]);
    }
  });

  test.each(revisions.filter((date) => date !== "2025-11-25"))(
    "and the schema of %s would refuse members of another revision",
    (date) => {
      const schema = new OfficialSchema(date);
      expect(schema.problems("ClientCapabilities", capabilities)).not.toEqual([]);
      const isWrong = ([method, answer]: (typeof answers)[number]) => {
        const name = definitionFor(method, "result");
        return schema.has(name) && schema.problems(name, answer).length > 0;
      };
      expect(answers.filter(isWrong).length).toBeGreaterThan(1);
    },
  );
});

function request(method: string, params: JsonObject): JsonObject {
  return { jsonrpc: "2.0", id: 1, method, params };
}
