import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "rolldown/parseAst";
import { fencesOf } from "../docs/markdown.ts";
import { root } from "./kit.ts";

/** The words of a command line. Undefined stands for a word that is known only at run time. */
export type Line = readonly (string | undefined)[];

interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** An expression with its scope. */
interface Closure {
  readonly node: Node;
  readonly scope: Scope;
}

/** The values of names. */
type Scope = ReadonlyMap<string, Line | Closure>;

/** Functions that pass their first argument to the program. */
const runners = new Set(["runPortolan", "showOf", "startPortolan", "openTerminal", "runCommand"]);
const functions = new Set(["FunctionDeclaration", "ArrowFunctionExpression", "FunctionExpression"]);
/** At most this many nested wrappers. */
const deepest = 4;

/** Returns every command line in the tests of this folder and in the guides that they run. */
export function linesOfTests(): Line[] {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".ts"));
  const tests = files.flatMap((name) => linesIn(readFileSync(join(import.meta.dirname, name), "utf8")));
  const guides = ["docs/cli.md", "docs/cli/manage.md", "docs/cli/make.md", "docs/cli/json.md"];
  return [...tests, ...guides.flatMap((path) => linesOfGuide(readFileSync(join(root, path), "utf8")))];
}

/** Returns the command lines that a test file runs, directly or through its own functions. */
export function linesIn(source: string): Line[] {
  const program = parseAst(source, { lang: "ts" }) as unknown as Node;
  return linesOf(program, new Map(), 0).map(ownWords);
}

function linesOfGuide(text: string): Line[] {
  const sessions = fencesOf(text).filter(({ content }) => content.startsWith("$ "));
  const typed = sessions.flatMap(({ content }) => content.match(/^\$ portolan.*/gm) ?? []);
  return typed.map((line) => ownWords(line.split(" ").slice(2)));
}

/** Words after `--` belong to another program. */
function ownWords(line: Line): Line {
  const end = line.indexOf("--");
  return end < 0 ? line : line.slice(0, end);
}

/** Returns the command lines that a node runs. */
function linesOf(value: unknown, outer: Scope, depth: number): Line[] {
  if (Array.isArray(value)) return value.flatMap((each) => linesOf(each, outer, depth));
  if (!isNode(value)) return [];
  const scope = scopeIn(value, outer);
  const own: Line[] = [];
  // A process that is spawned, or a server that a client starts.
  if (value.type === "ArrayExpression" && nameOf((value["elements"] as unknown[])[0]) === "portolan") {
    own.push(wordsOf(value, scope).slice(1));
  }
  if (value.type === "CallExpression") own.push(...linesOfCall(value, scope, depth));
  return [...own, ...Object.values(value).flatMap((member) => linesOf(member, scope, depth))];
}

/** Returns the scope inside a node: the outer scope and the declarations of a block. Parameters shadow outer names. */
function scopeIn(node: Node, outer: Scope): Scope {
  const scope = new Map(outer);
  if (functions.has(node.type))
    for (const each of node["params"] as Node[]) set(scope, each["left"] ?? each, [undefined]);
  if (node.type !== "Program" && node.type !== "BlockStatement") return scope;
  for (const statement of node["body"] as Node[]) {
    const declared = statement.type === "FunctionDeclaration" ? [statement] : (statement["declarations"] ?? []);
    for (const each of declared as Node[]) {
      const meant = each.type === "FunctionDeclaration" ? each : each["init"];
      if (isNode(meant)) set(scope, each["id"], { node: meant, scope });
    }
  }
  return scope;
}

/** Returns what a call runs: the first argument of a runner, or what a function of the file runs with these arguments. */
function linesOfCall(call: Node, scope: Scope, depth: number): Line[] {
  const name = nameOf(call["callee"]);
  if (name === undefined) return [];
  const given = call["arguments"] as Node[];
  if (runners.has(name)) return [wordsOf(given[0], scope)];
  const called = scope.get(name);
  if (depth === deepest || !isClosure(called) || !functions.has(called.node.type)) return [];
  const inner = new Map(called.scope);
  for (const [at, parameter] of (called.node["params"] as Node[]).entries()) {
    const { type, left, right } = parameter;
    if (type === "RestElement") set(inner, parameter["argument"], wordsOf(given.slice(at), scope));
    else if (type === "AssignmentPattern") set(inner, left, wordsOf(given[at] ?? right, scope));
    else set(inner, parameter, wordsOf(given[at], scope));
  }
  return linesOf(called.node["body"], inner, depth + 1);
}

/** Returns the words of an expression: all of a list, otherwise one. */
function wordsOf(value: unknown, scope: Scope): Line {
  if (Array.isArray(value)) return value.flatMap((each) => wordsOf(each, scope));
  if (!isNode(value)) return [undefined];
  if (value.type === "Literal") return [typeof value["value"] === "string" ? value["value"] : undefined];
  if (value.type === "SpreadElement") return wordsOf(value["argument"], scope);
  if (value.type === "ArrayExpression") return wordsOf(value["elements"], scope);
  if (value.type === "CallExpression") return wordsOfCall(value, scope);
  const name = nameOf(value);
  const known = (name !== undefined && scope.get(name)) || [undefined];
  return isClosure(known) ? wordsOf(known.node, known.scope) : known;
}

/** Returns the list that a function of the file returns. */
function wordsOfCall(call: Node, scope: Scope): Line {
  const name = nameOf(call["callee"]);
  const called = name === undefined ? undefined : scope.get(name);
  const isList = isClosure(called) && isNode(called.node["body"]) && called.node["body"].type === "ArrayExpression";
  return isList ? wordsOf(called.node["body"], scopeIn(called.node, called.scope)) : [undefined];
}

/** Destructured names are unknown. */
function set(scope: Map<string, Line | Closure>, id: unknown, value: Line | Closure): void {
  const name = nameOf(id);
  if (name !== undefined) scope.set(name, value);
}

function nameOf(node: unknown): string | undefined {
  return isNode(node) && node.type === "Identifier" ? (node["name"] as string) : undefined;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}

function isClosure(value: unknown): value is Closure {
  return typeof value === "object" && value !== null && "node" in value;
}
