import { nameOf, PortolanError, type PortolanErrorCode } from "../../errors.ts";
import { checkOptions, type OptionNames } from "../../options.ts";
import { isObject } from "../../schema/shape.ts";
import type { ExtraMethod } from "../extension.ts";
import type {
  ArgumentDefinition,
  PromptDefinition,
  ResourceDefinition,
  ServerOptions,
  TemplateDefinition,
  ToolDefinition,
} from "./definition.ts";

const code = "invalid-definition";

const serverOptions = {
  instructions: 1,
  pageSize: 1,
  cache: 1,
  logging: 1,
  view: 1,
  app: 1,
  secrets: 1,
  storage: 1,
  questionTtlMs: 1,
  onError: 1,
} satisfies OptionNames<ServerOptions<unknown>>;

const described = { title: 1, description: 1, icons: 1, meta: 1, visibleTo: 1 } as const;

const toolMembers = {
  ...described,
  input: 1,
  output: 1,
  annotations: 1,
  needs: 1,
  asks: 1,
  run: 1,
} satisfies OptionNames<ToolDefinition<unknown, unknown, unknown>>;

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

const resourceMembers = { ...readable, size: 1 } satisfies OptionNames<ResourceDefinition<unknown>>;

const templateMembers = { ...readable, list: 1, complete: 1 } satisfies OptionNames<TemplateDefinition<unknown>>;

const promptMembers = { ...described, arguments: 1, get: 1 } satisfies OptionNames<
  PromptDefinition<{ [name: string]: ArgumentDefinition<unknown> }, unknown>
>;

const argumentMembers = { title: 1, description: 1, required: 1, complete: 1 } satisfies OptionNames<
  ArgumentDefinition<unknown>
>;

const methodMembers = { params: 1, handle: 1 } satisfies OptionNames<ExtraMethod>;

/** Names from the official SDK and from other libraries, and ours for the same thing. */
function synonymsOf(handler: string): { readonly [name: string]: string } {
  return {
    inputSchema: "input",
    parameters: "input",
    outputSchema: "output",
    argsSchema: "arguments",
    _meta: "meta",
    handler,
    callback: handler,
    cb: handler,
    execute: handler,
  };
}

/** Throws if `createServer` got options that it does not know. */
export function checkServerOptions(options: ServerOptions<unknown>): void {
  if (!isObject(options)) throw unexpected("createServer: options", "an object", options);
  checkOptions(options, serverOptions, "createServer", { code });
}

export function checkTool(where: string, definition: ToolDefinition<unknown, unknown, unknown>): void {
  checkDefinition(where, definition, toolMembers, "run");
}

export function checkResource(where: string, definition: ResourceDefinition<unknown>): void {
  checkDefinition(where, definition, resourceMembers, "read");
}

export function checkTemplate(where: string, definition: TemplateDefinition<unknown>): void {
  checkDefinition(where, definition, templateMembers, "read");
}

export function checkPrompt(
  where: string,
  definition: PromptDefinition<{ [name: string]: ArgumentDefinition<unknown> }, unknown>,
): void {
  checkDefinition(where, definition, promptMembers, "get");
  for (const [name, argument] of Object.entries(definition.arguments ?? {})) {
    checkOptions(argument, argumentMembers, `${where}: argument "${name}"`, { code });
  }
}

export function checkMethod(where: string, method: ExtraMethod): void {
  checkDefinition(where, method, methodMembers, "handle");
}

/** Unknown names are reported first: a `handler` explains why there is no `run`. */
function checkDefinition<T extends object>(
  where: string,
  definition: T,
  known: OptionNames<T>,
  handler: keyof T & string,
): void {
  if (!isObject(definition)) throw unexpected(where, `{ ${handler} }`, definition);
  checkOptions(definition, known, where, { code, synonyms: synonymsOf(handler) });
  expectFunction(`${where}: ${handler}`, definition[handler]);
}

/** Throws unless the value is a function. */
export function expectFunction(where: string, value: unknown, code?: PortolanErrorCode): void {
  if (typeof value !== "function") throw unexpected(where, "a function", value, code);
}

/** Returns the error for a wrong argument: where it stands, what was expected and what came. */
export function unexpected(
  where: string,
  expected: string,
  got: unknown,
  errorCode: PortolanErrorCode = code,
): PortolanError {
  return new PortolanError(errorCode, `${where}: expected ${expected}, got ${nameOf(got)}`);
}
