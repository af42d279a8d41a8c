import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { PortolanError } from "portolan";
import { anthropic, demoModel, type Model, openaiCompatible, type ProviderOptions } from "portolan-host/models";
import type { CommandContext, Flags } from "./command.ts";
import { Failure, withoutOptionNames } from "./failure.ts";
import { fetchOption } from "./http-proxy/choose.ts";
import type { System } from "./system.ts";

/** Settings of models that providers serve. */
export type ModelSettings = Pick<ProviderOptions, "onRetry" | "idleMs">;

type Variables = { readonly [name: string]: string | undefined };

/**
 * Returns the model to use: the named one (`demo`, `anthropic:<model>`, `openai:<model>`, or only a model), otherwise
 * the one whose key is in the environment, otherwise the demo. The demo is no language model, and says so.
 */
export function chooseModel(
  env: Variables,
  named: string | undefined = env["PORTOLAN_MODEL"],
  settings: ModelSettings = {},
): Model {
  if (!named) {
    if (env["ANTHROPIC_API_KEY"]) return ofAnthropic(env, settings);
    return hasOpenAi(env) ? ofOpenAi(env, settings) : demoModel();
  }
  if (named === "demo") return demoModel();
  const [, provider, model = named] = /^(anthropic|openai):(.+)$/.exec(named) ?? [];
  if (provider === "anthropic" || (!provider && env["ANTHROPIC_API_KEY"] && /^claude/i.test(model))) {
    return ofAnthropic(env, settings, model);
  }
  if (provider === "openai" || hasOpenAi(env)) return ofOpenAi(env, settings, model);
  if (env["ANTHROPIC_API_KEY"]) return ofAnthropic(env, settings, model);
  throw new Failure("usage", `no API key is set for the model ${JSON.stringify(named)}`, {
    next: "set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENAI_BASE_URL; without one, use --model demo",
  });
}

/** Returns the model to use, followed by the alternatives that the person can choose for a sampling request. */
export function chooseModels(env: Variables, named?: string, settings: ModelSettings = {}): [Model, ...Model[]] {
  const chosen = chooseModel(env, named, settings);
  const others = [
    ...(env["ANTHROPIC_API_KEY"] ? [ofAnthropic(env, settings)] : []),
    ...(hasOpenAi(env) ? [ofOpenAi(env, settings)] : []),
    demoModel(),
  ];
  return [chosen, ...others.filter(({ id }) => id !== chosen.id)];
}

/** Returns the models for `--model`, which may also be a module with a model as its default export. */
export async function findModels(
  { env, cwd }: System,
  { model }: Flags,
  settings?: ModelSettings,
): Promise<[Model, ...Model[]]> {
  if (typeof model !== "string" || !isModule(model)) return chooseModels(env, model as string | undefined, settings);
  const chosen = await importModel(resolve(cwd, model));
  return [chosen, ...chooseModels(env, "demo").filter(({ id }) => id !== chosen.id)];
}

/** Returns true for the path of a JavaScript file, which has a slash to tell it from the name of a model. */
function isModule(named: string): boolean {
  return /[/\\][^/\\]*\.[cm]?js$/.test(named);
}

async function importModel(file: string): Promise<Model> {
  const loaded: { default?: unknown } = await import(pathToFileURL(file).href).catch((reason: unknown) => {
    const why = reason instanceof Error ? reason.message : String(reason);
    throw new Failure("usage", `the model ${file} cannot be loaded: ${why}`, { next: `node ${file}` });
  });
  const model = loaded.default as Partial<Model> | undefined;
  if (typeof model?.id === "string" && model.capabilities && typeof model.stream === "function") return model as Model;
  throw new Failure("usage", `${file} has no model as its default export`, {
    next: "export default a model: { id, capabilities, stream }",
  });
}

/** Returns the models that a server may ask, if there is a person to approve it. */
export function modelFor(context: CommandContext): { model?: Model[] } {
  const { screen, system } = context;
  return screen.isInteractive ? { model: chooseModels(system.env, undefined, showRetries(context)) } : {};
}

/** Shows why a model is asked again, and when. */
export function showRetries({ screen, terminal }: CommandContext): ModelSettings {
  return { onRetry: ({ delayMs, reason }) => terminal.waits.countdown(screen.safe(reason.message), delayMs) };
}

function hasOpenAi(env: Variables): boolean {
  return Boolean(env["OPENAI_API_KEY"] || env["OPENAI_BASE_URL"]);
}

function ofAnthropic(
  env: Variables,
  settings: ModelSettings,
  model: string = env["ANTHROPIC_MODEL"] || "claude-sonnet-4-5",
): Model {
  const apiKey = env["ANTHROPIC_API_KEY"];
  if (!apiKey) throw needsKey(model, "ANTHROPIC_API_KEY");
  const baseUrl = env["ANTHROPIC_BASE_URL"];
  return inVariables("ANTHROPIC", () =>
    anthropic({
      ...settings,
      model,
      apiKey,
      ...(baseUrl && { baseUrl }),
      ...fetchOption(env, baseUrl || "https://api.anthropic.com"),
    }),
  );
}

/** An OpenAI-compatible provider with its own address, such as a local one, needs no key. */
function ofOpenAi(env: Variables, settings: ModelSettings, model: string = env["OPENAI_MODEL"] || "gpt-5-mini"): Model {
  const apiKey = env["OPENAI_API_KEY"];
  const baseUrl = env["OPENAI_BASE_URL"];
  if (!apiKey && !baseUrl) throw needsKey(model, "OPENAI_API_KEY");
  const place = baseUrl || "https://api.openai.com/v1";
  return inVariables("OPENAI", () =>
    openaiCompatible({
      ...settings,
      model,
      baseUrl: place,
      ...(apiKey && { apiKey }),
      ...fetchOption(env, place),
    }),
  );
}

function needsKey(model: string, variable: string): Failure {
  return new Failure("usage", `${model} needs an API key`, { next: `export ${variable}=<your key>` });
}

/** Reports what is wrong with the address or the key by the variable that holds it. */
function inVariables(provider: string, create: () => Model): Model {
  try {
    return create();
  } catch (reason) {
    if (!(reason instanceof PortolanError)) throw reason;
    const message = withoutOptionNames(reason.message)
      .replace(/^baseUrl: /, `${provider}_BASE_URL: `)
      .replace(/^"?[\w-]+"?(?=: expected a header without)/, `${provider}_API_KEY`)
      .replace(/; use apiKey$/, `; set ${provider}_API_KEY`);
    throw new Failure("usage", message, { next: "correct the variable", cause: reason });
  }
}
