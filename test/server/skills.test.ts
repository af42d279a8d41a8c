import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createServer } from "portolan/server";
import { type SkillRequest, type SkillSource, skills, skillsOf } from "portolan/server/skills";
import { skillsFrom } from "portolan/server/skills/node";
import { connectInMemory } from "portolan/testing";
import { describe, expect, onTestFinished, test } from "vitest";

const manifest = (name: string, more = "") =>
  `---\nname: ${name}\ndescription: The skill ${name}\n${more}---\nDo it.\n`;
const info = { name: "skilled", version: "1.0.0" };

function folderOf(files: { readonly [path: string]: string | Uint8Array }): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-skills-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

const request = { principal: { key: "local" }, signal: new AbortController().signal };

describe("skillsFrom", () => {
  test("reads a folder that is itself a skill", async () => {
    const folder = folderOf({ "refunds/SKILL.md": manifest("refunds"), "refunds/a/b.txt": "b" });
    const { skills } = await (await skillsFrom(join(folder, "refunds"))).list(undefined, request);
    expect(skills.map(({ uri }) => uri)).toEqual(["skill://refunds/SKILL.md"]);
    expect(skills[0]?.resources).toHaveLength(2);
  });

  test("escapes names of files that a URI cannot hold", async () => {
    const folder = folderOf({ "refunds/SKILL.md": manifest("refunds"), "refunds/what? 100%.txt": "b" });
    const source = await skillsFrom(folder);
    expect(await source.read("skill://refunds/what%3F%20100%25.txt", request)).toEqual(new TextEncoder().encode("b"));
  });

  test.each([
    [
      "a name that is not that of its folder",
      { "refunds/SKILL.md": manifest("other") },
      /refunds\/SKILL.md: uri: .*name/,
    ],
    ["a name with capital letters", { "Refunds/SKILL.md": manifest("Refunds") }, /frontmatter.name: expected/],
    ["no description", { "refunds/SKILL.md": "---\nname: refunds\n---\n" }, /frontmatter.description: expected/],
    ["no frontmatter", { "refunds/SKILL.md": "# Refunds\n" }, /line 1: expected/],
    ["YAML that is refused", { "refunds/SKILL.md": manifest("refunds", "a: &b 1\n") }, /line 4: anchors/],
    [
      "metadata that is no text",
      { "refunds/SKILL.md": manifest("refunds", "metadata:\n  version: 1\n") },
      /metadata: /,
    ],
    ["bytes that are no text", { "refunds/SKILL.md": Uint8Array.of(0xff) }, /expected UTF-8/],
    [
      "too many files",
      {
        "many/SKILL.md": manifest("many"),
        ...Object.fromEntries(Array.from({ length: 512 }, (_, at) => [`many/${at}.txt`, ""])),
      },
      /513 files; at most 512/,
    ],
  ])("rejects a skill with %s", async (_, files, why) => {
    const folder = folderOf(files as { readonly [path: string]: string });
    await expect(skillsFrom(folder)).rejects.toThrow(why);
    await expect(skillsFrom(folder)).rejects.toMatchObject({ code: "invalid-definition" });
  });

  test("rejects symbolic links, which could lead out of the folder", async () => {
    const folder = folderOf({ "refunds/SKILL.md": manifest("refunds") });
    symlinkSync("/etc/hostname", join(folder, "refunds/host"));
    await expect(skillsFrom(folder)).rejects.toThrow(/refunds\/host is a symbolic link/);
  });

  test("rejects a folder that does not exist, and a wrong prefix", async () => {
    await expect(skillsFrom("/does/not/exist")).rejects.toMatchObject({ code: "ENOENT" });
    await expect(skillsFrom(folderOf({}), { prefix: "/acme/" })).rejects.toThrow(/prefix: expected a path/);
    await expect(skillsFrom(folderOf({}), { prefx: "a" } as object)).rejects.toThrow(/did you mean `prefix`/);
  });

  test("serves the skills of before when a reload finds an invalid one", async () => {
    const folder = folderOf({ "refunds/SKILL.md": manifest("refunds") });
    const source = await skillsFrom(folder);
    const before = await source.get("skill://refunds/SKILL.md", request);
    writeFileSync(join(folder, "refunds/SKILL.md"), "broken");
    await expect(source.reload()).rejects.toThrow(/line 1/);
    expect(await source.get("skill://refunds/SKILL.md", request)).toBe(before);
    writeFileSync(join(folder, "refunds/SKILL.md"), manifest("refunds", "license: MIT\n"));
    await source.reload();
    expect(await source.get("skill://refunds/SKILL.md", request)).toMatchObject({ frontmatter: { license: "MIT" } });
  });
});

