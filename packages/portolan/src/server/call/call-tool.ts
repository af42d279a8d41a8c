import { isPromise, type MaybePromise } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { RpcError } from "../../jsonrpc/message.ts";
import { missingCapability, unknownTool } from "../../protocol/errors.ts";
import { isQuestion, mayAsk } from "../../protocol/questions.ts";
import type { Peer } from "../../protocol/revision.ts";
import { type Complete, complete, type Outcome } from "../../protocol/revision.ts";
import type { CallToolResult, ClientCapabilities } from "../../protocol/types/index.ts";
import type { CompiledSchema, Issue, Validated } from "../../schema/infer.ts";
import type { CompiledTool } from "../define/tools.ts";
import { runAround } from "../extension.ts";
import type { Runtime } from "../subscribe/hub.ts";
import { HandlerContext } from "./context.ts";
import type { ServedExchange } from "./exchange.ts";
import { type ExplicitQuestions, type Produced, runHandler } from "./exchange.ts";

/** A failure whose text the model sees, so that it can do better: "No city named Atlantis". */
export class ToolError extends Error {
  override readonly name = "ToolError";
}

/** Answers `tools/call`. */
export function callTool(runtime: Runtime, exchange: ServedExchange): MaybePromise<Outcome> {
  const { params } = exchange;
  const tool = runtime.snapshot.tools.find(params["name"] as string, exchange);
  if (!tool) throw unknownTool(params["name"] as string);
  const args = (params["arguments"] ?? {}) as JsonObject;
  const checked = exchange.back.checkArguments?.(tool.entry["inputSchema"] as JsonObject, args);
  return isPromise(checked)
    ? checked.then(() => callFound(runtime, exchange, tool, args))
    : callFound(runtime, exchange, tool, args);
}

function callFound(
  runtime: Runtime,
  exchange: ServedExchange,
  tool: CompiledTool,
  args: JsonObject,
): MaybePromise<Outcome> {
  const { needs } = tool.definition;
  if (needs) checkNeeds(tool.key, needs, exchange.peer);
  if (tool.around.length === 0) return runHandler(runtime, exchange, () => runTool(runtime, exchange, tool, args));
  return runAround(tool.around, exchange, () =>
    runHandler(runtime, exchange, () => runTool(runtime, exchange, tool, args)),
  );
}

/** What a tool says it needs must be declared by the client and known to its revision. */
function checkNeeds(name: string, needs: ClientCapabilities, peer: Peer): void {
  for (const [capability, parts] of Object.entries(needs)) {
    const declared = (peer.capabilities as JsonObject)[capability] as JsonObject | undefined;
    const wanted = Object.keys(parts ?? {});
    if (capability === "elicitation" && wanted.length === 0) wanted.push("form");
    const has = (part: string) => {
      const question: string = `${capability}.${part}`;
      return isQuestion(question) ? mayAsk(peer, question) : declared?.[part] !== undefined;
    };
    const isThere = isQuestion(capability) ? mayAsk(peer, capability) : declared !== undefined;
    if (!isThere || !wanted.every(has)) throw missingCapability(needs, `Tool "${name}"`);
  }
}

// Hot path: no closures and no copies where arguments and result are there at once.
function runTool(
  runtime: Runtime,
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
  runtime: Runtime,
  exchange: ServedExchange,
  tool: CompiledTool,
  checked: Validated<unknown>,
): MaybePromise<Produced> {
  if (checked.issues) return refuseArguments(tool.key, checked.issues);
  return invoke(runtime, exchange, tool, checked.value);
}

function invoke(runtime: Runtime, exchange: ServedExchange, tool: CompiledTool, args: unknown): MaybePromise<Produced> {
  const { definition } = tool;
  try {
    const context = new HandlerContext(exchange, runtime, tool.makeApp, definition.asks);
    const returned = definition.run(args, context);
    const outcome = isPromise(returned) ? returned.then((value) => toOutcome(tool, value)) : toOutcome(tool, returned);
    return isPromise(outcome) ? outcome.catch((cause) => toFailure(runtime, exchange, cause)) : outcome;
  } catch (cause) {
    return toFailure(runtime, exchange, cause);
  }
}

