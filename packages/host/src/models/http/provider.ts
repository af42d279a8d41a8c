import { type JsonObject, PortolanError } from "portolan";
import { checkOptions, isLoopbackHost, nameOf, type OptionNames } from "portolan/internal";
import {
  defaultRetries,
  maxArgumentChars,
  maxEventChars,
  maxResponseChars,
  maxRetryDelayMs,
  maxSilenceMs,
  maxTextChars,
  maxToolCalls,
  maxTurnMs,
  minSecretChars,
} from "../limits.ts";
import type { ModelCapabilities, ModelTraits } from "../model.ts";

/** The checked options of one provider. */
export interface Provider {
  readonly url: URL;
  readonly headers: Headers;
  /** The name in messages: `gpt-x at api.example.com`. */
  readonly name: string;
  readonly host: string;
  readonly limits: ModelLimits;
  readonly retries: number;
  readonly maxDelayMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
  readonly fetch: typeof fetch;
  readonly clock: RetryClock;
  readonly onRetry: ProviderOptions["onRetry"];
  /** Removes the key and other secrets of the request from a text. */
  redact(text: string): string;
}

const systemClock: RetryClock = {
  after(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

/** Checks the options of an adapter once, before a key is sent. */
export function createProvider(
  options: ProviderOptions,
  baseUrl: string,
  path: string,
  keyHeaders: { readonly [name: string]: string },
): Provider {
  if (typeof options.model !== "string" || options.model === "") {
    throw new PortolanError("invalid-argument", `model: expected the name of a model, got ${nameOf(options.model)}`);
  }
  if (options.apiKey === "") {
    throw new PortolanError(
      "invalid-argument",
      "apiKey: expected a key, got an empty string; check that its environment variable is set",
    );
  }
  const url = toUrl(baseUrl, path);
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname) && options.allowHttp !== true) {
    throw new PortolanError(
      "address-refused",
      `baseUrl: expected https, got plain http to ${url.host}, which lets everyone on the network read the key and the conversation; use https, or set allowHttp to accept the risk`,
    );
  }
  const sent = { ...keyHeaders, ...options.headers };
  const secrets = secretsOf(options, url);
  return {
    url,
    headers: toHeaders(sent),
    name: `${options.model} at ${url.host}`,
    host: url.host,
    limits: limitsOf(options),
    retries: options.retries ?? defaultRetries,
    maxDelayMs: options.maxDelayMs ?? maxRetryDelayMs,
    idleMs: options.idleMs ?? maxSilenceMs,
    totalMs: options.totalMs ?? maxTurnMs,
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    clock: options.clock ?? systemClock,
    onRetry: options.onRetry,
    redact: (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, "***"), text),
  };
}

/** The option names that all providers share. */
export const providerOptionNames: OptionNames<ProviderOptions> = {
  model: 1,
  id: 1,
  apiKey: 1,
  headers: 1,
  allowHttp: 1,
  capabilities: 1,
  traits: 1,
  extra: 1,
  passMetadata: 1,
  retries: 1,
  maxDelayMs: 1,
  idleMs: 1,
  totalMs: 1,
  limits: 1,
  onRetry: 1,
  fetch: 1,
  clock: 1,
};

/** Returns the limits; an undefined one has its default. */
function limitsOf({ limits = {} }: ProviderOptions): ModelLimits {
  checkOptions(limits, limitNames, "limits");
  const given = Object.entries(limits).filter(([, limit]) => limit !== undefined);
  return { ...defaultLimits, ...Object.fromEntries(given) };
}

function toUrl(baseUrl: string, path: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new PortolanError("invalid-argument", "baseUrl: expected a URL such as https://api.example.com/v1");
  }
  if (url.username !== "" || url.password !== "") {
    throw new PortolanError(
      "invalid-argument",
      `baseUrl: expected a URL without credentials (${url.host}); use apiKey`,
    );
  }
  url.hash = "";
  url.pathname = `${url.pathname.replace(/\/+$/, "")}${path}`;
  return url;
}

