#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { runMain, UsageError } from "portolan/server/main";
import { defaultFile } from "./options.ts";
import { createMemory } from "./server.ts";
import { merge, readExport } from "./store/interchange.ts";
import { openStore } from "./store/store.ts";
import { namespacePattern } from "./tools/tool-parts.ts";

const variable = "PORTOLAN_MEMORY_FILE";

await runMain({
  name: "portolan-memory",
  version: "0.1.0",
  about: "An MCP server with a persistent memory: a knowledge graph in a file.",
  flags: {
    file: { type: "string", value: "<path>", says: `the memory file. Default: ${variable}, or ${defaultFile()}` },
    namespace: {
      type: "string",
      value: "<name>",
      says: "namespace of calls that name none. Default: default",
    },
    import: {
      type: "string",
      value: "<path>",
      says: "first import this file: an export, or a file of the official memory server",
    },
    repair: { type: "boolean", says: "first remove damaged lines; the old file is kept beside the new one" },
  },
  environment: { [variable]: { says: "the memory file, if --file is not given" } },
  async create(line) {
    const namespace = line.text("namespace") ?? "default";
    if (!new RegExp(namespacePattern).test(namespace)) {
      throw new UsageError(
        `--namespace: expected lower-case letters, digits, ".", "_" and "-", got ${JSON.stringify(namespace)}`,
      );
    }
    const file = line.text("file") ?? (process.env[variable] || defaultFile());
    const store = openStore({ file });
    if (line.isSet("repair")) await store.compact({ repair: true });
    const source = line.text("import");
    if (source !== undefined) {
      const { entities, relations } = readExport(readFileSync(source, "utf8"));
      await store.change(namespace, (graph) => ({ ops: merge(graph, entities, relations).ops, result: undefined }));
    }
    return createMemory({ store, namespace });
  },
});
