import { type ToolDefinition, ToolError } from "portolan/server";
import { array, boolean, count, object, string, textResult } from "portolan-server-kit";
import { visible } from "portolan-server-kit/consent";
import { unifiedDiff } from "portolan-server-kit/files";
import {
  type CallerContext,
  cut,
  path,
  ServiceError,
  segments,
  serviceAnnotations,
  withLink,
} from "portolan-server-kit/service";
import type { Github } from "../github.ts";
import { branch, filePath, type InRepository, inRepository, pathOf, ref, uriOf } from "../tool-parts.ts";

interface RawContent {
  readonly type: string;
  readonly path: string;
  readonly sha: string;
  readonly size: number;
  readonly encoding?: string;
  readonly content?: string;
  readonly entries?: readonly RawContent[];
}

interface InFile extends InRepository {
  readonly path: string;
  readonly ref?: string;
}

/** A file as of a branch, a tag or a commit. */
export interface FoundFile {
  readonly sha: string;
  readonly bytes: Buffer;
}

/** Reads a file. Throws a `ToolError` for a folder and for what is not a file. */
export async function readFile(github: Github, args: InFile, ctx: CallerContext): Promise<FoundFile> {
  const found = await readContent(github, args, ctx);
  if (found.type === "dir") throw new ToolError(`${args.path} is a folder; list_files lists it`);
  if (found.type !== "file") throw new ToolError(`${args.path} is a ${found.type}, not a file`);
  if (found.encoding === "base64") return { sha: found.sha, bytes: Buffer.from(found.content ?? "", "base64") };
  // GitHub sends files above 1 MB only as they are.
  const query = args.ref === undefined ? {} : { ref: args.ref };
  const { bytes } = await github.readAs("raw+json", contentPath(args), ctx, query);
  return { sha: found.sha, bytes: Buffer.from(bytes) };
}

async function readContent(github: Github, args: InFile, ctx: CallerContext): Promise<RawContent> {
  const query = args.ref === undefined ? {} : { ref: args.ref };
  const response = await github.readAs("object+json", contentPath(args), ctx, query);
  return response.json as RawContent;
}

function contentPath(args: InFile): string {
  const trimmed = args.path.replace(/^\/+|\/+$/g, "");
  return `${pathOf(args)}/contents${trimmed === "" ? "" : `/${segments(trimmed)}`}`;
}

/** Returns true for content that is not text. */
export function isBinary(bytes: Buffer): boolean {
  return bytes.includes(0) || !Buffer.from(bytes.toString("utf8"), "utf8").equals(bytes);
}

interface FilePart {
  readonly path: string;
  readonly sha: string;
  readonly text: string;
  readonly from: number;
  readonly lines: number;
  readonly next?: number;
}

/** The tool `read_file`. */
export function readFileTool(github: Github): ToolDefinition<InFile & { readonly from?: number }, FilePart, undefined> {
  return {
    title: "Read a file",
    description: "Reads a text file as of a branch, a tag or a commit. Long files come in parts: call again with from",
    input: inRepository({ path: filePath, ref, from: count("First line. Default: 1", { minimum: 1 }) }, ["path"]),
    output: object(
      {
        path: string("Path in the repository"),
        sha: string("Hash of the content; put_file needs it to replace the file"),
        text: string("This part of the text"),
        from: count("First line of this part"),
        lines: count("Lines of the whole file"),
        next: count("Pass it as from to get the next part; absent at the end"),
      },
      ["next"],
    ),
    annotations: serviceAnnotations.reads,
    async run(args, ctx) {
      const { sha, bytes } = await readFile(github, args, ctx);
      const uri = uriOf(args, "file", args.ref ?? "HEAD", ...args.path.split("/"));
      if (isBinary(bytes)) {
        throw new ToolError(`${args.path} has ${bytes.length} bytes and is not text; read the resource ${uri}`);
      }
      const lines = bytes.toString("utf8").split("\n");
      const { from = 1 } = args;
      if (from > lines.length) throw new ToolError(`from: the file has ${lines.length} lines; use a smaller number`);
      const end = lineAfter(lines, from - 1, github.access.limits.maxChars);
      // A single line can be too long.
      const whole = lines.slice(from - 1, end).join("\n");
      const text = cut(whole, github.access.limits.maxChars, `read the resource ${uri}`);
      const next = end < lines.length ? { next: end + 1 } : {};
      const more = end < lines.length ? `\n[lines ${end + 1} to ${lines.length}: call again with from ${end + 1}]` : "";
      const part = { path: args.path, sha, text, from, lines: lines.length, ...next };
      const result = textResult(`${text}${more}`, part);
      return end < lines.length || text !== whole ? withLink(result, uri, args.path) : result;
    },
  };
}

/** Returns the line after the last one that fits; at least one line is taken. */
function lineAfter(lines: readonly string[], first: number, maxChars: number): number {
  let chars = 0;
  let end = first;
  while (end < lines.length && (end === first || chars + (lines[end] as string).length < maxChars)) {
    chars += (lines[end] as string).length + 1;
    end += 1;
  }
  return end;
}

interface Entry {
  readonly path: string;
  readonly type: string;
  readonly size: number;
}

