import { type ToolDefinition, ToolError } from "portolan/server";
import { annotations, array, boolean, object, string, textResult } from "portolan-server-kit";
import { short } from "../objects/commits.ts";
import { isRefName, quote } from "../repository/names.ts";
import type { Repositories } from "../repository/repositories.ts";
import type { Repository } from "../repository/repository.ts";
import { commit, confirmLoss, input, isCut, revision } from "../tool-parts.ts";

interface Ref {
  name: string;
  commit: string;
  date: string;
  subject: string;
}

interface ListedBranch extends Ref {
  isCurrent: boolean;
  isRemote: boolean;
  upstream?: string;
}

const common = {
  name: string("Name for other tools"),
  commit,
  date: string("When it was committed, ISO 8601"),
  subject: string("The first line of its message"),
};

/** The tool `branches`: lists branches. */
export function branchesTool(
  git: Repositories,
): ToolDefinition<{ repository?: string; remote?: boolean }, { branches: ListedBranch[]; isCut: boolean }, undefined> {
  const branch = object(
    {
      ...common,
      isCurrent: boolean("True if it is checked out"),
      isRemote: boolean("True for a remote branch, as of the last fetch"),
      upstream: string("Its upstream branch"),
    },
    ["upstream"],
  );
  return {
    title: "Branches",
    description: "Lists branches, newest commit first",
    input: input(git, { remote: boolean("Also list remote branches, as of the last fetch") }),
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

/** The tool `tags`: lists tags. */
export function tagsTool(
  git: Repositories,
): ToolDefinition<{ repository?: string }, { tags: Ref[]; isCut: boolean }, undefined> {
  return {
    title: "Tags",
    description: "Lists tags, newest first",
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
  // Subjects are one line and names contain no control characters, so NUL and line breaks separate safely.
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

const name = string("Name of a branch, such as fix/typo", { minLength: 1, maxLength: 200 });
const output = object({ branch: name, commit, isCurrent: boolean("True if it is checked out") });

interface BranchState {
  branch: string;
  commit: string;
  isCurrent: boolean;
}

/** The tool `branch_create`. */
export function createBranchTool(
  git: Repositories,
): ToolDefinition<{ repository?: string; name: string; from?: string; switch?: boolean }, BranchState, undefined> {
  return {
    title: "Create a branch",
    description: "Creates a branch at a commit, and optionally switches to it",
    input: input(
      git,
      {
        name,
        from: { ...revision, description: `Where it starts. Default: HEAD. ${revision["description"]}` },
        switch: boolean("Also switch to the branch"),
      },
      ["name"],
    ),
    output,
    annotations: annotations.adds,
    run: ({ repository, name, from = "HEAD", switch: isWanted = false }, ctx) =>
      git.changeHead(repository, ctx.signal, async (repository) => {
        await checkBranchName(repository, name);
        const start = await repository.commit(from);
        if ((await hashOf(repository, name)) !== undefined) {
          throw new ToolError(`The branch ${quote(name)} already exists; branch_switch checks it out`);
        }
        await repository.read(["branch", "--no-track", name, start]);
        if (isWanted) await switchTo(repository, name);
        return branchResult(
          { branch: name, commit: start, isCurrent: isWanted },
          isWanted ? "Created and checked out" : "Created",
        );
      }),
  };
}

/** The tool `branch_switch`. */
export function switchBranchTool(
  git: Repositories,
): ToolDefinition<{ repository?: string; name: string }, BranchState, undefined> {
  return {
    title: "Switch to a branch",
    description: "Checks out a branch. Changes in the work tree are kept; if they are in the way, nothing happens",
    input: input(git, { name }, ["name"]),
    output,
    annotations: annotations.sets,
    run: ({ repository, name }, ctx) =>
      git.changeHead(repository, ctx.signal, async (repository) => {
        const hash = await existing(repository, name);
        await switchTo(repository, name);
        return branchResult({ branch: name, commit: hash, isCurrent: true }, "Checked out");
      }),
  };
}

/** The tool `branch_delete`: deletes a branch after the user agrees. */
export function deleteBranchTool(
  git: Repositories,
  ask: boolean,
): ToolDefinition<{ repository?: string; name: string }, BranchState & { wasMerged: boolean }, undefined> {
  return {
    title: "Delete a branch",
    description: "Deletes a branch after the user agrees. Returns the commit it pointed to, so that it can be restored",
    input: input(git, { name }, ["name"]),
    output: object({
      branch: name,
      commit,
      isCurrent: boolean("Always false"),
      wasMerged: boolean("True if the current branch contains its commits"),
    }),
    annotations: annotations.destroys,
    async run({ repository, name }, ctx) {
      const looked = await git.open(repository, ctx.signal);
      const hash = await existing(looked, name);
      if ((await looked.branch()) === name) {
        throw new ToolError(`${quote(name)} is checked out; switch to another branch before deleting it`);
      }
      const wasMerged = (await looked.run(["merge-base", "--is-ancestor", hash, "HEAD"])).code === 0;
      const warning = wasMerged ? "" : " It has commits that the current branch does not have.";
      const question = `Delete the branch ${name} (${short(hash)}) of ${looked.name}?${warning}`;
      if (!(await confirmLoss(ctx, ask, question))) return ctx.cancelled(`${name} was not deleted.`);
      return git.change(repository, ctx.signal, async (repository) => {
        // The user agreed for this commit only.
        if ((await existing(repository, name)) !== hash)
          throw new ToolError(`${quote(name)} now points to another commit; try again`);
        await repository.read(["branch", "--quiet", "-D", "--", name]);
        return branchResult({ branch: name, commit: hash, isCurrent: false, wasMerged }, "Deleted");
      });
    },
  };
}

function branchResult<T extends BranchState>(branch: T, what: string) {
  const text = `${what}: ${branch.branch} at ${short(branch.commit)}`;
  return textResult(text, branch);
}

async function switchTo(repository: Repository, name: string): Promise<void> {
  await repository.expectWorkTree();
  await repository.read(["switch", "--quiet", "--no-guess", "--no-recurse-submodules", name]);
}

async function checkBranchName(repository: Repository, name: string): Promise<void> {
  const isFine = isRefName(name) && (await repository.run(["check-ref-format", "--branch", name])).code === 0;
  if (!isFine) throw new ToolError(`${quote(name)} is not a valid branch name; use letters, digits, - and /`);
}

function hashOf(repository: Repository, name: string): Promise<string | undefined> {
  return repository.find(`refs/heads/${name}^{commit}`);
}

async function existing(repository: Repository, name: string): Promise<string> {
  const hash = isRefName(name) ? await hashOf(repository, name) : undefined;
  if (hash === undefined) throw new ToolError(`No branch ${quote(name)}; branches lists the branches`);
  return hash;
}
