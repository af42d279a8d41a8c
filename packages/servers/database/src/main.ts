#!/usr/bin/env node
import { type CommandLine, runMain, UsageError } from "portolan/server/main";
import { BadAddress, checkHeader, readAddress } from "./address.ts";
import type { DatabaseLimits } from "./options.ts";
import { createDatabase, openDatabase, version } from "./server.ts";

const variable = "PORTOLAN_DATABASE_URL";

await runMain({
  name: "portolan-database",
  version,
  about: "An MCP server for SQLite and PostgreSQL: schema, queries, and changes if enabled.",
  arguments: "<url>",
  flags: {
    write: { type: "boolean", says: "offer the tool execute, which changes the database" },
    yes: { type: "boolean", says: "do not ask the user before a change" },
    schema: {
      type: "string",
      multiple: true,
      value: "<name>",
      says: "PostgreSQL: show only this schema. Repeatable",
    },
    "trust-role": {
      type: "boolean",
      says: "PostgreSQL: accept a role that reaches beyond the database, and all functions in queries",
    },
    "max-rows": { type: "string", value: "<count>", says: "at most this many rows in a result. Default: 1000" },
    "max-bytes": { type: "string", value: "<bytes>", says: "at most this many bytes in a result. Default: 262144" },
    timeout: { type: "string", value: "<seconds>", says: "stop a statement after this time. Default: 15" },
  },
  environment: {
    [variable]: { says: "the database, if the command line names none", isSecret: true },
    PGPASSWORD: { says: "PostgreSQL: the password, so that the address needs none", isSecret: true },
  },
  async create(line) {
    const [url = process.env[variable], ...more] = line.arguments;
    if (url === undefined || url === "" || more.length > 0) {
      throw new UsageError(`expected one database: sqlite:<path>, a path or postgres://…, here or in ${variable}`);
    }
    const schemas = line.texts("schema");
    const limits = limitsOf(line);
    // The address may contain a password, and every user of the machine can see command lines.
    process.title = "portolan-database";
    try {
      const address = readAddress(url);
      if (address.dialect === "sqlite") checkHeader(address.file);
      const options = {
        url,
        write: line.isSet("write"),
        ask: !line.isSet("yes"),
        trustRole: line.isSet("trust-role"),
        limits,
        ...(schemas.length > 0 && { schemas }),
      };
      const database = await openDatabase(options);
      if (database.caution !== undefined) console.error(`portolan-database: ${database.caution}`);
      return await createDatabase({ ...options, database });
    } catch (reason) {
      throw reason instanceof BadAddress ? new UsageError(reason.message) : reason;
    }
  },
});

function limitsOf(line: CommandLine): Partial<DatabaseLimits> {
  const maxRows = positive(line, "max-rows");
  const maxBytes = positive(line, "max-bytes");
  const seconds = positive(line, "timeout", 24 * 3_600);
  return {
    ...(maxRows !== undefined && { maxRows }),
    ...(maxBytes !== undefined && { maxBytes }),
    ...(seconds !== undefined && { timeoutMs: seconds * 1000 }),
  };
}

function positive(line: CommandLine, flag: string, most = Number.MAX_SAFE_INTEGER): number | undefined {
  const value = line.count(flag);
  if (value === undefined || (value >= 1 && value <= most)) return value;
  throw new UsageError(`--${flag}: expected a whole number from 1 to ${most}, got ${value}`);
}
