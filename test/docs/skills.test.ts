import { describe, expect, test } from "vitest";
import { oldestAndNewest } from "../examples/example.ts";
import { connect, importGuide } from "./guide.ts";

const guide = await importGuide("skills-server");

describe.each(oldestAndNewest)("docs/skills.md on %s", (revision) => {
  test("serves the skills of a folder", async () => {
    const peer = await connect(guide.server, { revision });
    const { skills } = (await peer.request("skills/list")).result;
    expect(skills).toMatchObject([
      { uri: "skill://acme/refunds/SKILL.md", frontmatter: { metadata: { version: "1.2" } } },
    ]);
    const uri = "skill://acme/refunds/examples/email.md";
    expect((await peer.request("resources/read", { uri })).result.contents[0].text).toContain("paid you back");
    await guide.folder.reload();
  });

  test("serves skills from memory, and dynamic ones of a source", async () => {
    const peer = await connect(guide.small, { revision });
    expect((await peer.request("skills/list")).result.skills).toHaveLength(1);
    const other = await connect(guide.dynamic, { revision });
    const [entry] = (await other.request("skills/list")).result.skills;
    expect(entry.resources).toBe("dynamic");
    const { contents } = (await other.request("resources/read", { uri: entry.uri })).result;
    expect(contents[0].text).toContain("All is well, local.");
  });
});
