import { connectInMemory } from "portolan/testing";
import { describe, expect, test } from "vitest";
import { oldestAndNewest } from "../examples/example.ts";
import { inMemory, makeHost } from "../host/kit.ts";
import { connect, importGuide } from "./guide.ts";

const guide = await importGuide("skills-server");
const hosts = await importGuide("skills-host");
const { instructions } = await importGuide("skills-client");

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

  test("reads a skill as a client", async () => {
    await using client = await connectInMemory(guide.server, { revision });
    const { body, email } = await instructions(client, "refunds");
    expect([body, email]).toEqual([expect.stringContaining("# Refunds"), expect.stringContaining("paid you back")]);
    await expect(instructions(client, "none")).rejects.toThrow("lists no skill none");
  });

  test("loads a skill in a host, by a consent that shows it", async () => {
    const shown: string[] = [];
    const confirm = async (text: string) => shown.push(text) > 0;
    const host = await makeHost({
      servers: { shop: inMemory(guide.server, { era: revision }) },
      answers: { approve: (question) => hosts.approve(question, confirm) },
    });
    await host.ready();
    expect(await hosts.refundText(host)).toMatchObject({ email: expect.stringContaining("paid you back") });
    expect(shown).toEqual([expect.stringMatching(/^shop offers the skill refunds: How this shop pays money back/)]);
    await hosts.refundText(host);
    expect(shown).toHaveLength(1);
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
