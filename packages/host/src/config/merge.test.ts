import { expect, test } from "vitest";
import { expandEntry } from "./expand.ts";
import { mergeEntries } from "./merge.ts";
import { parseConfig } from "./parse.ts";

async function read(file: string, scope: "project" | "user", content: unknown) {
  const { servers } = await parseConfig(JSON.stringify(content), { file, scope, projectPath: "/p" });
  return await Promise.all(servers.map((raw) => expandEntry(raw, { env: {} })));
}
const server = (command: string) => ({ command });

test("prefers local to project and project to user, and the first of equal levels", async () => {
  const user = await read("/h/.claude.json", "user", {
    mcpServers: { a: server("user"), b: server("user"), c: server("user"), d: server("user") },
    projects: { "/p": { mcpServers: { a: server("local") } } },
  });
  const project = await read("/p/.mcp.json", "project", { mcpServers: { a: server("project"), b: server("project") } });
  const second = await read("/p/.cursor/mcp.json", "project", { mcpServers: { b: server("second") } });
  const { entries, shadowed } = mergeEntries([user, project, second]);
  expect(entries.map(({ name, configured: written }) => [name, "command" in written && written.command])).toEqual([
    ["a", "local"],
    ["b", "project"],
    ["c", "user"],
    ["d", "user"],
  ]);
  const placed = shadowed.map(({ used, shadowed: hidden }) => [used.source, hidden.source]);
  expect(placed).toMatchObject([
    [{ path: 'projects["/p"].mcpServers.a' }, { file: "/p/.mcp.json", path: "mcpServers.a" }],
    [{ file: "/p/.mcp.json" }, { file: "/p/.cursor/mcp.json" }],
    [{ path: 'projects["/p"].mcpServers.a' }, { file: "/h/.claude.json", path: "mcpServers.a" }],
    [{ file: "/p/.mcp.json" }, { file: "/h/.claude.json" }],
  ]);
});

test("keeps an entry with a problem", async () => {
  const project = await read("/p/.mcp.json", "project", { mcpServers: { a: {} } });
  const user = await read("/h/.copilot/mcp-config.json", "user", { mcpServers: { a: server("user") } });
  const { entries, shadowed } = mergeEntries([user, project]);
  expect(entries).toMatchObject([{ name: "a", problem: expect.any(String) }]);
  expect(shadowed).toHaveLength(1);
});

test("prefers an entry of the application to every file", async () => {
  const own = {
    name: "a",
    target: server("own"),
    configured: server("own"),
    settings: {},
    source: { kind: "code" },
  } as const;
  const user = await read("/h/x.json", "user", { mcpServers: { a: server("user"), __proto__x: server("user") } });
  expect(mergeEntries<(typeof user)[number] | typeof own>([user, [own]]).entries[0]).toBe(own);
});
