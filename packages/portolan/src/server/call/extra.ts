import { type MaybePromise, whenDone } from "../../async.ts";
import { nameOf, PortolanError } from "../../errors.ts";
import { headerKeys, headerNames, problemOfValue } from "../../http/headers.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { headerMismatch, methodNotFound, missingCapability } from "../../protocol/errors.ts";
import { isQuestion, mayAsk } from "../../protocol/questions.ts";
import { complete, type Outcome, type Peer } from "../../protocol/revision.ts";
import { revisions } from "../../protocol/revisions/index.ts";
import type { ClientCapabilities } from "../../protocol/types/index.ts";
import { compileSchema, type Issue } from "../../schema/infer.ts";
import { isObject } from "../../schema/shape.ts";
import { sessions } from "../channel/serve-channel.ts";
import { loadUriTemplates } from "../define/resources.ts";
import type { CustomMethod, LoadPart, Middleware } from "../extension.ts";
import { maxReportedIssues } from "../limits.ts";
import { type ServerRuntime, warnings } from "../runtime.ts";
import { activeExtensions, extensionsFor, requireDeclared } from "./active-extensions.ts";
import { checkParams, description, listening, prompts, resources } from "./dispatch.ts";
import { type Exchange, loadQuestions, ServedExchange } from "./exchange.ts";

export { runExtension } from "./active-extensions.ts";
export { collectResponses, problemOfBatch } from "./batch.ts";

/** Loads every part that a later request may need, and `others`. A part that cannot be loaded is reported. */
export async function loadParts(runtime: ServerRuntime, others: readonly LoadPart[]): Promise<void> {
  const parts = [warnings, sessions, description, resources, prompts, listening].map((part) => () => part.get());
  // Extensions begin what they do without a request, such as tasks of a process that died.
  const extensions = () => revisions.map((revision) => activeExtensions(runtime, revision));
  for (const load of [...others, ...parts, loadQuestions, loadJsonSchema, loadUriTemplates, extensions]) {
    try {
      await load();
    } catch (cause) {
      const why = "A part of the server cannot be loaded: requests that need it fail until the server is restarted";
      runtime.report(new Error(why, { cause }));
    }
  }
}

function loadJsonSchema(): Promise<void> | undefined {
  return compileSchema({}, "input").loading;
}

/** Runs a handler inside its middleware, the first one outermost. */
export function runMiddleware(
  chain: readonly Middleware[],
  exchange: ServedExchange,
  handle: (exchange: ServedExchange) => MaybePromise<Outcome>,
): MaybePromise<Outcome> {
  const step = (index: number, current: Exchange): MaybePromise<Outcome> => {
    if (!(current instanceof ServedExchange)) {
      throw new PortolanError(
        "invalid-argument",
        "Middleware: expected next(exchange) or next(exchange.withParams(…))",
      );
    }
    const around = chain[index];
    if (!around) return whenDone(handle(current), withoutText);
    return whenDone(
      around(current, (next) => step(index + 1, next)),
      checkOutcome,
    );
  };
  return step(0, exchange);
}

/** Throws if middleware returned no outcome, which is easily forgotten. */
function checkOutcome(outcome: Outcome): Outcome {
  if (typeof outcome?.kind === "string") return outcome;
  throw new PortolanError(
    "invalid-definition",
    `Middleware: expected the return value of next(exchange), or { kind: "complete", result }, got ${nameOf(outcome)}`,
  );
}

/** Removes the serialized text of a result, because middleware may change the result. */
function withoutText(outcome: Outcome): Outcome {
  if (outcome.kind === "complete" && outcome.onlyText !== undefined) return { ...outcome, onlyText: undefined };
  if (outcome.kind !== "prepared") return outcome;
  const { resultType: _resultType, ...result } = JSON.parse(outcome.resultText) as JsonObject;
  return complete(result);
}

