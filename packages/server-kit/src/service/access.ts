import { checkOptions, type OptionNames, PortolanError } from "portolan";
import type { Context, FullResult } from "portolan/server";
import { ConfirmedChanges } from "./changes.ts";
import { ServiceClient } from "./client.ts";
import { defaultServiceLimits, type ServiceLimits } from "./limits.ts";
import { type Service, toApi } from "./service.ts";
import { fixedToken, noToken, type PersonalAccounts, personalTokens } from "./tokens.ts";

/** Options of the server of a service. */
export interface ServiceOptions {
  /** The account: a token, or the accounts of the people who call. Default: none, so that calls say how to get a token. */
  readonly account?: string | PersonalAccounts;
  /** The address of the API. Default: that of the service. */
  readonly api?: string;
  /** Leaves out all tools that change anything, and refuses to send a change. Default: false. */
  readonly readOnly?: boolean;
  /** Asks the user before a change, and makes none for a client that cannot ask. Default: true. */
  readonly ask?: boolean;
  readonly limits?: Partial<ServiceLimits>;
}

const optionNames: OptionNames<ServiceOptions> = { account: 1, api: 1, readOnly: 1, ask: 1, limits: 1 };

const limitNames: OptionNames<ServiceLimits> = {
  ...{ maxBytes: 1, maxChars: 1, timeoutMs: 1, maxWaitMs: 1, maxRetries: 1, firstWaitMs: 1, pollMs: 1 },
  ...{ atOnce: 1, maxWaiting: 1 },
};

/** The parts that tools, resources and prompts of a server share: its account at the service, limits, and consents of users. */
export class ServiceAccess {
  readonly service: Service;
  readonly limits: ServiceLimits;
  readonly isReadOnly: boolean;
  /** The user is asked before every change. */
  readonly asks: boolean;
  readonly client: ServiceClient;
  readonly #changes: ConfirmedChanges;

  /** Throws if an option is invalid. */
  constructor(service: Service, options: ServiceOptions, defaults: Partial<ServiceLimits> = {}) {
    const { account, api, readOnly = false, ask = true, limits = {} } = options;
    checkOptions(options, optionNames, service.name);
    checkOptions(limits, limitNames, `${service.name}: limits`);
    for (const [name, limit] of Object.entries(limits)) {
      if (typeof limit === "number" && limit >= 0) continue;
      throw new PortolanError("invalid-argument", `${service.name}: limits.${name}: expected a number from 0 on`);
    }
    this.service = service;
    this.limits = { ...defaultServiceLimits, ...defaults, ...limits };
    this.isReadOnly = readOnly;
    this.asks = ask;
    this.#changes = new ConfirmedChanges(service, { asks: ask });
    const tokens =
      account === undefined
        ? noToken(service)
        : typeof account === "string"
          ? fixedToken(service, account)
          : personalTokens(service, account);
    this.client = new ServiceClient(service, {
      tokens,
      isReadOnly: readOnly,
      api: api === undefined ? service.api : toApi(api, "api"),
      limits: this.limits,
    });
  }

  /** All callers use the same account. */
  get isShared(): boolean {
    return this.client.tokens.isShared;
  }

  /** The sentence about changes in a server's instructions. */
  get aboutChanges(): string {
    if (this.isReadOnly) return "Nothing can be changed.";
    return this.asks ? "Every change asks the user first." : "Changes are made at once.";
  }

  /** Lets the user of a call sign in at the service, where that is done in the middle of a call. */
  signIn(ctx: Context): Promise<void> {
    return this.client.tokens.signIn(ctx);
  }

  /** Makes a change after the user has agreed. */
  change<T>(ctx: Context, question: string, effect: () => Promise<FullResult<T>>): Promise<FullResult<T>> {
    return this.#changes.run(ctx, question, effect);
  }
}
