import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Client, Progress } from "portolan/client";
import { expect } from "vitest";
import type { Data } from "../../peers/clients/peer.d.mts";
import { outcomeOf, type ServerColumn, textOf } from "./feature.ts";
import type { Peer } from "./peer.ts";
import { folder, other, shared } from "./reference-folder.ts";

/** An official reference server with the checks of its features. */
interface Reference {
  readonly server: string;
  readonly args?: readonly string[];
  readonly env?: { readonly [name: string]: string };
  readonly checks: NonNullable<ServerColumn["own"]>;
}

const common: Reference["checks"] = {
  async negotiation({ client }, { server, version, era }) {
    expect(client.server).toMatchObject({ version, era, info: { name: server } });
  },
  async ping({ client }) {
    expect(await client.ping()).toBeUndefined();
  },
  async "tools: unknown"({ client }) {
    const refused = await outcomeOf(client.callTool("nonesuch"));
    expect(refused).toEqual({ hasFailed: true, text: expect.stringContaining("nonesuch") });
  },
  async "closing ends the server"(_, { open }) {
    // These servers do not exit at the end of their input while they wait for our answer, so they get a signal.
    const { client } = await open({}, { graceMs: 100 });
    await client.close();
    expect(await client.closed).toBeUndefined();
    await expect(client.listTools()).rejects.toMatchObject({ code: "connection-closed" });
  },
};

