import { type ToolDefinition, ToolError } from "portolan/server";
import { annotations, array, boolean, count, object, string, textResult } from "portolan-server-kit";
import { type ChangedFile, changedFileSchema, diffFlags, lineOf, parseChanges, readPatch } from "../objects/patch.ts";
import { withIndexCopy } from "../objects/staging-area.ts";
import type { Repositories } from "../repository/repositories.ts";
import type { Repository } from "../repository/repository.ts";
import { input, isCut, path, revision } from "../tool-parts.ts";

interface DiffArguments {
  repository?: string;
  staged?: boolean;
  from?: string;
  to?: string;
  since_fork?: boolean;
  paths?: string[];
  stat?: boolean;
  context?: number;
}

interface Diff {
  files: ChangedFile[];
  patch?: string;
  isCut: boolean;
}

/** The tool `diff`: compares the work tree, the index and commits. */
export function diffTool(git: Repositories): ToolDefinition<DiffArguments, Diff, undefined> {
  return {
    title: "Diff",
    description:
      "Shows differences: work tree and index (no arguments), index and last commit (staged), work tree and a commit (from), or two commits (from and to)",
    input: input(git, {
      staged: boolean("Compare the staged files instead of the work tree"),
      from: { ...revision, description: `The older side. ${revision["description"]}` },
      to: { ...revision, description: `The newer side. ${revision["description"]}` },
      since_fork: boolean("Compare `to` with its merge base with `from`: what a branch has added"),
      paths: { type: "array", items: path, maxItems: 100, description: "Only these files and folders" },
      stat: boolean("Return only file names and line counts, no patch"),
      context: count("Unchanged lines around each change. Default: 3", { maximum: 100 }),
    }),
    output: object(
      {
        files: array(changedFileSchema, "The changed files"),
        patch: string("A unified diff; absent with stat"),
        isCut,
      },
      ["patch"],
    ),
    annotations: annotations.reads,
    async run(args, ctx) {
      const repository = await git.open(args.repository, ctx.signal);
      const sides = await sidesOf(args, repository);
      const paths = (args.paths ?? []).map((path) => repository.path(path));
      const what = { flags: args.stat === true ? undefined : [`--unified=${args.context ?? 3}`], sides, paths };
      const isOfWorkTree = args.to === undefined && args.staged !== true;
      const diff = isOfWorkTree
        ? await withIndexCopy(repository, (env) => compare(repository, what, env))
        : await compare(repository, what);
      return textResult(describe(diff), diff);
    },
  };
}

interface Comparison {
  /** Flags of the patch; undefined if no patch is wanted. */
  readonly flags: readonly string[] | undefined;
  readonly sides: readonly string[];
  readonly paths: readonly string[];
}

async function compare(
  repository: Repository,
  { flags, sides, paths }: Comparison,
  env: { readonly [name: string]: string } = {},
): Promise<Diff> {
  const what = [...sides, "--", ...paths];
  const listed = await repository.parts(["diff", ...diffFlags, "--raw", "--numstat", "-z", ...what], { env });
  const all = parseChanges(listed);
  const files = all.slice(0, repository.limits.maxEntries);
  const isListCut = all.length > files.length;
  if (flags === undefined || files.length === 0) return { files, isCut: isListCut };
  const { patch, isCut } = await readPatch(repository, ["diff", ...diffFlags, "--patch", ...flags, ...what], { env });
  return { files, patch, isCut: isCut || isListCut };
}

function describe({ files, patch, isCut }: Diff): string {
  const summary = files.map(lineOf).join("\n") || "No differences";
  if (patch === undefined) return isCut ? `${summary}\n… and more` : summary;
  return isCut ? `${summary}\n\n${patch}… cut` : patch;
}

async function sidesOf(args: DiffArguments, repository: Repository): Promise<string[]> {
  const { staged = false, from, to, since_fork = false } = args;
  if (to !== undefined && (from === undefined || staged))
    throw new ToolError("`to` needs `from`, and excludes `staged`");
  if (since_fork && to === undefined) throw new ToolError("`since_fork` needs `from` and `to`");
  if (to === undefined) await repository.expectWorkTree();
  const older = from === undefined ? [] : [await repository.commit(from)];
  const newer = to === undefined ? [] : [await repository.commit(to)];
  return [...(staged ? ["--cached"] : []), ...(since_fork ? ["--merge-base"] : []), ...older, ...newer];
}
