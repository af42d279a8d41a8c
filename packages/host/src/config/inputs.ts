import type { ConfigInput, RawEntry } from "./configured.ts";
import type { EntryOrigin } from "./entries.ts";
import { maxItems } from "./limits.ts";
import { Members } from "./members.ts";
import { readParts, type Syntax } from "./placeholders.ts";
import type { Shape } from "./shapes.ts";
import { isTable, type Path, valueAt } from "./value.ts";

/** The inputs of a file by id; `undefined` for an input whose value a command would produce. */
export type FileInputs = ReadonlyMap<string, ConfigInput | undefined>;

/** Reads the inputs at this path of a file. */
export function readInputs(content: unknown, path: Path | undefined, file: string): FileInputs {
  const inputs = new Map<string, ConfigInput | undefined>();
  const list = path && valueAt(content, path);
  if (!path || !Array.isArray(list)) return inputs;
  for (const [index, item] of list.slice(0, maxItems).entries()) {
    if (!isTable(item)) continue;
    const members = new Members(item, [...path, index], file);
    const id = members.text(["id"]);
    if (id === undefined) continue;
    inputs.set(id, members.text(["type"]) === "command" ? undefined : toConfigInput(id, members));
  }
  return inputs;
}

/** Reads one input. Products agree on most member names. */
export function toConfigInput(id: string, members: Members): ConfigInput {
  const description = members.text(["description"]) ?? members.text(["title"]);
  const isSecret = members.flag(["password", "isSecret", "sensitive"]) === true;
  const options = members.find(["options", "choices"])?.value;
  const defaultValue = members.find(["default"])?.value;
  return {
    id,
    ...(description === undefined ? {} : { description }),
    ...(isSecret ? { password: true } : {}),
    ...(Array.isArray(options) ? { options: options.slice(0, maxItems).flatMap(optionOf) } : {}),
    ...(defaultValue === undefined || typeof defaultValue === "object" ? {} : { default: String(defaultValue) }),
  };
}

function optionOf(option: unknown): string[] {
  const value = isTable(option) ? option["value"] : option;
  return typeof value === "string" ? [value] : [];
}

/** Returns the inputs that the placeholders of an entry refer to. An undefined one is a problem of the entry. */
export function collectInputs(
  entry: Pick<RawEntry, "configured" | "envFile" | "oauth">,
  { convention, inputs, path }: EntryOrigin,
  members: Members,
  shape: Shape,
): readonly ConfigInput[] {
  const own = readEntryInputs(members, shape);
  const mayBeUnknown = !convention.inputsAt && !shape.inputs;
  const used = new Map<string, ConfigInput>();
  for (const text of stringsOf(entry)) {
    for (const part of readParts(text, convention.syntax)) {
      if ("text" in part || part.placeholder?.kind !== "input") continue;
      const { id } = part.placeholder;
      const input = own.get(id) ?? inputs.get(id);
      if (input) used.set(id, input);
      else if (inputs.has(id))
        members.fail(
          path,
          `${part.shown} would run a command, and commands in configuration files are not run; write the value instead`,
        );
      else if (mayBeUnknown) used.set(id, { id });
      else members.fail(path, `${part.shown} is not defined; add it to the inputs of the file`);
    }
  }
  return [...used.values()];
}

function readEntryInputs(members: Members, shape: Shape): FileInputs {
  const own = new Map<string, ConfigInput>();
  const found = members.find(shape.inputs);
  if (!isTable(found?.value)) return own;
  for (const [id, input] of Object.entries(found.value)) {
    if (isTable(input)) own.set(id, toConfigInput(id, new Members(input, [], "")));
  }
  return own;
}

/** Returns the names of the user's environment variables that an entry reads. */
export function variablesOf(
  entry: Pick<RawEntry, "configured" | "envFile" | "oauth">,
  syntax: Syntax,
): readonly string[] {
  const names = stringsOf(entry).flatMap((text) =>
    readParts(text, syntax).flatMap((part) =>
      !("text" in part) && part.placeholder?.kind === "env" ? [part.placeholder.name] : [],
    ),
  );
  return [...new Set(names)];
}

/** Returns the strings of an entry that can have placeholders. */
function stringsOf({
  configured,
  envFile,
  oauth,
}: Pick<RawEntry, "configured" | "envFile" | "oauth">): readonly string[] {
  const target =
    "command" in configured
      ? [configured.command, ...(configured.args ?? []), configured.cwd, ...Object.values(configured.env ?? {})]
      : [configured.url, ...Object.values(configured.headers ?? {})];
  return [...target, envFile, oauth?.clientId, oauth?.clientSecret].filter((text) => text !== undefined);
}
