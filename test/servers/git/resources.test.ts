import { describe, expect, test } from "vitest";
import { between, revisions } from "../../kit/revisions.ts";
import { call, connectTo } from "./client.ts";
import { makeFolder, makeRepository } from "./repository.ts";

function makeHistory() {
  const work = makeRepository();
  const first = work.commit("begin", {
    "src/a.ts": "first\n",
    "src/deep/b.ts": "b\n",
    "image.bin": Buffer.from([0, 255, 1]),
    "odd #name?/50%.txt": "odd\n",
  });
  work.git("branch", "feature/x");
  work.git("tag", "v1.0");
  const second = work.commit("change\n\nThe reason.", { "src/a.ts": "second\n" });
  return { work, first, second };
}

const textIn = ([content]: readonly object[]) =>
  content !== undefined && "text" in content ? String(content.text) : "";

describe.each(revisions)("resources on %s", (revision) => {
  test("list recent commits, and show each with its changes", async () => {
    const { work, first, second } = makeHistory();
    const client = await connectTo(work.root, { revision });
    const listed = await client.listResources();
    expect(listed.map(({ uri }) => uri).sort()).toEqual(
      [first, second].map((hash) => `git://work/commit/${hash}`).sort(),
    );
    const { contents } = await client.readResource(`git://work/commit/${second}`);
    const text = textIn(contents);
    expect(text).toContain("The reason.");
    expect(text).toContain("-first\n+second");
  });

  test("show folders with the URIs of their entries, down to each file", async () => {
    const { work } = makeHistory();
    const client = await connectTo(work.root, { revision });
    const seen: string[] = [];
    const walk = async (uri: string): Promise<void> => {
      const { contents } = await client.readResource(uri);
      const { entries } = JSON.parse(textIn(contents));
      for (const entry of entries) {
        if (entry.type === "tree") await walk(entry.uri);
        else seen.push(`${entry.uri} ${JSON.stringify((await client.readResource(entry.uri)).contents[0])}`);
      }
    };
    await walk("git://work/tree/feature%2Fx");
    expect(seen).toHaveLength(4);
    const all = seen.join("\n");
    expect(all).toContain('git://work/blob/feature%2Fx/src/a.ts {"uri":"git://work/blob/feature%2Fx/src/a.ts"');
    expect(all).toContain('"text":"first\\n"');
    expect(all).toContain('"text":"odd\\n"');
    expect(all).toContain(`"blob":"${Buffer.from([0, 255, 1]).toString("base64")}"`);
  });

  test("that do not exist are not found", async () => {
    const { work } = makeHistory();
    const client = await connectTo(work.root, { revision });
    for (const uri of [
      "git://work/blob/main/none.ts",
      "git://work/blob/main/src",
      "git://work/tree/main/src/a.ts",
      "git://work/blob/none/src/a.ts",
      "git://other/blob/main/src/a.ts",
      "git://work/blob/main/../../etc/passwd",
      "git://work/blob/main/%2e%2e/x",
      "git://work/commit/--output%3Dx",
    ]) {
      await expect(client.readResource(uri), uri).rejects.toMatchObject({ code: expect.any(Number) });
    }
  });
});

test("allows caching of content named by a hash, but not by a branch", async () => {
  const { work, first } = makeHistory();
  const client = await connectTo(work.root);
  const ttl = async (uri: string) => (await client.request("resources/read", { uri }))["ttlMs"] ?? 0;
  expect(await ttl(`git://work/blob/${first}/src/a.ts`)).toBeGreaterThan(0);
  expect(await ttl(`git://work/commit/${first}`)).toBeGreaterThan(0);
  expect(await ttl("git://work/blob/main/src/a.ts")).toBe(0);
});

