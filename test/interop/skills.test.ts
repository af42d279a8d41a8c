import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { quickServer } from "../kit/quick-servers.mjs";
import { openExtSkills } from "../peers/clients/ext-skills.mjs";
import { openSkills } from "../peers/clients/sdk-v2-skills.mjs";

const path = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const ours = [path("../kit/serve.mjs"), quickServer(path("../requirements/servers/skills.mjs"))];

const eras = [
  ["2025-11-25", true],
  ["2026-07-28", false],
] as const;

describe.each(eras)("the official SDK, version 2, on %s", (version, hasHandshake) => {
  test("lists the skills of our server, and verifies each of their files", async () => {
    const skills = await openSkills(process.execPath, ours, version, hasHandshake);
    try {
      expect(skills.version).toBe(version);
      const all = await skills.list();
      expect(all).toHaveLength(123);
      const refunds = await skills.get("skill://acme/refunds/SKILL.md");
      expect(all).toContainEqual(refunds);
      for (const { uri } of Array.isArray(refunds.resources) ? refunds.resources : []) {
        expect(await skills.read(refunds, uri)).toMatchObject({ verified: true });
      }
      const daily = await skills.read(await skills.get("skill://reports/daily/SKILL.md"));
      expect(daily).toMatchObject({ verified: false, body: expect.stringContaining("Report 1.") });
    } finally {
      await skills.close();
    }
  });

  test("reads the directories of our server", async () => {
    const skills = await openSkills(process.execPath, ours, version, hasHandshake);
    try {
      expect(skills.directoryRead).toBe(true);
      const children = await skills.readDirectory("skill://acme/refunds/examples");
      expect(children).toMatchObject([
        { uri: "skill://acme/refunds/examples/email.md", mimeType: "text/markdown" },
        { uri: "skill://acme/refunds/examples/regional", mimeType: "inode/directory" },
      ]);
      expect(await skills.readDirectory("skill://acme/refunds/drafts")).toEqual([]);
    } finally {
      await skills.close();
    }
  });
});

test.each(eras)("ext-skills lists, verifies and reads the skills of our server (%s)", async (version, hasHandshake) => {
  const skills = await openExtSkills(process.execPath, ours, version, hasHandshake);
  try {
    expect([skills.version, skills.directoryRead]).toEqual([version, true]);
    const all = await skills.list();
    expect(all).toHaveLength(123);
    const refunds = await skills.get("skill://acme/refunds/SKILL.md");
    expect(all).toContainEqual(refunds);
    expect(await skills.open(refunds)).toContain("name: refunds");
    const uris = Array.isArray(refunds.resources) ? refunds.resources.map(({ uri }) => uri) : [];
    expect(uris.length).toBeGreaterThan(3);
    for (const uri of uris) expect(await skills.read(refunds, uri)).toBeDefined();
    await expect(skills.read(refunds, "skill://acme/refunds/other.md")).rejects.toThrow();
    const children = await skills.readDirectory("skill://acme/refunds/examples");
    expect(children.map(({ mimeType }) => mimeType)).toEqual(["text/markdown", "inode/directory"]);
  } finally {
    await skills.close();
  }
});
