import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathTo, root } from "../examples/example.ts";

/** A code block of a document. */
export interface Fence {
  /** The line its content begins on, counted from 1. */
  readonly line: number;
  readonly language: string;
  readonly content: string;
  /** What the comment right before it names: a file, maybe with `#region`. */
  readonly source: string | undefined;
}

/** Files of the project by their ending, also those that are not committed yet. */
export function listFiles(ending: string): string[] {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", `*${ending}`];
  const listed = execFileSync("git", args, { cwd: root, encoding: "utf8" }).split("\n");
  return [...new Set(listed)].filter((file) => file !== "" && existsSync(pathTo(file))).sort();
}

/** The code blocks of a document, in order. */
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
    fences.push({ line: at + 2, language: language.trim(), content, source });
    at = end === -1 ? lines.length : end;
  }
  return fences;
}

/** What `path` or `path#region` stands for; undefined when there is no such file or region. */
export function quoted(source: string): string | undefined {
  const [file = "", region] = source.split("#");
  if (!file.startsWith("examples/") || !existsSync(pathTo(file))) return undefined;
  const text = readFileSync(pathTo(file), "utf8");
  return region === undefined ? text : regionsOf(text).get(region);
}

/** The parts of a file between `// region name` and `// endregion`. */
export function regionsOf(text: string): Map<string, string> {
  const found = text.matchAll(/^\/\/ region (\S+)\n([\s\S]*?)^\/\/ endregion$/gm);
  return new Map([...found].map(([, name = "", content = ""]) => [name, content]));
}

/** Everything that is wrong with a document: each entry says where and what. */
export function problemsOf(path: string, text: string): string[] {
  const inFences = fencesOf(text).flatMap((fence) => {
    const why = problemOf(fence);
    return why === undefined ? [] : [`${path}:${fence.line}: ${why}`];
  });
  const inLinks = linksOf(text)
    .filter((target) => !existsSync(join(root, dirname(path), target)))
    .map((target) => `${path}: there is no ${target}`);
  return [...inFences, ...inLinks];
}

function problemOf({ language, content, source }: Fence): string | undefined {
  if (language === "text") return undefined;
  if (language === "sh") return content.split("\n").map(problemOfCommand).find(Boolean);
  if (!["js", "ts", "json", "sql"].includes(language)) return `a fence in "${language}"`;
  if (source === undefined) return "no comment names the file that this comes from";
  const expected = quoted(source);
  if (expected === undefined) return `there is no ${source}`;
  return expected.trim() === content.trim() ? undefined : `not what ${source} says`;
}

const { scripts } = JSON.parse(readFileSync(pathTo("package.json"), "utf8")) as { scripts: Record<string, string> };

function problemOfCommand(line: string): string | undefined {
  if (line === "" || /^(git clone|cd) [\w@:./-]+$/.test(line)) return undefined;
  const script = /^npm (?:(start|test)|run ([\w:-]+)(?: -- [\w,./ =-]+)?)$/.exec(line);
  if (script && Object.hasOwn(scripts, script[1] ?? script[2] ?? "")) return undefined;
  const program = /^node (examples\/[\w./-]+)(?: [\w./ -]+)?$/.exec(line);
  if (program?.[1] !== undefined && existsSync(pathTo(program[1]))) return undefined;
  return `no command of this project: ${line}`;
}

/** The relative targets of a document's links, without what is code. */
function linksOf(text: string): string[] {
  const prose = text.replace(/^ *```[\s\S]*?^ *```$/gm, "").replace(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = ""]) => target.replace(/#.*$/, ""))
    .filter((target) => target !== "" && !/^[a-z]+:/.test(target));
}
