import { type ToolDefinition, ToolError } from "portolan/server";
import { annotations, array, count, object, string, textResult } from "portolan-server-kit";
import { short } from "../objects/commits.ts";
import type { Repositories } from "../repository/repositories.ts";
import { commit, input, isCut, path, revision } from "../tool-parts.ts";

interface BlameArguments {
  repository?: string;
  path: string;
  ref?: string;
  from?: number;
  to?: number;
}

interface Section {
  commit: string;
  author: string;
  date: string;
  subject: string;
  from: number;
  lines: string[];
}

interface Blame {
  sections: Section[];
  isCut: boolean;
}

const defaultLines = 200;

/** The tool `blame`. */
export function blameTool(git: Repositories): ToolDefinition<BlameArguments, Blame, undefined> {
  const { maxLines } = git.limits;
  return {
    title: "Blame",
    description: "Shows which commit last changed each line of a file",
    input: input(
      git,
      {
        path,
        ref: { ...revision, description: `Commit to look at. Default: HEAD. ${revision["description"]}` },
        from: count("First line. Default: 1", { minimum: 1 }),
        to: count(`Last line. Default: ${defaultLines} lines. At most ${maxLines} lines`, { minimum: 1 }),
      },
      ["path"],
    ),
    output: object({
      sections: array(
        object({
          commit,
          author: string("Name of the author"),
          date: string("Date of authorship, ISO 8601"),
          subject: string("The first line of the commit's message"),
          from: count("Number of the first line"),
          lines: array({ type: "string" }, "Consecutive lines"),
        }),
        "Consecutive lines of one commit form a section",
      ),
      isCut,
    }),
    annotations: annotations.reads,
    async run(args, ctx) {
      const repository = await git.open(args.repository, ctx.signal);
      const file = repository.path(args.path);
      const { from = 1, to = from + Math.min(defaultLines, maxLines) - 1 } = args;
      if (to < from) throw new ToolError(`to: expected ${from} or more, got ${to}`);
      const last = Math.min(to, from + maxLines - 1);
      const hash = await repository.commit(args.ref ?? "HEAD");
      // One extra line tells whether there are more.
      const range = `-L${from},${last + 1}`;
      // --no-ignore-revs-file drops configured files: git would print their lines if they are not hashes.
      const flags = ["--porcelain", "--no-textconv", "--no-ignore-revs-file"];
      const said = await repository.text(["blame", ...flags, range, hash, "--", file]);
      const all = parseBlame(said);
      const sections = all.map((section) => upTo(section, last)).filter(({ lines }) => lines.length > 0);
      const isCut = all.some((section) => section.from + section.lines.length - 1 > last);
      return textResult(sections.map(describe).join("\n") + (isCut ? "\n… and more lines" : ""), { sections, isCut });
    },
  };
}

/** Parses the porcelain format, which describes a commit only where it first appears. */
function parseBlame(said: string): Section[] {
  const known = new Map<string, { [key: string]: string }>();
  const sections: Section[] = [];
  let commit = "";
  let number = 0;
  for (const line of said.split("\n")) {
    const [, hash, final] = /^([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?$/.exec(line) ?? [];
    if (line.startsWith("\t")) {
      const { author = "", "author-time": time = "0", summary: subject = "" } = known.get(commit) ?? {};
      const last = sections.at(-1);
      if (last?.commit === commit && last.from + last.lines.length === number) last.lines.push(line.slice(1));
      else {
        const date = new Date(Number(time) * 1000).toISOString();
        sections.push({ commit, author, date, subject, from: number, lines: [line.slice(1)] });
      }
    } else if (hash !== undefined) {
      commit = hash;
      number = Number(final);
      if (!known.has(hash)) known.set(hash, {});
    } else {
      const [, key, value = ""] = /^([a-z-]+)(?: (.*))?$/.exec(line) ?? [];
      const facts = known.get(commit);
      if (key !== undefined && facts !== undefined) facts[key] = value;
    }
  }
  return sections;
}

function upTo(section: Section, last: number): Section {
  return { ...section, lines: section.lines.slice(0, Math.max(0, last - section.from + 1)) };
}

function describe({ commit, author, date, from, lines }: Section): string {
  const about = `${short(commit)} ${date.slice(0, 10)} ${author}`;
  return lines.map((line, index) => `${about} ${from + index}: ${line}`).join("\n");
}
