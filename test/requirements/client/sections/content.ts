import type { ClientCapabilities, CreateMessageResult, JsonObject } from "portolan";
import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import { isFrom } from "../../results.ts";
import { allAnswers, answerOf, asks, everyCall } from "../kit/calls.ts";
import type { Requirement } from "../requirement.ts";

const annotations = { audience: ["user", "assistant"], priority: 1, lastModified: "1999-12-31T23:59:59Z", later: 1 };
const _meta = { "example.com/x": { y: 1 } };
const icons = [{ src: "https://example.com/i.png", mimeType: "image/png", sizes: ["any"], theme: "dark" as const }];
const audio = { type: "audio", data: "AAAA", mimeType: "audio/wav" } as const;
const question = { messages: [{ role: "user", content: { type: "text", text: "Hi" } }], maxTokens: 10 };

/** Tests that the content of a tool result reaches the caller unchanged. */
const arrives = (content: JsonObject[]): Requirement["test"] => {
  return async ({ open }) => {
    const { client } = await open({ on: { "tools/call": () => ({ content }) } });
    expect((await client.callTool("a")).content).toEqual(content);
  };
};

const sampled = (content: unknown): CreateMessageResult =>
  ({ role: "assistant", model: "m", stopReason: "endTurn", content, _meta }) as CreateMessageResult;

export const content: Requirement[] = [
  {
    row: "C-XG1",
    says: "content blocks of known and unknown types keep their order",
    test: arrives([
      { type: "later", x: [1] },
      { type: "text", text: "" },
      { type: "resource", resource: { uri: "a:b", blob: "" } },
      { type: "text", text: "again" },
      { type: "image", data: "", mimeType: "image/png" },
    ]),
  },
  {
    row: "C-I1",
    says: "text, image and resource blocks arrive with annotations and _meta",
    test: arrives([
      { type: "text", text: "é🙂", annotations, _meta },
      { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png", annotations, _meta },
      { type: "resource", resource: { uri: "note://a", mimeType: "text/plain", text: "x", _meta }, annotations, _meta },
      { type: "resource", resource: { uri: "note://b", blob: "AAECAw==" } },
    ]),
  },
  { row: "C-I2", says: "audio in results arrives as sent", test: arrives([{ ...audio, annotations, _meta }]) },
  {
    row: "C-I2",
    says: "audio in a sampling result is sent as audio, or as text to older servers",
    async test({ open, revision }) {
      const on = { "tools/call": asks(revision, "sampling/createMessage", question) };
      const { client } = await open({ on, answers: { sample: () => sampled(audio) } });
      const { content: sent } = await answerOf(client);
      expect(sent.type).toBe(isFrom(revision, "2025-03-26") ? "audio" : "text");
    },
  },
  {
    row: "C-I3",
    says: "resource links arrive as sent, listed or not",
    test: arrives([
      {
        type: "resource_link",
        uri: "note://a",
        name: "a",
        title: "A",
        description: "d",
        mimeType: "x/y",
        size: 3,
        icons,
        annotations,
        _meta,
      },
      { type: "resource_link", uri: "note://b", name: "b" },
    ]),
  },
  {
    row: "C-I4",
    says: "tool use is sent as text to older servers",
    async test({ open, revision }) {
      const use = { type: "tool_use", id: "1", name: "search", input: { q: "x" } };
      const on = { "tools/call": asks(revision, "sampling/createMessage", question) };
      const capabilities = { sampling: { tools: {} } };
      const { client } = await open({
        on,
        capabilities,
        answers: { sample: () => sampled([{ type: "text", text: "Hm" }, use]) },
      });
      const { content: sent } = await answerOf(client);
      if (isFrom(revision, "2025-11-25")) expect(sent).toEqual([{ type: "text", text: "Hm" }, use]);
      else expect(sent).toMatchObject({ type: "text", text: expect.stringMatching(/^Hm[\s\S]*search/) });
    },
  },
  {
    row: "C-I5",
    says: "annotations of content blocks and resources arrive as sent",
    async test({ open }) {
      const block = { type: "text", text: "x", annotations };
      const resource = { uri: "note://a", name: "a", annotations };
      const { client } = await open({
        on: { "tools/call": () => ({ content: [block] }), "resources/list": () => ({ resources: [resource] }) },
      });
      expect((await client.callTool("a")).content).toEqual([block]);
      expect(await client.listResources()).toEqual([resource]);
    },
  },
  {
    row: "C-I6",
    says: "icons of the server, tools, resources, templates and prompts arrive as sent",
    async test({ open, revision }) {
      const info = { name: "s", version: "1", icons };
      const { client, server } = await open({
        info: { name: "c", version: "1", icons: [{ src: "data:image/png;base64,AAAA" }] },
        says: isStateless(revision) ? { _meta: { [metaKey("serverInfo")]: info } } : { serverInfo: info },
        on: {
          "tools/list": () => ({ tools: [{ name: "a", inputSchema: { type: "object" }, icons }] }),
          "resources/list": () => ({ resources: [{ uri: "a:b", name: "a", icons }] }),
          "resources/templates/list": () => ({ resourceTemplates: [{ uriTemplate: "a:{b}", name: "a", icons }] }),
          "prompts/list": () => ({ prompts: [{ name: "a", icons }] }),
        },
      });
      expect(client.server.info).toEqual(info);
      const lists = [client.listTools(), client.listResources(), client.listTemplates(), client.listPrompts()];
      for (const [first] of await Promise.all(lists)) expect(first).toMatchObject({ icons });
      const { params } = server.sent[0]!;
      const { clientInfo = params._meta[metaKey("clientInfo")] } = params;
      expect("icons" in clientInfo).toBe(isFrom(revision, "2025-11-25"));
    },
  },
  {
    row: "C-XI1",
    says: "no member of a later revision is sent, whatever the application declares, requests and answers",
    async test({ open, revision }) {
      const everything: ClientCapabilities = {
        experimental: { "example.com/x": {} },
        roots: { listChanged: true },
        sampling: { tools: {}, context: {} },
        elicitation: { form: {}, url: {} },
        tasks: { list: {}, cancel: {} },
      };
      const answers = {
        ...allAnswers,
        roots: [{ uri: "file:///a", name: "a", _meta }],
        elicit: () => ({ action: "accept" as const, content: { n: 1.5 }, _meta }),
        sample: () =>
          sampled([{ type: "text", text: "a", _meta, annotations: { lastModified: "1999-12-31T23:59:59Z" } }]),
      };
      const requestedSchema = { type: "object", properties: { n: { type: "number" } } };
      const questions: [string, JsonObject?][] = [
        ["roots/list"],
        ["sampling/createMessage", question],
        ...(isFrom(revision, "2025-06-18")
          ? ([["elicitation/create", { message: "?", requestedSchema }]] as [string, JsonObject][])
          : []),
      ];
      const info = { name: "c", version: "1", title: "C", description: "d", websiteUrl: "https://example.com", icons };
      for (const [method, params] of questions) {
        const on = { "tools/call": asks(revision, method, params) };
        const { client } = await open({ on, info, answers, capabilities: everything });
        expect(await answerOf(client)).not.toHaveProperty("error");
        if (method === "roots/list") await everyCall(client, revision);
        const retry = { inputResponses: { q: { action: "decline" as const } }, requestState: "s" };
        await client.callTool("a", {}, { answers, capabilities: everything, logLevel: "debug", ...retry });
      }
    },
  },
];
