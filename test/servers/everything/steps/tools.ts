import { expect } from "vitest";
import { type Data, read, type Step, textOf, until, valueIn } from "../walk.ts";

/** Results, errors and work of tools. */
export const tools: readonly Step[] = [
  {
    name: "has server information and instructions",
    async check({ client, revision }) {
      expect(client.server.version).toBe(revision);
      expect(client.server.instructions).toContain("A server for learning");
      expect(client.server.info).toMatchObject({ name: "portolan-everything", version: "0.1.0" });
      expect(Object.keys(client.server.capabilities)).toEqual(
        expect.arrayContaining(["logging", "prompts", "resources", "tools"]),
      );
    },
  },
  {
    name: "describes its tools as far as the revision allows",
    async check({ client, revision }) {
      const tools: Data[] = await client.listTools();
      const echo = tools.find(({ name }) => name === "echo");
      expect(echo.inputSchema.properties.text).toMatchObject({ type: "string" });
      expect(echo.annotations !== undefined).toBe(revision >= "2025-03-26");
      expect(echo.title !== undefined).toBe(revision >= "2025-06-18");
      expect(echo.outputSchema !== undefined).toBe(revision >= "2025-06-18");
      expect(echo._meta !== undefined).toBe(revision >= "2025-06-18");
      expect(echo.icons !== undefined).toBe(revision >= "2025-11-25");
      expect(echo["com.example/calls"]).toBe(12);
      for (const { name, description, inputSchema, annotations, outputSchema, title } of tools) {
        expect(description, name).toMatch(/\w{3}/);
        for (const property of Object.values(inputSchema.properties)) expect(property).toHaveProperty("description");
        if (revision >= "2025-03-26") expect(Object.keys(annotations), name).toHaveLength(4);
        if (revision >= "2025-06-18") expect([typeof title, typeof outputSchema], name).toEqual(["string", "object"]);
      }
    },
  },
  {
    name: "returns every type of content, or a substitute",
    async check({ call, revision }) {
      const { content } = await call("content", { kind: "all" });
      expect(content.map(({ type }: Data) => type)).toEqual([
        "text",
        "image",
        revision >= "2025-03-26" ? "audio" : "resource",
        revision >= "2025-06-18" ? "resource_link" : "text",
        "resource",
        "resource",
      ]);
      expect(content[0].annotations).toMatchObject({ audience: ["user", "assistant"], priority: 1 });
      expect(content[0].annotations.lastModified !== undefined).toBe(revision >= "2025-06-18");
      const image = await call("content", { kind: "image" });
      expect(image.content[0]).toMatchObject({ type: "image", mimeType: "image/png" });
      expect(image._meta).toMatchObject({ "com.example/kind": "image", "com.example/served-by": "everything" });
    },
  },
  {
    name: "makes a film in a call for clients that do not know tasks",
    async check({ call }) {
      expect(valueIn(await call("make-film", { frames: 2 }))).toEqual({ frames: 2 });
    },
  },
  {
    name: "returns structured output, and wraps arrays for older clients",
    async check({ call, revision }) {
      const measured = await call("measure");
      expect(valueIn(measured)).toEqual({ place: { name: "Oslo", height: 23.5 }, celsius: [4, 6, 5] });
      expect(measured.structuredContent !== undefined).toBe(revision >= "2025-06-18");
      const { structuredContent, content } = await call("list", { count: 3 });
      expect(JSON.parse(content[0].text)).toEqual([1, 2, 3]);
      const expected = revision >= "2026-07-28" ? [1, 2, 3] : { result: [1, 2, 3] };
      expect(structuredContent).toEqual(revision >= "2025-06-18" ? expected : undefined);
    },
  },
  {
    name: "fails in every way, and masks internal errors",
    async check({ call, revision }) {
      expect(await call("fail", { kind: "tool" })).toMatchObject({ isError: true });
      expect(await call("fail", { kind: "result" })).toMatchObject({
        isError: true,
        content: [{ text: "A result that says it is an error" }],
      });
      await expect(call("fail", { kind: "protocol" })).rejects.toMatchObject({
        code: 1_001,
        data: { kind: "protocol" },
      });
      for (const kind of ["hidden", "output"]) {
        expect(textOf(await call("fail", { kind }))).toMatch(/^The tool failed \(reference \w+\)$/);
      }
      const code = revision === "2025-11-25" ? -32042 : -32603;
      await expect(call("fail", { kind: "url" })).rejects.toMatchObject({ code });
      expect(textOf(await call("fail", { kind: "no such kind" }))).toContain("kind");
      await expect(call("no-such-tool")).rejects.toMatchObject({ code: -32602 });
    },
  },
  {
    name: "accepts arguments repeated in headers",
    async check({ call, client }) {
      await client.listTools({ fresh: true });
      expect(valueIn(await call("route", { region: "eu", shard: 7, urgent: true }))).toEqual({ route: "eu/7!" });
      expect(valueIn(await call("route", { region: "日本" }))).toEqual({ route: "日本/0" });
    },
  },
  {
    name: "returns information about the request",
    async check({ call, revision }) {
      const known = valueIn(await call("request", {}, { meta: { "com.example/trace": "t1" } }));
      expect(known).toMatchObject({ protocolVersion: revision, meta: { "com.example/trace": "t1" } });
      expect(known.client).toMatchObject({ name: "portolan" });
      expect(known.capabilities).toHaveProperty("sampling");
    },
  },
  {
    name: "reports progress",
    async check({ call, revision }) {
      const seen: Data[] = [];
      const result = await call("count", { to: 3 }, { onProgress: (progress: Data) => seen.push(progress) });
      expect(valueIn(result)).toEqual({ counted: 3 });
      expect(seen.map(({ progress, total }) => [progress, total])).toEqual([
        [1, 3],
        [2, 3],
        [3, 3],
      ]);
      expect(seen[0].message).toBe(revision >= "2025-03-26" ? "step 1" : undefined);
    },
  },
  {
    name: "stops when it is cancelled",
    async check(walk) {
      const { cancelled } = JSON.parse(await read(walk, "everything://waits"));
      const abort = new AbortController();
      const call = walk.call("wait", {}, { signal: abort.signal, onProgress: () => abort.abort() });
      await expect(call).rejects.toThrow();
      await until(async () => JSON.parse(await read(walk, "everything://waits")).cancelled === cancelled + 1);
    },
  },
  {
    name: "continues after it has closed the connection",
    async check({ call }) {
      expect(valueIn(await call("hang-up"))).toEqual({ done: true });
    },
  },
  {
    name: "logs at every level that the client wants",
    async check({ call, client, logged }) {
      await client.setLogLevel("debug");
      await call("log");
      await until(() => logged.length >= 8);
      expect(logged.map(({ level }) => level)).toEqual([
        ...["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"],
      ]);
      expect(logged[0]).toMatchObject({ logger: "everything", data: { says: "This is debug" } });
      await client.setLogLevel("alert");
      logged.length = 0;
      await call("log");
      await until(() => logged.length >= 2);
      expect(logged.map(({ level }) => level)).toEqual(["alert", "emergency"]);
    },
  },
];