/** The tool `list_files`. */
export function listFilesTool(
  github: Github,
): ToolDefinition<InRepository & { readonly path?: string; readonly ref?: string }, { entries: Entry[] }, undefined> {
  return {
    title: "List files",
    description: "Lists a folder as of a branch, a tag or a commit",
    input: inRepository({ path: string("Path of the folder. Default: the root", { maxLength: 4_000 }), ref }),
    output: object({
      entries: array(
        object({
          path: string("Path in the repository"),
          type: string("file, dir, symlink or submodule"),
          size: count("Size in bytes"),
        }),
        "Files and folders",
      ),
    }),
    annotations: serviceAnnotations.reads,
    async run(args, ctx) {
      const found = await readContent(github, { ...args, path: args.path ?? "" }, ctx);
      if (!found.entries) throw new ToolError(`${args.path} is a file; read_file reads it`);
      const entries = found.entries.map(({ path, type, size }) => ({ path, type, size }));
      const lines = entries.map(({ path, type, size }) => (type === "dir" ? `${path}/` : `${path} (${size} bytes)`));
      return textResult(lines.join("\n") || "The folder is empty", { entries });
    },
  };
}

interface PutFile extends InRepository {
  readonly path: string;
  readonly branch: string;
  readonly message: string;
  readonly content: string;
  readonly sha?: string;
}

/** The tool `put_file`: writes a file after the user has seen the difference. */
export function putFileTool(
  github: Github,
): ToolDefinition<PutFile, { commit: string; sha: string; isNew: boolean }, undefined> {
  return {
    title: "Write a file",
    description:
      "Creates or replaces a text file in one commit on a branch, after the user agrees. To replace a file, pass the sha of read_file",
    input: inRepository(
      {
        path: filePath,
        branch: branch("Branch to commit to"),
        message: string("Message of the commit", { minLength: 1, maxLength: 5_000 }),
        content: string("The whole new text", { maxLength: 1_000_000 }),
        sha: string("Hash of the content that is replaced, from read_file", { pattern: "^[0-9a-f]{40,64}$" }),
      },
      ["path", "branch", "message", "content"],
    ),
    output: object({
      commit: string("Full hash of the commit"),
      sha: string("Hash of the new content"),
      isNew: boolean("True if the file did not exist"),
    }),
    annotations: serviceAnnotations.overwrites,
    async run(args, ctx) {
      const { owner, repo, branch, message, content, sha } = args;
      const before = await readBefore(github, { ...args, ref: branch }, ctx);
      if (before?.sha !== sha) {
        throw new ToolError(
          before
            ? `${args.path} exists and has the sha ${before.sha}. Nothing was changed; read it, then pass that sha`
            : `${args.path} does not exist on ${branch}. Nothing was changed; leave out sha`,
        );
      }
      const isText = before === undefined || !isBinary(before.bytes);
      const diff = isText
        ? unifiedDiff(args.path, before?.bytes.toString("utf8") ?? "", content)
        : `The file is not text today (${before.bytes.length} bytes).\n${content}`;
      const question = `Commit this to ${branch} of ${owner}/${repo}?\n\n${visible(`${message}\n\n${diff}`)}`;
      return github.access.change(ctx, question, async () => {
        const encoded = Buffer.from(content, "utf8").toString("base64");
        const body = { message, branch, content: encoded, ...(sha !== undefined && { sha }) };
        const done = await github.write<{ commit: { sha: string }; content: { sha: string } }>(
          "PUT",
          contentPath(args),
          body,
          ctx,
        );
        const result = { commit: done.commit.sha, sha: done.content.sha, isNew: sha === undefined };
        return textResult(`Committed ${args.path} to ${branch}: ${done.commit.sha}`, result);
      });
    },
  };
}

async function readBefore(github: Github, args: InFile, ctx: CallerContext): Promise<FoundFile | undefined> {
  try {
    return await readFile(github, args, ctx);
  } catch (reason) {
    if (reason instanceof ServiceError && reason.failure.kind === "not-found") return undefined;
    throw reason;
  }
}

interface CreateBranch extends InRepository {
  readonly branch: string;
  readonly from?: string;
}

/** The tool `create_branch`. */
export function createBranchTool(
  github: Github,
): ToolDefinition<CreateBranch, { branch: string; sha: string }, undefined> {
  return {
    title: "Create a branch",
    description: "Creates a branch at a commit, after the user agrees",
    input: inRepository(
      {
        branch: branch("Name of the new branch"),
        from: { ...ref, description: "A branch, a tag or a commit hash where it starts. Default: the default branch" },
      },
      ["branch"],
    ),
    output: object({ branch: string("Name of the branch"), sha: string("Full hash of its commit") }),
    annotations: serviceAnnotations.adds,
    async run(args, ctx) {
      const { owner, repo, branch: name, from = "HEAD" } = args;
      const { sha } = await github.read<{ sha: string }>(`${pathOf(args)}${path`/commits/${from}`}`, ctx);
      const start = `${sha.slice(0, 10)}${args.from === undefined ? "" : ` (${args.from})`}`;
      return github.access.change(
        ctx,
        visible(`Create the branch ${name} at ${start} in ${owner}/${repo}?`),
        async () => {
          await github.write("POST", `${pathOf(args)}/git/refs`, { ref: `refs/heads/${name}`, sha }, ctx);
          return textResult(`Created ${name} at ${sha}`, { branch: name, sha });
        },
      );
    },
  };
}
