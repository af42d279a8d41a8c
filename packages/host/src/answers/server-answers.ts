import type { ContentBlock, ElicitFormParams, ElicitResult, ElicitUrlParams, Root } from "portolan";
import { RpcError } from "portolan";
import type { Answers, QuestionContext } from "portolan/client";
import { sha256 } from "portolan/storage";
import { type ActivityLog, recordNow } from "../activity/index.ts";
import type { SamplingOptions } from "../api.ts";
import { findSuspicious, inspectHost } from "../display/index.ts";
import type { HostedServer } from "../hosted-server.ts";
import type { Model } from "../models/model.ts";
import type { AskOptions, OpenQuestions } from "../open-questions.ts";
import type { Grants, NewGrant } from "../policy/index.ts";
import type { AnswerReceipt, FormAnswer, HostAnswers, QuestionBase, RootsVerdict } from "../questions.ts";
import { type QuestionRate, type RootDefinition, secretFieldsOf, sortRoots } from "./forms.ts";
import { sample } from "./sampling.ts";
import type { Budget } from "./sampling-budget.ts";

/** Parts of the host that answer servers' requests. */
export interface AnswerDependencies {
  readonly questions: OpenQuestions;
  readonly grants: Grants;
  readonly activity: ActivityLog;
  /** The models now: the application may replace them. */
  readonly models: () => readonly Model[];
  readonly sampling: SamplingOptions;
  /** Undefined if the application set no roots. An empty list would leave servers nothing to work on. */
  readonly roots: () => readonly RootDefinition[] | undefined;
  readonly budgetOf: (server: string) => Budget;
  readonly rateOf: (server: string) => QuestionRate;
  readonly warn: (server: string, message: string) => void;
  /** Called when a model fails instead of answering a server. */
  readonly modelFailed: (failure: SamplingFailure) => void;
}

/** A model that failed instead of answering a request of a server. */
export interface SamplingFailure extends Pick<QuestionBase, "server" | "run" | "call"> {
  readonly model: string;
  /** The reason, for the user: it is not sent to the server. */
  readonly message: string;
}

/** The run and the answers of a call during which a server asks. */
export interface CallOrigin {
  readonly run?: string;
  readonly answers?: HostAnswers;
}

/**
 * Returns the handlers of one server's requests, for every revision. A request that the application cannot answer is
 * not offered.
 */
export function answersFor(server: HostedServer, dependencies: AnswerDependencies, origin: CallOrigin = {}): Answers {
  const { questions, models, sampling } = dependencies;
  const { answers } = origin;
  const review = sampling.servers?.[server.name]?.review ?? sampling.review ?? "both";
  const mayBeAsked = questions.canAsk("sample", answers) || review === "none";
  const ask = new ServerAnswers(server, dependencies, origin);
  return {
    ...(questions.canAsk("elicit", answers) && { elicit: (params, context) => ask.elicit(params, context) }),
    ...(questions.canAsk("openUrl", answers) && { openUrl: (params, context) => ask.openUrl(params, context) }),
    ...(mayBeAsked && models().length > 0 && { sample: (params, context) => ask.sample(params, context, review) }),
    ...(dependencies.roots() && { roots: (context) => ask.roots(context) }),
  };
}

/** Returns the function that asks about the messages of a server's apps; undefined if the application cannot be asked. */
export function sayFor(
  server: HostedServer,
  dependencies: AnswerDependencies,
  origin: CallOrigin = {},
): ServerAnswers["say"] | undefined {
  if (!dependencies.questions.canAsk("say", origin.answers)) return undefined;
  const ask = new ServerAnswers(server, dependencies, origin);
  return (app, content, signal) => ask.say(app, content, signal);
}

class ServerAnswers {
  readonly #server: HostedServer;
  readonly #dependencies: AnswerDependencies;
  readonly #origin: CallOrigin;

  constructor(server: HostedServer, dependencies: AnswerDependencies, origin: CallOrigin) {
    this.#server = server;
    this.#dependencies = dependencies;
    this.#origin = origin;
  }

