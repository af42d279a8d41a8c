import { lstatSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { ServerEntry } from "portolan-host";
import { againWith, textFlag, withNeeds } from "../arguments/flags.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { targetCode, withReferences } from "../generate/target.ts";
import { type GenerateInput, generatedMark } from "../generate/typescript.ts";
import { modelFor } from "../models.ts";
import { readBeginning } from "../regular-file.ts";
import { findServer, targetArgument } from "../servers/find-server.ts";
import { withHost } from "../servers/host.ts";
import { listFailure, listProblemsOf } from "../servers/list-problems.ts";
import type { System } from "../system.ts";
import { quote, quoteCommand } from "../terminal/escape.ts";
import { wrapStep } from "../terminal/wrap.ts";
import { installable } from "../version.ts";
import { useWarm } from "../warm/warm-entry.ts";

/** One kind of file that is generated from a server. */
interface Generator {
  /** Returns the file to write, from the name of the server in lowercase letters, digits and dashes. */
  readonly file: (name: string) => string;
  readonly isProgram?: boolean;
  generate(input: GenerateInput, context: CommandContext, entry: ServerEntry): Promise<string>;
  /** Returns the next step after the file was written. */
  next(file: string, system: System): string | undefined;
}

const generators: { readonly [kind: string]: Generator } = {
  ts: {
    file: (name) => `${name}-client.ts`,
    generate: async (input, { warn }) => (await import("../generate/typescript.ts")).typescriptModule(input, warn),
    next: (_, system) => quoteCommand(["npm", "install", installable(system, "portolan")]),
  },
  cli: {
    file: (name) => `${name}.mjs`,
    isProgram: true,
    generate: async (input, { system }) => (await import("../generate/single-command.ts")).singleCommand(input, system),
    next: (file) => `${quote(/[\\/]/.test(file) ? file : `./${file}`)} --help`,
  },
  skill: {
    file: (name) => `${name}/SKILL.md`,
    async generate(input, { system }, entry) {
      const [{ skillFile }, { callOf }] = await Promise.all([
        import("../generate/skill.ts"),
        import("../output/tool-documentation.ts"),
      ]);
      const target = targetArgument(entry, system, { isPortable: true });
      return skillFile(input, (tool) => callOf(tool, target));
    },
    next: () => undefined,
  },
};

/** Generates a typed client, a command or a skill from a server. */
export async function run(
  context: CommandContext,
  [kind = "", given]: readonly string[],
  flags: Flags,
): Promise<CommandResult | undefined> {
  const { system, screen } = context;
  const generator = Object.hasOwn(generators, kind) ? generators[kind] : undefined;
  if (!generator) {
    throw new Failure("usage", `expected ts, cli or skill, got ${JSON.stringify(kind)}`, {
      next: "portolan gen --help",
    });
  }
  const entry = await findServer(context, given, flags);
  const input = await inputFrom(context, entry, kind, flags);
  const text = await generator.generate(input, context, entry);
  const out = textFlag(flags, "out") ?? generator.file(fileName(input.name));
  warnOfValues(context, entry, kind, input);
  if (out === "-") {
    system.stdout.write(text);
    return undefined;
  }
  const file = resolve(system.cwd, out);
  requireReplaceable(file, flags["force"] === true, system);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  if (generator.isProgram) await chmod(file, 0o755);
  const next = generator.next(out, system);
  const { variables } = input.target;
  return {
    value: { file, tools: input.tools.length, variables, ...(next !== undefined && { next }) },
    text() {
      const count = `${input.tools.length} tool${input.tools.length === 1 ? "" : "s"}`;
      const lines = [`${screen.style("green", screen.mark("ok"))} ${screen.safe(out)} ${screen.style("dim", count)}`];
      if (variables.length > 0) lines.push(`  reads these variables: ${screen.safe(variables.join(", "))}`);
      if (next !== undefined)
        lines.push(`  ${screen.mark("next")} ${wrapStep(screen.step(next), screen.columns - 4).join("\n    ")}`);
      return lines.join("\n");
    },
  };
}

/** Reads the tools of a server. Fails if they cannot be listed. */
async function inputFrom(
  context: CommandContext,
  entry: ServerEntry,
  kind: string,
  flags: Flags,
): Promise<GenerateInput> {
  const { system } = context;
  return withHost(
    context,
    [await useWarm(context, entry)],
    async (host) => {
      await host.start(entry.name);
      const failure = listFailure(host, entry, ["tools"], system);
      if (failure) throw failure;
      // The generated file lacks these tools.
      const problems = listProblemsOf(host, entry).filter(({ list }) => list === "tools");
      for (const { message } of problems.slice(0, maxProblemsShown)) context.warn(`${entry.name}: ${message}`);
      const { info } = host.servers[0]?.profile ?? {};
      return {
        // A target that is typed has no name of its own. The one of its file is often "server".
        name: (entry.source.kind === "code" && info?.name) || entry.name,
        version: info?.version ?? "",
        instructions: host.catalog.instructions(entry.name),
        tools: host.catalog.tools.map(({ definition }) => definition),
        target: targetCode(withReferences(entry, flags), system),
        again: withNeeds(`portolan gen ${kind} ${targetArgument(entry, system, { isPortable: true })}`, system),
      };
    },
    modelFor(context),
  );
}

/** Names the flags whose values are in the generated text, where only a person can tell whether they are secrets. */
function warnOfValues(context: CommandContext, entry: ServerEntry, kind: string, { target }: GenerateInput): void {
  // A skill names a configured server, and not its command.
  const isWritten = kind !== "skill" || entry.source.kind === "code";
  if (!isWritten || target.unclear.length === 0) return;
  const flags = [...new Set(target.unclear)].join(", ");
  const instead =
    entry.source.kind === "code"
      ? "portolan add --help shows how an entry names a variable instead"
      : `write a variable such as \${PASSWORD} into the entry instead, and generate again`;
  context.warn(`the value of ${flags} is written as it is; if it is a secret, ${instead}`);
}

/** Fails if the file exists and was not generated by this command. */
function requireReplaceable(file: string, isForced: boolean, system: System): void {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (isForced || !found) return;
  // A link without a target counts as a file: the text would be written to wherever it leads.
  const beginning = readBeginning(file, markedBytes)?.bytes.toString("utf8") ?? "";
  if (beginning.includes(generatedMark)) return;
  const message = `${file} exists and was not generated by portolan; nothing was written. --force replaces it`;
  throw new Failure("usage", message, { next: againWith(system, "--force") });
}

/** Problems of the list of tools that are shown; `portolan doctor` shows all. */
const maxProblemsShown = 5;

/** The mark of a generated file is in its first bytes. */
const markedBytes = 4_000;

/** Returns a name for files: lowercase letters, digits and dashes. */
function fileName(name: string): string {
  return (
    name
      .toLowerCase()
      .replace(/[^a-z\d]+/g, "-")
      .replace(/^-+|-+$/g, "") || "server"
  );
}
