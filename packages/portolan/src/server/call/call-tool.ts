import { isPromise, type MaybePromise } from "../../async.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { RpcError, serializeResult } from "../../jsonrpc/message.ts";
import { unknownTool } from "../../protocol/errors.ts";
import { type Complete, complete, type Outcome } from "../../protocol/revision.ts";
import type { CallToolResult, ContentBlock } from "../../protocol/types/index.ts";
import type { CompiledSchema, Issue, Validated } from "../../schema/infer.ts";
import type { CompiledTool } from "../define/tools.ts";
import { extra, runAround, withExtra } from "../extension.ts";
import type { ServerRuntime } from "../runtime.ts";
import { HandlerContext } from "./context.ts";
import type { ServedExchange } from "./exchange.ts";
import { type ExplicitQuestions, type Produced, runHandler } from "./exchange.ts";

/** A failure whose text the model sees, so that it can correct the call: "No city named Atlantis". */
export class ToolError extends Error {
  override readonly name = "ToolError";
}

/** Answers `tools/call`. */
export function callTool(runtime: ServerRuntime, exchange: ServedExchange): MaybePromise<Outcome> {
  const { params } = exchange;
  const tool = runtime.snapshot.tools.find(params["name"] as string, exchange);
  if (!tool) throw unknownTool(params["name"] as string);
  const args = (params["arguments"] ?? {}) as JsonObject;
  const checked = exchange.returnPath.checkArguments?.(tool.entry["inputSchema"] as JsonObject, args);
  return isPromise(checked)
    ? checked.then(() => callFound(runtime, exchange, tool, args))
    : callFound(runtime, exchange, tool, args);
}

function callFound(
  runtime: ServerRuntime,
  exchange: ServedExchange,
  tool: CompiledTool,
  args: JsonObject,
): MaybePromise<Outcome> {
  const { needs } = tool.definition;
  if (!needs) return callAllowed(runtime, exchange, tool, args);
  return withExtra(exchange, ({ checkNeeds }) => {
    checkNeeds(tool.key, needs, exchange.peer);
    return callAllowed(runtime, exchange, tool, args);
  });
}

function callAllowed(
  runtime: ServerRuntime,
  exchange: ServedExchange,
  tool: CompiledTool,
  args: JsonObject,
): MaybePromise<Outcome> {
  if (tool.around.length === 0) return runHandler(runtime, exchange, () => runTool(runtime, exchange, tool, args));
  return runAround(tool.around, exchange, () =>
    runHandler(runtime, exchange, () => runTool(runtime, exchange, tool, args)),
  );
}

// Hot path: no closures and no copies when validation and handler are synchronous.
function runTool(
  runtime: ServerRuntime,
  exchange: ServedExchange,
  tool: CompiledTool,
  args: unknown,
): MaybePromise<Produced> {
  if (!tool.input) return invoke(runtime, exchange, tool, args);
  const checked = tool.input.validate(args);
  if (isPromise(checked)) return checked.then((done) => invokeChecked(runtime, exchange, tool, done));
  return invokeChecked(runtime, exchange, tool, checked);
}

function invokeChecked(
  runtime: ServerRuntime,
  exchange: ServedExchange,
  tool: CompiledTool,
  checked: Validated<unknown>,
): MaybePromise<Produced> {
  if (checked.issues) return refuseArguments(tool.key, checked.issues);
  return invoke(runtime, exchange, tool, checked.value);
}

/** Answers a call whose arguments do not match the input schema. The words for it are loaded with the first such call. */
async function refuseArguments(name: string, issues: readonly Issue[]): Promise<Complete> {
  return failure((await extra.get()).invalidArguments(name, issues));
}

function invoke(
  runtime: ServerRuntime,
  exchange: ServedExchange,
  tool: CompiledTool,
  args: unknown,
): MaybePromise<Produced> {
  const { definition } = tool;
  try {
    const context = new HandlerContext(exchange, runtime, tool.makeApp, definition.asks);
    const returned = definition.run(args, context);
    if (!isPromise(returned)) return settle(runtime, exchange, tool, returned);
    return returned.then(
      (value) => settle(runtime, exchange, tool, value),
      (cause) => toFailure(runtime, exchange, cause),
    );
  } catch (cause) {
    return toFailure(runtime, exchange, cause);
  }
}

/** Turns the value of a handler into its outcome; a value that does not fit is a failure. */
function settle(
  runtime: ServerRuntime,
  exchange: ServedExchange,
  tool: CompiledTool,
  value: unknown,
): MaybePromise<Produced> {
  try {
    const outcome = toOutcome(tool, value);
    return isPromise(outcome) ? outcome.catch((cause) => toFailure(runtime, exchange, cause)) : outcome;
  } catch (cause) {
    return toFailure(runtime, exchange, cause);
  }
}

/** Turns a thrown error into a result for the model, a protocol error, or a masked failure that is reported. */
function toFailure(runtime: ServerRuntime, exchange: ServedExchange, cause: unknown): Complete {
  if (exchange.conversation?.isSuspended || cause instanceof RpcError) throw cause;
  if (cause instanceof ToolError) return failure(cause.message);
  const reference = exchange.isCancelled ? "" : runtime.report(cause, exchange.origin);
  return failure(`The tool failed (reference ${reference})`);
}

function failure(text: string): Complete {
  return complete({ content: [{ type: "text", text }], isError: true });
}

