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
  about: "An MCP server with a memory: a knowledge graph in a file.",
  flags: {
    file: { type: "string", value: "<path>", says: `where it is kept; ${variable} or ${defaultFile()} unless given` },
    namespace: {
      type: "string",
      value: "<name>",
      says: "the namespace that is meant where none is named; default unless given",
    },
    import: {
      type: "string",
      value: "<path>",
      says: "first add this file: an export, or that of the official memory server",
    },
    repair: { type: "boolean", says: "first put damaged lines aside, beside the file" },
  },
  async create(line) {
    const namespace = line.text("namespace") ?? "default";
    if (!new RegExp(namespacePattern).test(namespace)) {
      throw new UsageError(
        `--namespace: expected small letters, digits, ".", "_" and "-", got ${JSON.stringify(namespace)}`,
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
