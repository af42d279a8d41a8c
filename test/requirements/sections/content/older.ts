import { expect } from "vitest";
import type { Requirement } from "../../requirement.ts";
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
} from "../../results.ts";
import { blocksFit, fits } from "./members.ts";

const server = new URL("../../servers/content.mjs", import.meta.url);
const note = { "example.com/note": "kept" };
const everyCapability = { roots: {}, sampling: { tools: {}, context: {} }, elicitation: { form: {}, url: {} } };
const say = (text: string) => ({ type: "text", text });
const user = (content: unknown) => ({ role: "user", content });

/** Messages to older revisions must not contain members of later ones. */
export const older: readonly Requirement[] = [
  {
    row: "XI1",
    says: "the handshake has exactly the members of the revision",
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
    says: "entries of all four lists have exactly the members of the revision",
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
    says: "results of calls, reads, prompts and completions have exactly the members of the revision",
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
      const messages = peer.transcript.filter((line) => line.startsWith("< ")).map((line) => JSON.parse(line.slice(2)));
      const seen = allMembers(messages);
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
    says: "no progress message, subscription id, error code or missing id of a later revision",
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
    says: "forms, URLs and sampling requests have the form of the revision, or are refused before they are sent",
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
];
