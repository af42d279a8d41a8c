#!/usr/bin/env node
import { runMain, UsageError } from "portolan/server/main";
import type { GitLimits } from "./options.ts";
import { createGit, version } from "./server.ts";

await runMain({
  name: "portolan-git",
  version,
  about: "Git repositories for MCP hosts: history, changes, commits and merges, and nothing outside the repositories.",
  arguments: "<repository>...",
  flags: {
    "read-only": { type: "boolean", says: "offer nothing that changes a repository" },
    "no-questions": { type: "boolean", says: "do not ask the user before branches are deleted or merges given up" },
    "max-bytes": {
      type: "string",
      value: "<bytes>",
      says: "the longest patch or file in an answer, 262144 unless given",
    },
    "max-entries": {
      type: "string",
      value: "<count>",
      says: "the most files or branches in an answer, 1000 unless given",
    },
    timeout: { type: "string", value: "<seconds>", says: "how long one run of git may take, 30 unless given" },
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
