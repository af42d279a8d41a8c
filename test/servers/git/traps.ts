// Programs that mark that they were run, and a walk through everything that might run them.
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectTo } from "./client.ts";
import { makeFolder, type Work } from "./repository.ts";

/** A program that must not be run. */
export interface Trap {
  /** Where the trap leaves its mark. */
  readonly marker: string;
  /** A program that marks. */
  readonly program: string;
}

/** A trap in a folder of its own. */
export function makeTrap(): Trap {
  const folder = makeFolder();
  const marker = join(folder, "marker");
  const program = join(folder, "trap.sh");
  writeFileSync(program, `#!/bin/sh\ntouch '${marker}'\n`);
  chmodSync(program, 0o755);
  return { marker, program };
}

/** Everything the server does, on a repository that can be merged with conflicts. */
export async function useEverything(work: Work): Promise<void> {
  const client = await connectTo(work.root, { ask: false });
  // Touched, so that git has to look into the file.
  work.write("b.txt", "changed\n");
  await client.callTool("status");
  await client.callTool("log", { path: "a.txt", grep: "o", author: "a" });
  await client.callTool("diff");
  await client.callTool("diff", { staged: true });
  await client.callTool("diff", { from: "main", to: "other" });
  await client.callTool("diff", { from: "other" });
  await client.callTool("show", { ref: "HEAD" });
  await client.callTool("show", { ref: "other", path: "a.txt" });
  await client.callTool("blame", { path: "a.txt" });
  await client.callTool("branches", { remote: true });
  await client.callTool("tags");
  await client.callTool("stage", { paths: ["."] });
  await client.getPrompt("commit_message").catch(() => {});
  await client.callTool("unstage", { paths: ["b.txt"] });
  await client.callTool("stage", { paths: ["b.txt"] });
  await client.callTool("commit", { message: "changed b" });
  await client.callTool("branch_create", { name: "fresh", from: "other", switch: true });
  await client.callTool("branch_switch", { name: "main" });
  await client.callTool("branch_delete", { name: "fresh" });
  await client.callTool("merge", { ref: "other" });
  await client.callTool("conflicts");
  await client.callTool("merge_abort");
  await client.callTool("merge", { ref: "other" });
  await client.callTool("resolve", { path: "a.txt", take: "text", text: "settled\n" });
  await client.callTool("merge_continue");
  const listed = await client.listResources().catch(() => []);
  for (const { uri } of listed.slice(0, 2)) await client.readResource(uri).catch(() => {});
  await client.readResource("git://work/tree/main").catch(() => {});
  await client.readResource("git://work/blob/main/a.txt").catch(() => {});
}

/** Gives every file an attribute. */
export const everyFile = (attribute: string) => (work: Work) =>
  writeFileSync(join(work.root, ".git/info/attributes"), `* ${attribute}\n`);