function toOutcome(tool: CompiledTool, returned: unknown): MaybePromise<Produced> {
  if (typeof returned === "object" && returned !== null) {
    if (isQuestions(returned)) return returned;
    if (isFullResult(returned, tool.output !== undefined)) return finishFull(tool, returned);
    if (!tool.output && isContentList(returned)) return complete({ content: returned });
  }
  if (tool.output) return finishStructured(tool, tool.output, returned);
  if (returned === undefined) return complete({ content: [] });
  if (typeof returned === "string") return complete({ content: [{ type: "text", text: returned }] });
  return mirrored(returned, false);
}

function finishFull(tool: CompiledTool, full: CallToolResult): MaybePromise<Complete> {
  if (!tool.output || full.isError) return complete(full as unknown as JsonObject);
  if (full.structuredContent === undefined) {
    throw new PortolanError(
      "invalid-definition",
      `Tool "${tool.key}" has an output schema but returned no structuredContent`,
    );
  }
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

function toStructured(tool: CompiledTool, checked: Validated<unknown>, full: CallToolResult | undefined): Complete {
  if (checked.issues) {
    const why = `returned what its output schema forbids: ${describe(checked.issues[0])}`;
    throw new PortolanError("invalid-definition", `Tool "${tool.key}" ${why}`);
  }
  if (!full) return mirrored(checked.value, tool.boxed);
  return { kind: "complete", result: mirroredIn(full, checked.value), boxed: tool.boxed };
}

/** Structured content has a text beside it for readers that know text only. */
function mirrored(structuredContent: unknown, boxed: boolean): Complete {
  const mirror: string | undefined = JSON.stringify(structuredContent);
  const result = { content: [{ type: "text", text: mirror ?? "null" }], structuredContent };
  return { kind: "complete", result, boxed, mirror };
}

/** The author's own content stays; the text is added where there is none. */
function mirroredIn(full: CallToolResult, structuredContent: unknown): JsonObject {
  const hasText = full.content.some((block) => block.type === "text");
  const mirror = hasText ? [] : [{ type: "text", text: JSON.stringify(structuredContent) ?? "null" }];
  return { ...full, content: [...full.content, ...mirror], structuredContent };
}

function isQuestions(value: object): value is ExplicitQuestions {
  return "kind" in value && value.kind === "questions" && "requests" in value && "state" in value;
}

/** Beside an output schema only what names structured content or an error is a whole result, since values may have content. */
function isFullResult(value: object, hasOutput: boolean): value is CallToolResult {
  if (!("content" in value) || !Array.isArray(value.content)) return false;
  return !hasOutput || "structuredContent" in value || ("isError" in value && value.isError === true);
}

function isContentList(value: object): value is CallToolResult["content"] {
  return Array.isArray(value) && value.length > 0 && value.every((block) => typeof block?.type === "string");
}

function refuseArguments(name: string, issues: readonly Issue[]): Complete {
  const text = `Invalid arguments for tool "${name}": ${issues.slice(0, 10).map(describe).join("; ")}`;
  return complete({ content: [{ type: "text", text }], isError: true });
}

function describe(issue: Issue | undefined): string {
  return issue?.path ? `${issue.path}: ${issue.message}` : (issue?.message ?? "unknown");
}

/** What was thrown becomes an answer for the model, a protocol error, or a masked failure that the operator hears of. */
function toFailure(runtime: Runtime, exchange: ServedExchange, cause: unknown): Complete {
  if (exchange.conversation?.isStopped || cause instanceof RpcError) throw cause;
  if (cause instanceof ToolError) return complete({ content: [{ type: "text", text: cause.message }], isError: true });
  const reference = exchange.isCancelled ? "" : runtime.report(cause, exchange.method);
  return complete({ content: [{ type: "text", text: `The tool failed (reference ${reference})` }], isError: true });
}
