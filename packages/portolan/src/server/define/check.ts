import { nameOf, PortolanError, type PortolanErrorCode } from "../../errors.ts";
import { checkOptions, type OptionNames } from "../../options.ts";
import { isObject } from "../../schema/shape.ts";
import type { CustomMethod } from "../extension.ts";
import type {
  ArgumentDefinition,
  PromptDefinition,
  ResourceDefinition,
  ServerOptions,
  TemplateDefinition,
  ToolDefinition,
} from "./definition.ts";

/** Every kind of definition that has a handler. */
interface Definitions {
  tool: ToolDefinition<unknown, unknown, unknown>;
  resource: ResourceDefinition<unknown>;
  template: TemplateDefinition<unknown>;
  prompt: PromptDefinition<{ [name: string]: ArgumentDefinition<unknown> }, unknown>;
  method: CustomMethod;
}

const described = { title: 1, description: 1, icons: 1, meta: 1, visibleTo: 1 } as const;
const readable = {
  ...described,
  name: 1,
  mimeType: 1,
  annotations: 1,
  cache: 1,
  subscribe: 1,
  watch: 1,
  read: 1,
} as const;

const members: { readonly [K in keyof Definitions]: OptionNames<Definitions[K]> } = {
  tool: { ...described, input: 1, output: 1, annotations: 1, needs: 1, asks: 1, run: 1 },
  resource: { ...readable, size: 1 },
  template: { ...readable, list: 1, complete: 1 },
  prompt: { ...described, arguments: 1, get: 1 },
  method: { params: 1, handle: 1 },
};

const handlers = { tool: "run", resource: "read", template: "read", prompt: "get", method: "handle" } as const;

/**
 * Throws if a definition has an unknown member, or no function as its handler. Unknown members are reported first, because
 * a `callback` explains why there is no `run`.
 */
export function checkDefinition<K extends keyof Definitions>(kind: K, where: string, definition: Definitions[K]): void {
  const handler: string = handlers[kind];
  const given: unknown = definition;
  if (!isObject(given)) throw unexpected(where, `{ ${handler} }`, given);
  // Names from the official SDK and from other libraries.
  const synonyms = {
    inputSchema: "input",
    outputSchema: "output",
    handler,
    callback: handler,
    execute: handler,
  };
  checkOptions<Definitions[K]>(definition, members[kind], where, { code, synonyms });
  expectFunction(`${where}: ${handler}`, given[handler]);
}

/** Throws if an argument of a prompt has an unknown member. */
export function checkArgument(where: string, definition: ArgumentDefinition<unknown>): void {
  checkOptions(definition, { title: 1, description: 1, required: 1, complete: 1 }, where, { code });
}

const serverOptions: OptionNames<ServerOptions<unknown>> = {
  instructions: 1,
  pageSize: 1,
  cache: 1,
  logging: 1,
  view: 1,
  app: 1,
  secrets: 1,
  storage: 1,
  questionTtlMs: 1,
  leaveOutInvalid: 1,
  onError: 1,
};

/** Throws if `createServer` got options that it does not know. */
export function checkServerOptions(options: ServerOptions<unknown>): void {
  if (!isObject(options)) throw unexpected("createServer: options", "an object", options);
  checkOptions(options, serverOptions, "createServer", { code });
}

/** Throws unless the value is a function. */
export function expectFunction(where: string, value: unknown, code?: PortolanErrorCode): void {
  if (typeof value !== "function") throw unexpected(where, "a function", value, code);
}

const code = "invalid-definition";

/** Returns the error for a wrong argument: where it stands, what was expected and what came. */
export function unexpected(
  where: string,
  expected: string,
  got: unknown,
  errorCode: PortolanErrorCode = code,
): PortolanError {
  return new PortolanError(errorCode, `${where}: expected ${expected}, got ${nameOf(got)}`);
}
