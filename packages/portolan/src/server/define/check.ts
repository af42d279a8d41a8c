import { nameOf, PortolanError, type PortolanErrorCode } from "../../errors.ts";
import { checkOptions, type OptionNames } from "../../options.ts";
import type { Annotations, ClientCapabilities, ToolAnnotations } from "../../protocol/types/index.ts";
import { isObject } from "../../schema/shape.ts";
import type { CustomMethod } from "../extension.ts";
import { minSecretCharacters } from "../limits.ts";
import type {
  ArgumentDefinition,
  PromptDefinition,
  ResourceDefinition,
  ServerInfo,
  ServerOptions,
  TemplateDefinition,
  ToolDefinition,
} from "./definition.ts";

/** Every kind of definition that has a handler. */
interface Definitions {
  /** Extensions take their own members out of a definition before it is checked. */
  tool: Omit<ToolDefinition<unknown, unknown, unknown>, "ui" | "task">;
  resource: ResourceDefinition<unknown>;
  template: TemplateDefinition<unknown>;
  prompt: PromptDefinition<{ [name: string]: ArgumentDefinition<unknown> }, unknown>;
  method: CustomMethod;
}

const described = { title: 1, description: 1, icons: 1, meta: 1, visibleTo: 1, extensions: 1 } as const;
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
  method: { params: 1, nameIn: 1, isOpen: 1, handle: 1 },
};

const handlers = { tool: "run", resource: "read", template: "read", prompt: "get", method: "handle" } as const;

/**
 * Throws if a definition has an unknown member, or no function as its handler. Unknown members are reported first, because
 * a `callback` explains why there is no `run`.
 */
export function checkDefinition<K extends keyof Definitions>(kind: K, where: string, definition: Definitions[K]): void {
  const handler: string = handlers[kind];
  const given: unknown = definition;
  if (!isObject(given)) throw unexpected(where, `an object { ${handler}, … }`, given);
  // Names from the official SDK and from other libraries, and our own names for handlers of other kinds.
  const synonyms = {
    inputSchema: "input",
    parameters: "input",
    outputSchema: "output",
    handler,
    callback: handler,
    execute: handler,
    run: handler,
    get: handler,
    read: handler,
    handle: handler,
    ui: ".extend(apps())",
    task: ".extend(tasks())",
  };
  checkOptions<Definitions[K]>(definition, members[kind], where, { code, synonyms });
  expectFunction(`${where}: ${handler}`, given[handler]);
  const { asks = "park" } = given;
  if (asks !== "park" && asks !== "replay") throw unexpected(`${where}: asks`, '"replay" or "park"', asks);
}

const infoNames: OptionNames<ServerInfo> = { name: 1, version: 1, title: 1, description: 1, icons: 1, websiteUrl: 1 };
const toolHints: OptionNames<ToolAnnotations> = {
  title: 1,
  readOnlyHint: 1,
  destructiveHint: 1,
  idempotentHint: 1,
  openWorldHint: 1,
};
const readableHints: OptionNames<Annotations> = { audience: 1, priority: 1, lastModified: 1 };
const capabilityNames: OptionNames<ClientCapabilities> = {
  roots: 1,
  sampling: 1,
  elicitation: 1,
  extensions: 1,
  experimental: 1,
  tasks: 1,
};

/** Throws if the parts of an author's own definition have unknown members. Those of another server may have any. */
export function checkMembers(where: string, definition: MemberParts, isTool: boolean): void {
  // A definition that is no object is refused by `checkDefinition`.
  const { annotations, needs } = definition ?? {};
  if (annotations) {
    checkOptions<object>(annotations, isTool ? toolHints : readableHints, `${where}: annotations`, { code });
  }
  if (needs) checkOptions<object>(needs, capabilityNames, `${where}: needs`, { code });
}

interface MemberParts {
  readonly annotations?: object | undefined;
  readonly needs?: object | undefined;
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

/** Throws if `createServer` got an identity or options that it does not know. */
export function checkServerOptions(info: ServerInfo, options: ServerOptions<unknown>): void {
  if (!isObject(options)) throw unexpected("createServer: options", "an object", options);
  checkOptions(options, serverOptions, "createServer", { code });
  if (!options.leaveOutInvalid) checkOptions(info, infoNames, "createServer: info", { code });
  const { secrets = [] } = options;
  // The message has no value: a secret must not reach a log.
  if (!Array.isArray(secrets) || !secrets.every((secret) => secret?.length >= minSecretCharacters)) {
    const expected = `strings of at least ${minSecretCharacters} characters`;
    throw new PortolanError(code, `createServer: secrets: expected ${expected}; is each variable set?`);
  }
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
