import type { ConfigInput, RawEntry } from "./configured.ts";
import type { EntryOrigin } from "./entries.ts";
import { Members } from "./members.ts";
import { readParts, type Syntax } from "./placeholders.ts";
import type { Shape } from "./shapes.ts";
import { isTable, type Path, valueAt } from "./value.ts";

/** What a file asks its user for, by id; `undefined` where the answer would come from a command. */
export type FileInputs = ReadonlyMap<string, ConfigInput | undefined>;

/** The questions at this place of a file. */
export function readInputs(content: unknown, path: Path | undefined, file: string): FileInputs {
  const inputs = new Map<string, ConfigInput | undefined>();
  const list = path && valueAt(content, path);
  if (!path || !Array.isArray(list)) return inputs;
  for (const [index, item] of list.slice(0, 1_000).entries()) {
    if (!isTable(item)) continue;
    const members = new Members(item, [...path, index], file);
    const id = members.text(["id"]);
    if (id === undefined) continue;
    inputs.set(id, members.text(["type"]) === "command" ? undefined : toRequest(id, members));
  }
  return inputs;
}

/** A question of any product: they agree on most names. */
export function toRequest(id: string, members: Members): ConfigInput {
  const description = members.text(["description"]) ?? members.text(["title"]);
  const isSecret = members.flag(["password", "isSecret", "sensitive"]) === true;
  const options = members.find(["options", "choices"])?.value;
  const standard = members.find(["default"])?.value;
  return {
    id,
    ...(description === undefined ? {} : { description }),
    ...(isSecret ? { password: true } : {}),
    ...(Array.isArray(options) ? { options: options.slice(0, 1_000).flatMap(optionOf) } : {}),
    ...(standard === undefined || typeof standard === "object" ? {} : { default: String(standard) }),
  };
}

function optionOf(option: unknown): string[] {
  const value = isTable(option) ? option["value"] : option;
  return typeof value === "string" ? [value] : [];
}

/** The questions behind the placeholders of an entry; one that the file does not ask is the entry's problem. */
export function collectInputs(
  entry: Pick<RawEntry, "configured" | "envFile" | "oauth">,
  { convention, inputs, path }: EntryOrigin,
  members: Members,
  shape: Shape,
): readonly ConfigInput[] {
  const own = ownQuestions(members, shape);
  const mayBeUnknown = !convention.inputsAt && !shape.questions;
  const used = new Map<string, ConfigInput>();
  for (const text of stringsOf(entry)) {
    for (const part of readParts(text, convention.syntax)) {
      if ("text" in part || part.placeholder?.kind !== "input") continue;
      const { id } = part.placeholder;
      const request = own.get(id) ?? inputs.get(id);
      if (request) used.set(id, request);
      else if (inputs.has(id)) members.fail(path, `${part.shown} would run a command, and none is run`);
      else if (mayBeUnknown) used.set(id, { id });
      else members.fail(path, `${part.shown} is not described by the file; add it to its inputs`);
    }
  }
  return [...used.values()];
}

function ownQuestions(members: Members, shape: Shape): FileInputs {
  const own = new Map<string, ConfigInput>();
  const found = members.find(shape.questions);
  if (!isTable(found?.value)) return own;
  for (const [id, question] of Object.entries(found.value)) {
    if (isTable(question)) own.set(id, toRequest(id, new Members(question, [], "")));
  }
  return own;
}

/** The variables of the user whose values an entry takes, wherever it puts them. */
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

/** Every string of an entry in which placeholders count. */
function stringsOf({
  configured: written,
  envFile,
  oauth,
}: Pick<RawEntry, "configured" | "envFile" | "oauth">): readonly string[] {
  const way =
    "command" in written
      ? [written.command, ...(written.args ?? []), written.cwd, ...Object.values(written.env ?? {})]
      : [written.url, ...Object.values(written.headers ?? {})];
  return [...way, envFile, oauth?.clientId, oauth?.clientSecret].filter((text) => text !== undefined);
}
