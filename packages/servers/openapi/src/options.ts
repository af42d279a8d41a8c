import type { Principal } from "portolan/server";

/** Options of `fromOpenApi`. */
export interface OpenApiOptions {
  /** The address of the API. Default: the first server of the description, which must be public. */
  readonly api?: string;
  /** The address of the description, to which the servers in it may be relative. */
  readonly source?: string;
  /** The name of the server. Default: made from the title of the description. */
  readonly name?: string;
  /**
   * Offers only these operations. Each is an id or the name of a tool (`issues/*`), a method and a path
   * (`GET /repos/*`, `* /repos/*`), or a tag (`tag:issues`); `*` stands for any text. Default: all.
   */
  readonly only?: readonly string[];
  /** Leaves these operations out, written as in `only`. */
  readonly except?: readonly string[];
  /** Names of tools, by the id of the operation, or by its method and path. */
  readonly names?: { readonly [operation: string]: string };
  /** Operations that change nothing although their method is not GET or HEAD, written as in `only`. */
  readonly reading?: readonly string[];
  /** Leaves out all operations that change anything. Default: false. */
  readonly readOnly?: boolean;
  /** Asks the user before a change, and makes none for a client that cannot ask. Default: true. */
  readonly ask?: boolean;
  /**
   * `tools`: each operation is a tool. `search`: four tools find, describe and call the operations, so that a large API does
   * not fill the context of a model. Default: `tools` up to 100 operations, else `search`.
   */
  readonly offer?: "tools" | "search";
  /**
   * The credential: a token or key, or `user:password` for basic authentication. A function returns the one for a security
   * scheme and a caller. Default: none.
   */
  readonly credential?: string | CredentialSource;
  /** The sentence for a person whose credential is missing or refused, without its full stop. Default: a general one. */
  readonly credentialHelp?: string;
  /** Headers of every request, such as the version of the API. */
  readonly headers?: { readonly [name: string]: string };
  /** Hears of each operation that is left out. Default: one line on standard error for all of them. */
  readonly onLeftOut?: (problem: string) => void;
  readonly limits?: Partial<OpenApiLimits>;
}

/** Returns a credential. Undefined: there is none. */
export type CredentialSource = (request: CredentialRequest) => string | undefined | Promise<string | undefined>;

/** A request that needs a credential. */
export interface CredentialRequest {
  /** The name of the security scheme. Undefined: the description names none. */
  readonly scheme: string | undefined;
  /** The person or program that calls the tool. */
  readonly caller: Principal;
}

/** Limits of one call. */
export interface OpenApiLimits {
  /** Operations that are offered as tools of their own. Default: 100. */
  readonly maxTools: number;
  /** Bytes of the schema of one tool's arguments. Default: 16,384. */
  readonly maxInputBytes: number;
  /** Bytes of the schema of one tool's result; a longer one is left out. Default: 4,096. */
  readonly maxResultSchemaBytes: number;
  /** Bytes of a response. Default: 4,194,304. */
  readonly maxBytes: number;
  /** Characters of a result's text. Default: 50,000. */
  readonly maxChars: number;
  /** Bytes of an image or a file in a result. Default: 1,048,576. */
  readonly maxFileBytes: number;
  /** Time for one request. Default: 30,000. */
  readonly timeoutMs: number;
  /** Time that a call waits because of rate limits and failures, in all. Default: 60,000. */
  readonly maxWaitMs: number;
  /** Repetitions of a request that failed. Default: 3. */
  readonly maxRetries: number;
  /** Wait before the first repetition, if the API names none; each further one is twice as long. Default: 500. */
  readonly firstWaitMs: number;
}

export const defaultLimits: OpenApiLimits = {
  maxTools: 100,
  maxInputBytes: 16 * 1024,
  maxResultSchemaBytes: 4 * 1024,
  maxBytes: 4 * 1024 * 1024,
  maxChars: 50_000,
  maxFileBytes: 1024 * 1024,
  timeoutMs: 30_000,
  maxWaitMs: 60_000,
  maxRetries: 3,
  firstWaitMs: 500,
};