test("refuses a file that is too long, with advice", async () => {
  const work = makeRepository();
  work.commit("begin", { "long.txt": "x".repeat(5_000) });
  const client = await connectTo(work.root, { limits: { maxBytes: 1_000 } });
  await expect(client.readResource("git://work/blob/main/long.txt")).rejects.toThrow(
    "longer than 1000 bytes; the tool show",
  );
  expect((await call(client, "show", { ref: "main", path: "long.txt" })).text).toHaveLength(1_000);
});

describe.each(between("2025-06-18", "2026-07-28"))("completion on %s", (revision) => {
  test("knows branches, tags, commits and paths", async () => {
    const { work, first } = makeHistory();
    const client = await connectTo(work.root, { revision });
    const blob = { type: "ref/resource", uri: "git://{repo}/blob/{ref}/{+path}" } as const;
    const complete = async (name: string, value: string, known = {}) =>
      (await client.complete(blob, { name, value }, { known })).values;
    expect(await complete("repo", "w")).toEqual(["work"]);
    expect((await complete("ref", "")).sort()).toEqual(["HEAD", "feature/x", "main", "v1.0"]);
    expect(await complete("ref", "fea")).toEqual(["feature/x"]);
    expect(await complete("ref", first.slice(0, 7))).toEqual([first]);
    expect(await complete("ref", "--")).toEqual([]);
    expect(await complete("path", "s", { repo: "work", ref: "v1.0" })).toEqual(["src/"]);
    expect(await complete("path", "src/", { repo: "work", ref: "v1.0" })).toEqual(["src/a.ts", "src/deep/"]);
    expect(await complete("path", "../", { ref: "main" })).toEqual([]);
    expect(await complete("path", "s", { ref: "none" })).toEqual([]);
    const folder = { type: "ref/resource", uri: "git://{repo}/tree/{ref}/{+path}" } as const;
    expect((await client.complete(folder, { name: "path", value: "src/" })).values).toEqual(["src/deep/"]);
  });
});

test("notifies clients about a new commit", async () => {
  const { work } = makeHistory();
  const client = await connectTo(work.root);
  const watch = await client.watch({ resources: true });
  expect(watch.acceptedFilter.resources).toBe(true);
  work.write("new.txt", "new");
  await call(client, "stage", { paths: ["new.txt"] });
  await call(client, "commit", { message: "new" });
  for await (const change of watch) {
    expect(change).toEqual({ kind: "resources" });
    break;
  }
  const { length } = await client.listResources();
  expect(length).toBe(3);
});

test.each(revisions)("the commit message prompt contains the staged changes, on %s", async (revision) => {
  const { work } = makeHistory();
  const client = await connectTo(work.root, { revision });
  await expect(client.getPrompt("commit_message")).rejects.toThrow("Nothing is staged");
  work.write("src/a.ts", "third\n");
  work.git("add", "--all");
  const { messages } = await client.getPrompt("commit_message", { style: "in one word" });
  const text = JSON.stringify(messages);
  expect(text).toContain("in one word");
  expect(text).toContain("+third");
  expect(text).toContain("- change");
});

test("describes every tool completely", async () => {
  const folder = makeFolder();
  const repositories = [makeRepository(`${folder}/a`).root, makeRepository(`${folder}/b`).root];
  const client = await connectTo(repositories);
  const tools = await client.listTools();
  expect(tools.length).toBe(18);
  for (const { name, title, description, inputSchema, outputSchema, annotations } of tools) {
    expect(title, name).toBeTruthy();
    expect(description, name).toBeTruthy();
    expect(inputSchema["required"], name).toContain("repository");
    expect(
      Object.values(annotations ?? {}).filter((hint) => typeof hint === "boolean"),
      name,
    ).toHaveLength(4);
    const described = [inputSchema, outputSchema!].flatMap((schema) => Object.entries(schema["properties"] ?? {}));
    for (const [property, schema] of described) {
      const { description, properties } = schema as { description?: string; properties?: object };
      expect(description ?? properties, `${name}.${property}`).toBeTruthy();
    }
  }
});
