import fc from "fast-check";
import type { Tool } from "portolan";
import { createMemoryStorage } from "portolan/storage";
import { expect, test } from "vitest";
import { appModelNameOf, Catalog, FeatureCache, isAppModelName, modelNameOf } from "./catalog.ts";
import { type ListedFeatures, noFeatures } from "./load-lists.ts";
import { wordsOf } from "./search.ts";

function tool(name: string, description = ""): Tool {
  return { name, description, inputSchema: { type: "object" } };
}

async function put(catalog: Catalog, server: string, tools: Tool[], isShown = (_: string) => true): Promise<void> {
  const statusOf = () => ({ digest: "d", isQuarantined: false });
  await catalog.put(server, { ...noFeatures, tools }, statusOf, { acceptsInstructions: true, isShown });
}

const createCatalog = () => new Catalog((name) => name.toLowerCase().replaceAll("0", "o"));

test("model names are plain, short, stable and reversible", async () => {
  expect(await modelNameOf("files", "read")).toBe("files__read");
  const long = await modelNameOf("files", "r".repeat(200));
  expect(long).toMatch(/^files__r+_x[a-z0-9]{10}$/);
  expect(long).toHaveLength(64);
  expect(await modelNameOf("files", "r".repeat(200))).toBe(long);
  expect(await modelNameOf("my server", "größe")).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
});

test("no two tools have the same model name", async () => {
  const name = fc.string({ unit: fc.constantFrom("a", "_", "-", ".", "x", "é", "9"), minLength: 1, maxLength: 70 });
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.tuple(name, name), { selector: String, maxLength: 20 }), async (pairs) => {
      const names = await Promise.all(pairs.map(([server, of]) => modelNameOf(server, of)));
      expect(new Set(names).size).toBe(pairs.length);
      for (const made of names) expect(made).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    }),
    { numRuns: 300 },
  );
});

test("no tool of an app has the model name of a server's tool, whatever both are called", async () => {
  const part = fc.constantFrom("a", "app", "_", "__", "-", "_v", "_x", "0123456789", "1a2b3c4d5e", "é", ".");
  const name = fc.array(part, { minLength: 1, maxLength: 12 }).map((parts) => parts.join(""));
  await fc.assert(
    fc.asyncProperty(name, name, name, async (server, tool, digest) => {
      expect(isAppModelName(await modelNameOf(server, tool))).toBe(false);
      const ofApp = appModelNameOf(server, tool, digest);
      expect(ofApp).toMatch(/^app_[A-Za-z0-9_-]{1,60}$/);
      expect(isAppModelName(ofApp)).toBe(true);
      // A server may be called like the beginning of that name.
      const [, rest = ""] = /^app_(.*)$/.exec(ofApp) ?? [];
      expect(await modelNameOf("app", rest)).not.toBe(ofApp);
    }),
    { numRuns: 500 },
  );
});

test("a plain name that looks like a shortened one is respelled", async () => {
  const shortened = await modelNameOf("s", "x".repeat(100));
  const plainName = shortened.slice("s__".length);
  expect(await modelNameOf("s", plainName)).not.toBe(shortened);
});

test("a change of one server leaves the others unchanged", async () => {
  const catalog = createCatalog();
  await put(catalog, "a", [tool("one"), tool("two")]);
  await put(catalog, "b", [tool("one")]);
  const kept = catalog.tool("b", "one");
  await put(catalog, "a", [tool("three")]);
  expect(catalog.tools.map(({ server, name }) => `${server}.${name}`).sort()).toEqual(["a.three", "b.one"]);
  expect(catalog.tool("b", "one")).toBe(kept);
  expect(catalog.byModelName("a__one")).toBeUndefined();
  expect(catalog.byModelName("a__three")?.name).toBe("three");
  catalog.remove("b");
  expect(catalog.byModelName("b__one")).toBeUndefined();
});

test("two tools with similar names report each other", async () => {
  const catalog = createCatalog();
  await put(catalog, "real", [tool("post")]);
  await put(catalog, "other", [tool("p0st"), tool("mine")]);
  expect(catalog.tool("other", "p0st")?.resembles).toBe("real.post");
  expect(catalog.tool("other", "mine")?.resembles).toBeUndefined();
  expect(catalog.tool("real", "post")?.resembles).toBe("other.p0st");
});

