#!/usr/bin/env node
import { type CommandLine, runMain, UsageError } from "portolan/server/main";
import { BadAddress, checkHeader, readAddress } from "./address.ts";
import type { DatabaseLimits } from "./options.ts";
import { createDatabase, version } from "./server.ts";

const variable = "PORTOLAN_DATABASE_URL";

await runMain({
  name: "portolan-database",
  version,
  about: "SQLite and PostgreSQL databases for MCP hosts: schema and queries, and changes only if told to.",
  arguments: "<url>",
  flags: {
    write: { type: "boolean", says: "offer the tool that changes the database" },
    yes: { type: "boolean", says: "do not ask the user before changes" },
    schema: {
      type: "string",
      multiple: true,
      value: "<name>",
      says: "show this schema of PostgreSQL; may be repeated",
    },
    "trust-role": { type: "boolean", says: "take a role that reaches beyond the database, such as a superuser" },
    "max-rows": { type: "string", value: "<count>", says: "the most rows in an answer, 1000 unless given" },
    "max-bytes": { type: "string", value: "<bytes>", says: "the longest answer, 262144 unless given" },
    timeout: { type: "string", value: "<seconds>", says: "how long a statement may take, 15 unless given" },
  },
  async create(line) {
    const [url = process.env[variable], ...more] = line.arguments;
    if (url === undefined || url === "" || more.length > 0) {
      throw new UsageError(`expected one database: sqlite:<path>, a path or postgres://…, here or in ${variable}`);
    }
    const schemas = line.texts("schema");
    const limits = limitsOf(line);
    // The address may hold a password, and command lines are seen by everybody on the machine.
    process.title = "portolan-database";
    try {
      const address = readAddress(url);
      if (address.dialect === "sqlite") checkHeader(address.file);
      return await createDatabase({
        url,
        write: line.isSet("write"),
        asks: !line.isSet("yes"),
        trustRole: line.isSet("trust-role"),
        limits,
        ...(schemas.length > 0 && { schemas }),
      });
    } catch (reason) {
      const isMistake = reason instanceof BadAddress || reason instanceof RangeError;
      throw isMistake ? new UsageError(reason.message) : reason;
    }
  },
});

function limitsOf(line: CommandLine): Partial<DatabaseLimits> {
  const [maxRows, maxBytes, seconds] = [line.count("max-rows"), line.count("max-bytes"), line.count("timeout")];
  return {
    ...(maxRows !== undefined && { maxRows }),
    ...(maxBytes !== undefined && { maxBytes }),
    ...(seconds !== undefined && { timeoutMs: seconds * 1000 }),
  };
}
