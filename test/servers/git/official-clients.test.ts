// The official SDK's clients use the program over stdio, in both eras.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { stateful, stateless } from "../../kit/revisions.ts";
import { connect as connectV1 } from "../../peers/clients/sdk-v1.mjs";
import { connect as connectV2 } from "../../peers/clients/sdk-v2.mjs";
import { makeConflict, makeFolder } from "./repository.ts";

const program = join(import.meta.dirname, "../../../packages/servers/git/dist/main.js");
const answers = {
  elicit: () => ({ action: "accept", content: {} }),
  sample: () => {
    throw new Error("The test does not sample");
  },
  roots: () => ({ roots: [] }),
};

const columns = [
  ...stateful.map((version) => ({ name: "SDK v1", connect: connectV1, version })),
  ...stateful.map((version) => ({ name: "SDK v2", connect: connectV2, version, mode: "legacy" as const })),
  ...stateless.map((version) => ({ name: "SDK v2", connect: connectV2, version, mode: "pin" as const })),
  ...stateless.map((version) => ({ name: "SDK v2", connect: connectV2, version, mode: "auto" as const })),
];

describe.each(columns)("$name on $version ($mode)", ({ connect, name, version, ...how }) => {
  test("merges, settles a conflict, reads a resource, and deletes the branch after the user agrees", async () => {
    const work = makeConflict();
    // The official clients start a script without arguments.
    const script = join(makeFolder(), "start.mjs");
    writeFileSync(
      script,
      `process.argv.push(${JSON.stringify(work.root)});\nawait import(${JSON.stringify(`file://${program}`)});\n`,
    );
    const client = await connect({ name, version, script, answers, ...how });
    onTestFinished(() => client.close());
    const said = async (tool: string, args: object = {}) => {
      const { content, isError } = await client.callTool(tool, args);
      expect(isError, JSON.stringify(content)).not.toBe(true);
      return content[0].text as string;
    };
    expect((await client.listTools()).all).toHaveLength(18);
    expect(await said("status")).toContain("Branch main");
    expect(await said("merge", { ref: "other" })).toContain("ours: TWO of main");
    await said("resolve", { path: "a.txt", take: "theirs" });
    expect(await said("merge_continue")).toContain("Merge other");
    const { all } = await client.listResources();
    expect(all.length).toBe(4);
    expect((await client.readResource("git://work/blob/main/a.txt")).contents[0].text).toContain("TWO of other");
    const ref = { type: "ref/resource", uri: "git://{repo}/blob/{ref}/{+path}" };
    const { completion } = await client.complete({ ref, argument: { name: "ref", value: "oth" } });
    expect(completion.values).toEqual(["other"]);
    if (version >= "2025-06-18") {
      expect(await said("branch_delete", { name: "other" })).toContain("Deleted");
      expect(client.asked.map(({ method }) => method)).toEqual(["elicitation/create"]);
      expect(work.git("branch", "--list", "other")).toBe("");
    }
    expect(client.errors).toEqual([]);
  });
});
