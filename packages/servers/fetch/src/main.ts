#!/usr/bin/env node
import { runMain, UsageError } from "portolan/server/main";
import { createFetch } from "./server.ts";

await runMain({
  name: "portolan-fetch",
  version: "0.1.0",
  about: "An MCP server that fetches public web pages as Markdown.",
  flags: {
    "allow-private": {
      type: "string",
      multiple: true,
      value: "<host>",
      says: "allow this host although it is not public. Repeatable",
    },
    "ignore-robots": { type: "boolean", says: "ignore robots.txt" },
    "max-bytes": {
      type: "string",
      value: "<bytes>",
      says: "at most this many bytes of a page after decompression. Default: 5242880",
    },
  },
  create(line) {
    const maxBytes = line.count("max-bytes");
    const privateHosts = line.texts("allow-private");
    try {
      return createFetch({
        ...{ privateHosts, ignoreRobots: line.isSet("ignore-robots") },
        ...(maxBytes !== undefined && { maxBytes }),
      });
    } catch (reason) {
      if ((reason as { code?: unknown }).code !== "invalid-argument") throw reason;
      throw new UsageError(`--allow-private: ${(reason as Error).message}`);
    }
  },
});