test("search returns visible tools that match best, the best first", async () => {
  const catalog = createCatalog();
  await put(catalog, "git", [tool("commit", "Records staged changes"), tool("listBranches", "Names of all branches")]);
  await put(catalog, "mail", [tool("send", "Sends a message"), tool("list_messages", "Lists messages of a folder")]);
  await put(catalog, "secret", [tool("send_message", "Sends a message")], () => false);
  expect(catalog.search("send a message")[0]).toMatchObject({ server: "mail", name: "send" });
  expect(catalog.search("branch list")[0]?.name).toBe("listBranches");
  expect(catalog.search("branches", { server: "mail" })).toEqual([]);
  expect(catalog.search("message").every(({ server }) => server !== "secret")).toBe(true);
  expect(catalog.search("")).toEqual([]);
});

test("words are separated in every spelling of a name", () => {
  expect(wordsOf("listOpenIssues")).toEqual(wordsOf("list_open-issue"));
  expect(wordsOf("classes of glass")).toEqual(["class", "of", "glass"]);
});

test.each([
  { one: ["a__b", "c"], other: ["a", "b__c"] },
  { one: ["a_", "b"], other: ["a", "_b"] },
  { one: ["a.b", "c"], other: ["a_b", "c"] },
])("$one and $other have different model names", async ({ one, other }) => {
  const nameOf = ([server = "", name = ""]: string[]) => modelNameOf(server, name);
  expect(await nameOf(one)).not.toBe(await nameOf(other));
});

test("a tool does not resemble a removed one", async () => {
  const catalog = createCatalog();
  await put(catalog, "a", [tool("send")]);
  await put(catalog, "b", [tool("send")]);
  expect(catalog.tool("b", "send")?.resembles).toBe("a.send");
  catalog.remove("a");
  expect(catalog.tool("b", "send")?.resembles).toBeUndefined();
});

test("features of a server that was removed meanwhile are not added", async () => {
  const catalog = createCatalog();
  const statusOf = () => ({ digest: "d", isQuarantined: false });
  const options = { acceptsInstructions: true, isShown: () => true, isWanted: () => false };
  await catalog.put("a", { ...noFeatures, tools: [tool("send")] }, statusOf, options);
  expect(catalog.knows("a")).toBe(false);
});

const server = { name: "s", digest: "d" };

function featuresOf(description: string): ListedFeatures {
  return { ...noFeatures, tools: [{ name: "t", description, inputSchema: { type: "object" } }], instructions: "first" };
}

test("cached features are returned to the same server only", async () => {
  const cache = new FeatureCache(createMemoryStorage().kv);
  await cache.write(server, featuresOf("Does it"));
  expect(await cache.read(server)).toEqual(featuresOf("Does it"));
  expect(await cache.read({ ...server, digest: "other" })).toBeUndefined();
  expect(await cache.read({ ...server, name: "other" })).toBeUndefined();
});

test.each(["", "{", "[]", '{"tools":[{"name":3}]}', "null"])("the damaged cache %j is ignored", async (text) => {
  const { kv } = createMemoryStorage();
  const cache = new FeatureCache(kv);
  await cache.write(server, noFeatures);
  const [entry] = await kv.list("host/offers/");
  await kv.set(entry?.key ?? "", text);
  expect(await cache.read(server)).toBeUndefined();
});

test("very long features are not cached", async () => {
  const cache = new FeatureCache(createMemoryStorage().kv);
  await cache.write(server, featuresOf("x".repeat(5 * 1024 * 1024)));
  expect(await cache.read(server)).toBeUndefined();
});

test.each([
  [["app"], false],
  [["model", "app"], true],
  [["model"], true],
  ["app", true],
  [undefined, true],
])("models see a tool with the visibility %j of MCP Apps: %s", async (visibility, isVisible) => {
  const catalog = createCatalog();
  await put(catalog, "chess", [{ ...tool("hint"), _meta: { ui: { resourceUri: "ui://chess/board", visibility } } }]);
  expect(catalog.tool("chess", "hint")?.isVisible).toBe(isVisible);
  expect(catalog.search("hint")).toHaveLength(isVisible ? 1 : 0);
});
