import { createHash } from "node:crypto";
import { expect } from "vitest";
import { type Data, read, type Step, valueIn } from "../walk.ts";

const accept = (content: object = {}) => ({ action: "accept", content });

/** Resources, prompts, notifications, and custom features. */
export const offers: readonly Step[] = [
  {
    name: "has resources in pages, with text, bytes and several contents",
    async check(walk) {
      const { client, revision } = walk;
      const first = await client.request("resources/list", {}, { fresh: true });
      expect((first["resources"] as Data[]).length).toBe(40);
      expect(first["nextCursor"]).toEqual(expect.any(String));
      expect(first["ttlMs"]).toBe(revision >= "2026-07-28" ? 5_000 : undefined);
      const all: Data[] = await client.listResources({ fresh: true });
      expect(all).toHaveLength(68);
      const readme = all.find(({ name }) => name === "readme");
      expect(readme).toMatchObject({ uri: "everything://readme", mimeType: "text/markdown" });
      await expect(client.request("resources/list", { cursor: "nonsense" })).rejects.toMatchObject({ code: -32602 });
      const result: Data = await client.readResource("everything://readme", { fresh: true });
      expect(result.contents[0].text).toContain("# Everything");
      expect(readme.size).toBe(result.contents[0].text.length);
      expect([result.ttlMs, result.cacheScope]).toEqual(
        revision >= "2026-07-28" ? [60_000, "public"] : [undefined, undefined],
      );
      const { contents: bytes } = await client.readResource("everything://pixel");
      expect((bytes[0] as Data).blob).toMatch(/^iVBOR/);
      const { contents: both } = await client.readResource("everything://folder");
      expect(both.map(({ uri }) => uri)).toEqual(["everything://folder/a", "everything://folder/b"]);
      const code = revision >= "2026-07-28" ? -32602 : -32002;
      await expect(client.readResource("everything://gone")).rejects.toMatchObject({ code });
    },
  },
  {
    name: "has a skill with a file that is verified",
    async check({ client }) {
      const { skills }: Data = await client.request("skills/list");
      const { uri, frontmatter, resources } = skills[0];
      expect([uri, frontmatter.name]).toEqual(["skill://tour/SKILL.md", "tour"]);
      for (const file of resources) {
        const { contents } = await client.readResource(file.uri);
        const digest = createHash("sha256")
          .update((contents[0] as Data).text)
          .digest("hex");
        expect(`sha256:${digest}`).toBe(file.digest);
      }
    },
  },
  {
    name: "has templates with completion",
    async check({ client, revision }) {
      expect((await client.listTemplates()).map(({ uriTemplate }) => uriTemplate).sort()).toEqual([
        "everything://cities/{country}/{city}",
        "everything://squares/{number}",
      ]);
      expect((await client.readResource("everything://squares/12")).contents[0]).toMatchObject({ text: "144" });
      await expect(client.readResource("everything://squares/1e1")).rejects.toThrow();
      const square = { type: "ref/resource", uri: "everything://squares/{number}" } as const;
      expect((await client.complete(square, { name: "number", value: "6" })).values).toEqual(["6", "60"]);
      const city = { type: "ref/resource", uri: "everything://cities/{country}/{city}" } as const;
      const known = { country: "Norway" };
      const { values } = await client.complete(city, { name: "city", value: "" }, { known });
      expect(values).toEqual(
        revision >= "2025-06-18" ? ["Oslo", "Bergen"] : ["Reykjavik", "Oslo", "Bergen", "Lisbon", "Porto"],
      );
    },
  },
  {
    name: "has a resource that asks",
    since: "2025-06-18",
    async check({ client }) {
      expect((await client.readResource("everything://private")).contents[0]).toMatchObject({
        text: "The secret is 7",
      });
    },
    async before({ client }) {
      await expect(client.readResource("everything://private")).rejects.toMatchObject({ code: -32602 });
    },
  },
  {
    name: "has resources with subscriptions",
    async check(walk) {
      const watch = await walk.client.watch({ uris: ["everything://note", "everything://waits"] });
      const changes = watch[Symbol.asyncIterator]();
      expect(valueIn(await walk.call("write-note", { note: "second note" }))).toEqual({ note: "second note" });
      expect((await changes.next()).value).toEqual({ kind: "resource", uri: "everything://note" });
      expect(await read(walk, "everything://note")).toBe("second note");
      const abort = new AbortController();
      const call = walk.call("wait", {}, { signal: abort.signal });
      expect((await changes.next()).value).toEqual({ kind: "resource", uri: "everything://waits" });
      abort.abort();
      await expect(call).rejects.toThrow();
      await watch.close();
    },
  },
  {
    name: "has lists that change, and a tool that undoes it",
    async check({ client, call }) {
      const watch = await client.watch({ tools: true, prompts: true, resources: true });
      const changes = watch[Symbol.asyncIterator]();
      await call("change-lists", { extras: 2 });
      const kinds = [await changes.next(), await changes.next(), await changes.next()].map(({ value }) => value.kind);
      expect(kinds.sort()).toEqual(["prompts", "resources", "tools"]);
      const names = async () => (await client.listTools({ fresh: true })).map(({ name }) => name);
      expect(await names()).toEqual(expect.arrayContaining(["extra-1", "extra-2"]));
      expect(valueIn(await call("extra-2"))).toEqual({ number: 2 });
      expect((await client.getPrompt("extra-1")).messages).toHaveLength(1);
      await watch.close();
      expect(valueIn(await call("reset"))).toEqual({ note: "first note" });
      expect(await names()).not.toContain("extra-1");
      await expect(call("extra-1")).rejects.toMatchObject({ code: -32602 });
    },
  },
  {
    name: "has prompts with arguments, content and completion",
    async check({ client, revision }) {
      const prompts: Data[] = await client.listPrompts({ fresh: true });
      expect(prompts.map(({ name }) => name)).toEqual(["arguments", "asking", "content", "plain"]);
      expect(prompts[0].arguments).toMatchObject([{ name: "language", required: true }, { name: "style" }]);
      const { messages } = await client.getPrompt("arguments", { language: "rust" });
      expect(messages).toMatchObject([
        { role: "user", content: { text: "Give my rust a friendly review." } },
        { role: "assistant" },
      ]);
      await expect(client.getPrompt("arguments")).rejects.toMatchObject({ code: -32602 });
      const content = (await client.getPrompt("content")).messages.map(({ content }) => content.type);
      expect(content.slice(-2)).toEqual(["resource", "resource"]);
      expect(content).toHaveLength(6);
      const ref = { type: "ref/prompt", name: "arguments" } as const;
      expect((await client.complete(ref, { name: "language", value: "r" })).values).toEqual(["rust"]);
      const known = { language: "rust" };
      const { values } = await client.complete(ref, { name: "style", value: "" }, { known });
      expect(values).toEqual(["strict", revision >= "2025-06-18" ? "pedantic" : "friendly"]);
    },
  },
  {
    name: "has a prompt that asks",
    since: "2025-06-18",
    async check({ client, script }) {
      script.push(accept({ topic: "boats" }));
      expect((await client.getPrompt("asking")).messages[0]).toMatchObject({ content: { text: "Write about boats." } });
    },
    async before({ client }) {
      expect((await client.getPrompt("asking")).messages[0]).toMatchObject({
        content: { text: "Write about anything." },
      });
    },
  },
  {
    name: "answers a custom request",
    async check({ client }) {
      expect(await client.request("everything/ping")).toMatchObject({ pong: true });
      await client.ping();
    },
  },
  {
    name: "has an extension for clients that declare it",
    async check({ client }) {
      expect(await client.request("com.example/popularity/top")).toMatchObject({ tools: ["echo"] });
      expect(client.server.capabilities.extensions).toMatchObject({ "com.example/popularity": { unit: "calls" } });
    },
  },
];
