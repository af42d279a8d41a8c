#!/usr/bin/env node
import { runServiceMain } from "portolan-server-kit/service/main";
import { service } from "./github.ts";
import { createGithub, version } from "./server.ts";

await runServiceMain({
  name: "portolan-github",
  version,
  about: "An MCP server for GitHub: code, issues, pull requests, reviews and merges.",
  service,
  create: createGithub,
});
