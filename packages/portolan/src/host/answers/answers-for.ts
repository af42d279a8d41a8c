import type { Answers, QuestionContext } from "../../client/options.ts";
import { RpcError } from "../../jsonrpc/message.ts";
import type { Model } from "../../models/model.ts";
import type { ElicitFormParams, ElicitResult, ElicitUrlParams, Root } from "../../protocol/types/index.ts";
import { sha256 } from "../../storage/crypto.ts";
import type { ActivityLog } from "../activity/index.ts";
import type { SamplingOptions } from "../api.ts";
import type { Asking, AskOptions } from "../asking.ts";
import { inspectHost } from "../display/index.ts";
import type { HostedServer } from "../hosted-server.ts";
import type { Grants } from "../policy/index.ts";
import type { Budget } from "./budget.ts";
import { secretFieldsOf } from "./forms.ts";
import type { QuestionRate } from "./rate.ts";
import { type RootDefinition, sortRoots } from "./roots.ts";
import { type During, sample } from "./sampling.ts";

/** What servers' questions are answered with. */
export interface AnswersRoom {
  readonly asking: Asking;
  readonly grants: Grants;
  readonly activity: ActivityLog;
  readonly models: readonly Model[];
  readonly sampling: SamplingOptions;
  /** None said: servers are not told that there are none, which would leave them nothing to work on. */
  readonly roots: () => readonly RootDefinition[] | undefined;
  readonly budgetOf: (server: string) => Budget;
  readonly rateOf: (server: string) => QuestionRate;
  readonly warn: (server: string, message: string) => void;
}

/** How one server's questions are answered, the same on every revision; what nobody answers is not offered. */
export function answersFor(server: HostedServer, room: AnswersRoom, during: During = {}): Answers {
  const { asking, models, sampling } = room;
  const { answers } = during;
  const review = sampling.servers?.[server.name]?.review ?? sampling.review ?? "both";
  const mayBeAsked = asking.answers("sample", answers) || review === "none";
  const ask = new ServerAnswers(server, room, during);
  return {
    ...(asking.answers("elicit", answers) && { elicit: (params, context) => ask.elicit(params, context) }),
    ...(asking.answers("visit", answers) && { visit: (params, context) => ask.visit(params, context) }),
    ...(mayBeAsked && models.length > 0 && { sample: (params, context) => ask.sample(params, context, review) }),
    ...(room.roots() && { roots: (context) => ask.roots(context) }),
  };
}

class ServerAnswers {
  readonly #server: HostedServer;
  readonly #room: AnswersRoom;
  readonly #during: During;

  constructor(server: HostedServer, room: AnswersRoom, during: During) {
    this.#server = server;
    this.#room = room;
    this.#during = during;
  }

