#!/usr/bin/env node
import { runMain } from "portolan/server/main";
import { createWeather } from "./server.ts";

await runMain({
  name: "portolan-weather",
  version: "0.1.0",
  about: "An MCP server with invented weather for any place and day, and a calculator.",
  create: () => createWeather(),
});
