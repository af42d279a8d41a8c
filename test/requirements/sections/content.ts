import { fileURLToPath } from "node:url";
import type { JsonObject } from "portolan";
import { createServer } from "portolan/server";
import { expect } from "vitest";
import { ChildChannel, connectMemory } from "../../kit/raw-peer.ts";
import { isStateless, type RevisionDate } from "../../kit/revisions.ts";
import type { Requirement } from "../requirement.ts";
import {
  accepting,
  allMembers,
  type Entry,
  isFrom,
  jsonOf,
  listAll,
  listed,
  listedTool,
  members,
  textOf,
} from "../results.ts";

const server = new URL("../servers/content.mjs", import.meta.url);
const unfit = new URL("../servers/unfit.mjs", import.meta.url);
const runner = fileURLToPath(new URL("../../kit/serve.mjs", import.meta.url));
const icons = [{ src: "https://example.com/icon.svg", mimeType: "image/svg+xml", sizes: ["any"] }];
const note = { "example.com/note": "kept" };
const everyCapability = { roots: {}, sampling: { tools: {}, context: {} }, elicitation: { form: {}, url: {} } };

/** When each member came: the oldest revision that may see it. */
const allowed: { [kind: string]: { [member: string]: RevisionDate } } = {
  implementation: {
    name: "2024-11-05",
    version: "2024-11-05",
    title: "2025-06-18",
    description: "2025-11-25",
    icons: "2025-11-25",
    websiteUrl: "2025-11-25",
  },
  capabilities: {
    tools: "2024-11-05",
    resources: "2024-11-05",
    prompts: "2024-11-05",
    logging: "2024-11-05",
    completions: "2025-03-26",
  },
  initialized: {
    protocolVersion: "2024-11-05",
    capabilities: "2024-11-05",
    serverInfo: "2024-11-05",
    instructions: "2024-11-05",
  },
  tool: {
    name: "2024-11-05",
    description: "2024-11-05",
    inputSchema: "2024-11-05",
    annotations: "2025-03-26",
    title: "2025-06-18",
    outputSchema: "2025-06-18",
    _meta: "2025-06-18",
    icons: "2025-11-25",
    execution: "2025-11-25",
    "example.com/extra": "2024-11-05",
  },
  resource: {
    uri: "2024-11-05",
    uriTemplate: "2024-11-05",
    name: "2024-11-05",
    description: "2024-11-05",
    mimeType: "2024-11-05",
    annotations: "2024-11-05",
    size: "2024-11-05",
    title: "2025-06-18",
    _meta: "2025-06-18",
    icons: "2025-11-25",
  },
  annotations: { audience: "2024-11-05", priority: "2024-11-05", lastModified: "2025-06-18" },
  prompt: {
    name: "2024-11-05",
    description: "2024-11-05",
    arguments: "2024-11-05",
    title: "2025-06-18",
    _meta: "2025-06-18",
    icons: "2025-11-25",
  },
  argument: { name: "2024-11-05", description: "2024-11-05", required: "2024-11-05", title: "2025-06-18" },
  called: {
    content: "2024-11-05",
    isError: "2024-11-05",
    _meta: "2024-11-05",
    "example.com/extra": "2024-11-05",
    structuredContent: "2025-06-18",
  },
  text: {
    type: "2024-11-05",
    text: "2024-11-05",
    annotations: "2024-11-05",
    "example.com/extra": "2024-11-05",
    _meta: "2025-06-18",
  },
  media: {
    type: "2024-11-05",
    data: "2024-11-05",
    mimeType: "2024-11-05",
    annotations: "2024-11-05",
    _meta: "2025-06-18",
  },
  embedded: { type: "2024-11-05", resource: "2024-11-05", annotations: "2024-11-05", _meta: "2025-06-18" },
  contents: {
    uri: "2024-11-05",
    mimeType: "2024-11-05",
    text: "2024-11-05",
    blob: "2024-11-05",
    "example.com/extra": "2024-11-05",
    _meta: "2025-06-18",
  },
  link: {
    type: "2025-06-18",
    uri: "2025-06-18",
    name: "2025-06-18",
    title: "2025-06-18",
    description: "2025-06-18",
    mimeType: "2025-06-18",
    size: "2025-06-18",
    annotations: "2025-06-18",
    _meta: "2025-06-18",
    icons: "2025-11-25",
  },
  read: { contents: "2024-11-05", _meta: "2024-11-05", "example.com/extra": "2024-11-05" },
  got: { description: "2024-11-05", messages: "2024-11-05", _meta: "2024-11-05", "example.com/extra": "2024-11-05" },
};

