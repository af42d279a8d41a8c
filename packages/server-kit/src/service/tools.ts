import type { Context, FullResult, JsonSchema, Server, ToolDefinition } from "portolan/server";
import { array, count, annotations as kinds, object, string, textResult } from "../kit.ts";
import type { ServiceAccess } from "./access.ts";
import type { CallerContext } from "./tokens.ts";

/** Hints about the effects of tools; all of them reach a service on the web. */
export const serviceAnnotations: {
  readonly [kind in "reads" | "adds" | "sets" | "overwrites"]: NonNullable<
    ToolDefinition<unknown, unknown, unknown>["annotations"]
  >;
} = {
  reads: { ...kinds.reads, openWorldHint: true },
  adds: { ...kinds.adds, openWorldHint: true },
  sets: { ...kinds.sets, openWorldHint: true },
  overwrites: { ...kinds.overwrites, openWorldHint: true },
};

/** A tool with any arguments and any result. */
interface AnyTool {
  run(args: never, ctx: Context): unknown;
}

interface ToolsOfService {
  readonly reading: { readonly [name: string]: AnyTool };
  /** Left out where nothing may be changed. */
  readonly writing: { readonly [name: string]: AnyTool };
}

/** Adds tools that first let the user sign in at the service, if that is needed. */
export function addTools(server: Server, access: ServiceAccess, { reading, writing }: ToolsOfService): Server {
  let extended = server;
  for (const [name, tool] of Object.entries({ ...reading, ...(!access.isReadOnly && writing) })) {
    const run = async (args: never, ctx: Context) => {
      await access.signIn(ctx);
      return tool.run(args, ctx);
    };
    // The definition stays what it is; only the types of its arguments and its result are not needed here.
    extended = extended.tool(name, { ...tool, run } as ToolDefinition<unknown, unknown, undefined>);
  }
  return extended;
}

/** Which page of a list to read. */
export interface PageRequest {
  readonly limit?: number;
  readonly cursor?: string;
}

/** A page of a list. */
export interface ListPage<T> {
  readonly items: readonly T[];
  /** The cursor of the next page; absent at the end. */
  readonly cursor?: string;
}

/** A tool that lists something in pages. */
export interface ListTool<A, T> {
  readonly title: string;
  readonly description: string;
  /** The input without the members of pages. */
  readonly input: JsonSchema;
  /** The schema of an item. */
  readonly item: JsonSchema;
  /** Entries on a page. */
  readonly size: { readonly default: number; readonly max: number };
  readonly read: (args: A & PageRequest, ctx: CallerContext) => Promise<ListPage<T>>;
  readonly lineOf: (item: T) => string;
}

/** Returns a tool that lists something in pages. */
export function listTool<A extends object, T>(
  list: ListTool<A, T>,
): ToolDefinition<A & PageRequest, ListPage<T>, undefined> {
  const { title, description, input, item, size, read, lineOf } = list;
  const page = {
    limit: count(`Entries on a page. Default: ${size.default}`, { minimum: 1, maximum: size.max }),
    cursor: string("Continues after an earlier page; pass the same other arguments", { maxLength: 2_000 }),
  };
  return {
    title,
    description: `${description}, in pages`,
    input: { ...input, properties: { ...(input["properties"] as object), ...page } },
    output: object({ items: array(item, "This page"), cursor: string("Pass it to get the next page") }, ["cursor"]),
    annotations: serviceAnnotations.reads,
    async run(args, ctx) {
      const found = await read(args, ctx);
      const lines = found.items.map(lineOf);
      if (found.cursor !== undefined) lines.push(`More with cursor ${found.cursor}`);
      return textResult(lines.join("\n") || "Nothing found", found);
    },
  };
}

/** Returns a text, cut at a limit; `rest` tells where the whole text is. */
export function cut(text: string, maxChars: number, rest?: string): string {
  if (text.length <= maxChars) return text;
  // A cut between the halves of a character would not be a text.
  const end = /[\uD800-\uDBFF]/.test(text[maxChars - 1] ?? "") ? maxChars - 1 : maxChars;
  const note = `${text.length - end} more characters${rest === undefined ? "" : `: ${rest}`}`;
  return `${text.slice(0, end)}\n[${note}]`;
}

/** Adds a link to a resource of the server, which has the whole of what a result shows in part. */
export function withLink<T>(result: FullResult<T>, uri: string, name: string): FullResult<T> {
  return { ...result, content: [...(result.content ?? []), { type: "resource_link", uri, name }] };
}
