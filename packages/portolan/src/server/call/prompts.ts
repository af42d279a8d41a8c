import { type MaybePromise, whenDone } from "../../async.ts";
import { nameOf, PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { invalidParams, unknownPrompt } from "../../protocol/errors.ts";
import { complete, type Outcome } from "../../protocol/revision.ts";
import type { CompleteParams, Completion } from "../../protocol/types/index.ts";
import { isObject } from "../../schema/shape.ts";
import type { Completer, PromptReturn, ServerOptions } from "../define/definition.ts";
import type { CompiledPrompt } from "../define/resources.ts";
import { runAround } from "../extension.ts";
import { maxCompletionValues } from "../limits.ts";
import type { ServerRuntime } from "../runtime.ts";
import { HandlerContext } from "./context.ts";
import { type Produced, runHandler, type ServedExchange } from "./exchange.ts";

/** Answers `prompts/get`. */
export function getPrompt(runtime: ServerRuntime, exchange: ServedExchange): MaybePromise<Outcome> {
  const { name, arguments: args = {} } = exchange.params as { name: string; arguments?: { [name: string]: string } };
  const prompt = runtime.snapshot.prompts.find(name, exchange);
  if (!prompt) throw unknownPrompt(name);
  for (const [argument, { required }] of Object.entries(prompt.definition.arguments ?? {})) {
    if (required && !Object.hasOwn(args, argument)) {
      throw invalidParams(`params.arguments.${argument}: expected a string, got nothing; prompt "${name}" needs it`);
    }
  }
  const get = () => runHandler(runtime, exchange, () => getOne(runtime, exchange, prompt, args));
  return prompt.around.length === 0 ? get() : runAround(prompt.around, exchange, get);
}

function getOne(
  runtime: ServerRuntime,
  exchange: ServedExchange,
  { key, definition, makeApp }: CompiledPrompt,
  args: { [name: string]: string },
): MaybePromise<Produced> {
  const context = new HandlerContext(exchange, runtime, makeApp);
  return whenDone<PromptReturn, Produced>(definition.get(args, context), (value) => {
    if (typeof value === "string") {
      return complete(describe(definition.description, [{ role: "user", content: { type: "text", text: value } }]));
    }
    if (isObject(value) && "kind" in value) return value as Produced;
    const messages: unknown = isObject(value) ? value["messages"] : value;
    if (!Array.isArray(messages) || !messages.every(isMessage)) throw invalidReturn(key, value);
    return complete(isObject(value) ? { ...value } : describe(definition.description, messages));
  });
}

function isMessage(message: unknown): boolean {
  return isObject(message) && isObject(message["content"]);
}

function invalidReturn(name: string, value: unknown): PortolanError {
  const expected = 'a text or messages such as { role: "user", content: { type: "text", text: "…" } }';
  const got = Array.isArray(value) ? "others" : isObject(value) ? "an object without them" : nameOf(value);
  return new PortolanError("invalid-definition", `Prompt "${name}": get: expected ${expected}, got ${got}`);
}

function describe(description: string | undefined, messages: unknown[]): JsonObject {
  return description === undefined ? { messages } : { description, messages };
}

interface CompletionSource {
  readonly completer: Completer<unknown> | undefined;
  readonly makeApp: ServerOptions<unknown>["app"];
}

/** Answers `completion/complete`. */
export function completeArgument(runtime: ServerRuntime, exchange: ServedExchange): MaybePromise<Outcome> {
  const { argument, context: known } = exchange.params as unknown as CompleteParams;
  const { completer, makeApp } = sourceOf(runtime, exchange);
  if (!completer) return complete({ completion: { values: [] } });
  const suggestions = Array.isArray(completer)
    ? completer.filter((value) => value.toLowerCase().startsWith(argument.value.toLowerCase()))
    : (completer as Exclude<typeof completer, readonly string[]>)(
        argument.value,
        known?.arguments ?? {},
        new HandlerContext(exchange, runtime, makeApp),
      );
  return whenDone<string[] | Completion, Outcome>(suggestions, (found) =>
    complete({ completion: toCompletion(found) }),
  );
}

function sourceOf(runtime: ServerRuntime, exchange: ServedExchange): CompletionSource {
  const { ref, argument } = exchange.params as unknown as CompleteParams;
  if (ref.type === "ref/prompt") {
    const prompt = runtime.snapshot.prompts.find(ref.name, exchange);
    const args = prompt?.definition.arguments ?? {};
    if (!prompt) throw invalidParams(`params.ref.name: unknown prompt "${ref.name}"`);
    if (!Object.hasOwn(args, argument.name)) throw unknownArgument(argument.name, `prompt "${ref.name}"`);
    return { completer: args[argument.name]?.complete, makeApp: prompt.makeApp };
  }
  const template = runtime.snapshot.templates.find(ref.uri, exchange);
  if (!template) {
    // A fixed resource is a template without variables: it exists, but there is nothing to complete.
    if (runtime.snapshot.resources.find(ref.uri, exchange)) return { completer: undefined, makeApp: undefined };
    throw invalidParams(`params.ref.uri: unknown resource template "${ref.uri}"`);
  }
  if (!template.template?.variables.includes(argument.name))
    throw unknownArgument(argument.name, `template "${ref.uri}"`);
  return { completer: template.definition.complete?.[argument.name], makeApp: template.makeApp };
}

function unknownArgument(name: string, owner: string): Error {
  return invalidParams(`params.argument.name: ${owner} has no argument "${name}"`);
}

function toCompletion(found: string[] | Completion): Completion {
  const { values, total, hasMore } = Array.isArray(found)
    ? { values: found, total: found.length, hasMore: false }
    : found;
  const isCut = values.length > maxCompletionValues;
  return {
    values: isCut ? values.slice(0, maxCompletionValues) : values,
    ...(total !== undefined && { total }),
    ...((isCut || hasMore !== undefined) && { hasMore: isCut || hasMore === true }),
  };
}