function toOutcome(tool: CompiledTool, returned: unknown): MaybePromise<Produced> {
  if (typeof returned === "object" && returned !== null) {
    if (isQuestions(returned)) return returned;
    if (isFullResult(returned, tool.output !== undefined)) return finishFull(tool, returned);
    if (!tool.output && isContentList(returned)) return checkContent(tool, { content: returned });
  }
  if (tool.output) return finishStructured(tool, tool.output, returned);
  if (returned === undefined) return complete({ content: [] });
  if (typeof returned === "string")
    return { ...complete({ content: [{ type: "text", text: returned }] }), onlyText: returned };
  return mirrored(tool, returned);
}

function isQuestions(value: object): value is ExplicitQuestions {
  return "kind" in value && value.kind === "questions" && "requests" in value && "state" in value;
}

/** With an output schema, a `content` member may belong to the value: only `structuredContent` or `isError` tell a result. */
function isFullResult(value: object, hasOutput: boolean): value is CallToolResult {
  if (!("content" in value) || !Array.isArray(value.content)) return false;
  return !hasOutput || "structuredContent" in value || ("isError" in value && value.isError === true);
}

function isContentList(value: object): value is CallToolResult["content"] {
  return Array.isArray(value) && value.length > 0 && value.every((block) => typeof block?.type === "string");
}

function finishFull(tool: CompiledTool, full: CallToolResult): MaybePromise<Complete> {
  if (!tool.output || full.isError) return checkContent(tool, full);
  if (full.structuredContent === undefined) return refuseOutput(tool);
  return finishStructured(tool, tool.output, full.structuredContent, full);
}

function finishStructured(
  tool: CompiledTool,
  output: CompiledSchema<unknown>,
  value: unknown,
  full?: CallToolResult,
): MaybePromise<Complete> {
  const checked = output.validate(value);
  return isPromise(checked)
    ? checked.then((done) => toStructured(tool, done, full))
    : toStructured(tool, checked, full);
}

function toStructured(
  tool: CompiledTool,
  checked: Validated<unknown>,
  full: CallToolResult | undefined,
): MaybePromise<Complete> {
  if (checked.issues) return refuseOutput(tool, checked.issues);
  if (!full) return mirrored(tool, checked.value, tool.wrapped);
  return { kind: "complete", result: mirroredIn(full, checked.value), wrapped: tool.wrapped };
}

/** Rejects because a result does not match the tool's output schema. */
async function refuseOutput({ key }: CompiledTool, issues?: readonly Issue[]): Promise<never> {
  throw (await extra.get()).outputMismatch(key, issues);
}

/** Refuses content that clients cannot read. Hot path: text is sent without a further look. */
function checkContent(tool: CompiledTool, result: CallToolResult): MaybePromise<Complete> {
  const done: Complete = { kind: "complete", result: result as unknown as JsonObject, onlyText: onlyTextOf(result) };
  if (done.onlyText !== undefined) return done;
  const isText = result.content.every((block) => block?.type === "text" && typeof block.text === "string");
  return tool.isForeign || (isText && result.structuredContent === undefined) ? done : checkResult(tool, done);
}

/** Returns the text of a result that is one text and nothing else; undefined for every other result. */
function onlyTextOf(result: CallToolResult & { toJSON?: unknown }): string | undefined {
  for (const name in result) if (name !== "content") return undefined;
  const [block, second]: readonly (ContentBlock & { toJSON?: unknown })[] = result.content;
  if (block?.type !== "text" || second || block.toJSON || result.toJSON) return undefined;
  let names = "";
  for (const name in block) names += name;
  // Members of another order would be written in that order.
  return names === "typetext" && typeof block.text === "string" ? block.text : undefined;
}

/** Throws if a part of the result would be lost without a word. The check is loaded with the first such suspicion. */
async function checkResult({ key }: CompiledTool, done: Complete): Promise<Complete> {
  (await extra.get()).checkResult(key, done.result);
  return done;
}

/**
 * Returns structured content with its JSON text beside it, for clients that read text only. Without an output schema the
 * text tells whether it is an object.
 */
function mirrored(tool: CompiledTool, structuredContent: unknown, isWrapped?: boolean): MaybePromise<Complete> {
  const mirror = textOf(structuredContent);
  const wrapped = isWrapped ?? mirror?.[0] !== "{";
  const result = { content: [{ type: "text", text: mirror ?? "null" }], structuredContent };
  const done: Complete = { kind: "complete", result, wrapped, onlyText: mirror };
  // A promise, a map or an error becomes an empty object, and a function becomes nothing.
  return mirror?.includes("{}") === false ? done : checkResult(tool, done);
}

/** Returns JSON text. Throws a PortolanError "unserializable" that names the bad value. */
function textOf(structuredContent: unknown): string | undefined {
  try {
    return JSON.stringify(structuredContent);
  } catch {
    return serializeResult({ structuredContent });
  }
}

/** Adds the JSON text of structured content unless the author's own content has a text. */
function mirroredIn(full: CallToolResult, structuredContent: unknown): JsonObject {
  const hasText = full.content.some((block) => block.type === "text");
  const mirror = hasText ? [] : [{ type: "text", text: textOf(structuredContent) ?? "null" }];
  return { ...full, content: [...full.content, ...mirror], structuredContent };
}
