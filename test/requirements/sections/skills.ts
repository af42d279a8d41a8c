import { createHash } from "node:crypto";
import { expect } from "vitest";
import { parse } from "yaml";
import type { RawPeer } from "../../kit/raw-peer.ts";
import { isStateless } from "../../kit/revisions.ts";
import type { Requirement } from "../requirement.ts";
import { type Entry, listAll, offeredBy } from "../results.ts";

const server = new URL("../servers/skills.mjs", import.meta.url);
const large = new URL("../servers/large-skills.mjs", import.meta.url);
const id = "io.modelcontextprotocol/skills";
const refunds = "skill://acme/refunds/SKILL.md";
const hints = { ttlMs: 300_000, cacheScope: "public" };

const allSkills = (peer: RawPeer): Promise<Entry[]> => listAll(peer, "skills/list", "skills");

async function entryOf(peer: RawPeer, uri: string): Promise<Entry> {
  return (await peer.request("skills/get", { uri })).result.skill;
}

async function bytesOf(peer: RawPeer, uri: string): Promise<Buffer> {
  const { contents } = (await peer.request("resources/read", { uri })).result;
  expect(contents).toHaveLength(1);
  expect(contents[0].uri).toBe(uri);
  return contents[0].text === undefined ? Buffer.from(contents[0].blob, "base64") : Buffer.from(contents[0].text);
}

