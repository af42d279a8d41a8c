import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { ask, makeFolder, refused, serve, textOf } from "./kit.ts";

async function makeWork() {
  const base = await makeFolder();
  for (const name of ["one", "two", "away"]) {
    await mkdir(join(base, "work", name), { recursive: true });
    await mkdir(join(base, name));
    await writeFile(join(base, "work", name, "file.txt"), `work ${name}`);
    await writeFile(join(base, name, "file.txt"), name);
  }
  const root = (...path: string[]) => ({ uri: pathToFileURL(join(base, ...path)).href });
  return { base, work: join(base, "work"), root };
}

describe.each(revisions)("on %s", (revision) => {
  test("the client's roots narrow the served folders, and changes take effect", async () => {
    const { work, root } = await makeWork();
    let roots = [root("work", "one"), root("away")];
    const client = await serve({ folders: [work] }, { revision, answers: { roots: () => roots } });
    const say = async (tool: string, args: Record<string, unknown>) => textOf(await client.callTool(tool, args));
    expect(await say("read", { path: "file.txt" })).toBe("work one");
    expect(await say("info", {})).toContain(`serving ${join(work, "one")}`);
    expect(await refused(client, "read", { path: join(work, "two", "file.txt") })).toContain("outside");
    roots = [root("work", "one"), root("work", "two")];
    if (revision !== "2026-07-28") await client.rootsChanged();
    expect(await say("read", { path: "two/file.txt" })).toBe("work two");
    expect(await say("list", {})).toBe("one/\ntwo/");
    roots = [root("away")];
    expect(await refused(client, "read", { path: "file.txt" })).toContain("No folder is served to this client");
    roots = [root()];
    expect(await say("read", { path: "one/file.txt" })).toBe("work one");
  });

  test("a client without roots gets the folders that the server was started with", async () => {
    const { work } = await makeWork();
    const client = await serve({ folders: [work] }, { revision, answers: { roots: [] } });
    expect(textOf(await client.callTool("read", { path: "one/file.txt" }))).toBe("work one");
    expect(textOf(await client.callTool("info", {}))).toContain(`serving ${work}`);
    const { uri } = { uri: pathToFileURL(join(work, "one", "file.txt")).href };
    expect((await client.readResource(uri)).contents).toMatchObject([{ text: "work one" }]);
    expect((await client.listResources()).map((resource) => resource.uri)).toContain(uri);
  });

  test("roots that leave no folder are the reason of every refusal, and nothing is listed", async () => {
    const { work, root } = await makeWork();
    const client = await serve({ folders: [work] }, { revision, answers: { roots: [root("away")] } });
    const calls = {
      list: {},
      tree: {},
      find: { pattern: "*" },
      search: { pattern: "work" },
      read: { path: "file.txt" },
    };
    for (const [tool, args] of Object.entries(calls)) {
      const why = await refused(client, tool, args);
      expect(why).toContain("No folder is served to this client: the roots of this client");
      for (const part of [root("away").uri, work, "--client-roots ignore"]) expect(why).toContain(part);
    }
    const info = await client.callTool("info", {});
    expect(textOf(info)).toContain("serving nothing");
    expect(textOf(info)).toContain("--client-roots ignore");
    expect(await client.listResources()).toEqual([]);
  });

  test("the list of resources has only folders that info names", async () => {
    const { work, root } = await makeWork();
    const client = await serve({ folders: [work] }, { revision, answers: { roots: [root("work", "one")] } });
    expect(textOf(await client.callTool("info", {}))).toContain(`serving ${join(work, "one")}`);
    expect((await client.listResources()).map(({ uri }) => uri)).toEqual([root("work", "one", "file.txt").uri]);
  });

  test("the client's roots add folders with provide, checked by real path", async () => {
    const { base, work, root } = await makeWork();
    await symlink(join(base, "away"), join(base, "one", "door"));
    const answers = { roots: [root("one")] };
    const client = await serve({ folders: [work], clientRoots: "provide" }, { revision, answers });
    expect(textOf(await client.callTool("read", { path: "one/file.txt" }))).toBe("one");
    expect(textOf(await client.callTool("read", { path: "work/two/file.txt" }))).toBe("work two");
    expect(await refused(client, "read", { path: "one/door/file.txt" })).toContain("leads outside");
    expect(await refused(client, "read", { path: join(base, "two", "file.txt") })).toContain("outside");
  });

  test("the client's roots have no effect with ignore", async () => {
    const { work, root } = await makeWork();
    const answers = { roots: [root("one")] };
    const client = await serve({ folders: [work], clientRoots: "ignore" }, { revision, answers });
    expect(textOf(await client.callTool("read", { path: "one/file.txt" }))).toBe("work one");
  });

  test("a client on the network cannot add folders", async () => {
    const { work } = await makeWork();
    const roots = [{ uri: "file:///" }];
    const client = await serve(
      { folders: [work], clientRoots: "provide" },
      { revision, answers: { roots }, serve: { principal: { key: "anonymous" } } },
    );
    expect(await refused(client, "read", { path: "/etc/passwd" })).toContain("outside");
  });
});

test("needs at least one folder, unless clients provide them", async () => {
  await expect(serve({ folders: [] })).rejects.toThrow("at least one folder");
  await expect(serve({ folders: ["/not-there"] })).rejects.toThrow("/not-there: expected a folder that exists");
  const { root } = await makeWork();
  const client = await serve({ clientRoots: "provide" }, { answers: { roots: [root("one")] } });
  expect(await ask(client, "read", { path: "file.txt" })).toMatchObject({ text: "one" });
  const { uri } = root("one", "file.txt");
  expect((await client.readResource(uri)).contents).toMatchObject([{ text: "one" }]);
  expect(await client.listResources()).toMatchObject([{ uri, name: "file.txt" }]);
});
