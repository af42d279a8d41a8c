import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "rolldown";
import { HttpServer } from "../driver/http-server.mjs";
import { having, implementations, installed, programOf } from "../implementations.mjs";

// Optional packages of fastmcp that are not installed.
const optional = ["effect", "sury", "arktype", "@valibot/to-json-schema"];

/**
 * A one-tool server and a client that makes one call, over stdio and over HTTP, min + gzip, without the schema library;
 * mcp-lite's server over stdio is its fetch handler. Modules behind `import()` are counted separately: the first row of
 * each is what the program loads to do its work, the second all that it may load.
 */
export async function run({ notes }) {
  return [
    ...(await sizes("a one-tool server", installed(), notes, ({ name, folder }) => ({
      entry: join(folder, name === "portolan" ? "one-zod-tool.mjs" : "one-tool.mjs"),
      isNeeded: () => false,
    }))),
    ...(await sizes("a one-call client", having("one-call"), notes, ({ name }) =>
      clientProgram(programOf(name, "one-call"), programOf("raw", "stdio")),
    )),
    ...(await sizes("a one-tool HTTP server", having("one-tool-http"), notes, ({ name }) => ({
      entry: programOf(name, "one-tool-http"),
      isNeeded: () => false,
    }))),
    ...(await overHttp((url) =>
      sizes("a one-call HTTP client", having("one-call-http"), notes, ({ name }) =>
        clientProgram(programOf(name, "one-call-http"), url),
      ),
    )),
  ];
}

async function clientProgram(entry, server) {
  const loaded = await loadedBy(entry, server);
  return { entry, isNeeded: (file) => loaded.has(pathToFileURL(file).href) };
}

async function overHttp(work) {
  const server = new HttpServer(implementations.find(({ name }) => name === "raw"));
  try {
    return await work(await server.url());
  } finally {
    await server.close();
  }
}

async function sizes(what, measured, notes, programFor) {
  const atStart = {};
  const inAll = {};
  for (const implementation of measured) {
    try {
      const { entry, isNeeded } = await programFor(implementation);
      atStart[implementation.name] = { value: (await bundleSize(entry, [leaveForLater(isNeeded)])) / 1000 };
      inAll[implementation.name] = { value: (await bundleSize(entry, [])) / 1000 };
    } catch (error) {
      notes.push(`${implementation.name}, ${what}: ${reasonOf(error)}`);
    }
  }
  return [
    { metric: `size of ${what}, min + gz`, unit: "KB", shown: "value", cells: atStart },
    { metric: `size of ${what}, with all it may load later`, unit: "KB", shown: "value", cells: inAll },
  ];
}

const reasonOf = ({ message }) => (message.split("\n").find((line) => line.includes("Error")) ?? message).slice(0, 200);

const leaveForLater = (isNeeded) => ({
  name: "leave-for-later",
  async resolveDynamicImport(specifier, importer) {
    const found = typeof specifier === "string" ? await this.resolve(specifier, importer) : null;
    return found && isNeeded(found.id) ? found : false;
  },
});

/** The URLs of all modules that a client loads to connect to the raw server and make its call. */
async function loadedBy(program, server) {
  const directory = mkdtempSync(join(tmpdir(), "portolan-bench-"));
  try {
    const env = { ...process.env, NODE_V8_COVERAGE: directory };
    const { stdout } = await promisify(execFile)(process.execPath, [program, server], {
      env,
      timeout: 30_000,
    });
    if (stdout !== "hello\n") throw new Error(`Error: the call was answered with ${stdout}`);
    // The server may write a report too; that does not matter, because raw loads none of their modules.
    const reports = readdirSync(directory).map((file) => JSON.parse(readFileSync(join(directory, file), "utf8")));
    return new Set(reports.flatMap(({ result }) => result.map(({ url }) => url)));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

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
