// A server with skills of a folder, a page of generated ones, one that is not listed, and one without digests.
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createServer } from "portolan/server";
import { skills, skillsOf } from "portolan/server/skills";
import { skillsFrom } from "portolan/server/skills/node";

const manifest = (name) => `---\nname: ${name}\ndescription: The skill ${name}\n---\nDo it.\n`;
const names = Array.from({ length: 120 }, (_, at) => `skill-${String(at).padStart(3, "0")}`);

const refunds = `---
name: refunds
description: >-
  Pays money back to customers.
  Use it when a customer asks for a refund.
license: Apache-2.0
metadata:
  author: acme
  version: "1.0"
allowed-tools: Bash(*)
limits: {euros: 100, countries: [de, "no"]}
steps:
- ask
- name: pay
  twice: false
---

# Refunds

Pick the template from \`examples/\`.
`;
const files = {
  "README.md": "Not a skill: this file is not served.\n",
  "refunds/SKILL.md": refunds,
  "refunds/.draft.md": "A hidden file is not served.\n",
  "refunds/examples/email.md": "Dear customer, we have paid you back.\n",
  "refunds/examples/regional/eu.md": "\uFEFFDear customer, we have paid you back in euros. Grüße!\n",
  "refunds/scripts/pay.py": 'print("paid")\r\n',
  "refunds/logo.png": Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0xff),
  "refunds/approve/SKILL.md": manifest("approve"),
};
const path = mkdtempSync(join(tmpdir(), "portolan-skills-"));
process.on("exit", () => rmSync(path, { recursive: true, force: true }));
for (const [name, content] of Object.entries(files)) {
  mkdirSync(dirname(join(path, name)), { recursive: true });
  writeFileSync(join(path, name), content);
}
mkdirSync(join(path, "refunds/drafts"));
const folder = await skillsFrom(path, { prefix: "acme" });
const many = await skillsOf(Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, manifest(name)])), {
  prefix: "many",
});
const hidden = await skillsOf({ "hidden/SKILL.md": manifest("hidden") });
const daily = {
  uri: "skill://reports/daily/SKILL.md",
  frontmatter: { name: "daily", description: "The skill daily" },
  resources: "dynamic",
};
const sources = [folder, many, hidden];
const first = async (ask) => {
  for (const source of sources) {
    const found = await ask(source);
    if (found !== undefined) return found;
  }
  return undefined;
};
let reads = 0;

/** @type {import("portolan/server/skills").SkillSource} */
const source = {
  async list(cursor, request) {
    if (cursor === undefined) {
      const { skills } = await folder.list(undefined, request);
      return { skills: [...skills, daily], nextCursor: "many" };
    }
    const page = await many.list(cursor.slice("many".length) || undefined, request);
    return { ...page, nextCursor: page.nextCursor && `many${page.nextCursor}` };
  },
  get: (uri, request) => (uri === daily.uri ? daily : first((one) => one.get(uri, request))),
  read(uri, request) {
    if (uri !== daily.uri) return first((one) => one.read(uri, request));
    reads += 1;
    return `${manifest("daily")}Report ${reads}.\n`;
  },
  directory: (uri, request) => first((one) => one.directory?.(uri, request)),
  watch: (changed) => folder.watch?.(changed),
};

export default createServer({ name: "skilled", version: "1.0.0" }, { onError() {} })
  .extend(skills(source, { cache: { ttlMs: 300_000, cacheScope: "public" } }))
  .tool("edit", {
    description: "Changes a file of the folder",
    run() {
      appendFileSync(join(path, "refunds/examples/email.md"), "Changed.\n");
      return "edited";
    },
  })
  .tool("reload", {
    description: "Serves the folder as it is now",
    async run() {
      await folder.reload();
      return "reloaded";
    },
  })
  .resource("text:rules", { read: () => "Rules" });
