#!/usr/bin/env node
import { runMain } from "portolan/server/main";
import { createEverything } from "./server.ts";

await runMain({
  name: "portolan-everything",
  version: "0.1.0",
  about: "An MCP server with every feature of every revision, for learning and testing.",
  flags: {
    "page-size": {
      type: "string",
      value: "<count>",
      says: "features per page of a list. Default: 40",
    },
  },
  create(line) {
    const pageSize = line.count("page-size");
    return createEverything(pageSize === undefined ? {} : { pageSize: Math.max(1, pageSize) });
  },
});