/** Throws if the client did not declare a capability that the tool needs, or its revision does not have it. */
export function checkNeeds(name: string, needs: ClientCapabilities, peer: Peer): void {
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

/** Serves methods beyond the protocol: the server's own, and those of extensions that the peer declared. */
export function serveExtra(runtime: ServerRuntime, exchange: ServedExchange): MaybePromise<Outcome> {
  const { snapshot } = runtime;
  const { method, peer } = exchange;
  let extra: CustomMethod | undefined = snapshot.parts.methods.get(method);
  if (!extra) {
    const active = activeExtensions(runtime, peer.revision);
    const found = active.find(({ parts }) => Object.hasOwn(parts.requests ?? {}, method));
    if (found) {
      extra = found.parts.requests?.[method];
      if (!extra?.isOpen) requireDeclared(peer, found, method);
    }
  }
  if (!extra) throw methodNotFound(method);
  const handler = extra;
  checkNameHeader(handler, exchange);
  if (handler.params) checkParams({ params: handler.params }, exchange);
  return runMiddleware(snapshot.chain(method, runtime), exchange, (current) =>
    whenDone<JsonObject | Outcome, Outcome>(handler.handle(current), (value) =>
      isOutcome(value) ? value : complete(value),
    ),
  );
}

/** Throws if `Mcp-Name` does not repeat the name in the params. A name that the params lack is left to their check. */
function checkNameHeader({ nameIn }: CustomMethod, { params, returnPath }: ServedExchange): void {
  const name = nameIn === undefined ? undefined : params[nameIn];
  const { httpRequest } = returnPath;
  if (!httpRequest || typeof name !== "string") return;
  const problem = problemOfValue(headerNames.name, httpRequest.header(headerKeys.name), name);
  if (problem !== undefined) throw headerMismatch(problem);
}

function isOutcome(value: JsonObject | Outcome): value is Outcome {
  const { kind } = value;
  return kind === "complete" || kind === "extended" || kind === "input_required";
}

/** Hands a notification of a stateful client to the server's own handler and to those of its extensions. */
export function notifyHandlers(runtime: ServerRuntime, peer: Peer, method: string, params: JsonObject): void {
  const { snapshot } = runtime;
  const handlers = [snapshot.parts.notifications.get(method)];
  for (const { parts } of extensionsFor(runtime, peer)) {
    const { notifications = {} } = parts;
    if (Object.hasOwn(notifications, method)) handlers.push(notifications[method]);
  }
  for (const handle of handlers) {
    try {
      handle?.(params, peer);
    } catch (cause) {
      runtime.report(cause, { method });
    }
  }
}

/** Throws if content of a tool lacks a member that clients need, or if a value would be sent as an empty object. */
export function checkResult(tool: string, { content, structuredContent }: JsonObject): void {
  const problem = problemOfContent(content) ?? lostIn(structuredContent, "structuredContent");
  if (problem !== undefined) throw new PortolanError("invalid-definition", `Tool "${tool}" returned ${problem}`);
}

/** Returns the text for the model that called a tool with arguments which do not match its input schema. */
export function invalidArguments(tool: string, issues: readonly Issue[]): string {
  return `Invalid arguments for tool "${tool}": ${issues.slice(0, maxReportedIssues).map(describe).join("; ")}`;
}

/** Returns the error of a tool whose result has no structured content, or one that does not match its output schema. */
export function outputMismatch(tool: string, issues: readonly Issue[] | undefined): PortolanError {
  const what = issues
    ? `a value that does not match its output schema: ${describe(issues[0])}`
    : "no structuredContent for its output schema";
  return new PortolanError("invalid-definition", `Tool "${tool}" returned ${what}`);
}

function describe(issue: Issue | undefined): string {
  return issue?.path ? `${issue.path}: ${issue.message}` : (issue?.message ?? "unknown");
}

/** The members of each type of content that must be strings. */
const neededStrings: { readonly [type: string]: readonly string[] } = {
  text: ["text"],
  image: ["data", "mimeType"],
  audio: ["data", "mimeType"],
  resource_link: ["uri", "name"],
};

function problemOfContent(content: unknown): string | undefined {
  if (!Array.isArray(content)) return undefined;
  for (const [index, block] of content.entries()) {
    const where = `content[${index}]`;
    if (!isObject(block)) return `${where}: expected a content block, got ${nameOf(block)}`;
    const missing = (neededStrings[String(block["type"])] ?? []).find((name) => typeof block[name] !== "string");
    if (missing !== undefined) return `${where}.${missing}: expected a string, got ${nameOf(block[missing])}`;
    const lost = lostIn(block, where);
    if (lost !== undefined) return lost;
  }
  return undefined;
}

/** Returns the place of a value that JSON turns into an empty object or leaves out; undefined if there is none. */
function lostIn(value: unknown, where: string, depth = 0): string | undefined {
  if (typeof value === "function" || typeof value === "symbol") {
    return `${where}: expected a value with a JSON form, got ${nameOf(value)}`;
  }
  if (typeof value !== "object" || value === null || "toJSON" in value || depth > maxJsonDepth) return undefined;
  const entries = Object.entries(value);
  const kind = (value as object).constructor?.name ?? "Object";
  if (entries.length === 0 && kind !== "Object" && !Array.isArray(value)) {
    const advice = value instanceof Promise ? "; await it" : "; return a plain object or an array";
    return `${where}: expected a value with a JSON form, got a ${kind}${advice}`;
  }
  for (const [name, member] of entries) {
    // JSON leaves out members that are functions, such as the methods of an object.
    if (typeof member === "function" || typeof member === "symbol") continue;
    const lost = lostIn(member, Array.isArray(value) ? `${where}[${name}]` : `${where}.${name}`, depth + 1);
    if (lost !== undefined) return lost;
  }
  return undefined;
}

/** Deeper values have no JSON form that a client reads. */
const maxJsonDepth = 512;
