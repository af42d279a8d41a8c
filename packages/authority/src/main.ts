#!/usr/bin/env node
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { escapeHidden } from "./escape.ts";
import { authorityKeys, type KeyManager, type KeyManagerOptions } from "./keys.ts";

const usage = `Usage:
  portolan-authority keys <file>              List the signing keys, the newest first.
  portolan-authority keys rotate <file>       Add a key. Authorities sign with it after their next start.
  portolan-authority keys remove <id> <file>  Remove an older key.

The default export of the file is { issuer, storage, secrets }, as in createAuthority, or a function that returns it.
`;

/** A mistake on the command line. */
class UsageError extends Error {}

/** Runs one command line. Resolves to the exit code. */
async function run(args: readonly string[]): Promise<number> {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { help: { type: "boolean", short: "h" } },
    });
    if (values.help) process.stdout.write(usage);
    else await keys(positionals);
    return 0;
  } catch (reason) {
    const isUsage = reason instanceof UsageError || (reason as { code?: string }).code?.startsWith("ERR_PARSE_ARGS");
    const message = reason instanceof Error ? reason.message : String(reason);
    process.stderr.write(`${escapeHidden(message)}\n${isUsage ? `\n${usage}` : ""}`);
    return isUsage ? 2 : 1;
  }
}

async function keys([command, ...words]: readonly string[]): Promise<void> {
  if (command !== "keys") throw new UsageError(`expected the command keys, got ${command ?? "nothing"}`);
  const [first, ...others] = words;
  if (first === "rotate") {
    const { id } = await (await managerIn(others, 0)).rotate();
    process.stdout.write(`${escapeHidden(id)} added. Restart every authority, so that it signs with this key.\n`);
  } else if (first === "remove") {
    const [id = ""] = others;
    await (await managerIn(others, 1)).remove(id);
    process.stdout.write(`${escapeHidden(id)} removed\n`);
  } else {
    for (const { id, createdAt, isNewest } of await (await managerIn(words, 0)).list()) {
      const since = createdAt?.toISOString().slice(0, 16).replace("T", " ") ?? "unknown time";
      process.stdout.write(`${escapeHidden(id)}  ${since}  ${isNewest ? "signs" : "published"}\n`);
    }
  }
}

/** Opens the keys that the file at this place of the command line describes. */
async function managerIn(words: readonly string[], at: number): Promise<KeyManager> {
  const file = words[at];
  if (file === undefined || words.length !== at + 1) {
    throw new UsageError(
      `expected ${at === 0 ? "a file" : "the id of a key and a file"}, got ${words.join(" ") || "nothing"}`,
    );
  }
  const { default: exported } = (await import(pathToFileURL(resolve(file)).href)) as { default?: unknown };
  const options: unknown = typeof exported === "function" ? await exported() : exported;
  const { issuer, storage, secrets } = (options ?? {}) as Partial<KeyManagerOptions>;
  if (typeof issuer !== "string" || storage === undefined || !Array.isArray(secrets)) {
    throw new UsageError(`${file}: expected { issuer, storage, secrets } as the default export`);
  }
  return authorityKeys({ issuer, storage, secrets });
}

// The file may hold connections open, such as one to a database.
process.exit(await run(process.argv.slice(2)));