function toHeaders(sent: { readonly [name: string]: string }): Headers {
  const headers = new Headers({ "content-type": "application/json", accept: "text/event-stream, application/json" });
  for (const [name, value] of Object.entries(sent)) {
    try {
      headers.set(name, value);
    } catch {
      // The error of the platform quotes the value, so it is not passed on.
      throw new PortolanError(
        "invalid-argument",
        `${JSON.stringify(name)}: expected a header without line breaks and characters that HTTP does not allow; check whether the key ends with a line break`,
      );
    }
  }
  return headers;
}

/** Returns the secrets, longest first, because one can be the beginning of another. */
function secretsOf({ apiKey = "", headers = {} }: ProviderOptions, url: URL): string[] {
  const values = Object.values(headers).flatMap((value) => [value, value.replace(/^\S+\s+/, "")]);
  const all = [apiKey, ...values, ...url.searchParams.values()];
  // Redacting short values would garble ordinary text.
  const secrets = all.filter((value) => value.length >= minSecretChars || (value === apiKey && value !== ""));
  return [...new Set(secrets)].sort((a, b) => b.length - a.length);
}

/** The maximum size of one turn. */
export interface ModelLimits {
  /** Characters of one event. Default: 4 Mi. */
  readonly eventChars: number;
  /** Characters of text and thinking. Default: 8 Mi. */
  readonly textChars: number;
  /** Default: 128. */
  readonly toolCalls: number;
  /** Characters of the arguments of one tool call. Default: 2 Mi. */
  readonly argumentChars: number;
  /** Characters of the whole response. Default: 64 Mi. */
  readonly totalChars: number;
}

const limitNames: OptionNames<ModelLimits> = {
  eventChars: 1,
  textChars: 1,
  toolCalls: 1,
  argumentChars: 1,
  totalChars: 1,
};
const defaultLimits: ModelLimits = {
  eventChars: maxEventChars,
  textChars: maxTextChars,
  toolCalls: maxToolCalls,
  argumentChars: maxArgumentChars,
  totalChars: maxResponseChars,
};

/** A retry that is about to happen. */
export interface Retry {
  /** 1 for the first retry. */
  readonly attempt: number;
  readonly delayMs: number;
  readonly reason: Error;
}

/** Options that all providers share. */
export interface ProviderOptions {
  /** The name of the model at its provider. */
  readonly model: string;
  /** The name of the model in this application. Default: `model`. */
  readonly id?: string;
  /** Sent only to `baseUrl`, and redacted in errors. */
  readonly apiKey?: string | undefined;
  /** Headers for every request. Default: none of your own. */
  readonly headers?: { readonly [name: string]: string };
  /** Allow plain http to other machines. Everyone on the network can then read the key and the conversation. */
  readonly allowHttp?: boolean;
  /** What the model can do, where it differs from other models of its provider. */
  readonly capabilities?: Partial<ModelCapabilities>;
  /** What the model is good at, for servers that name preferences. Default: unknown. */
  readonly traits?: ModelTraits;
  /** Members to add to each request: `{ reasoning_effort: "low" }`. */
  readonly extra?: JsonObject;
  /** Returns members to add to a request from the metadata of a server. Default: metadata is not sent. */
  readonly passMetadata?: (metadata: JsonObject) => JsonObject | undefined;
  /** Attempts after the first, as long as no part of the turn has arrived. Default: 3. */
  readonly retries?: number;
  /** The longest pause before a retry. A provider that asks for a longer one has failed. Default: 60 seconds. */
  readonly maxDelayMs?: number;
  /** Fail when the provider is silent for this long. Default: 4 minutes. */
  readonly idleMs?: number;
  /** Fail when a turn takes longer. Default: 30 minutes. */
  readonly totalMs?: number;
  /** Sizes of what the provider sends. Default: those of each member. */
  readonly limits?: Partial<ModelLimits>;
  /** Called before each retry. */
  readonly onRetry?: (retry: Retry) => void;
  /** Sends the requests, for example through a proxy. Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** The time, for tests. Default: the clock of the system. */
  readonly clock?: RetryClock;
}

/** A clock for retries and timeouts, so that tests can use their own. */
export interface RetryClock {
  /** Calls once after at least this time. Returns a function that cancels it. */
  after(ms: number, call: () => void): () => void;
}
