import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DatabaseSync } from "@photostructure/sqlite";
import type { JsonObject } from "portolan";
import { connect } from "portolan/client";
import { expect, onTestFinished, test } from "vitest";

const text = "x".repeat(20_000);

/** Starts a server that may write files of 64 KiB only: a write beyond it fails, as on a full disk. */
async function startLimited(server: string, args: readonly string[]) {
  const main = fileURLToPath(new URL(`../../packages/servers/${server}/dist/main.js`, import.meta.url));
  const lines: string[] = [];
  const shell = `trap '' XFSZ; ulimit -f ${64 * (1_024 / blockBytes)}; exec "$0" "$@"`;
  const client = await connect(
    { command: "sh", args: ["-c", shell, process.execPath, main, ...args], onStderr: (line) => lines.push(line) },
    { answers: { elicit: agree } },
  );
  onTestFinished(() => client.close());
  const call = async (name: string, given: JsonObject) => {
    const { isError, content } = await client.callTool(name, given);
    return { isError: isError === true, text: content.map((part) => ("text" in part ? part.text : "")).join("\n") };
  };
  return { lines, call };
}

/** Answers as a user who agrees to everything. */
function agree({ requestedSchema }: { readonly requestedSchema: { readonly properties: object } }) {
  const content = Object.fromEntries(Object.keys(requestedSchema.properties).map((name) => [name, true]));
  return { action: "accept", content } as const;
}

/** Shells count the limit in blocks of 512 or 1,024 bytes. */
const blockBytes = (() => {
  const folder = makeFolder();
  const script = `trap '' XFSZ; ulimit -f 1; head -c 4096 /dev/zero > "$0"; wc -c < "$0"`;
  const { stdout } = spawnSync("sh", ["-c", script, join(folder, "probe")], { encoding: "utf8" });
  rmSync(folder, { recursive: true });
  return Number(stdout);
})();

function makeFolder(): string {
  return mkdtempSync(join(tmpdir(), "portolan-full-"));
}

test.each<[server: string, args: (folder: string) => string[], tool: string, given: (n: number) => JsonObject]>([
  [
    "memory",
    (folder) => ["--file", join(folder, "memory.log")],
    "create_entities",
    (n) => ({ entities: [{ name: `e${n}`, entityType: "t", observations: [text] }] }),
  ],
  ["files", (folder) => [folder], "write", (n) => ({ path: `file-${n}.txt`, text: text.repeat(5) })],
  [
    "database",
    (folder) => [join(folder, "shop.db"), "--write"],
    "execute",
    (n) => ({ sql: "insert into t values (hex(zeroblob(?)))", parameters: [20_000 * (1 + n)] }),
  ],
])("on a full disk %s tells the operator once, and the model each time", async (server, args, tool, given) => {
  const folder = makeFolder();
  onTestFinished(() => rmSync(folder, { recursive: true }));
  if (server === "database") {
    const database = new DatabaseSync(join(folder, "shop.db"));
    database.exec("create table t (x text)");
    database.close();
  }
  const { lines, call } = await startLimited(server, args(folder));
  const failed: string[] = [];
  for (let n = 0; n < 8; n += 1) {
    const { isError, text } = await call(tool, given(n));
    if (isError) failed.push(text);
  }
  expect(failed.length).toBeGreaterThan(2);
  expect(lines.filter((line) => line.includes("a write failed"))).toEqual([
    expect.stringMatching(new RegExp(`^portolan-${server}: a write failed: .*(EFBIG|disk I/O|full).*Free space`)),
  ]);
});
