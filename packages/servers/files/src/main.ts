#!/usr/bin/env node
import { type CommandLine, runMain, UsageError } from "portolan/server/main";
import type { FilesOptions, Limits } from "./options.ts";
import { createFiles, info } from "./server.ts";

const uses = ["narrow", "provide", "ignore"] as const;

await runMain({
  name: info.name,
  version: info.version,
  about: "Serves folders: read, search, edit and follow files, and nothing outside.",
  arguments: "<folder>...",
  flags: {
    "read-only": { type: "boolean", says: "leave out the tools that write" },
    hidden: { type: "boolean", says: "serve names that begin with a dot, too" },
    "no-ask": { type: "boolean", says: "never ask the user before replacing or removing" },
    "client-roots": {
      type: "string",
      value: "<use>",
      says: "the client's roots narrow the folders (default), provide more, or are ignored: narrow, provide, ignore",
    },
    ignore: {
      type: "string",
      multiple: true,
      value: "<name>",
      says: "a folder that searching passes by, instead of node_modules and .git; may be repeated",
    },
    "max-bytes": { type: "string", value: "<bytes>", says: "text in one read, 262144 unless given" },
    "max-results": { type: "string", value: "<count>", says: "entries in one answer, 1000 unless given" },
    "search-ms": { type: "string", value: "<ms>", says: "time for one search, 10000 unless given" },
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
