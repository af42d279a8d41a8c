import {
  getSkill,
  hasSkills,
  listSkills,
  openSkill,
  readSkillFile,
  readSkillFolder,
  skills,
} from "portolan/client/skills";
import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import { entryOf, files, manifest, skillServer, skillsId, uri } from "../kit/skills.ts";
import type { Requirement } from "../requirement.ts";

const email = "skill://acme/refunds/examples/email.md";
const dynamic = entryOf(files, { resources: "dynamic" });

/** Requirements on clients that read skills. */
export const skillRequirements: Requirement[] = [
  {
    row: "C-X112",
    says: "connecting and listing read no file, and a declaration is settings under the id",
    async test({ open, revision }) {
      const { client, server } = await open({ ...skillServer([entryOf()]), extensions: [skills()] });
      expect(hasSkills(client)).toBe(true);
      expect(await listSkills(client)).toEqual([entryOf()]);
      await getSkill(client, uri);
      expect(server.of("resources/read")).toEqual([]);
      const { params } = server.of(isStateless(revision) ? "skills/list" : "initialize")[0]!;
      const declared = isStateless(revision) ? params._meta[metaKey("clientCapabilities")] : params.capabilities;
      expect(declared.extensions).toEqual({ [skillsId]: {} });
    },
  },
  {
    row: "C-X112",
    says: "an empty list leaves skills that can be opened by their URI",
    async test({ open }) {
      const script = skillServer([entryOf()], files, {
        "skills/list": () => ({ skills: [], ttlMs: 0, cacheScope: "private" }),
      });
      const { client } = await open(script);
      expect(await listSkills(client)).toEqual([]);
      expect((await openSkill(client, uri)).body).toBe("Pay.\n");
    },
  },
  {
    row: "C-X112",
    says: "a resource with the scheme skill is no skill unless the server says so",
    async test({ open }) {
      const { client, server } = await open({ ...skillServer([]) });
      await expect(openSkill(client, uri)).rejects.toMatchObject({ code: -32602 });
      expect(server.of("resources/read")).toEqual([]);
      const plain = await open({ ...skillServer([entryOf()]), offers: { resources: {} } });
      expect(hasSkills(plain.client)).toBe(false);
      expect(await listSkills(plain.client)).toEqual([]);
      await expect(openSkill(plain.client, entryOf())).rejects.toMatchObject({ code: "capability-missing" });
      expect(plain.server.methods.filter((method) => method?.startsWith("skills/"))).toEqual([]);
    },
  },
  {
    row: "C-X113",
    says: "openSkill with a URI gets the entry before it reads the file",
    async test({ open }) {
      const { client, server } = await open(skillServer([entryOf()]));
      const { skill, text, isVerified } = await openSkill(client, uri);
      expect({ skill, text, isVerified }).toEqual({ skill: entryOf(), text: manifest, isVerified: true });
      const sent = server.methods.filter((method) => method === "skills/get" || method === "resources/read");
      expect(sent).toEqual(["skills/get", "resources/read"]);
    },
  },
  {
    row: "C-X114",
    says: "bytes, texts with any line ends and names with escapes are read as they are",
    async test({ open }) {
      const { client } = await open(skillServer([entryOf()]));
      for (const [file, content] of Object.entries(files)) {
        const read = await readSkillFile(client, entryOf(), file);
        expect(Buffer.from(read.bytes)).toEqual(Buffer.from(content));
        expect(read.isVerified).toBe(true);
      }
      expect((await readSkillFile(client, entryOf(), "./a b.txt")).text).toBe("with a space");
      expect((await readSkillFile(client, entryOf(), "examples/email.md#top")).uri).toBe(email);
    },
  },
  {
    row: "C-X114",
    says: "other bytes of the same size, more bytes and fewer bytes are never returned",
    async test({ open }) {
      for (const [mismatch, text] of [
        ["digest", manifest.replace("Pay.", "Rob.")],
        ["size", `${manifest}more`],
        ["size", manifest.slice(0, -1)],
      ] as const) {
        const { client, server } = await open(skillServer([entryOf()], { [uri]: text }));
        const opened = openSkill(client, entryOf());
        await expect(opened).rejects.toMatchObject({ code: "skill-unverified", mismatch, uri });
        await expect(opened).rejects.toThrow(/is not what its entry says/);
        // Read once more past the cache, and then given up.
        expect(server.of("resources/read").length).toBe(2);
      }
    },
  },
  {
    row: "C-X114",
    says: "a file that the entry does not list is not even requested",
    async test({ open }) {
      const served = { ...files, "skill://acme/refunds/new.md": "new", "file:///etc/passwd": "root" };
      const { client, server } = await open(skillServer([entryOf()], served));
      for (const file of [
        "new.md",
        "../other/SKILL.md",
        "file:///etc/passwd",
        "skill://acme/refunds/new.md",
        "",
        "/etc",
      ]) {
        const read = readSkillFile(client, entryOf(), file);
        await expect(read).rejects.toMatchObject({ code: "skill-unverified", mismatch: "unlisted" });
      }
      expect(server.of("resources/read")).toEqual([]);
    },
  },
  {
    row: "C-X115",
    says: "a SKILL.md whose frontmatter differs anywhere from the entry is not loaded",
    async test({ open }) {
      const { frontmatter } = entryOf();
      for (const changed of [
        { ...frontmatter, description: "Something else" },
        { ...frontmatter, metadata: { version: 1 } },
        { ...frontmatter, metadata: { version: "1", more: true } },
        { ...frontmatter, "allowed-tools": "Bash" },
        { name: frontmatter.name, description: frontmatter.description },
      ]) {
        const { client } = await open(skillServer([entryOf(files, { frontmatter: changed })]));
        const opened = openSkill(client, uri);
        await expect(opened).rejects.toMatchObject({ code: "skill-unverified", mismatch: "frontmatter" });
      }
    },
  },
  {
    row: "C-X115",
    says: "frontmatter with tricks of YAML is not loaded, also that of a dynamic skill",
    async test({ open }) {
      for (const more of ["a: &x 1\nb: *x\n", "name: refunds\n", "a: !!js/function x\n"]) {
        const text = manifest.replace("---\nPay", `${more}---\nPay`);
        const { client } = await open(skillServer([dynamic], { [uri]: text }));
        await expect(openSkill(client, uri)).rejects.toThrow(/line \d: /);
      }
    },
  },
  {
    row: "C-X116",
    says: "folders are answered from the entry, and only those of a dynamic skill by the server",
    async test({ open }) {
      const child = { uri: "skill://acme/refunds/new.md", name: "new.md" };
      const script = skillServer(
        [entryOf()],
        { ...files, [child.uri]: "new" },
        {
          "resources/directory/read": () => ({ resources: [child], ttlMs: 0, cacheScope: "private" }),
        },
      );
      const { client, server } = await open(script);
      const names = (await readSkillFolder(client, entryOf())).map(({ name, mimeType }) => [name, mimeType]);
      expect(names).toContainEqual(["examples", "inode/directory"]);
      expect(names).not.toContainEqual(["new.md", undefined]);
      expect(await readSkillFolder(client, entryOf(), "examples/")).toMatchObject([{ uri: email, name: "email.md" }]);
      await expect(readSkillFolder(client, entryOf(), "none")).rejects.toMatchObject({ mismatch: "unlisted" });
      expect(server.of("resources/directory/read")).toEqual([]);
      expect(await readSkillFolder(client, dynamic)).toEqual([child]);
      await expect(readSkillFile(client, entryOf(), child.uri)).rejects.toMatchObject({ mismatch: "unlisted" });
    },
  },
  {
    row: "C-X116",
    says: "the held entry stays as it was when the server changes the skill",
    async test({ open }) {
      const changed = { ...files, [email]: "Changed" };
      const entries = [entryOf()];
      const { client } = await open(skillServer(entries, changed));
      const { skill } = await openSkill(client, uri);
      entries[0] = entryOf(changed);
      await expect(readSkillFile(client, skill, email)).rejects.toMatchObject({ code: "skill-unverified" });
      const refreshed = await getSkill(client, uri);
      expect((await readSkillFile(client, refreshed, email)).text).toBe("Changed");
    },
  },
  {
    row: "C-X118",
    says: "an entry with other resources than a list or dynamic is refused, and left out of a list on request",
    async test({ open }) {
      const { resources: _, ...without } = entryOf();
      const broken = [without, ...["static", null, {}, []].map((resources) => entryOf(files, { resources }))];
      const { client, server } = await open(skillServer([...broken, { ...dynamic, uri: "skill://refunds/SKILL.md" }]));
      await expect(listSkills(client)).rejects.toMatchObject({ code: "answer-invalid" });
      const problems: string[] = [];
      const left = await listSkills(client, { onInvalid: (problem) => problems.push(problem) });
      expect(left).toHaveLength(1);
      expect(problems).toHaveLength(broken.length);
      for (const entry of broken) {
        await expect(openSkill(client, entry as never)).rejects.toMatchObject({ code: "answer-invalid" });
      }
      await expect(openSkill(client, uri)).rejects.toMatchObject({ code: "answer-invalid" });
      expect(server.of("resources/read")).toEqual([]);
    },
  },
  {
    row: "C-X118",
    says: "a skill at both limits is opened, and one beyond is refused before anything is read",
    async test({ open }) {
      const own = entryOf({ [uri]: manifest });
      const [first] = own.resources as never[];
      const others = (count: number, size: number) =>
        Array.from({ length: count }, (_, at) => ({
          uri: `skill://acme/refunds/${at}.txt`,
          digest: `sha256:${"0".repeat(64)}`,
          size: at === 0 ? size : 0,
        }));
      const room = 16 * 1024 * 1024 - manifest.length;
      const full = { ...own, resources: [first, ...others(511, room)] } as never;
      const { client, server } = await open(skillServer([full]));
      expect((await openSkill(client, full)).isVerified).toBe(true);
      for (const resources of [
        [first, ...others(512, 0)],
        [first, ...others(1, room + 1)],
      ]) {
        const large = { ...own, resources } as never;
        await expect(openSkill(client, large)).rejects.toMatchObject({ code: "limit-reached" });
      }
      expect(server.of("resources/read")).toHaveLength(1);
    },
  },
  {
    row: "C-X127",
    says: "the authority of a URI is not looked up: all that is sent goes to the server",
    async test({ open }) {
      const far = "skill://example.invalid/refunds/SKILL.md";
      const own = entryOf({ [far]: manifest }, { uri: far });
      const { client, server } = await open(skillServer([own], { [far]: manifest }));
      expect((await openSkill(client, far)).text).toBe(manifest);
      expect(server.of("resources/read").map(({ params }) => params.uri)).toEqual([far]);
    },
  },
];