  async elicit(params: ElicitFormParams, context: QuestionContext): Promise<ElicitResult> {
    this.#count("form");
    const secretFields = secretFieldsOf(params);
    this.#log("question", {
      of: "form",
      message: params.message,
      fields: Object.keys(params.requestedSchema.properties),
    });
    const request = { kind: "elicit", params, secretFields, ...this.#questionBase(context) } as const;
    const withheldFrom = ({ action, content, sendSecrets = false }: FormAnswer) =>
      action === "accept" && !sendSecrets ? secretFields.filter((name) => content?.[name] !== undefined) : [];
    const given = await this.#dependencies.questions.ask<"elicit">(request, {
      ...this.#options(context),
      record: (answer, by) => {
        const secrets = withheldFrom(answer);
        const why = secrets.length > 0 && { why: `secret fields: ${secrets.join(", ")}` };
        // The content of a form is private between the user and the server.
        return this.#logAnswer({ of: "form", action: why ? "decline" : answer.action, ...why }, by);
      },
    });
    if (withheldFrom(given).length > 0) return { action: "decline" };
    const { sendSecrets: _, ...answer } = given;
    return answer;
  }

  async openUrl(params: ElicitUrlParams, context: QuestionContext): Promise<ElicitResult> {
    this.#count("address");
    const address = inspectHost(params.url);
    const isSafe = address.scheme === "https" || (address.scheme === "http" && address.isLoopback);
    this.#log("question", { of: "address", host: address.host, warnings: address.warnings });
    if (!isSafe || address.hasCredentials) {
      this.#log("answer", { of: "address", action: "decline", why: "the address is not safe" });
      return { action: "decline" };
    }
    const request = { kind: "openUrl", params, address, ...this.#questionBase(context) } as const;
    const { action } = await this.#dependencies.questions.ask<"openUrl">(request, {
      ...this.#options(context),
      record: ({ action }, by) => this.#logAnswer({ of: "address", action }, by),
    });
    return { action };
  }

  /** Asks whether a message of an app may be sent as if the user had written it. */
  async say(app: string, content: readonly ContentBlock[], signal: AbortSignal): Promise<boolean> {
    const { questions } = this.#dependencies;
    this.#count("message");
    this.#log("question", { of: "message", app, content });
    const findings = findSuspicious(JSON.stringify(content));
    const request = { kind: "say", app, content, findings, ...this.#questionBase({}) } as const;
    const { allow } = await questions.ask<"say">(request, {
      ...this.#options({ signal }),
      record: ({ allow, reason }, by) =>
        this.#logAnswer({ of: "message", app, allow, ...(reason !== undefined && { reason }) }, by),
    });
    return allow;
  }

  async sample(
    params: Parameters<typeof sample>[1],
    context: QuestionContext,
    review: "both" | "request" | "none",
  ): ReturnType<typeof sample> {
    const { questions, models, budgetOf, grants, modelFailed } = this.#dependencies;
    const { name, digest } = this.#server;
    const bound = { kind: "sampling", server: name, serverDigest: digest, digest: "sampling" } as const;
    const denial = grants.find({ ...bound, subject: "" });
    if (denial?.allow === false) {
      grants.use(denial.id);
      throw new RpcError(-1, "Sampling was refused: the user does not want it from this server");
    }
    return sample(
      {
        server: name,
        models: models(),
        questions,
        budget: budgetOf(name),
        reviews: (model) => {
          // A grant is bound to the model that was shown; otherwise a server could choose another by its preferences.
          const known = review === "none" ? undefined : grants.find({ ...bound, subject: model.id });
          if (known?.allow) grants.use(known.id);
          const isAsked = review !== "none" && !known?.allow;
          return { request: isAsked, response: isAsked && review === "both" };
        },
        log: (step, data) => this.#log("sampling", { step, ...data }),
        failed: modelFailed,
        remember: async ({ allow, for: scope = "once" }, { id }) => {
          if (scope === "once") return {};
          const subject = allow ? id : "";
          return { grant: await this.#addGrant({ ...bound, subject, allow, scope }) };
        },
      },
      params,
      context,
      this.#origin,
    );
  }

  /** Returns the roots that the server may see: those assigned to it, and those that the user agrees to. */
  async roots(context: QuestionContext): Promise<readonly Root[]> {
    this.#count("roots");
    const { questions, grants, roots } = this.#dependencies;
    const { name, digest: serverDigest } = this.#server;
    const { given, needConsent } = sortRoots(roots() ?? [], name);
    if (needConsent.length === 0) return this.#exposed(given);
    const bound = { kind: "roots", server: name, serverDigest, subject: "" } as const;
    const agreed: Root[] = [];
    const open: Root[] = [];
    for (const root of needConsent) {
      const known = grants.find({ ...bound, subject: root.uri, digest: await sha256(root.uri) });
      if (known) grants.use(known.id);
      if (!known) open.push(root);
      else if (known.allow) agreed.push(root);
    }
    if (open.length > 0 && questions.canAsk("roots", this.#origin.answers)) {
      const chosenFrom = ({ allow, roots: chosen = open }: RootsVerdict) => {
        const uris = new Set(allow ? chosen.map(({ uri }) => uri) : []);
        return open.filter(({ uri }) => uris.has(uri));
      };
      const verdict = await questions.ask<"roots">(
        { kind: "roots", roots: open, ...this.#questionBase(context) },
        {
          ...this.#options(context),
          record: async (answer, by) => {
            const { for: scope = "session" } = answer;
            const chosen = chosenFrom(answer);
            await this.#logAnswer({ of: "roots", allow: answer.allow, scope, roots: chosen }, by);
            if (scope === "once") return {};
            for (const root of open) {
              const digest = await sha256(root.uri);
              await this.#addGrant({ ...bound, subject: root.uri, digest, allow: chosen.includes(root), scope });
            }
            return {};
          },
        },
      );
      agreed.push(...chosenFrom(verdict));
    }
    return this.#exposed([...given, ...agreed]);
  }

  /** Limits the requests of one server, for the user's sake and the log's. Sampling has its own budget. */
  #count(of: "form" | "address" | "roots" | "message"): void {
    const { name } = this.#server;
    const rate = this.#dependencies.rateOf(name);
    const taken = rate.take();
    if (taken === "allowed") return;
    const why = `more than ${rate.perMinute} questions per minute`;
    if (taken === "first-refused") {
      this.#log("question", { of, refused: why });
      this.#dependencies.warn(name, `Asked ${why}; further requests of this minute are refused`);
    }
    throw new RpcError(-1, `The user was not asked: a server may not send ${why}`);
  }

  #exposed(roots: readonly Root[]): readonly Root[] {
    this.#log("roots", { roots });
    return roots;
  }

  #questionBase({ during }: Partial<QuestionContext>): { server: string; run?: string; call?: string } {
    const { run } = this.#origin;
    const call = during?.label;
    return { server: this.#server.name, ...(run !== undefined && { run }), ...(call !== undefined && { call }) };
  }

  #options({ signal }: Pick<QuestionContext, "signal">): Pick<AskOptions<never>, "own" | "signal"> {
    return { own: this.#origin.answers, signal };
  }

  /** Adds a grant after it is in the log, and returns its id. */
  async #addGrant(given: NewGrant): Promise<string> {
    const { grants, activity } = this.#dependencies;
    const { kind: of, server, subject: name, allow, scope } = given;
    const { id } = await grants.add(given, async ({ id: grant }) => {
      await recordNow(activity, { kind: "grant", server, name, grant, of, allow, scope });
    });
    return id;
  }

  #logAnswer(data: object, answeredBy: string | undefined): AnswerReceipt {
    this.#log("answer", { ...data, ...(answeredBy !== undefined && { answeredBy }) });
    return {};
  }

  #log(kind: "question" | "answer" | "sampling" | "roots", data: object): void {
    this.#dependencies.activity.record({ kind, server: this.#server.name, ...data }, { urgent: true });
  }
}
