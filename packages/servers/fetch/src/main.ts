#!/usr/bin/env node
import { runMain, UsageError } from "portolan/server/main";
import { createFetch } from "./server.ts";

await runMain({
  name: "portolan-fetch",
  version: "0.1.0",
  about: "An MCP server that fetches public web pages as markdown.",
  flags: {
    "allow-private": {
      type: "string",
      multiple: true,
      value: "<host>",
      says: "a host that may be fetched though it is not public; may be given several times",
    },
    "ignore-robots": { type: "boolean", says: "do not ask robots.txt" },
    "max-bytes": {
      type: "string",
      value: "<bytes>",
      says: "the largest page, after it was decompressed; 5 MiB unless given",
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
