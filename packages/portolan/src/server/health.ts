import { type MaybePromise, whenDone } from "../async.ts";
import { checkNumbers, checkOptions, type OptionNames } from "../options.ts";
import type { Storage } from "../storage/storage.ts";
import type { NodeRequest, NodeResponse } from "./http/node.ts";
import type { HttpEndpoint } from "./http/serve-http.ts";
import { healthCacheMs, healthTimeoutMs } from "./limits.ts";

/**
 * A condition of readiness. A promise is awaited. Return `false` or a text if the condition does not hold: the text is
 * public, because anybody who reaches the path can read it. An error that is thrown is not shown, only that the check failed.
 */
export type HealthCheck = () => unknown;

/** Options of `createHealthHandler`. */
export interface HealthOptions {
  /** Is not ready once it closes, also while `drainMs` of `listen` lasts. */
  readonly endpoint?: Pick<HttpEndpoint, "isReady">;
  /**
   * Is asked for a key, and has to answer within `timeoutMs`. Processes that share a storage are then all unready while it
   * is away: leave it out if most of your requests need no storage.
   */
  readonly storage?: Pick<Storage, "kv">;
  /** Checks of your own, by name. */
  readonly checks?: { readonly [name: string]: HealthCheck };
  /** The path that says whether the process answers. Default: "/healthz". */
  readonly livePath?: string;
  /** The path that says whether the process takes requests. Default: "/readyz". */
  readonly readyPath?: string;
  /** Time within which each check has to end. Default: 1 second. */
  readonly timeoutMs?: number;
  /** Time for which a result is used again, so that requests cannot load the storage. Default: 1 second. */
  readonly cacheMs?: number;
  /** Receives what a check threw. Default: it is dropped. */
  readonly onError?: (error: unknown, check: string) => void;
}

/** Answers the paths of health. Everything else is left to the caller. */
export interface HealthHandler {
  /** For `node:http` and frameworks upon it. Returns false, and does nothing, for all other paths. */
  readonly node: (request: NodeRequest, response: NodeResponse) => boolean;
  /** For web-standard requests. Resolves to undefined for all other paths. */
  readonly fetch: (request: Request) => Promise<Response | undefined>;
}

const optionNames = {
  endpoint: 1,
  storage: 1,
  checks: 1,
  livePath: 1,
  readyPath: 1,
  timeoutMs: 1,
  cacheMs: 1,
  onError: 1,
} satisfies OptionNames<HealthOptions>;

/** Creates the handler of two paths: one for a process that answers, one for a process that takes requests. */
export function createHealthHandler(options: HealthOptions = {}): HealthHandler {
  checkOptions(options, optionNames, "createHealthHandler");
  checkNumbers(options, "timeoutMs", "cacheMs");
  const { livePath = "/healthz", readyPath = "/readyz" } = options;
  const readiness = new Readiness(options);
  const answerTo = (method: string, path: string): MaybePromise<Answer> | undefined => {
    if (path !== livePath && path !== readyPath) return undefined;
    if (method !== "GET" && method !== "HEAD") return notAllowed;
    return path === livePath ? healthy : readiness.answer();
  };
  return {
    node(request, response) {
      const { method = "", url = "" } = request;
      const answer = answerTo(method, url.split("?", 1)[0] ?? "");
      if (!answer) return false;
      const writable = response as unknown as WritableResponse;
      whenDone(answer, ({ status, headers, body }) => {
        writable.writeHead(status, headers);
        writable.end(method === "HEAD" ? undefined : body);
      });
      return true;
    },
    async fetch({ method, url }) {
      const answer = await answerTo(method, new URL(url).pathname);
      if (!answer) return undefined;
      const { status, headers, body } = answer;
      return new Response(method === "HEAD" ? null : body, { status, headers });
    },
  };
}

interface WritableResponse {
  writeHead(status: number, headers: { [name: string]: string }): void;
  end(body: string | undefined): void;
}

interface Answer {
  readonly status: number;
  readonly headers: { [name: string]: string };
  readonly body: string;
}

function toAnswer(status: number, content: object, headers?: { [name: string]: string }): Answer {
  return {
    status,
    headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
    body: `${JSON.stringify(content)}\n`,
  };
}

const healthy = toAnswer(200, { status: "ok" });
const notAllowed = toAnswer(405, { status: "method not allowed" }, { allow: "GET, HEAD" });

/** Runs the checks, at most once in `cacheMs`, however many requests ask. */
class Readiness {
  readonly #options: HealthOptions;
  readonly #checks: readonly (readonly [name: string, check: HealthCheck])[];
  #latest: Promise<Answer> | undefined;
  /** By the monotonic clock. Infinite while the checks run. */
  #staleAt = 0;

  constructor(options: HealthOptions) {
    this.#options = options;
    const { storage, checks = {} } = options;
    const ofStorage: HealthCheck | undefined = storage && (() => storage.kv.get("mcp/health").then(() => true));
    this.#checks = Object.entries({ ...(ofStorage && { storage: ofStorage }), ...checks });
  }

  answer(): MaybePromise<Answer> {
    // Never from the cache: a balancer should notice at once, and it costs nothing.
    if (this.#options.endpoint?.isReady === false) return closing;
    if (!this.#latest || performance.now() >= this.#staleAt) {
      this.#staleAt = Number.POSITIVE_INFINITY;
      this.#latest = this.#run().finally(() => {
        this.#staleAt = performance.now() + (this.#options.cacheMs ?? healthCacheMs);
      });
    }
    return this.#latest;
  }

  async #run(): Promise<Answer> {
    const reasons = await Promise.all(
      this.#checks.map(async ([name, check]) => [name, await this.#reasonOf(name, check)]),
    );
    const failed = reasons.filter(([, reason]) => reason !== undefined);
    return failed.length === 0 ? healthy : unready(Object.fromEntries(failed));
  }

  /** Returns why a check fails; undefined if it does not. */
  #reasonOf(name: string, check: HealthCheck): Promise<string | undefined> {
    const { timeoutMs = healthTimeoutMs, onError } = this.#options;
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(`no answer within ${timeoutMs} ms`), timeoutMs);
      const settle = (reason: string | undefined) => {
        clearTimeout(timer);
        resolve(reason);
      };
      (async () => check())().then(
        (value) => settle(value === false ? "failed" : typeof value === "string" ? value : undefined),
        (error) => {
          // The message of an error may contain an address with a password.
          settle("failed");
          try {
            onError?.(error, name);
          } catch {
            // There is no other place to report to.
          }
        },
      );
    });
  }
}

function unready(checks: { readonly [name: string]: string }): Answer {
  return toAnswer(503, { status: "unavailable", checks });
}

const closing = unready({ endpoint: "closing" });
