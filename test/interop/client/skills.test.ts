import { fileURLToPath } from "node:url";
import { connect } from "portolan/client";
import { listSkills, openSkill, readSkillFile, readSkillFolder } from "portolan/client/skills";
import { describe, expect, test } from "vitest";

const program = fileURLToPath(new URL("../../peers/servers/sdk-v2-skills.mjs", import.meta.url));

describe.each(["2025-11-25", "2026-07-28"])("skills of the official SDK, version 2, on %s", (era) => {
  test("are listed, opened, and read with all their files", async () => {
    const target = { command: process.execPath, args: [program], graceMs: 100 };
    await using client = await connect(target, { era });
    expect(client.server.version).toBe(era);
    const [skill] = await listSkills(client);
    if (!skill) throw new Error("the server lists no skill");
    expect(skill.frontmatter).toMatchObject({ name: "refunds", metadata: { version: "1.0" } });
    const { body, isVerified } = await openSkill(client, skill.uri);
    expect([body, isVerified]).toEqual(["\n# Refunds\n", true]);
    for (const { uri } of Array.isArray(skill.resources) ? skill.resources : []) {
      expect((await readSkillFile(client, skill, uri)).isVerified).toBe(true);
    }
    const dynamic = { ...skill, resources: "dynamic" } as const;
    expect((await readSkillFolder(client, dynamic, "examples")).map(({ name }) => name)).toEqual(["email.md"]);
    expect((await readSkillFolder(client, skill)).map(({ name }) => name)).toContain("examples");
  });
});

test.each(["2025-11-25", "2026-07-28"])("skills of ext-skills are listed, opened and read (%s)", async (era) => {
  const peer = fileURLToPath(new URL("../../peers/servers/ext-skills.mjs", import.meta.url));
  const folder = fileURLToPath(new URL("../../../examples/guide/skills", import.meta.url));
  const target = { command: process.execPath, args: [peer, folder], graceMs: 100 };
  await using client = await connect(target, { era });
  expect(client.server.version).toBe(era);
  const [skill] = await listSkills(client);
  if (!skill) throw new Error("the server lists no skill");
  expect(skill).toMatchObject({ uri: "skill://refunds/SKILL.md", frontmatter: { name: "refunds" } });
  expect((await openSkill(client, skill.uri)).isVerified).toBe(true);
  expect((await readSkillFile(client, skill, "examples/email.md")).isVerified).toBe(true);
  const dynamic = { ...skill, resources: "dynamic" } as const;
  expect((await readSkillFolder(client, dynamic, "examples")).map(({ name }) => name)).toEqual(["email.md"]);
});