/** Has nearly every feature, but no pages, no large echo, no list that changes, and no tool that can be cancelled. */
export const everything: Reference = {
  server: "mcp-servers/everything",
  checks: {
    ...common,
    async "tools: list"({ client }) {
      const names = (await client.listTools()).map(({ name }) => name);
      // The last three are listed only for a client with the capabilities.
      const some = ["echo", "get-sum", "get-roots-list", "trigger-sampling-request", "trigger-url-elicitation"];
      expect(names).toEqual(expect.arrayContaining(some));
    },
    async "tools: text"({ client }) {
      expect(textOf(await client.callTool("echo", { message: "héllo ✓" }))).toBe("Echo: héllo ✓");
    },
    async "tools: structured"({ client }) {
      await client.listTools();
      const { structuredContent } = await client.callTool("get-structured-content", { location: "Chicago" });
      expect(structuredContent).toEqual({ temperature: 36, conditions: "Light rain / drizzle", humidity: 82 });
    },
    async "tools: mixed content"({ client }) {
      const { content } = await client.callTool("get-resource-reference", { resourceType: "Text", resourceId: 3 });
      expect(content.map(({ type }) => type)).toEqual(["text", "resource", "text"]);
      const links = await client.callTool("get-resource-links", { count: 2 });
      expect(links.content.map(({ type }) => type)).toEqual(["text", "resource_link", "resource_link"]);
      const annotated = await client.callTool("get-annotated-message", { messageType: "error", includeImage: true });
      expect(annotated.content).toMatchObject([{ annotations: { priority: 1 } }, { type: "image" }]);
    },
    async "tools: errors for the model"({ client }) {
      const refused = await outcomeOf(client.callTool("get-sum", { a: "one" }));
      expect(refused).toEqual({ hasFailed: true, text: expect.stringContaining("get-sum") });
    },
    async "tools: many at once"({ client }) {
      const sums = Array.from({ length: 100 }, (_, a) => client.callTool("get-sum", { a, b: 1 }));
      const texts = (await Promise.all(sums)).map(textOf);
      expect(texts).toEqual(texts.map((_, a) => `The sum of ${a} and 1 is ${a + 1}.`));
    },
    async "prompts: list"({ client }) {
      const names = (await client.listPrompts()).map(({ name }) => name);
      expect(names).toEqual(["simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"]);
    },
    async "prompts: get"({ client }) {
      const { messages } = await client.getPrompt("args-prompt", { city: "Rome", state: "Lazio" });
      expect(messages).toMatchObject([{ role: "user", content: { text: "What's weather in Rome, Lazio?" } }]);
    },
    async "prompts: refused"({ client }) {
      await expect(client.getPrompt("args-prompt", {})).rejects.toMatchObject({ code: -32602 });
    },
    async "completion: of a prompt"({ client }) {
      const values = await complete(client, "department", "S");
      expect(values).toEqual(["Sales", "Support"]);
    },
    async "completion: in context"({ client }) {
      expect(await complete(client, "name", "", { department: "Sales" })).toEqual(["David", "Eve", "Frank"]);
    },
    async "completion: of a template"({ client }) {
      const uri = "demo://resource/dynamic/text/{resourceId}";
      const completion = await client.complete({ type: "ref/resource", uri }, { name: "resourceId", value: "7" });
      expect(completion.values).toEqual(["7"]);
    },
    async "elicitation: form"({ client, asked }) {
      const result = await client.callTool("trigger-elicitation-request");
      // All fields except the name have the defaults of the form.
      expect((result.content as Data)[1].text).toContain("Name: Ada");
      expect((result.content as Data)[2].text).toContain('"integer": 42');
      // The server also asks for the roots at some time.
      const form = asked.findLast(({ kind }) => kind === "elicit");
      expect(form).toMatchObject({ params: { requestedSchema: { required: ["name"] } } });
    },
    async "elicitation: declined"({ client }) {
      const answers = { elicit: () => ({ action: "decline" as const }) };
      const result = await client.callTool("trigger-elicitation-request", {}, { answers });
      expect(textOf(result)).toContain("declined");
    },
    async "elicitation: URL"({ client, asked }) {
      const url = "https://example.com/consent";
      expect(textOf(await client.callTool("trigger-url-elicitation", { url }))).toContain("completed");
      expect(asked.findLast(({ kind }) => kind === "openUrl")).toMatchObject({ params: { url } });
    },
    async sampling({ client }) {
      const result = await client.callTool("trigger-sampling-request", { prompt: "a story", maxTokens: 20 });
      expect(textOf(result)).toContain("<Resource trigger-sampling-request context: a story>");
    },
    async roots({ client }) {
      expect(textOf(await client.callTool("get-roots-list"))).toContain("file:///nowhere/ada");
    },
    async "roots: changed"(peer) {
      // The server handles the change only after it has asked for the roots.
      await peer.client.callTool("get-roots-list");
      const before = peer.asked.length;
      peer.client.rootsChanged();
      await peer.until(() => peer.asked.slice(before).some(({ kind }) => kind === "roots"));
    },
    async progress({ client }) {
      const seen: Progress[] = [];
      const onProgress = (progress: Progress) => seen.push(progress);
      await client.callTool("trigger-long-running-operation", { duration: 0.05, steps: 5 }, { onProgress });
      expect(seen).toEqual([1, 2, 3, 4, 5].map((progress) => ({ progress, total: 5 })));
    },
    async cancellation({ client }) {
      // The tool cannot be cancelled, so its response arrives late.
      const controller = new AbortController();
      const options = { signal: controller.signal, onProgress: () => controller.abort(new Error("enough")) };
      const call = client.callTool("trigger-long-running-operation", { duration: 0.2, steps: 20 }, options);
      await expect(call).rejects.toMatchObject({ name: "AbortError", cause: { message: "enough" } });
      await client.callTool("trigger-long-running-operation", { duration: 0.4, steps: 1 });
    },
    async log(peer) {
      await peer.client.setLogLevel("debug");
      await peer.client.callTool("toggle-simulated-logging");
      await peer.until(() => peer.logs.some(({ data }) => /level.message/.test(data)));
      await peer.client.callTool("toggle-simulated-logging");
    },
    async "resources: list"({ client }) {
      const all = await client.listResources();
      expect(all.map(({ uri }) => uri)).toContain("demo://resource/static/document/features.md");
    },
    async "resources: read"({ client }) {
      const { contents } = await client.readResource("demo://resource/static/document/features.md");
      expect(contents).toMatchObject([{ mimeType: "text/markdown", text: expect.stringContaining("#") }]);
    },
    async "resources: templates"({ client }) {
      expect(await client.listTemplates()).toHaveLength(2);
      const { contents } = await client.readResource("demo://resource/dynamic/blob/4");
      expect(Buffer.from((contents as Data)[0].blob, "base64").toString()).toContain("Resource 4");
    },
    async "resources: unknown"({ client }) {
      const uri = "demo://resource/nowhere";
      await expect(client.readResource(uri)).rejects.toMatchObject({ message: expect.stringContaining(uri) });
    },
    async "resources: watch"({ client }) {
      const uri = "demo://resource/dynamic/text/1";
      const watch = await client.watch({ uris: [uri] });
      await client.callTool("toggle-subscriber-updates");
      const { value } = await watch[Symbol.asyncIterator]().next();
      expect(value).toEqual({ kind: "resource", uri });
      await client.callTool("toggle-subscriber-updates");
      await watch.close();
    },
  },
};

