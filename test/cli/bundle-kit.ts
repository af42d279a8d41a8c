import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type PackedFile, writeZip } from "../../packages/cli/src/sources/zip.ts";

/** A server that tells its arguments and variables. */
export const program = `
  import { createInterface } from "node:readline";
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith("W_")));
  const text = JSON.stringify({ args: process.argv.slice(2), env, folder: process.cwd() });
  const answers = {
    initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "told", version: "1.0.0" } }),
    "tools/list": () => ({ tools: [{ name: "tell", inputSchema: { type: "object" } }] }),
    "tools/call": () => ({ content: [{ type: "text", text }] }),
  };
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const answer = answers[method];
    const reply = answer ? { result: answer(params) } : { error: { code: -32601, message: "no such method" } };
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...reply }) + "\\n");
  });
`;

/** Returns a manifest of version 0.3, with other members. */
export const manifestOf = (more: object = {}, config: object = {}) => ({
  ...{ manifest_version: "0.3", name: "weather", version: "1.2.0", description: "Tells the weather" },
  author: { name: "Example" },
  server: {
    ...{ type: "node", entry_point: "server/index.mjs" },
    mcp_config: { command: process.execPath, args: ["${__dirname}/server/index.mjs"], ...config },
  },
  ...more,
});

export const textFile = (path: string, content: string): PackedFile => ({
  ...{ path, bytes: Buffer.from(content), isExecutable: false },
});

/** Returns a bundle with a manifest and the program. */
export const bundleOf = (
  manifest: object,
  files: readonly PackedFile[] = [textFile("server/index.mjs", program)],
): Buffer => writeZip([textFile("manifest.json", JSON.stringify(manifest)), ...files]);

export const sha256Of = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

/** Writes the files of a server that can be packed. A path with a trailing `*` can be executed. */
export function putFolder(folder: string, files: { readonly [path: string]: string | object }): string {
  for (const [given, content] of Object.entries(files)) {
    const file = join(folder, given.replace(/\*$/, ""));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
    if (given.endsWith("*")) chmodSync(file, 0o755);
  }
  return folder;
}
