import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PortolanError } from "portolan";
import { checkExpectation, type Expectation } from "./expectations.ts";
import { maxCallsFileBytes, maxExpectations, maxSavedCalls } from "./limits.ts";
import { redactedMark, redactMessage } from "./redact.ts";

/** A call of a tool that is kept in a file of the project, with what its result must be. */
export interface SavedCall {
  /** Unique in the file. */
  readonly name: string;
  readonly server: string;
  readonly tool: string;
  /** A JSON object, sent exactly as it is written here. `${env:NAME}` stands for a variable of the environment. */
  readonly argumentsText: string;
  readonly expect: readonly Expectation[];
}

/** The saved calls of a project. */
export interface SavedCalls {
  readonly file: string;
  readonly calls: readonly SavedCall[];
  /** Why the file cannot be used, with the place. Such a file is never overwritten. */
  readonly problem?: string;
}

/** Returns the file with the saved calls of a project. */
export function callsFile(project: string): string {
  return join(project, ".portolan", "calls.json");
}

/** Reads the saved calls of a project. Without a file there are none. */
export async function readCalls(project: string): Promise<SavedCalls> {
  const file = callsFile(project);
  const text = await readText(file);
  if (text === undefined) return { file, calls: [] };
  if (typeof text === "object") return { file, calls: [], problem: `${file}: ${text.problem}` };
  try {
    return { file, calls: parseCalls(text) };
  } catch (reason) {
    if (!(reason instanceof WrongFile)) throw reason;
    return { file, calls: [], problem: `${file}${reason.message}` };
  }
}

/** The calls of each file, one change after the other. */
const changes = new Map<string, Promise<unknown>>();

/**
 * Changes the saved calls of a project. They are written in the order of their names. Rejects if the file has errors, or if a
 * call has a secret in its arguments.
 */
export async function changeCalls(
  project: string,
  change: (calls: readonly SavedCall[]) => readonly SavedCall[],
): Promise<readonly SavedCall[]> {
  const file = callsFile(project);
  const earlier = changes.get(file) ?? Promise.resolve();
  const changed = earlier.catch(() => {}).then(() => changeNow(project, change));
  changes.set(file, changed);
  try {
    return await changed;
  } finally {
    if (changes.get(file) === changed) changes.delete(file);
  }
}

async function changeNow(
  project: string,
  change: (calls: readonly SavedCall[]) => readonly SavedCall[],
): Promise<readonly SavedCall[]> {
  const { file, calls, problem } = await readCalls(project);
  if (problem !== undefined) throw new PortolanError("invalid-argument", problem);
  const next = [...change(calls)].sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const call of next) refuseSecrets(call);
  const text = `${JSON.stringify({ version: 1, calls: next.map(inOrder) }, undefined, 2)}\n`;
  try {
    parseCalls(text);
  } catch (reason) {
    throw reason instanceof WrongFile
      ? new PortolanError("invalid-argument", reason.message.replace(/^: /, ""))
      : reason;
  }
  await replaceFile(file, text);
  return next;
}

function inOrder({ name, server, tool, argumentsText, expect }: SavedCall): SavedCall {
  return { name, server, tool, argumentsText, expect };
}

/** Returns the paths in the arguments of a call that hold a secret. The file is made to be committed. */
export function secretsIn({ argumentsText }: Pick<SavedCall, "argumentsText">): readonly string[] {
  const found: string[] = [];
  const visit = (value: unknown, before: unknown, path: string) => {
    if (typeof value === "string" && value !== before && value.includes(redactedMark)) {
      const isReference = typeof before === "string" && isOnlyReferences(before);
      if (!isReference) found.push(path);
    } else if (typeof value === "object" && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        visit(item, (before as { [key: string]: unknown } | undefined)?.[key], path === "" ? key : `${path}.${key}`);
      }
    }
  };
  let args: unknown;
  try {
    args = JSON.parse(argumentsText);
  } catch {
    return [];
  }
  visit(redactMessage(args), args, "");
  return found;
}

