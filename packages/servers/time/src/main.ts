#!/usr/bin/env node
import { runMain, UsageError } from "portolan/server/main";
import { createTime } from "./server.ts";
import { findZone } from "./zones.ts";

await runMain({
  name: "portolan-time",
  version: "0.1.0",
  about: "An MCP server for the time in every zone.",
  flags: {
    zone: {
      type: "string",
      value: "<zone>",
      says: "zone of calls that name none. Default: the zone of the machine",
    },
  },
  create(line) {
    const zone = line.text("zone");
    if (zone === undefined) return createTime();
    if (findZone(zone) === undefined)
      throw new UsageError(`--zone: expected an IANA name such as Europe/Berlin, got ${zone}`);
    return createTime({ zone });
  },
});
