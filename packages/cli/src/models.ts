import { anthropic, demoModel, type Model, openaiCompatible, type ProviderOptions } from "portolan-host/models";
import type { CommandContext } from "./command.ts";
import { Failure } from "./failure.ts";
import { fetchOption } from "./http-proxy/choose.ts";

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
    next: "set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENAI_BASE_URL, or use --model demo",
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
  if (!apiKey) throw new Failure("usage", `${model} needs an API key`, { next: "set ANTHROPIC_API_KEY" });
  const baseUrl = env["ANTHROPIC_BASE_URL"];
  return anthropic({
    ...settings,
    model,
    apiKey,
    ...(baseUrl && { baseUrl }),
    ...fetchOption(env, baseUrl || "https://api.anthropic.com"),
  });
}

/** An OpenAI-compatible provider with its own address, such as a local one, needs no key. */
function ofOpenAi(env: Variables, settings: ModelSettings, model: string = env["OPENAI_MODEL"] || "gpt-5-mini"): Model {
  const apiKey = env["OPENAI_API_KEY"];
  const baseUrl = env["OPENAI_BASE_URL"];
  if (!apiKey && !baseUrl) throw new Failure("usage", `${model} needs an API key`, { next: "set OPENAI_API_KEY" });
  const place = baseUrl || "https://api.openai.com/v1";
  return openaiCompatible({
    ...settings,
    model,
    baseUrl: place,
    ...(apiKey && { apiKey }),
    ...fetchOption(env, place),
  });
}
