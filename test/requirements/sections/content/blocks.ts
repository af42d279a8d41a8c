import { expect } from "vitest";
import { isStateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { accepting, type Entry, isFrom, jsonOf, listed, listedTool } from "../../results.ts";

const server = new URL("../../servers/content.mjs", import.meta.url);
const icons = [{ src: "https://example.com/icon.svg", mimeType: "image/svg+xml", sizes: ["any"] }];
const note = { "example.com/note": "kept" };
const say = (text: string) => ({ type: "text", text });
const user = (content: unknown) => ({ role: "user", content });

/** Content blocks, annotations and icons. */
export const blocks: readonly Requirement[] = [
  {
    row: "I1",
    says: "text, image and embedded resources appear in tool results and prompts",
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
    says: "audio keeps its data and type on every revision",
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
    says: "a resource link keeps its URI and its name",
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
    says: "audience and priority are sent on every revision, lastModified since 2025-06-18",
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
    says: "icons are sent unchanged since 2025-11-25, and not before",
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
    row: "XI6",
    says: "unknown members of results, blocks, contents and entries, and _meta of results are kept",
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
