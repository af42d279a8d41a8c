import { existsSync } from "node:fs";
import { basename, extname, resolve } from "node:path";
import { listFlag, textFlag } from "../arguments/flags.ts";
import type { CommandContext, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { isServerFile, readConfiguration } from "../servers/find-server.ts";
import type { System } from "../system.ts";
import { quoteCommand } from "../terminal/escape.ts";
import type { FoundServer } from "./found.ts";
import { givenValues } from "./inputs.ts";

/** The name of a server in a registry, with a version or without: `io.github.ada/notes@1.2.0`. */
const registryName = /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+(@[\w.+!-]+)?$/;

/** The flags that only sources have. */
const sourceFlags = ["name", "set", "package", "registry"] as const;

/**
 * Finds the server that one word names: the address of a server card, a bundle, or a name in a registry. Undefined if the
 * word is the name of an entry.
 */
export async function findSource(
  context: CommandContext,
  typed: string,
  isAlone: boolean,
  flags: Flags,
): Promise<FoundServer | undefined> {
  const request = { given: givenValues(flags), name: entryName(flags) };
  if (isAlone && /^https?:\/\//i.test(typed)) {
    refuse(flags, ["package", "registry"], "a server card");
    return (await import("./card.ts")).fromCard(context, typed, request);
  }
  if (isAlone && /\.mcpb$/i.test(typed)) {
    refuse(flags, ["package", "registry"], "a bundle");
    const { fromBundle, readBundleFile } = await import("./bundle.ts");
    const { bytes, file } = readBundleFile(context, typed);
    return fromBundle(context, bytes, { ...request, place: file });
  }
  if (isAlone && isPath(typed, context.system)) throw noSource(typed);
  if (isAlone && registryName.test(typed) && !(await isConfigured(context, typed))) {
    const [registry, kind] = [textFlag(flags, "registry"), textFlag(flags, "package")];
    return (await import("./registry.ts")).fromRegistry(context, typed, { ...request, registry, kind });
  }
  refuse(flags, sourceFlags, "this");
  return undefined;
}

/** A path that begins as one, or a program that is there, is no name in a registry: it must not be looked up on the network. */
function isPath(typed: string, { cwd }: System): boolean {
  if (/^(\.{0,2}\/|~|[a-z]:\\)/i.test(typed)) return true;
  return isServerFile(typed) && existsSync(resolve(cwd, typed));
}

function noSource(typed: string): Failure {
  const expected = "expected an address, a bundle (.mcpb) or a name in a registry";
  if (!isServerFile(typed))
    return new Failure("usage", `${expected}, got ${JSON.stringify(typed)}`, { next: "portolan add --help" });
  const name = basename(typed, extname(typed));
  const next = `portolan add ${quoteCommand([name, "--", "portolan", "serve", "--stdio", typed])}`;
  return new Failure("usage", `${expected}, got the program ${JSON.stringify(typed)}`, { next });
}

async function isConfigured(context: CommandContext, name: string): Promise<boolean> {
  return (await readConfiguration(context)).entries.some((entry) => entry.name === name);
}

function entryName(flags: Flags): string | undefined {
  const name = textFlag(flags, "name");
  if (name !== undefined && (name.trim() === "" || /\p{Cc}/u.test(name))) {
    throw new Failure("usage", "--name: expected a name for the server");
  }
  return name;
}

function refuse(flags: Flags, names: readonly string[], what: string): void {
  const given = names.find((name) => textFlag(flags, name) !== undefined || listFlag(flags, name).length > 0);
  if (given === undefined) return;
  const fits =
    given === "name" || given === "set"
      ? "an address with a server card, a name in a registry, or a bundle"
      : "a name in a registry";
  throw new Failure("usage", `--${given} is for ${fits}, not for ${what}`);
}
