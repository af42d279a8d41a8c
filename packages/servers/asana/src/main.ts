#!/usr/bin/env node
import { runServiceMain } from "portolan-server-kit/service/main";
import { service } from "./asana.ts";
import { createAsana, version } from "./server.ts";

await runServiceMain({
  name: "portolan-asana",
  version,
  about: "An MCP server for Asana: workspaces, projects, tasks and comments.",
  service,
  create: createAsana,
});
