import { expect } from "vitest";
import { type Feature, textOf } from "../feature.ts";

const structured = "2025-06-18";

/** Values that a tool without an output schema returns. */
const anyValues = { list: [3, 1, 2], empty: [], number: 7, no: false, null: null, date: "1970-01-01T00:00:00.000Z" };

export const toolFeatures: Feature[] = [
  {
    name: "negotiation",
    async check(peer, { version }) {
      expect(peer.version).toBe(version);
      expect(peer.server.info).toMatchObject({ name: "interop-fixture", version: "1.2.3" });
      expect(peer.server.instructions).toBe("One of everything.");
      expect(peer.server.capabilities).toMatchObject({
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        logging: {},
      });
    },
  },
  {
    name: "client info",
    async check(peer, { version }) {
      const client = JSON.parse(textOf(await peer.callTool("whoami")));
      expect(client).toEqual({
        name: peer.name,
        protocolVersion: version,
        capabilities: ["elicitation", "roots", "sampling"],
      });
    },
  },
  {
    name: "tools: list",
    async check(peer, { version }) {
      const { all, pages } = await peer.listTools();
      expect(pages).toBe(1);
      const text = all.find(({ name }) => name === "text");
      expect(text).toMatchObject({
        description: "Says what it was given",
        inputSchema: {
          type: "object",
          properties: { text: { type: "string", description: "What to say" } },
          required: ["text"],
        },
      });
      const { outputSchema } = all.find(({ name }) => name === "structured");
      if (version < structured) expect(outputSchema).toBeUndefined();
      else expect(outputSchema).toMatchObject({ type: "object", required: ["city", "celsius", "sky"] });
    },
  },
  {
    name: "tools: text",
    async check(peer) {
      expect(await peer.callTool("text", { text: "héllo ✓\nworld" })).toMatchObject({
        content: [{ type: "text", text: "héllo ✓\nworld" }],
      });
    },
  },
  {
    name: "tools: structured",
    since: structured,
    async check(peer) {
      const { structuredContent, content } = await peer.callTool("structured", { city: "Rome" });
      expect(structuredContent).toEqual({ city: "Rome", celsius: 21.5, sky: "clear" });
      expect(JSON.parse(content[0].text)).toEqual(structuredContent);
    },
    async without(peer) {
      const { structuredContent, content } = await peer.callTool("structured", { city: "Rome" });
      expect(structuredContent).toBeUndefined();
      expect(JSON.parse(content[0].text)).toEqual({ city: "Rome", celsius: 21.5, sky: "clear" });
    },
  },
  {
    name: "tools: structured list",
    since: structured,
    async check(peer, { version }) {
      const { structuredContent } = await peer.callTool("structured-list");
      expect(structuredContent).toEqual(version < "2026-07-28" ? { result: [3, 1, 2] } : [3, 1, 2]);
      for (const [kind, value] of Object.entries(anyValues)) {
        const called = await peer.callTool("any-value", { kind });
        expect(called.structuredContent, kind).toEqual(version < "2026-07-28" ? { result: value } : value);
      }
      const { structuredContent: object } = await peer.callTool("any-value", { kind: "object" });
      expect(object).toEqual({ sky: "clear" });
      const { structuredContent: variant } = await peer.callTool("structured-union");
      expect(variant).toEqual({ sky: "clear", celsius: 21.5 });
    },
    async without(peer) {
      expect(JSON.parse(textOf(await peer.callTool("structured-list")))).toEqual([3, 1, 2]);
    },
  },
  {
    name: "tools: image",
    async check(peer) {
      const { content } = await peer.callTool("image");
      expect(content).toMatchObject([{ type: "image", mimeType: "image/png" }]);
      expect(Buffer.from(content[0].data, "base64").toString("latin1")).toContain("PNG");
    },
  },
  {
    name: "tools: audio",
    since: "2025-03-26",
    async check(peer) {
      expect(await peer.callTool("audio")).toMatchObject({ content: [{ type: "audio", mimeType: "audio/wav" }] });
    },
    async without(peer) {
      const { content } = await peer.callTool("audio");
      expect(content).toMatchObject([{ type: "resource", resource: { mimeType: "audio/wav" } }]);
    },
  },
  {
    name: "tools: resource link",
    since: structured,
    async check(peer) {
      const link = { type: "resource_link", uri: "note://1", name: "first note" };
      expect(await peer.callTool("link")).toMatchObject({ content: [link] });
    },
    async without(peer) {
      expect(textOf(await peer.callTool("link"))).toContain("note://1");
    },
  },
  {
    name: "tools: embedded resource",
    async check(peer) {
      expect(await peer.callTool("embedded")).toMatchObject({
        content: [{ type: "resource", resource: { uri: "note://1", text: "Note 1" } }],
      });
    },
  },
  {
    name: "tools: errors for the model",
    async check(peer) {
      expect(await peer.callTool("error-result")).toMatchObject({ isError: true, content: [{ text: "Out of ink" }] });
      expect(await peer.callTool("tool-error")).toMatchObject({
        isError: true,
        content: [{ text: "No city named Atlantis" }],
      });
      const refused = await peer.callTool("text", { text: 7 });
      expect(refused.isError).toBe(true);
      expect(textOf(refused)).toContain("text");
    },
  },
  {
    name: "tools: crash without details",
    async check(peer) {
      const crashed = await peer.callTool("crash");
      expect(crashed.isError).toBe(true);
      expect(JSON.stringify(crashed)).not.toContain("hunter2");
      expect(textOf(await peer.callTool("journal"))).toContain("error: the password is hunter2");
    },
  },
  {
    name: "tools: unknown",
    async check(peer) {
      await expect(peer.callTool("nonesuch")).rejects.toMatchObject({ code: -32602 });
    },
  },
  {
    name: "tools: many at once",
    async check(peer) {
      const texts = Array.from({ length: 200 }, (_, index) => `${peer.name} ${index}`);
      const results = await Promise.all(texts.map((text) => peer.callTool("text", { text })));
      expect(results.map(textOf)).toEqual(texts);
    },
  },
  {
    name: "tools: a large argument",
    async check(peer) {
      const text = "0123456789abcdef✓".repeat(60_000);
      expect(textOf(await peer.callTool("text", { text }))).toBe(text);
    },
  },
  {
    name: "pagination",
    async check(peer, { open }) {
      const paged = await open({ env: { INTEROP_PAGE_SIZE: "2" } });
      for (const list of ["listTools", "listResources", "listTemplates", "listPrompts"] as const) {
        const whole = await peer[list]();
        const parts = await paged[list]();
        expect(parts.pages).toBe(Math.ceil(whole.all.length / 2));
        expect(parts.all).toEqual(whole.all);
      }
      await expect(paged.listToolsFrom("no cursor of ours")).rejects.toMatchObject({ code: -32602 });
      await paged.close();
    },
  },
];