  async elicit(params: ElicitFormParams, { signal }: QuestionContext): Promise<ElicitResult> {
    this.#count("form");
    const secretFields = secretFieldsOf(params);
    this.#note("question", {
      of: "form",
      message: params.message,
      fields: Object.keys(params.requestedSchema.properties),
    });
    const asked = { kind: "elicit", params, secretFields, ...this.#asked } as const;
    const { sendSecrets = false, ...answer } = await this.#room.asking.ask<"elicit">(asked, this.#options(signal));
    const given = secretFields.filter((name) => answer.content?.[name] !== undefined);
    if (answer.action === "accept" && given.length > 0 && !sendSecrets) {
      this.#note("answer", { of: "form", action: "decline", why: `secret fields: ${given.join(", ")}` });
      return { action: "decline" };
    }
    // What was entered is between the user and the server.
    this.#note("answer", { of: "form", action: answer.action });
    return answer;
  }

  async visit(params: ElicitUrlParams, { signal }: QuestionContext): Promise<ElicitResult> {
    this.#count("address");
    const address = inspectHost(params.url);
    const isSafe = address.scheme === "https" || (address.scheme === "http" && address.isLoopback);
    this.#note("question", { of: "address", host: address.host, warnings: address.warnings });
    if (!isSafe || address.hasCredentials) {
      this.#note("answer", { of: "address", action: "decline", why: "it is no safe address" });
      return { action: "decline" };
    }
    const asked = { kind: "visit", params, address, ...this.#asked } as const;
    const { action } = await this.#room.asking.ask<"visit">(asked, this.#options(signal));
    this.#note("answer", { of: "address", action });
    return { action };
  }

  async sample(
    params: Parameters<typeof sample>[1],
    context: QuestionContext,
    review: "both" | "request" | "none",
  ): ReturnType<typeof sample> {
    const { asking, models, budgetOf, grants } = this.#room;
    const { name, digest } = this.#server;
    const bound = { kind: "sampling", server: name, serverDigest: digest, digest: "sampling" } as const;
    if (grants.find({ ...bound, subject: "" })?.allow === false)
      throw new RpcError(-1, "Sampling was refused: the user does not want it from this server");
    // A yes is for the model that was shown: by its preferences, a server could otherwise choose another.
    const isAllowed = ({ id }: Model) => grants.find({ ...bound, subject: id })?.allow === true;
    return sample(
      {
        server: name,
        models,
        asking,
        budget: budgetOf(name),
        reviews: (model) => ({
          request: review !== "none" && !isAllowed(model),
          response: review === "both" && !isAllowed(model),
        }),
        note: (step, data) => this.#note("sampling", { step, ...data }),
        decided: async ({ allow, for: scope = "once" }, { id }) => {
          if (scope !== "once") await grants.add({ ...bound, subject: allow ? id : "", allow, scope });
        },
      },
      params,
      context,
      this.#during,
    );
  }

  /** The roots that the server may know of: those meant for it, and those that the user agrees to. */
  async roots({ signal }: QuestionContext): Promise<readonly Root[]> {
    this.#count("roots");
    const { asking, grants, roots } = this.#room;
    const { name, digest: serverDigest } = this.#server;
    const { given, asked } = sortRoots(roots() ?? [], name);
    if (asked.length === 0) return this.#exposed(given);
    const bound = { kind: "roots", server: name, serverDigest, subject: "" } as const;
    const agreed: Root[] = [];
    const open: Root[] = [];
    for (const root of asked) {
      const known = grants.find({ ...bound, subject: root.uri, digest: await sha256(root.uri) });
      if (!known) open.push(root);
      else if (known.allow) agreed.push(root);
    }
    if (open.length > 0 && asking.answers("roots", this.#during.answers)) {
      const verdict = await asking.ask<"roots">({ kind: "roots", roots: open, ...this.#asked }, this.#options(signal));
      const chosen = new Set((verdict.roots ?? open).map(({ uri }) => uri));
      const { for: scope = "session" } = verdict;
      for (const root of open) {
        const allow = verdict.allow && chosen.has(root.uri);
        if (allow) agreed.push(root);
        if (scope !== "once") {
          await grants.add({ ...bound, subject: root.uri, digest: await sha256(root.uri), allow, scope });
        }
      }
    }
    return this.#exposed([...given, ...agreed]);
  }

  /** Neither the user nor the log may be worn out by a server that asks without end; sampling has a budget of its own. */
  #count(of: "form" | "address" | "roots"): void {
    const { name } = this.#server;
    const rate = this.#room.rateOf(name);
    const taken = rate.take();
    if (taken === "asked") return;
    const why = `more than ${rate.perMinute} questions in a minute`;
    if (taken === "first too many") {
      this.#note("question", { of, refused: why });
      this.#room.warn(name, `It has asked ${why}; the others of this minute are refused`);
    }
    throw new RpcError(-1, `Nobody was asked: a server may not ask ${why}`);
  }

  #exposed(roots: readonly Root[]): readonly Root[] {
    this.#note("roots", { roots });
    return roots;
  }

  get #asked(): { server: string; run?: string } {
    const { run } = this.#during;
    return { server: this.#server.name, ...(run !== undefined && { run }) };
  }

  #options(signal: AbortSignal): AskOptions {
    return { own: this.#during.answers, signal };
  }

  #note(kind: "question" | "answer" | "sampling" | "roots", data: object): void {
    this.#room.activity.record({ kind, server: this.#server.name, ...data }, { urgent: true });
  }
}
