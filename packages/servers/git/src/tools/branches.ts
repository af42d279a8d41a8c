import type { ToolDefinition } from "portolan/server";
import { annotations, array, boolean, object, string, textResult } from "portolan-server-kit";
import { short } from "../commits.ts";
import type { Git } from "../git.ts";
import type { Repository } from "../repository.ts";
import { commit, input, isCut } from "../schema.ts";

interface Ref {
  name: string;
  commit: string;
  date: string;
  subject: string;
}

interface Branch extends Ref {
  isCurrent: boolean;
  isRemote: boolean;
  upstream?: string;
}

const common = {
  name: string("As other tools take it"),
  commit,
  date: string("When it was committed, ISO 8601"),
  subject: string("The first line of its message"),
};

/** Lists branches. */
export function branchesTool(
  git: Git,
): ToolDefinition<{ repository?: string; remote?: boolean }, { branches: Branch[]; isCut: boolean }, undefined> {
  const branch = object(
    {
      ...common,
      isCurrent: boolean("It is checked out"),
      isRemote: boolean("It is a remote's branch, as it was last fetched"),
      upstream: string("The branch it follows"),
    },
    ["upstream"],
  );
  return {
    title: "Branches",
    description: "The branches, those with the newest commits first",
    input: input(git, { remote: boolean("Also those of remotes, as they were last fetched") }),
    output: object({ branches: array(branch, "Newest first"), isCut }),
    annotations: annotations.reads,
    async run({ repository: name, remote = false }, ctx) {
      const repository = await git.open(name, ctx.signal);
      const folders = remote ? ["refs/heads/", "refs/remotes/"] : ["refs/heads/"];
      const { refs, isCut } = await readRefs(repository, folders);
      const branches = refs.map(({ ref, isCurrent, upstream, ...about }) => ({
        ...about,
        isCurrent,
        isRemote: ref.startsWith("refs/remotes/"),
        ...(upstream !== "" && { upstream }),
      }));
      const lines = branches.map((branch) => `${branch.isCurrent ? "* " : "  "}${lineOf(branch)}`);
      return textResult(lines.join("\n") || "No branches yet", { branches, isCut });
    },
  };
}

/** Lists tags. */
export function tagsTool(
  git: Git,
): ToolDefinition<{ repository?: string }, { tags: Ref[]; isCut: boolean }, undefined> {
  return {
    title: "Tags",
    description: "The tags, newest first",
    input: input(git, {}),
    output: object({ tags: array(object(common), "Newest first"), isCut }),
    annotations: annotations.reads,
    async run({ repository }, ctx) {
      const { refs, isCut } = await readRefs(await git.open(repository, ctx.signal), ["refs/tags/"]);
      const tags = refs.map(({ name, commit, date, subject }) => ({ name, commit, date, subject }));
      return textResult(tags.map(lineOf).join("\n") || "No tags", { tags, isCut });
    },
  };
}

function lineOf({ name, commit, subject }: Ref): string {
  return `${name} ${short(commit)} ${subject}`;
}

const fields = [
  "%(refname)",
  "%(refname:short)",
  "%(objectname)",
  "%(*objectname)",
  "%(creatordate:iso-strict)",
  "%(HEAD)",
  "%(upstream:short)",
  "%(subject)",
];

async function readRefs(repository: Repository, folders: readonly string[]) {
  const { maxEntries } = repository.limits;
  // A subject is one line, and names hold no control characters.
  const format = `--format=${fields.join("%00")}`;
  const args = ["for-each-ref", `--count=${maxEntries + 1}`, "--sort=-creatordate", format, ...folders];
  const lines = (await repository.text(args)).split("\n").filter((line) => line !== "");
  const refs = lines.slice(0, maxEntries).map((line) => {
    const [ref = "", name = "", hash = "", peeled = "", date = "", head = "", upstream = "", subject = ""] =
      line.split("\0");
    return { ref, name, commit: peeled || hash, date, isCurrent: head === "*", upstream, subject };
  });
  return { refs, isCut: lines.length > refs.length };
}