/** Throws unless each file of an entry is read with the size and the digest of the entry. */
async function verify(peer: RawPeer, { resources }: Entry): Promise<void> {
  for (const { uri, digest, size } of resources) {
    const bytes = await bytesOf(peer, uri);
    const read = { uri, size: bytes.length, digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}` };
    expect(read).toEqual({ uri, digest, size });
  }
}

/** Requirements on servers with skills. */
export const skills: readonly Requirement[] = [
  {
    row: "X100",
    says: "skills and resources are declared, and the three methods answer a client that declares nothing",
    async test(open) {
      const peer = await open({ server });
      const { extensions, resources } = await offeredBy(peer);
      expect(extensions).toEqual({ [id]: { directoryRead: true } });
      expect(resources).toBeDefined();
      expect((await peer.request("skills/list")).result.skills.length).toBeGreaterThan(0);
      expect((await peer.request("skills/get", { uri: refunds })).result.skill.uri).toBe(refunds);
      const directory = await peer.request("resources/directory/read", { uri: "skill://acme" });
      expect(directory.result.resources).toHaveLength(1);
    },
  },
  {
    row: "X100",
    says: "a server whose skills have no directories declares none, and does not know the method",
    async test(open) {
      const peer = await open({ server: large });
      expect((await offeredBy(peer)).extensions).toEqual({ [id]: {} });
      const { error } = await peer.request("resources/directory/read", { uri: "skill://full" });
      expect(error?.code).toBe(-32601);
    },
  },
  {
    row: "X101",
    says: "the SKILL.md of every entry begins with the name and the description of the entry",
    async test(open) {
      const peer = await open({ server });
      for (const { uri, frontmatter } of await allSkills(peer)) {
        const [, yaml] = /^---\n([\s\S]*?)\n---\n/.exec(String(await bytesOf(peer, uri))) ?? [];
        const { name, description } = parse(yaml ?? "");
        expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
        expect({ name, description }).toMatchObject({ name: frontmatter.name, description: frontmatter.description });
      }
    },
  },
  {
    row: "X102",
    says: "the last segment of the path is the name, the first one a host name, and no directory ends with a slash",
    async test(open) {
      const peer = await open({ server });
      for (const { uri, frontmatter } of await allSkills(peer)) {
        expect(uri).toMatch(new RegExp(`^skill://([a-z]+/)?${frontmatter.name}/SKILL\\.md$|^skill://acme/refunds/`));
        expect(uri.split("/").at(-2)).toBe(frontmatter.name);
      }
      const { resources } = (await peer.request("resources/directory/read", { uri: "skill://acme/refunds" })).result;
      for (const child of resources) expect(child.uri).not.toMatch(/\/$/);
      const slash = await peer.request("resources/directory/read", { uri: "skill://acme/refunds/" });
      expect(slash.error?.code).toBe(-32602);
    },
  },
  {
    row: "X103",
    says: "the frontmatter of an entry is what a YAML reader makes of the file, all of it",
    async test(open) {
      const peer = await open({ server });
      const text = String(await bytesOf(peer, refunds));
      const expected = parse(text.split("---\n")[1] as string);
      expect(Object.keys(expected)).toEqual([
        "name",
        "description",
        "license",
        "metadata",
        "allowed-tools",
        "limits",
        "steps",
      ]);
      expect((await entryOf(peer, refunds)).frontmatter).toEqual(expected);
      const all = await allSkills(peer);
      expect(all.find(({ uri }) => uri === refunds).frontmatter).toEqual(expected);
    },
  },
  {
    row: "X104",
    says: "an entry has every file once, those of nested skills too, with digest and size",
    async test(open) {
      const peer = await open({ server });
      const entry = await entryOf(peer, refunds);
      const names = entry.resources.map(({ uri }: Entry) => uri.replace("skill://acme/refunds/", ""));
      expect(names).toEqual([
        "SKILL.md",
        "approve/SKILL.md",
        "examples/email.md",
        "examples/regional/eu.md",
        "logo.png",
        "scripts/pay.py",
      ]);
      await verify(peer, entry);
      const nested = await entryOf(peer, "skill://acme/refunds/approve/SKILL.md");
      expect(nested.resources).toEqual(entry.resources.filter(({ uri }: Entry) => uri.includes("/approve/")));
    },
  },
  {
    row: "X104",
    says: "a skill that changes all the time says that it is dynamic, and no entry is on two pages",
    async test(open) {
      const peer = await open({ server });
      expect((await entryOf(peer, "skill://reports/daily/SKILL.md")).resources).toBe("dynamic");
      const uris = (await allSkills(peer)).map(({ uri }) => uri);
      expect(uris).toHaveLength(123);
      expect(new Set(uris).size).toBe(123);
    },
  },
  {
    row: "X105",
    says: "a skill beyond a limit is not listed and cannot be got, and the others are served",
    async test(open) {
      const peer = await open({ server: large });
      const all = await allSkills(peer);
      expect(all.map(({ frontmatter }) => frontmatter.name)).toEqual(["full"]);
      expect(all[0].resources).toHaveLength(512);
      expect(all[0].resources.reduce((sum: number, { size }: Entry) => sum + size, 0)).toBe(16 * 1024 * 1024);
      for (const name of ["crowded", "heavy"]) {
        expect((await peer.request("skills/get", { uri: `skill://${name}/SKILL.md` })).error?.code).toBe(-32603);
      }
    },
  },
  {
    row: "X106",
    says: "a skill that is not listed has an entry; files, directories and unknown URIs have none",
    async test(open) {
      const peer = await open({ server });
      const hidden = "skill://hidden/SKILL.md";
      expect((await allSkills(peer)).map(({ uri }) => uri)).not.toContain(hidden);
      await verify(peer, await entryOf(peer, hidden));
      for (const uri of [
        "skill://nothing/SKILL.md",
        "skill://acme/refunds",
        "skill://acme/refunds/logo.png",
        "text:rules",
        "",
      ]) {
        expect((await peer.request("skills/get", { uri })).error?.code).toBe(-32602);
      }
      expect((await peer.request("skills/get", {})).error?.code).toBe(-32602);
    },
  },
  {
    row: "X107",
    says: "lists, entries and directories have cache hints on revisions that know them, and none on the others",
    async test(open, { revision }) {
      const peer = await open({ server });
      const results = [
        await peer.request("skills/list"),
        await peer.request("skills/get", { uri: refunds }),
        await peer.request("resources/directory/read", { uri: "skill://acme/refunds" }),
      ];
      for (const { result } of results) {
        if (isStateless(revision)) expect(result).toMatchObject({ ...hints, resultType: "complete" });
        else for (const member of ["ttlMs", "cacheScope", "resultType"]) expect(result).not.toHaveProperty(member);
      }
    },
  },
  {
    row: "X108",
    says: "a directory has its direct children, and an empty one an empty list",
    async test(open) {
      const peer = await open({ server });
      const children = async (uri: string) =>
        (await peer.request("resources/directory/read", { uri })).result.resources;
      const named = (await children("skill://acme/refunds")).map(({ uri, name, mimeType }: Entry) => ({
        uri: uri.replace("skill://acme/refunds/", ""),
        name,
        mimeType,
      }));
      const directory = "inode/directory";
      expect(named).toEqual([
        { uri: "SKILL.md", name: "SKILL.md", mimeType: "text/markdown" },
        { uri: "approve", name: "approve", mimeType: directory },
        { uri: "drafts", name: "drafts", mimeType: directory },
        { uri: "examples", name: "examples", mimeType: directory },
        { uri: "logo.png", name: "logo.png", mimeType: "image/png" },
        { uri: "scripts", name: "scripts", mimeType: directory },
      ]);
      expect(await children("skill://acme")).toEqual([
        { uri: "skill://acme/refunds", name: "refunds", mimeType: directory },
      ]);
      expect(await children("skill://acme/refunds/drafts")).toEqual([]);
    },
  },
  {
    row: "X108",
    says: "what is no directory is refused, and a foreign cursor too",
    async test(open) {
      const peer = await open({ server });
      const read = (uri: string, cursor?: string) =>
        peer.request("resources/directory/read", { uri, ...(cursor !== undefined && { cursor }) });
      for (const uri of [refunds, "skill://acme/none", "skill://", "text:rules"]) {
        expect((await read(uri)).error?.code).toBe(-32602);
      }
      const { nextCursor } = (await read("skill://many")).result;
      expect(nextCursor).toBeUndefined();
      expect((await read("skill://acme", '["directory","skill://many","x"]')).error?.code).toBe(-32602);
    },
  },
  {
    row: "X109",
    says: "resources/list names each SKILL.md as the frontmatter does, and reads have its media type",
    async test(open) {
      const peer = await open({ server });
      const all = await listAll(peer, "resources/list", "resources");
      const found = all.find(({ uri }) => uri === refunds);
      const { name, description } = (await entryOf(peer, refunds)).frontmatter;
      expect(found).toMatchObject({ name, description, mimeType: "text/markdown" });
      expect(all.map(({ uri }) => uri)).toContain("text:rules");
      for (const resource of all) expect(resource).not.toHaveProperty("_meta");
      const { contents } = (await peer.request("resources/read", { uri: refunds })).result;
      expect(contents[0].mimeType).toBe("text/markdown");
      const { resourceTemplates } = (await peer.request("resources/templates/list")).result;
      expect(resourceTemplates).toEqual([]);
    },
  },
  {
    row: "X110",
    says: "while a file changes its old bytes are served, until the new entry is there",
    async test(open) {
      const peer = await open({ server });
      const before = await entryOf(peer, refunds);
      expect((await peer.request("tools/call", { name: "edit", arguments: {} })).result.isError).toBeFalsy();
      expect(await entryOf(peer, refunds)).toEqual(before);
      await verify(peer, before);
      await peer.request("tools/call", { name: "reload", arguments: {} });
      const after = await entryOf(peer, refunds);
      expect(after.resources).not.toEqual(before.resources);
      await verify(peer, after);
      const unknown = await peer.request("resources/read", { uri: "skill://acme/refunds/none.md" });
      expect(unknown.error).toBeDefined();
    },
  },
];
