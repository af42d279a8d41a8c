import { type MaybePromise, whenDone } from "../../async.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { invalidParams, unknownPrompt } from "../../protocol/errors.ts";
import { complete, type Outcome } from "../../protocol/revision.ts";
import type { PromptReturn } from "../define/definition.ts";
import type { CompiledPrompt } from "../define/resources.ts";
import { runAround } from "../middleware.ts";
import type { Runtime } from "../subscribe/runtime.ts";
import { converse, type Produced } from "./ask.ts";
import { HandlerContext } from "./context.ts";
import type { ServedExchange } from "./exchange.ts";

/** Answers `prompts/get`. */
export function getPrompt(runtime: Runtime, exchange: ServedExchange): MaybePromise<Outcome> {
  const { name, arguments: args = {} } = exchange.params as { name: string; arguments?: { [name: string]: string } };
  const prompt = runtime.snapshot.prompts.find(name, exchange);
  if (!prompt) throw unknownPrompt(name);
  for (const [argument, { required }] of Object.entries(prompt.definition.arguments ?? {})) {
    if (required && !Object.hasOwn(args, argument)) {
      throw invalidParams(`params.arguments.${argument}: expected a string, got nothing; prompt "${name}" needs it`);
    }
  }
  const get = () => converse(runtime, exchange, () => getOne(runtime, exchange, prompt, args));
  return prompt.around.length === 0 ? get() : runAround(prompt.around, exchange, get);
}

function getOne(
  runtime: Runtime,
  exchange: ServedExchange,
  { definition, makeApp }: CompiledPrompt,
  args: { [name: string]: string },
): MaybePromise<Produced> {
  const context = new HandlerContext(exchange, runtime, makeApp);
  return whenDone<PromptReturn, Produced>(definition.get(args, context), (value) => {
    if (typeof value === "string") {
      return complete(describe(definition.description, [{ role: "user", content: { type: "text", text: value } }]));
    }
    if (Array.isArray(value)) return complete(describe(definition.description, value));
    return "kind" in value ? value : complete({ ...value });
  });
}

function describe(description: string | undefined, messages: unknown[]): JsonObject {
  return description === undefined ? { messages } : { description, messages };
}