/** Has only tools, and asks for roots. */
export const filesystem: Reference = {
  server: "secure-filesystem-server",
  args: [shared],
  checks: {
    ...common,
    async "tools: list"({ client }) {
      const all = await client.listTools();
      expect(all.find(({ name }) => name === "write_file")).toMatchObject({
        annotations: { readOnlyHint: false },
        outputSchema: { properties: { content: { type: "string" } } },
      });
    },
    async "tools: text"({ client }) {
      const path = join(shared, "note.txt");
      await client.callTool("write_file", { path, content: "héllo ✓\nworld\n" });
      expect(textOf(await client.callTool("read_text_file", { path }))).toBe("héllo ✓\nworld\n");
    },
    async "tools: structured"({ client }) {
      await client.listTools();
      const { structuredContent } = await client.callTool("list_directory", { path: shared });
      expect(structuredContent).toEqual({ content: "[FILE] note.txt" });
    },
    async "tools: errors for the model"({ client }) {
      const refused = await client.callTool("read_text_file", { path: join(other, "secret.txt") });
      expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("denied") }] });
    },
    async "tools: many at once"({ client }) {
      const names = Array.from({ length: 50 }, (_, index) => join(shared, `file-${index}.txt`));
      await Promise.all(names.map((path) => client.callTool("write_file", { path, content: path })));
      const read = await Promise.all(names.map((path) => client.callTool("read_text_file", { path })));
      expect(read.map(textOf)).toEqual(names);
    },
    async "tools: a large argument"({ client }) {
      const path = join(shared, "large.txt");
      const content = "0123456789abcdef✓".repeat(60_000);
      await client.callTool("write_file", { path, content });
      expect(textOf(await client.callTool("read_text_file", { path }))).toBe(content);
    },
    async roots(peer) {
      // Neither root exists, so the server keeps the folders of its command line.
      await peer.until(() => peer.stderr.some((line) => line.includes("No valid root directories")));
      expect(peer.asked).toMatchObject([{ kind: "roots" }]);
      expect(await allowedBy(peer)).toContain(shared);
    },
    async "roots: changed"(peer) {
      peer.host.roots = () => [{ uri: pathToFileURL(other).href, name: "other" }];
      peer.client.rootsChanged();
      await peer.until(() => peer.stderr.some((line) => line.includes("Updated allowed directories")));
      expect(await allowedBy(peer)).toContain(other);
      const refused = await outcomeOf(peer.client.callTool("list_directory", { path: shared }));
      expect(refused.hasFailed).toBe(true);
    },
  },
};

const graph = "memory://knowledge-graph";
const ada = { name: "Ada", entityType: "person", observations: ["wrote the first program"] };

/** Has tools and one resource, and asks no questions. */
export const memory: Reference = {
  server: "memory-server",
  env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
  checks: {
    ...common,
    async "tools: list"({ client }) {
      const names = (await client.listTools()).map(({ name }) => name);
      expect(names).toEqual(expect.arrayContaining(["create_entities", "read_graph", "search_nodes"]));
    },
    async "tools: structured"({ client }, { open }) {
      await client.listTools();
      const { structuredContent } = await client.callTool("create_entities", { entities: [ada] });
      expect(structuredContent).toEqual({ entities: [ada] });
      // The graph is kept after the process exits.
      const second = await open();
      const found = await second.client.callTool("search_nodes", { query: "program" });
      expect(found.structuredContent).toMatchObject({ entities: [ada] });
      await second.client.close();
    },
    async "tools: errors for the model"({ client }) {
      const contents = ["is unknown"];
      const refused = await client.callTool("add_observations", {
        observations: [{ entityName: "Nobody", contents }],
      });
      expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("Nobody") }] });
    },
    async "resources: read"({ client }) {
      const [{ uri, text }] = (await client.readResource(graph)).contents as Data;
      expect(uri).toBe(graph);
      expect(JSON.parse(text)).toMatchObject({ entities: [ada] });
    },
    async "resources: list"({ client }) {
      expect(await client.listResources()).toMatchObject([{ uri: graph, mimeType: "application/json" }]);
    },
    async "resources: watch"({ client }) {
      const watch = await client.watch({ uris: [graph] });
      const changes = watch[Symbol.asyncIterator]();
      const alan = { ...ada, name: "Alan" };
      await client.callTool("create_entities", { entities: [alan] });
      expect(await changes.next()).toEqual({ done: false, value: { kind: "resource", uri: graph } });
      await watch.close();
    },
  },
};

async function complete(client: Client, name: string, value: string, known?: { [name: string]: string }) {
  const prompt = { type: "ref/prompt", name: "completable-prompt" } as const;
  return (await client.complete(prompt, { name, value }, known && { known })).values;
}

async function allowedBy({ client }: Peer): Promise<string> {
  return textOf(await client.callTool("list_allowed_directories"));
}
