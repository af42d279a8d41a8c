#!/usr/bin/env node
import { runMain, UsageError } from "portolan/server/main";
import type { GitLimits } from "./options.ts";
import { createGit, version } from "./server.ts";

await runMain({
  name: "portolan-git",
  version,
  about: "An MCP server for git repositories: history, changes, commits and merges.",
  arguments: "<repository>...",
  flags: {
    "read-only": { type: "boolean", says: "offer no tool that changes a repository" },
    "no-questions": { type: "boolean", says: "do not ask the user before a branch is deleted or a merge is aborted" },
    "max-bytes": {
      type: "string",
      value: "<bytes>",
      says: "at most this many bytes of a patch or file in a result. Default: 262144",
    },
    "max-entries": {
      type: "string",
      value: "<count>",
      says: "at most this many files or branches in a result. Default: 1000",
    },
    timeout: { type: "string", value: "<seconds>", says: "stop a run of git after this time. Default: 30" },
  },
  create(line) {
    if (line.arguments.length === 0) throw new UsageError("expected the folder of at least one repository, got none");
    const maxBytes = line.count("max-bytes");
    const maxEntries = line.count("max-entries");
    const seconds = line.count("timeout");
    const limits: Partial<GitLimits> = {
      ...(maxBytes !== undefined && { maxBytes }),
      ...(maxEntries !== undefined && { maxEntries }),
      ...(seconds !== undefined && { timeoutMs: seconds * 1000 }),
    };
    return createGit({
      repositories: line.arguments,
      readOnly: line.isSet("read-only"),
      ask: !line.isSet("no-questions"),
      limits,
    });
  },
});
