import { PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import type { UriTemplate } from "../../protocol/uri-template.ts";
import { checkArgument, checkDefinition } from "./check.ts";
import type {
  ArgumentDefinition,
  PromptDefinition,
  ResourceDefinition,
  ServerOptions,
  TemplateDefinition,
} from "./definition.ts";
import type { CompiledFeature } from "./snapshot.ts";

/** A resource with a fixed URI. */
export interface CompiledResource extends CompiledFeature {
  readonly definition: ResourceDefinition<unknown>;
}

/** Resources whose URIs follow a template. */
export interface CompiledTemplate extends CompiledFeature {
  readonly definition: TemplateDefinition<unknown>;
  /** Its parsed form; undefined until the parser is loaded. */
  template: UriTemplate | undefined;
}

/** The arguments of any prompt. */
export type AnyArgumentDefinitions = { [name: string]: ArgumentDefinition<unknown> };

/** A prompt that a server offers. */
export interface CompiledPrompt extends CompiledFeature {
  readonly definition: PromptDefinition<AnyArgumentDefinitions, unknown>;
}

export function compilePrompt(
  name: string,
  definition: PromptDefinition<AnyArgumentDefinitions, unknown>,
  makeApp: ServerOptions<unknown>["app"],
): CompiledPrompt {
  const where = `Prompt "${name}"`;
  checkDefinition("prompt", where, definition);
  const { title, description, icons, meta, visibleTo } = definition;
  const args = Object.entries(definition.arguments ?? {}).map(([argument, given]) => {
    checkArgument(`${where}: argument "${argument}"`, given);
    const { complete: _, ...rest } = given;
    return { name: argument, ...rest };
  });
  const entry: JsonObject = {
    name,
    title,
    description,
    arguments: args.length > 0 ? args : undefined,
    icons,
    _meta: meta,
  };
  return { key: name, entry, visibleTo, definition, makeApp, around: [] };
}

export function compileResource(
  uri: string,
  definition: ResourceDefinition<unknown>,
  makeApp: ServerOptions<unknown>["app"],
): CompiledResource {
  if (!URL.canParse(uri)) throw invalidResource(uri, "expected an absolute URI such as file:///notes.txt");
  checkDefinition("resource", `Resource "${uri}"`, definition);
  const { size, visibleTo } = definition;
  const entry: JsonObject = { uri, ...describe(uri, definition), size };
  return { key: uri, entry, visibleTo, definition, makeApp, around: [] };
}

export function compileTemplate(
  uriTemplate: string,
  definition: TemplateDefinition<unknown>,
  makeApp: ServerOptions<unknown>["app"],
): CompiledTemplate {
  checkDefinition("template", `Resource "${uriTemplate}"`, definition);
  const entry: JsonObject = { uriTemplate, ...describe(uriTemplate, definition) };
  const { visibleTo } = definition;
  const compiled: CompiledTemplate = {
    key: uriTemplate,
    entry,
    visibleTo,
    definition,
    template: undefined,
    makeApp,
    around: [],
    loading: loadUriTemplates()
      .then(({ checkCompleters, parseUriTemplate }) => {
        compiled.template = parseUriTemplate(uriTemplate);
        checkCompleters(compiled.template, definition.complete);
      })
      // An invalid template is left out, and its neighbours are served.
      .catch((problem) => {
        compiled.problem = problem;
      })
      .finally(() => {
        compiled.loading = undefined;
      }),
  };
  return compiled;
}

/** Loads the code for templates. */
export function loadUriTemplates(): Promise<typeof import("../../protocol/uri-template.ts")> {
  return import("../../protocol/uri-template.ts");
}

function describe(uri: string, definition: ResourceDefinition<unknown> | TemplateDefinition<unknown>): JsonObject {
  const { name = definition.title ?? uri, title, description, mimeType, annotations, icons, meta } = definition;
  return { name, title, description, mimeType, annotations, icons, _meta: meta };
}

function invalidResource(uri: string, why: string): PortolanError {
  return new PortolanError("invalid-definition", `Resource "${uri}": ${why}`);
}