function isOnlyReferences(text: string): boolean {
  return /^(?:(?:bearer|basic|token|dpop) )?(?:\$\{env:\w+\})+$/i.test(text);
}

function refuseSecrets(call: SavedCall): void {
  const [path] = secretsIn(call);
  if (path === undefined) return;
  const variable = path.replace(/^.*\./, "").toUpperCase().replace(/\W+/g, "_");
  throw new PortolanError(
    "invalid-argument",
    `the argument ${path} of ${JSON.stringify(call.name)} is a secret, and the file is part of the project: write \${env:${variable}} instead`,
  );
}

/** A file that does not have the form of saved calls. The message begins with the place. */
class WrongFile extends Error {}

function parseCalls(text: string): readonly SavedCall[] {
  const value = parseJson(text);
  const fail = (path: string, expected: string): never => {
    throw new WrongFile(`: ${path === "" ? "" : `${path}: `}expected ${expected}`);
  };
  const { version, calls, ...others } = objectAt(value, "", fail);
  if (typeof version === "number" && version > 1)
    fail("version", `1; the file was written by a newer version of portolan`);
  if (version !== 1) fail("version", "1");
  refuseOthers(others, "", fail);
  if (!Array.isArray(calls)) return fail("calls", "a list");
  if (calls.length > maxSavedCalls) fail("calls", `at most ${maxSavedCalls} calls`);
  const names = new Set<string>();
  return calls.map((item, at) => {
    const path = `calls[${at}]`;
    const { name, server, tool, argumentsText, expect = [], ...rest } = objectAt(item, path, fail);
    refuseOthers(rest, path, fail);
    const text = (member: string, of: unknown): string =>
      typeof of === "string" && of !== "" ? of : fail(`${path}.${member}`, "a text");
    const call = { name: text("name", name), server: text("server", server), tool: text("tool", tool) };
    if (names.has(call.name)) fail(`${path}.name`, `a name of its own; another call is named ${JSON.stringify(name)}`);
    names.add(call.name);
    const args = text("argumentsText", argumentsText);
    if (!isObjectText(args)) fail(`${path}.argumentsText`, "a JSON object, written as a text");
    if (!Array.isArray(expect) || expect.length > maxExpectations) {
      return fail(`${path}.expect`, `a list of at most ${maxExpectations} expectations`);
    }
    for (const [index, expectation] of expect.entries()) {
      const wrong = checkExpectation(expectation);
      if (wrong !== undefined) fail(`${path}.expect[${index}]`, wrong);
    }
    return { ...call, argumentsText: args, expect: expect as readonly Expectation[] };
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (reason) {
    const [, position] = /at position (\d+)/.exec((reason as Error).message) ?? [];
    const before = text.slice(0, position === undefined ? text.length : Number(position)).split("\n");
    throw new WrongFile(`:${before.length}:${(before.at(-1)?.length ?? 0) + 1}: expected JSON`);
  }
}

type Members = { readonly [member: string]: unknown };

function objectAt(value: unknown, path: string, fail: (path: string, expected: string) => never): Members {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Members;
  return fail(path, "an object");
}

/** A member that is not known would be lost when the file is written again. */
function refuseOthers(others: Members, path: string, fail: (path: string, expected: string) => never): void {
  const [name] = Object.keys(others);
  if (name !== undefined) fail(path === "" ? name : `${path}.${name}`, "no member of this name");
}

function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

async function readText(file: string): Promise<string | { readonly problem: string } | undefined> {
  try {
    const found = await stat(file);
    if (!found.isFile()) return { problem: "expected a file, got a folder, pipe or device" };
    if (found.size > maxCallsFileBytes) return { problem: `expected at most ${maxCallsFileBytes} bytes, got more` };
    return await readFile(file, "utf8");
  } catch (reason) {
    const { code } = reason as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    return { problem: `cannot be read (${code})` };
  }
}

async function replaceFile(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    const handle = await open(temporary, "wx", 0o644);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (reason) {
    await rm(temporary, { force: true });
    throw reason;
  }
}
