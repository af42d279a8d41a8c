import { type JsonObject, PortolanError } from "portolan";
import { isLoopbackHost, nameOf } from "portolan/internal";
import type { ModelCapabilities, ModelTraits } from "../model.ts";

/** Where requests of one model go, and what may be said about it. */
export interface Provider {
  readonly url: URL;
  readonly headers: Headers;
  /** `gpt-x at api.example.com`. */
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
  /** Takes the key, and whatever else was sent in headers, out of a text. */
  hide(text: string): string;
}

const systemClock: RetryClock = {
  after(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

/** Checks the options of an adapter once, before any key is sent anywhere. */
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
    throw new PortolanError("invalid-argument", "apiKey: expected a key, got an empty text; is the variable set?");
  }
  const url = toUrl(baseUrl, path);
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname) && options.allowHttp !== true) {
    throw new PortolanError(
      "address-refused",
      `baseUrl: expected https, got plain http to ${url.host}, where anyone on the way can read the key and the conversation; use https, or set allowHttp to accept that`,
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
    retries: options.retries ?? 3,
    maxDelayMs: options.maxDelayMs ?? 60_000,
    idleMs: options.idleMs ?? 240_000,
    totalMs: options.totalMs ?? 30 * 60_000,
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    clock: options.clock ?? systemClock,
    onRetry: options.onRetry,
    hide: (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, "***"), text),
  };
}

/** One that is undefined holds as it does for all. */
function limitsOf({ limits = {} }: ProviderOptions): ModelLimits {
  const said = Object.entries(limits).filter(([, limit]) => limit !== undefined);
  return { ...defaultLimits, ...Object.fromEntries(said) };
}

function toUrl(baseUrl: string, path: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new PortolanError("invalid-argument", "baseUrl: expected an address such as https://api.example.com/v1");
  }
  if (url.username !== "" || url.password !== "") {
    throw new PortolanError("invalid-argument", `baseUrl: expected no credentials in it (${url.host}); use apiKey`);
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
      // Neither the value nor the error of the platform, which quotes it, may be shown.
      throw new PortolanError(
        "invalid-argument",
        `${JSON.stringify(name)}: expected a header of one line, without characters that HTTP does not allow; look for a line end at the end of the key`,
      );
    }
  }
  return headers;
}

/** The longest first: one may be the start of another. */
function secretsOf({ apiKey = "", headers = {} }: ProviderOptions, url: URL): string[] {
  const values = Object.values(headers).flatMap((value) => [value, value.replace(/^\S+\s+/, "")]);
  const all = [apiKey, ...values, ...url.searchParams.values()];
  // Short values are no secrets and would take half of the text with them.
  const secrets = all.filter((value) => value.length >= 8 || (value === apiKey && value !== ""));
  return [...new Set(secrets)].sort((a, b) => b.length - a.length);
}

/** How much a provider may send in one turn. */
export interface ModelLimits {
  /** Characters of one event. */
  readonly eventChars: number;
  /** Characters of text and thinking. */
  readonly textChars: number;
  readonly toolCalls: number;
  /** Characters of the arguments of one call. */
  readonly argumentChars: number;
  /** Characters of all that comes, whatever it says. */
  readonly totalChars: number;
}

/** Bounds that no honest turn reaches. */
export const defaultLimits: ModelLimits = {
  eventChars: 4 * 1024 * 1024,
  textChars: 8 * 1024 * 1024,
  toolCalls: 128,
  argumentChars: 2 * 1024 * 1024,
  totalChars: 64 * 1024 * 1024,
};

/** A pause before the request is sent again. */
export interface Retry {
  /** 1 for the first. */
  readonly attempt: number;
  readonly delayMs: number;
  readonly reason: Error;
}

/** What all adapters of providers share. */
export interface ProviderOptions {
  /** The model, as its provider calls it. */
  readonly model: string;
  /** Its name here; the provider's unless given. */
  readonly id?: string;
  /** Sent to `baseUrl` only, and shown nowhere. */
  readonly apiKey?: string | undefined;
  readonly headers?: { readonly [name: string]: string };
  /** Sends requests over plain http to other machines; whoever is on the way reads the key. */
  readonly allowHttp?: boolean;
  readonly capabilities?: Partial<ModelCapabilities>;
  readonly traits?: ModelTraits;
  /** Members that are added to each request: `{ reasoning_effort: "low" }`. */
  readonly extra?: JsonObject;
  /** Members made from the metadata of a request, which servers write; nothing of it is sent unless this says so. */
  readonly passMetadata?: (metadata: JsonObject) => JsonObject | undefined;
  /** How often a request is sent again when nothing has come of it yet; 3 unless given. */
  readonly retries?: number;
  /** The longest pause before that; a provider that asks for a longer one has failed. 60 s unless given. */
  readonly maxDelayMs?: number;
  /** How long the provider may be silent; 4 min unless given. */
  readonly idleMs?: number;
  /** How long a turn may take; 30 min unless given. */
  readonly totalMs?: number;
  readonly limits?: Partial<ModelLimits>;
  /** Hears of each request that is sent again. */
  readonly onRetry?: (retry: Retry) => void;
  readonly fetch?: typeof fetch;
  readonly clock?: RetryClock;
}

/** Where time comes from; tests bring their own. */
export interface RetryClock {
  /** Calls once, after at least so long; returns how to prevent it. */
  after(ms: number, call: () => void): () => void;
}
