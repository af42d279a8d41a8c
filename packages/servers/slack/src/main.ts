#!/usr/bin/env node
import { runServiceMain } from "portolan-server-kit/service/main";
import { createSlack, version } from "./server.ts";
import { service } from "./slack.ts";

await runServiceMain({
  name: "portolan-slack",
  version,
  about: "An MCP server for Slack: channels, threads, search, files, messages and reactions.",
  service,
  create: createSlack,
});
