#!/usr/bin/env node
import { type CommandLine, runMain, UsageError } from "portolan/server/main";
import type { FilesOptions, Limits } from "./options.ts";
import { createFiles, info } from "./server.ts";

const uses = ["narrow", "provide", "ignore"] as const;

await runMain({
  name: info.name,
  version: info.version,
  about: "An MCP server for folders: read, search, edit and watch files.",
  arguments: "<folder>...",
  flags: {
    "read-only": { type: "boolean", says: "offer no tool that writes" },
    hidden: { type: "boolean", says: "also serve names that start with a dot" },
    "no-ask": { type: "boolean", says: "do not ask the user before replacing or removing" },
    "client-roots": {
      type: "string",
      value: "<use>",
      says: "use the client's roots to narrow the folders, provide more, or ignore them. Default: narrow",
    },
    ignore: {
      type: "string",
      multiple: true,
      value: "<name>",
      says: "skip folders of this name in searches. Repeatable. Default: node_modules and .git",
    },
    "max-bytes": {
      type: "string",
      value: "<bytes>",
      says: "at most this many bytes of text in one read. Default: 262144",
    },
    "max-results": { type: "string", value: "<count>", says: "at most this many entries in a result. Default: 1000" },
    "search-ms": { type: "string", value: "<ms>", says: "stop find and search after this time. Default: 10000" },
  },
  create: (line) => createFiles(optionsOf(line)),
});

function optionsOf(line: CommandLine): FilesOptions {
  const clientRoots = uses.find((use) => use === (line.text("client-roots") ?? "narrow"));
  if (!clientRoots) throw new UsageError(`--client-roots: expected one of ${uses.join(", ")}`);
  if (line.arguments.length === 0 && clientRoots !== "provide")
    throw new UsageError("expected at least one folder to serve");
  const limits: { -readonly [L in keyof Limits]?: Limits[L] } = {};
  const [readBytes, results, searchMs] = [line.count("max-bytes"), line.count("max-results"), line.count("search-ms")];
  if (readBytes !== undefined) limits.readBytes = readBytes;
  if (results !== undefined) limits.results = results;
  if (searchMs !== undefined) limits.searchMs = searchMs;
  const ignore = line.texts("ignore");
  return {
    folders: line.arguments,
    clientRoots,
    readOnly: line.isSet("read-only"),
    hidden: line.isSet("hidden"),
    ask: !line.isSet("no-ask"),
    limits,
    ...(ignore.length > 0 && { ignore }),
  };
}
