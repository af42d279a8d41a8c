// Programs that leave a marker when they run, and a walk through all tools that might run them.
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectTo } from "./client.ts";
import { makeFolder, type Work } from "./repository.ts";

/** A program that must not be run. */
export interface Trap {
  /** The marker file. */
  readonly marker: string;
  /** The program that writes the marker. */
  readonly program: string;
}

/** Creates a trap in its own folder. */
export function makeTrap(): Trap {
  const folder = makeFolder();
  const marker = join(folder, "marker");
  const program = join(folder, "trap.sh");
  writeFileSync(program, `#!/bin/sh\ntouch '${marker}'\n`);
  chmodSync(program, 0o755);
  return { marker, program };
}

/** Calls every tool, on a repository with a merge conflict. */
export async function useEverything(work: Work): Promise<void> {
  const client = await connectTo(work.root, { ask: false });
  // Changed time, so that git has to read the file.
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

/** Sets an attribute on every file. */
export const everyFile = (attribute: string) => (work: Work) =>
  writeFileSync(join(work.root, ".git/info/attributes"), `* ${attribute}\n`);
