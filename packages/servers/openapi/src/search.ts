import { type FullResult, type Server, ToolError } from "portolan/server";
import { annotations, object, string } from "portolan-server-kit";
import { fromCursor, toCursor } from "portolan-server-kit/service";
import type { Json } from "./description.ts";
import type { CallableOperation } from "./tools.ts";

const pageSize = 25;
/** Words of a search that are looked for. */
const maxWords = 20;

type Found = { readonly name: string; readonly request: string; readonly summary?: string };

/** Adds the four tools by which a model finds and calls one of many operations. */
export function addSearchTools(server: Server, operations: readonly CallableOperation[]): Server {
  const index = new OperationIndex(operations);
  const hasChanges = operations.some(({ operation }) => !operation.isReading);
  const called = object(
    {
      name: string("The name of the operation, from find_operations"),
      arguments: { type: "object", description: "The arguments, as describe_operation says" },
    },
    ["arguments"],
  );
  const found = server
    .tool("find_operations", {
      description: `Finds operations of this API (${operations.length} in all) by words in their names, paths and descriptions.`,
      annotations: annotations.reads,
      input: object(
        {
          words: string("Words to look for, such as `list issues`. Default: all operations"),
          tag: string("A group of operations, one of the tags in the results"),
          cursor: string("The nextCursor of the page before"),
        },
        ["words", "tag", "cursor"],
      ),
      run: ({ words, tag, cursor }: { words?: string; tag?: string; cursor?: string }) =>
        textOf(index.find(words ?? "", tag, cursor)),
    })
    .tool("describe_operation", {
      description: "Describes an operation: what it does, and the JSON Schema of its arguments and of its result.",
      annotations: annotations.reads,
      input: object({ name: string("The name of the operation, from find_operations") }),
      run: ({ name }: { name: string }) => textOf(describe(index.get(name))),
    })
    .tool("call_reading_operation", {
      description: "Calls an operation that changes nothing.",
      annotations: { ...annotations.reads, openWorldHint: true },
      input: called,
      run: async (given: { name: string; arguments?: Json }, context) => {
        const callable = index.get(given.name);
        if (!callable.operation.isReading) throw new ToolError("This changes something: use call_changing_operation");
        return callable.call(checked(callable, given.arguments), context, undefined);
      },
    });
  if (!hasChanges) return found;
  return found.tool("call_changing_operation", {
    description: "Calls an operation that changes something at the API.",
    annotations: { ...annotations.destroys, openWorldHint: true },
    input: called,
    run: async (given: { name: string; arguments?: Json }, context) => {
      const callable = index.get(given.name);
      return callable.call(checked(callable, given.arguments), context, undefined);
    },
  });
}

function checked(callable: CallableOperation, values: Json = {}): Json {
  const problem = callable.check(values);
  if (problem) throw new ToolError(`arguments: ${problem.path || "the arguments"} ${problem.message}`);
  return values;
}

function textOf(value: unknown): FullResult<never> {
  return { content: [{ type: "text", text: JSON.stringify(value) }] };
}

function describe(callable: CallableOperation) {
  const { operation, text, input, output } = callable;
  const { name, isReading, tags } = operation;
  return { name, isReading, tags, description: text, arguments: input.schema, ...(output && { result: output }) };
}

/** Finds operations by words. */
class OperationIndex {
  readonly #byName = new Map<string, CallableOperation>();
  /** Lower-case texts of each operation: its name and path, its summary, its tags and description. */
  readonly #texts = new Map<CallableOperation, readonly string[]>();

  constructor(operations: readonly CallableOperation[]) {
    for (const callable of operations) {
      const { name, path, summary = "", tags, description = "" } = callable.operation;
      this.#byName.set(name, callable);
      const texts = [`${name} ${path}`, summary, `${tags.join(" ")} ${description.slice(0, 1_000)}`];
      this.#texts.set(
        callable,
        texts.map((text) => text.toLowerCase()),
      );
    }
  }

  get(name: string): CallableOperation {
    const callable = this.#byName.get(name);
    if (!callable)
      throw new ToolError(`There is no operation ${JSON.stringify(name)}; look for it with find_operations`);
    return callable;
  }

  find(words: string, tag: string | undefined, cursor: string | undefined) {
    const list = [words, tag];
    const start = cursor === undefined ? 0 : Number(fromCursor(list, cursor));
    const wanted = wordsOf(words.toLowerCase()).slice(0, maxWords);
    const scored = [...this.#texts]
      .filter(([{ operation }]) => tag === undefined || operation.tags.includes(tag))
      .map(([callable, texts]) => ({ callable, ...matchOf(texts, wanted) }));
    const most = scored.reduce((best, { matched }) => Math.max(best, matched), 0);
    const all = scored
      .filter(({ matched }) => matched === most && (most > 0 || wanted.length === 0))
      .sort((a, b) => b.score - a.score || lengthOf(a.callable) - lengthOf(b.callable));
    const page = all.slice(start, start + pageSize).map(({ callable }) => toFound(callable));
    const end = start + pageSize;
    return {
      ...{ total: all.length, operations: page },
      ...(end < all.length && { nextCursor: toCursor(list, end) }),
      ...(wanted.length === 0 && tag === undefined && start === 0 && { tags: this.#tags() }),
    };
  }

  #tags(): string[] {
    return [...new Set([...this.#byName.values()].flatMap(({ operation }) => operation.tags))].slice(0, 200);
  }
}

/**
 * Returns how many of the words an operation has, and how well: a word in a name counts most, and a summary that says the
 * words as they stand counts more.
 */
function matchOf(texts: readonly string[], words: readonly string[]) {
  const weights = [4, 3, 1];
  const scores = words.map((word) => {
    // `issues` also finds `issue`.
    const stem = word.length > 3 ? word.replace(/s$/, "") : word;
    return Math.max(...texts.map((text, index) => (text.includes(stem) ? (weights[index] ?? 0) : 0)));
  });
  const matched = scores.filter((score) => score > 0).length;
  const said = wordsOf(texts[1] ?? "").join(" ");
  const phrase = words.join(" ");
  const bonus = phrase === "" || !` ${said} `.includes(` ${phrase} `) ? 0 : said === phrase ? 20 : 5;
  return { matched, score: scores.reduce((sum, score) => sum + score, bonus) };
}

function wordsOf(text: string): string[] {
  return text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
}

/** Of operations that match alike, the one with fewer other words was meant. */
function lengthOf({ operation }: CallableOperation): number {
  return operation.name.length + operation.path.length;
}

function toFound({ operation }: CallableOperation): Found {
  const { name, method, path, summary, tags, isDeprecated } = operation;
  return {
    name,
    request: `${method} ${path}`,
    ...(summary !== undefined && { summary: summary.slice(0, 200) }),
    ...(tags.length > 0 && { tags }),
    ...(isDeprecated && { isDeprecated }),
  } as Found;
}
