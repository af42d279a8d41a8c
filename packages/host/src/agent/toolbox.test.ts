import type { Tool } from "portolan";
import { expect, test } from "vitest";
import { Catalog } from "../catalog/catalog.ts";
import { noFeatures } from "../catalog/load-lists.ts";
import { Toolbox, type ToolboxOptions } from "./toolbox.ts";

function tool(name: string, description = "Does it"): Tool {
  return { name, description, inputSchema: { type: "object" } };
}

async function createToolbox(options: Partial<ToolboxOptions> = {}): Promise<Toolbox> {
  const catalog = new Catalog((name) => name);
  const statusOf = () => ({ digest: "d", isQuarantined: false });
  const put = { acceptsInstructions: true, isShown: (name: string) => name !== "hidden" };
  const tools = [tool("read", "Reads a file"), tool("write", "Writes a file"), tool("hidden")];
  const resources = [{ uri: "file:///a", name: "a", description: "Plan of the garden" }];
  await catalog.put("files", { ...noFeatures, tools, resources }, statusOf, put);
  await catalog.put("git", { ...noFeatures, tools: [tool("push", "Pushes commits")] }, statusOf, put);
  return new Toolbox(catalog, { maxTokens: 10_000, found: [], ...options });
}

const namesOf = (toolbox: Toolbox) => toolbox.tools().map(({ name }) => name);
const resourceTools = ["find_resources", "read_resource"];

test("a model sees all visible tools, and the tools for resources", async () => {
  const toolbox = await createToolbox();
  expect(namesOf(toolbox)).toEqual([...resourceTools, "files__read", "files__write", "git__push"]);
  expect(toolbox.find("files__hidden")).toBeUndefined();
});

test("servers, only and except limit the tools of a run", async () => {
  expect(namesOf(await createToolbox({ servers: ["git"] }))).toEqual(["git__push"]);
  expect(namesOf(await createToolbox({ only: ["files.*"], except: ["*.write"] }))).toEqual([
    ...resourceTools,
    "files__read",
  ]);
});

test("a model with too many tools gets a search, and then the tools that it found", async () => {
  const toolbox = await createToolbox({ maxTokens: 10, found: ["git__push"] });
  expect(namesOf(toolbox)).toEqual([...resourceTools, "find_tools", "git__push"]);
  expect(toolbox.findTools("read file", 1).map(({ name }) => name)).toEqual(["read"]);
  expect(namesOf(toolbox)).toEqual([...resourceTools, "find_tools", "git__push", "files__read"]);
  expect(toolbox.found).toEqual(["git__push", "files__read"]);
});

test("read_more is offered once there is a long result", async () => {
  const toolbox = await createToolbox({ servers: ["git"] });
  toolbox.enableReadMore();
  expect(namesOf(toolbox)).toEqual(["read_more", "git__push"]);
});

test("resources are found by all words of a query", async () => {
  const toolbox = await createToolbox();
  expect(toolbox.resources("garden plan", 5)).toEqual([
    { server: "files", text: "files: file:///a Plan of the garden" },
  ]);
  expect(toolbox.resources("garden shed", 5)).toEqual([]);
});

test("descriptions name their server, and hidden characters are escaped", async () => {
  const catalog = new Catalog((name) => name);
  const definition = tool("t", "Adds num\u200bbers");
  await catalog.put("s", { ...noFeatures, tools: [definition] }, () => ({ digest: "d", isQuarantined: false }), {
    acceptsInstructions: true,
    isShown: () => true,
  });
  const [shown] = new Toolbox(catalog, { maxTokens: 10_000, found: [] }).tools();
  expect(shown?.description).toBe("[s] Adds num\\u{200b}bers");
});