describe("skillsOf", () => {
  test("keeps the bytes of the digest although its caller changes them later", async () => {
    const bytes = new TextEncoder().encode("before");
    const source = await skillsOf({ "refunds/SKILL.md": manifest("refunds"), "refunds/a.txt": bytes });
    bytes.fill(0);
    expect(await source.read("skill://refunds/a.txt", request)).toEqual(new TextEncoder().encode("before"));
  });

  test.each(["SKILL.md", "../a/SKILL.md", "/a/SKILL.md", "a//SKILL.md"])("rejects the path %s", async (path) => {
    await expect(skillsOf({ [path]: manifest("a") })).rejects.toMatchObject({ code: "invalid-definition" });
  });
});

describe("a server with skills", () => {
  test("tells its clients once that the resources changed, on both eras", async () => {
    const folder = folderOf({ "refunds/SKILL.md": manifest("refunds") });
    const source = await skillsFrom(folder);
    const server = createServer(info).extend(skills(source));
    const heard: string[] = [];
    const follow = async (revision: string) => {
      const onNotification = (method: string) => void (method.endsWith("list_changed") && heard.push(revision));
      const client = await connectInMemory(server, { revision, onNotification });
      onTestFinished(() => client.close());
      return { client, changes: await client.watch({ resources: true }) };
    };
    const followed = [await follow("2026-07-28"), await follow("2025-11-25")];
    await source.reload();
    for (const { client, changes } of followed) {
      expect((await changes[Symbol.asyncIterator]().next()).value).toEqual({ kind: "resources" });
      await client.ping();
    }
    expect(heard.toSorted()).toEqual(["2025-11-25", "2026-07-28"]);
  });

  test("is mounted with its skills", async () => {
    const inner = createServer(info).extend(skills(await skillsOf({ "refunds/SKILL.md": manifest("refunds") })));
    const outer = createServer({ name: "outer", version: "1.0.0" }).mount("inner_", inner);
    await using client = await connectInMemory(outer);
    const { skills: listed } = await client.request("skills/list");
    expect(listed).toHaveLength(1);
    const { contents } = await client.readResource("skill://refunds/SKILL.md");
    expect(contents[0]).toMatchObject({ mimeType: "text/markdown", text: manifest("refunds") });
  });

  test("may give each principal other skills", async () => {
    const hers = await skillsOf({ "refunds/SKILL.md": manifest("refunds") });
    const none: SkillSource = { list: () => ({ skills: [] }), get: () => undefined, read: () => undefined };
    const of = ({ principal }: SkillRequest) => (principal.key === "ada" ? hers : none);
    const source: SkillSource = {
      list: (cursor, by) => of(by).list(cursor, by),
      get: (uri, by) => of(by).get(uri, by),
      read: (uri, by) => of(by).read(uri, by),
    };
    const server = createServer(info).extend(skills(source));
    for (const [key, count] of [
      ["ada", 1],
      ["bob", 0],
    ] as const) {
      await using client = await connectInMemory(server, { serve: { principal: { key } } });
      expect((await client.request("skills/list"))["skills"]).toHaveLength(count);
      expect(await client.listResources()).toHaveLength(count);
      const read = client.readResource("skill://refunds/SKILL.md").then(
        () => 1,
        () => 0,
      );
      expect(await read).toBe(count);
    }
  });

  test("leaves out an invalid entry of a source, reports it, and serves the others", async () => {
    const valid = await skillsOf({ "refunds/SKILL.md": manifest("refunds") });
    const { skills: entries } = await valid.list(undefined, request);
    const broken = { ...entries[0], uri: "skill://refunds/README.md" } as never;
    const reported: unknown[] = [];
    const server = createServer(info, { onError: (error) => reported.push(error) }).extend(
      skills({ ...valid, list: () => ({ skills: [broken, ...entries] }), get: () => broken, read: () => undefined }),
    );
    await using client = await connectInMemory(server);
    expect((await client.request("skills/list"))["skills"]).toEqual(entries);
    expect(String(reported[0])).toMatch(/skill:\/\/refunds\/README.md.*uri: expected the URI of a SKILL.md/);
    await expect(client.request("skills/get", { uri: "skill://refunds/README.md" })).rejects.toThrow(/Internal error/);
  });

  test("refuses a source and options that it does not understand", () => {
    const source = { list: () => ({ skills: [] }), get: () => undefined, read: () => undefined };
    expect(() => skills({} as never)).toThrow(/source.list: expected a function/);
    expect(() => skills(source, { sheme: "x" } as object)).toThrow(/did you mean `scheme`/);
    expect(() => skills(source, { scheme: "no scheme" })).toThrow(/scheme: expected/);
    expect(() => skills(source, { cache: { ttlMs: -1 } })).toThrow(/ttlMs/);
    expect(() => createServer(info).extend(skills(source)).extend(skills(source))).toThrow(/defined twice/);
  });
});
