import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Answers, Connect, ConnectOptions } from "../../peers/clients/peer.d.mts";
import { connect as connectV1 } from "../../peers/clients/sdk-v1.mjs";
import { connect as connectV2 } from "../../peers/clients/sdk-v2.mjs";
import { makeFolder, program } from "./kit.ts";

const clients: [name: string, connect: Connect, options: Pick<ConnectOptions, "version" | "mode">][] = [
  ["SDK v1 on 2025-11-25", connectV1, { version: "2025-11-25" }],
  ["SDK v1 on 2024-11-05", connectV1, { version: "2024-11-05" }],
  ["SDK v2 on 2025-11-25", connectV2, { version: "2025-11-25", mode: "legacy" }],
  ["SDK v2 on 2026-07-28", connectV2, { version: "2026-07-28", mode: "pin" }],
  ["SDK v2 that finds out", connectV2, { version: "2026-07-28", mode: "auto" }],
];

describe.each(clients)("%s", (name, connect, options) => {
  test("lists, reads, writes after the user agrees, subscribes and completes", async () => {
    const folder = await makeFolder();
    await mkdir(join(folder, "docs"));
    await writeFile(join(folder, "docs", "a.md"), "hello\n");
    const answers: Answers = {
      elicit: () => ({ action: "accept", content: {} }),
      sample: () => ({}),
      roots: () => ({ roots: [{ uri: pathToFileURL(folder).href }] }),
    };
    const env = { PROGRAM: pathToFileURL(program).href, PROGRAM_ARGUMENTS: JSON.stringify([folder]) };
    const script = join(import.meta.dirname, "with-arguments.mjs");
    const client = await connect({ name, script, env, answers, ...options });
    onTestFinished(() => client.close());

    expect((await client.listTools()).all).toHaveLength(12);
    expect(await client.callTool("read", { path: "docs/a.md" })).toMatchObject({ content: [{ text: "hello\n" }] });
    const edits = [{ old: "hello", new: "goodbye" }];
    expect(await client.callTool("edit", { path: "docs/a.md", edits })).not.toMatchObject({ isError: true });
    const replaced = await client.callTool("write", { path: "docs/a.md", text: "new\n", overwrite: true });
    expect(replaced).toMatchObject({ content: [{ text: "Replaced docs/a.md (4 bytes)" }] });
    const mayAsk = options.version !== "2024-11-05";
    expect(client.asked.map(({ method }) => method).includes("elicitation/create")).toBe(mayAsk);
    expect(await readFile(join(folder, "docs", "a.md"), "utf8")).toBe("new\n");

    const uri = pathToFileURL(join(folder, "docs", "a.md")).href;
    expect((await client.listResources()).all.map((resource) => resource.uri)).toContain(uri);
    expect(await client.readResource(uri)).toMatchObject({ contents: [{ text: "new\n" }] });
    const following = await client.follow(uri);
    await writeFile(join(folder, "docs", "a.md"), "changed\n");
    expect(await client.hears("notifications/resources/updated")).toMatchObject({ uri });
    await following.stop();
    const ref = { type: "ref/resource", uri: `${pathToFileURL(folder).href}/{+path}` };
    const completed = await client.complete({ ref, argument: { name: "path", value: "do" } });
    expect(completed).toMatchObject({ completion: { values: ["docs/"] } });
    expect(await client.callTool("read", { path: "../x" })).toMatchObject({ isError: true });
    expect(client.errors).toEqual([]);
  });
});
