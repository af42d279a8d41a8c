import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

const pathTo = (file: string): string => join(root, file);

/** One code block of a document. */
export interface Fence {
  /** The line number of its first content line, counted from 1. */
  readonly line: number;
  readonly language: string;
  readonly content: string;
  /** The source that the comment on the line before names: a file, optionally with `#region`. */
  readonly source: string | undefined;
  /** The test that runs its commands, as the comment on the line before says. */
  readonly runBy: string | undefined;
}

/** Returns the files of the project with an ending, including those that are not committed yet. */
export function listFiles(ending: string): string[] {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", `*${ending}`];
  const listed = execFileSync("git", args, { cwd: root, encoding: "utf8" }).split("\n");
  return [...new Set(listed)].filter((file) => file !== "" && existsSync(pathTo(file))).sort();
}

/** Returns the code blocks of a document, in order. */
export function fencesOf(text: string): Fence[] {
  const lines = text.split("\n");
  const fences: Fence[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const opening = /^ *(```+|~~~+)(.*)$/.exec(lines[at] ?? "");
    if (!opening) continue;
    const [, mark = "", language = ""] = opening;
    const end = lines.findIndex((line, index) => index > at && line.trim() === mark);
    const content = lines.slice(at + 1, end === -1 ? lines.length : end).join("\n");
    const source = /^<!-- (\S+) -->$/.exec(lines[at - 1] ?? "")?.[1];
    const runBy = /^<!-- run by (\S+) -->$/.exec(lines[at - 1] ?? "")?.[1];
    fences.push({ line: at + 2, language: language.trim(), content, source, runBy });
    at = end === -1 ? lines.length : end;
  }
  return fences;
}

/**
 * Returns the text of `path` or `path#region`; undefined if there is no such file or region. A region begins with the
 * imports that it uses, so that a reader can copy it.
 */
export function readSource(source: string): string | undefined {
  const [file = "", region] = source.split("#");
  if (!file.startsWith("examples/") || !existsSync(pathTo(file))) return undefined;
  const text = readFileSync(pathTo(file), "utf8");
  if (region === undefined) return text;
  const content = regionsOf(text).get(region);
  return content === undefined ? undefined : withImports(text, content);
}

/** Returns part of a file after those imports of the file that the part uses and does not contain. */
function withImports(text: string, part: string): string {
  const code = part.replace(/"[^"\n]*"|\/\/.*|\/\*[\s\S]*?\*\//g, "");
  const uses = (name: string) => new RegExp(`(?<![.\\w$])${name}(?![\\w$]|:)`).test(code);
  const lines: string[] = [];
  for (const [statement, before = "", module] of text.matchAll(/^import ([^"]*?) from "([^"]+)";$/gm)) {
    if (part.includes(statement)) continue;
    const [, outer = "", names] = /^([^{]*?),? ?(?:\{([\s\S]*)\})?$/.exec(before) ?? [];
    const inner = (names ?? "").split(",").map((name) => name.trim());
    const used = inner.filter((name) => name !== "" && uses(name.replace(/^type /, "").replace(/^.* as /, "")));
    const wanted = [
      ...(outer !== "" && uses(outer.replace(/^\* as /, "")) ? [outer] : []),
      ...(used.length > 0 ? [`{ ${used.join(", ")} }`] : []),
    ];
    if (wanted.length > 0) lines.push(`import ${wanted.join(", ")} from "${module}";`);
  }
  return lines.length > 0 ? `${lines.join("\n")}\n\n${part}` : part;
}

/** Returns a document with every quoted example as its file has it now. */
export function withCurrentQuotes(text: string): string {
  return text.replace(/(<!-- (\S+) -->\n```\w+\n)[\s\S]*?(\n```)/g, (quote, opening, source, closing) => {
    const current = readSource(source);
    return current === undefined ? quote : `${opening}${current.trim()}${closing}`;
  });
}

/** Returns the parts of a file between `// region name` and `// endregion`, by name. */
export function regionsOf(text: string): Map<string, string> {
  const found = text.matchAll(/^\/\/ region (\S+)\n([\s\S]*?)^\/\/ endregion$/gm);
  return new Map([...found].map(([, name = "", content = ""]) => [name, content]));
}

/** Returns the problems of a document, each with its file and line. */
export function problemsOf(path: string, text: string): string[] {
  const inFences = fencesOf(text).flatMap((fence) => {
    const problem = problemOf(fence);
    return problem === undefined ? [] : [`${path}:${fence.line}: ${problem}`];
  });
  const inLinks = linksOf(text)
    .filter((target) => !existsSync(join(root, dirname(path), target)))
    .map((target) => `${path}: there is no ${target}`);
  return [...inFences, ...inLinks];
}

function problemOf({ language, content, source, runBy }: Fence): string | undefined {
  if (language === "text") return undefined;
  if (runBy !== undefined) return existsSync(pathTo(runBy)) ? undefined : `there is no ${runBy}`;
  if (language === "sh") return content.split("\n").map(problemOfCommand).find(Boolean);
  if (!["js", "ts", "json", "sql"].includes(language)) return `unknown fence language "${language}"`;
  if (source === undefined) return "no comment names the source file of this code";
  const expected = readSource(source);
  if (expected === undefined) return `there is no ${source}`;
  return expected.trim() === content.trim() ? undefined : `differs from ${source}`;
}

const { scripts } = JSON.parse(readFileSync(pathTo("package.json"), "utf8")) as { scripts: Record<string, string> };

function problemOfCommand(line: string): string | undefined {
  if (line === "" || /^(git clone|cd) [\w@:./-]+$/.test(line)) return undefined;
  const script = /^npm (?:(start|test)|run ([\w:-]+)(?: -- [\w,./ =-]+)?)$/.exec(line);
  if (script && Object.hasOwn(scripts, script[1] ?? script[2] ?? "")) return undefined;
  const program = /^node (examples\/[\w./-]+)(?: [\w./ -]+)?$/.exec(line);
  if (program?.[1] !== undefined && existsSync(pathTo(program[1]))) return undefined;
  return `not a command of this project: ${line}`;
}

/** Returns the relative targets of a document's links, ignoring code. */
function linksOf(text: string): string[] {
  const prose = text.replace(/^ *```[\s\S]*?^ *```$/gm, "").replace(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = ""]) => target.replace(/#.*$/, ""))
    .filter((target) => target !== "" && !/^[a-z]+:/.test(target));
}
