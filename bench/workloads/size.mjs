import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "rolldown";
import { installed } from "../implementations.mjs";

// Packages fastmcp can do without and which are not installed.
const optional = ["effect", "sury", "arktype", "@valibot/to-json-schema"];

/**
 * A one-tool server over stdio, min + gzip, schema library left out; mcp-lite's is its fetch handler. What is behind
 * `import()` is counted apart: the first row is what the program loads to start and answer, the second all it may load.
 */
export async function run({ notes }) {
  const atStart = {};
  const inAll = {};
  for (const { name, folder } of installed()) {
    try {
      const program = name === "portolan" ? "one-zod-tool.mjs" : "one-tool.mjs";
      const { start, all } = await measure(join(folder, program));
      atStart[name] = { value: start / 1000 };
      inAll[name] = { value: all / 1000 };
    } catch (error) {
      notes.push(`${name}: ${error.message.split("\n")[1] ?? error.message}`);
    }
  }
  return [
    { metric: "size of a one-tool server, min + gz", unit: "KB", shown: "value", cells: atStart },
    { metric: "size with all it may load later", unit: "KB", shown: "value", cells: inAll },
  ];
}

async function measure(entry) {
  return { start: await bundleSize(entry, [leaveForLater]), all: await bundleSize(entry, []) };
}

const leaveForLater = {
  name: "leave-for-later",
  resolveDynamicImport: () => false,
};

async function bundleSize(input, plugins) {
  const bundled = await build({
    input,
    plugins,
    platform: "node",
    external: ["zod", /^zod\//, ...optional],
    output: { format: "esm", minify: true, codeSplitting: false },
    write: false,
    logLevel: "silent",
  });
  return gzipSync(bundled.output[0].code, { level: 9 }).length;
}