/** Holds a value to the members that a revision knows: all that it was given of them, and none of the others. */
function fits(kind: string, value: Entry, revision: RevisionDate, absent: string[] = []): void {
  const known = Object.entries(allowed[kind] ?? {}).filter(([, since]) => isFrom(revision, since));
  const wanted = known.map(([name]) => name).filter((name) => !absent.includes(name));
  expect(members(value), kind).toEqual(wanted.sort());
  if (value.annotations && "priority" in value.annotations) fits("annotations", value.annotations, revision);
}

/** Holds content blocks to what a revision knows of them. */
function blocksFit(blocks: Entry[], revision: RevisionDate): void {
  const [text, image, audio, link, embedded, blob] = blocks;
  expect(blocks).toHaveLength(6);
  fits("text", text, revision);
  fits("media", image, revision);
  expect([text.type, image.type, embedded.type, blob.type]).toEqual(["text", "image", "resource", "resource"]);
  if (isFrom(revision, "2025-03-26")) {
    expect(audio.type).toBe("audio");
    fits("media", audio, revision);
  } else {
    expect(audio).toMatchObject({ type: "resource", resource: { mimeType: "audio/wav", blob: "c291bmQ=" } });
    fits("embedded", audio, revision);
    fits("contents", audio.resource, revision, ["text", "example.com/extra"]);
  }
  if (isFrom(revision, "2025-06-18")) {
    expect(link.type).toBe("resource_link");
    fits("link", link, revision);
  } else {
    expect(link.type).toBe("text");
    expect(link.text).toContain("note:a");
    expect(members(link).filter((name) => !["type", "text", "annotations"].includes(name))).toEqual([]);
  }
  fits("embedded", embedded, revision);
  fits("contents", embedded.resource, revision, ["blob"]);
  expect(blob.resource).toEqual({ uri: "note:b", mimeType: "image/png", blob: "aW1hZ2U=" });
}

/** Serves a tool with a schema that cannot be used; no request is served, and the operator hears why. */
async function refusal(revision: RevisionDate, input: JsonObject): Promise<string> {
  const heard: unknown[] = [];
  const onError = (error: unknown) => heard.push(error);
  const served = createServer({ name: "unfit", version: "1" }, { onError }).tool("unfit", { input, run: () => "" });
  const peer = await connectMemory(served, { revision });
  const { error } = await peer.request("tools/list");
  expect(error?.code).toBe(-32603);
  await peer.close();
  expect(heard).toHaveLength(1);
  return (heard[0] as Error).message;
}

const say = (text: string) => ({ type: "text", text });
const user = (content: unknown) => ({ role: "user", content });

/** Requirements on content, annotations, icons and JSON Schema, and on what older revisions must not see. */
export const content: readonly Requirement[] = [
  {
    row: "I1",
    says: "in tool results and in prompts",
    async test(open) {
      const peer = await open({ server });
      const called = (await peer.callTool("all")).result.content;
      const got = (await peer.request("prompts/get", { name: "all", arguments: { who: "x" } })).result.messages;
      for (const blocks of [called, got.map((message: Entry) => message.content)]) {
        expect(blocks[0]).toMatchObject({ type: "text", text: "one" });
        expect(blocks[1]).toMatchObject({ type: "image", data: "aW1hZ2U=", mimeType: "image/png" });
        expect(blocks[4]).toMatchObject({
          type: "resource",
          resource: { uri: "note:a", mimeType: "text/plain", text: "A" },
        });
        expect(blocks[5]).toMatchObject({
          type: "resource",
          resource: { uri: "note:b", mimeType: "image/png", blob: "aW1hZ2U=" },
        });
      }
    },
  },
  {
    row: "I2",
    says: "nothing of the sound is lost",
    async test(open, { revision }) {
      const peer = await open({ server });
      const [, , audio] = (await peer.callTool("all")).result.content;
      if (isFrom(revision, "2025-03-26"))
        expect(audio).toMatchObject({ type: "audio", data: "c291bmQ=", mimeType: "audio/wav" });
      else {
        expect(audio).toMatchObject({
          type: "resource",
          resource: { mimeType: "audio/wav", blob: "c291bmQ=" },
          annotations: { priority: 0.5 },
        });
        expect(URL.canParse(audio.resource.uri)).toBe(true);
      }
    },
  },
  {
    row: "I3",
    says: "the link keeps its target and its name",
    async test(open, { revision }) {
      const peer = await open({ server });
      const link = (await peer.callTool("all")).result.content[3];
      if (isFrom(revision, "2025-06-18")) {
        expect(link).toMatchObject({
          type: "resource_link",
          uri: "note:a",
          name: "a",
          title: "Note A",
          mimeType: "text/plain",
          size: 1,
        });
      } else {
        expect(link).toMatchObject({ type: "text" });
        expect(link.text).toContain("Note A");
        expect(link.text).toContain("note:a");
      }
    },
  },
  {
    row: "I4",
    says: "a conversation with tool use needs the tools capability, also without new tools",
    async test(open, { revision }) {
      const messages = [
        user(say("Hi")),
        { role: "assistant", content: [{ type: "tool_use", id: "u", name: "t", input: {} }] },
        user([{ type: "tool_result", toolUseId: "u", content: [say("done")] }]),
      ];
      const params = { messages, maxTokens: 5 };
      const peer = await open({ server, capabilities: { sampling: {} }, answer: accepting() });
      const { error } = await peer.callTool("sample", { params });
      expect(error?.code).toBe(isStateless(revision) ? -32021 : -32602);
      expect(error?.data).toEqual({ requiredCapabilities: { sampling: { tools: {} } } });
      expect(peer.questions).toEqual([]);
      const able = await open({ server, capabilities: { sampling: { tools: {} } }, answer: accepting() });
      const response = await able.callTool("sample", { params });
      if (isFrom(revision, "2025-11-25")) {
        expect(jsonOf(response)).toEqual(say("Hello"));
        expect(able.questions[0]?.params?.["messages"]).toEqual(messages);
      } else {
        expect(response.error).toMatchObject({ code: -32602 });
        expect(able.questions).toEqual([]);
      }
    },
  },
  {
    row: "I5",
    says: "audience and priority everywhere, the date since 2025-06-18",
    async test(open, { revision }) {
      const peer = await open({ server });
      const dated = isFrom(revision, "2025-06-18") ? { lastModified: "2026-01-01T00:00:00Z" } : {};
      const wanted = { audience: ["user"], priority: 0.5, ...dated };
      const { result } = await peer.callTool("all");
      for (const at of [0, 1, 4]) expect(result.content[at].annotations).toEqual(wanted);
      expect((await listed(peer, "resources/list", "resources", "note:a")).annotations).toEqual(wanted);
      expect((await listed(peer, "resources/templates/list", "resourceTemplates", "note:t/{id}")).annotations).toEqual(
        wanted,
      );
    },
  },
  {
    row: "I6",
    says: "since 2025-11-25, word for word, and not before",
    async test(open, { revision }) {
      const peer = await open({ server });
      const info =
        peer.initialized?.result.serverInfo ??
        (await peer.request("server/discover")).result._meta["io.modelcontextprotocol/serverInfo"];
      const entries = [
        info,
        await listedTool(peer, "all"),
        await listed(peer, "resources/list", "resources", "note:a"),
        await listed(peer, "resources/templates/list", "resourceTemplates", "note:t/{id}"),
        await listed(peer, "prompts/list", "prompts", "all"),
      ];
      for (const entry of entries) expect(entry.icons).toEqual(isFrom(revision, "2025-11-25") ? icons : undefined);
    },
  },
  {
    row: "I7",
    says: "both dialects are enforced, an unknown one is refused by name",
    async test(open, { revision }) {
      const peer = await open({ server });
      expect((await listedTool(peer, "draft07")).inputSchema.$schema).toBe("http://json-schema.org/draft-07/schema#");
      const isError = async (name: string, args: object) =>
        (await peer.callTool(name, { ...args })).result.isError === true;
      expect(await isError("draft07", { pair: ["a", 1] })).toBe(false);
      expect(await isError("draft07", { pair: ["a", "b"] })).toBe(true);
      expect(await isError("draft07", { pair: ["a", 1, 2] })).toBe(true);
      expect(await isError("modern", { pair: ["a", 1, 2] })).toBe(false);
      expect(await isError("modern", { pair: ["a", "b"] })).toBe(true);
      expect(await isError("modern", { other: 1 })).toBe(true);
      const reason = await refusal(revision, { $schema: "http://json-schema.org/draft-04/schema#", type: "object" });
      expect(reason).toMatch(/^Tool "unfit": input: .*draft-04/);
    },
  },
  {
    row: "I8",
    says: "the operator is told which reference it is",
    async test(_, { revision, transport }) {
      if (transport === "stdio") {
        const child = new ChildChannel(process.execPath, [runner, fileURLToPath(unfit)]);
        expect(await child.exited).not.toBe(0);
        const [line = ""] = child.stderr.split("\n");
        expect(line).toContain('Tool "far": input: ');
        expect(line).toContain("https://example.com/schema.json");
        return;
      }
      for (const $ref of ["https://example.com/schema.json", "other.json", "file:///etc/passwd"]) {
        const reason = await refusal(revision, { type: "object", properties: { a: { $ref } } });
        expect(reason).toMatch(/^Tool "unfit": input: /);
        expect(reason).toContain($ref);
        expect(reason).not.toContain("\n");
      }
    },
  },
  {
    row: "I9",
    says: "arguments of thousands of levels are an answer, not a crash",
    async test(open) {
      const peer = await open({ server });
      const nest = (levels: number) => {
        let tree = {};
        for (let level = 0; level < levels; level += 1) tree = { next: tree };
        return { tree };
      };
      expect(textOf(await peer.callTool("deep", nest(100)))).toBe("fits");
      const { result } = await peer.callTool("deep", nest(900));
      expect(result).toMatchObject({ isError: true });
      expect(result.content[0].text).toMatch(/^Invalid arguments for tool "deep": nested more than \d+ levels deep/);
      expect(textOf(await peer.callTool("any", nest(900)))).toBe("ran");
    },
  },
  {
    row: "XI1",
    says: "the handshake shows what the revision knows",
    async test(open, { revision }) {
      const peer = await open({ server });
      const { result } = peer.initialized ?? {};
      fits("initialized", result, revision);
      fits("implementation", result.serverInfo, revision);
      fits("capabilities", result.capabilities, revision);
    },
  },
  {
    row: "XI2",
    says: "entries of all four lists show what the revision knows",
    async test(open, { revision }) {
      const peer = await open({ server });
      for (const method of ["tools/list", "resources/list", "resources/templates/list", "prompts/list"]) {
        const { result } = await peer.request(method);
        expect(members(result)).toHaveLength(1);
      }
      fits("tool", await listedTool(peer, "all"), revision);
      fits("resource", await listed(peer, "resources/list", "resources", "note:a"), revision, ["uriTemplate"]);
      fits("resource", await listed(peer, "resources/templates/list", "resourceTemplates", "note:t/{id}"), revision, [
        "uri",
        "mimeType",
        "size",
      ]);
      const prompt = await listed(peer, "prompts/list", "prompts", "all");
      fits("prompt", prompt, revision);
      fits("argument", prompt.arguments[0], revision);
      const tools = await listAll(peer, "tools/list", "tools");
      for (const tool of tools) if (tool.outputSchema) expect(tool.outputSchema.type, tool.name).toBe("object");
      expect(tools.find(({ name }) => name === "self_reference")).not.toHaveProperty("outputSchema");
    },
  },
  {
    row: "XI3",
    says: "calls, reads, prompts and completions show what the revision knows",
    async test(open, { revision }) {
      const peer = await open({ server });
      const called = (await peer.callTool("all")).result;
      fits("called", called, revision, ["isError"]);
      blocksFit(called.content, revision);
      const read = (await peer.request("resources/read", { uri: "note:a" })).result;
      fits("read", read, revision);
      fits("contents", read.contents[0], revision, ["mimeType", "blob"]);
      const got = (await peer.request("prompts/get", { name: "all", arguments: { who: "x" } })).result;
      fits("got", got, revision);
      blocksFit(
        got.messages.map((message: Entry) => message.content),
        revision,
      );
      const completed = await peer.request("completion/complete", {
        ref: { type: "ref/prompt", name: "all" },
        argument: { name: "who", value: "" },
      });
      expect(members(completed.result)).toEqual(["completion"]);
      const listing = (await peer.callTool("list_output")).result;
      if (isFrom(revision, "2025-06-18")) expect(listing.structuredContent).toEqual({ result: [1] });
      else expect(listing).not.toHaveProperty("structuredContent");
      expect((await peer.request("ping")).result).toEqual({});
      const came = peer.transcript.filter((line) => line.startsWith("< ")).map((line) => JSON.parse(line.slice(2)));
      const seen = allMembers(came);
      for (const name of ["resultType", "ttlMs", "cacheScope", "inputRequests", "requestState", "extensions"]) {
        expect(seen, name).not.toContain(name);
      }
      expect([...seen].filter((name) => name.startsWith("io.modelcontextprotocol/"))).toEqual([]);
      expect((await peer.request("logging/setLevel", { level: "info" })).result).toEqual({});
      expect((await peer.request("resources/subscribe", { uri: "note:a" })).result).toEqual({});
    },
  },
  {
    row: "XI4",
    says: "no message beside progress, no subscription ids, no codes of later revisions, no id where it was unreadable",
    async test(open, { revision }) {
      const peer = await open({ server });
      await peer.callTool("progress", undefined, { _meta: { progressToken: "p" } });
      await peer.request("resources/subscribe", { uri: "note:a" });
      await peer.callTool("change");
      await peer.settled();
      const message = isFrom(revision, "2025-03-26") ? { message: "half" } : {};
      expect(peer.notifications.map(({ method, params }) => [method, params])).toEqual([
        ["notifications/progress", { progressToken: "p", progress: 1, total: 2, ...message }],
        ["notifications/resources/updated", { uri: "note:a" }],
        ["notifications/tools/list_changed", {}],
        ["notifications/prompts/list_changed", {}],
        ["notifications/resources/list_changed", {}],
      ]);
      for (const code of [-32020, -32021, -32022, -32099]) {
        expect((await peer.callTool("throws_code", { code })).error).toEqual({ code: -32603, message: "told" });
      }
      const urlRequired = (await peer.callTool("throws_code", { code: -32042 })).error;
      expect(urlRequired?.code).toBe(revision === "2025-11-25" ? -32042 : -32603);
      expect((await peer.callTool("throws_code", { code: -32002 })).error?.code).toBe(-32002);
      peer.send({ jsonrpc: "2.0", id: {}, method: "ping" } as never);
      const stray = await peer.until(({ strays }) => strays[0]);
      expect(stray.error?.code).toBe(-32600);
      if (isFrom(revision, "2025-11-25")) expect(stray).not.toHaveProperty("id");
      else expect(stray.id).toBeNull();
    },
  },
  {
    row: "XI5",
    says: "forms, pages and sampling are spelled as the revision has them, or refused before the wire",
    async test(open, { revision }) {
      const peer = await open({ server, capabilities: everyCapability, answer: accepting({ colour: "r" }) });
      const schema = {
        type: "object",
        properties: {
          colour: {
            type: "string",
            title: "Colour",
            oneOf: [
              { const: "r", title: "Red" },
              { const: "g", title: "Green" },
            ],
            default: "r",
          },
          text: { type: "string", default: "x" },
          count: { type: "integer", default: 1 },
          ratio: { type: "number", default: 0.5 },
          plain: { type: "string", enum: ["a"], default: "a" },
          agree: { type: "boolean", default: true },
        },
      };
      const asked = await peer.callTool("elicit", { message: "Which?", schema });
      const several = {
        type: "object",
        properties: { many: { type: "array", items: { type: "string", enum: ["a", "b"] } } },
      };
      const selection = await peer.callTool("elicit", { message: "Which?", schema: several });
      const visit = await peer.callTool("visit");
      if (revision === "2025-11-25") {
        const [form, multiple, page] = peer.questions;
        expect(form?.params).toEqual({ mode: "form", message: "Which?", requestedSchema: schema });
        expect(multiple?.params).toMatchObject({ requestedSchema: several });
        expect(page?.params).toMatchObject({
          mode: "url",
          url: "https://example.com/login",
          elicitationId: expect.any(String),
        });
      } else if (revision === "2025-06-18") {
        expect(jsonOf(asked)).toEqual({ action: "accept", content: { colour: "r" } });
        expect(peer.questions).toHaveLength(1);
        expect(peer.questions[0]?.params).toEqual({
          message: "Which?",
          requestedSchema: {
            type: "object",
            properties: {
              colour: { type: "string", title: "Colour", enum: ["r", "g"], enumNames: ["Red", "Green"] },
              text: { type: "string" },
              count: { type: "integer" },
              ratio: { type: "number" },
              plain: { type: "string", enum: ["a"] },
              agree: { type: "boolean", default: true },
            },
          },
        });
        for (const refused of [selection, visit]) expect(refused.error).toMatchObject({ code: -32602 });
      } else {
        for (const refused of [asked, selection, visit]) expect(refused.error).toMatchObject({ code: -32602 });
        expect(peer.questions).toEqual([]);
      }
      peer.questions.length = 0;
      const audio = { type: "audio", data: "c291bmQ=", mimeType: "audio/wav" };
      const messages = [{ ...user([say("a"), say("b")]), _meta: note }, user(audio)];
      await peer.callTool("sample", { params: { messages, maxTokens: 5 } });
      const sent = peer.questions[0]?.params?.["messages"] as Entry[];
      if (revision === "2025-11-25") expect(sent).toEqual(messages);
      else {
        expect(sent.slice(0, 2)).toEqual([user(say("a")), user(say("b"))]);
        expect(sent).toHaveLength(3);
        if (revision === "2024-11-05") expect(["text", "image"]).toContain(sent[2].content.type);
        else expect(sent[2]).toEqual(user(audio));
      }
      peer.questions.length = 0;
      const tools = [{ name: "t", inputSchema: { type: "object" } }];
      const withTools = await peer.callTool("sample", {
        params: { messages: [user(say("a"))], maxTokens: 5, tools, toolChoice: { mode: "auto" } },
      });
      if (revision === "2025-11-25")
        expect(peer.questions[0]?.params).toMatchObject({ tools, toolChoice: { mode: "auto" } });
      else {
        expect(withTools.error).toMatchObject({ code: -32602 });
        expect(peer.questions).toEqual([]);
      }
    },
  },
  {
    row: "XI6",
    says: "in results, blocks, contents and entries, and _meta of results",
    async test(open) {
      const peer = await open({ server });
      const extra = { "example.com/extra": 1 };
      const called = (await peer.callTool("all")).result;
      expect(called).toMatchObject({ ...extra, _meta: note });
      expect(called.content[0]).toMatchObject(extra);
      expect(called.content[4].resource).toMatchObject(extra);
      const read = (await peer.request("resources/read", { uri: "note:a" })).result;
      expect(read).toMatchObject({ ...extra, _meta: note, contents: [extra] });
      const got = (await peer.request("prompts/get", { name: "all", arguments: { who: "x" } })).result;
      expect(got).toMatchObject({ ...extra, _meta: note });
      expect(await listedTool(peer, "all")).toMatchObject(extra);
    },
  },
];
