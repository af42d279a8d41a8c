import { type ClientCapabilities, type ElicitResult, RpcError } from "portolan";
import type { Answers } from "portolan/client";
import { type Context as CallContext, withJsonSchema } from "portolan/server";

/** One call in progress: its context, and the answers that its caller gives. */
export interface Caller {
  readonly context: CallContext;
  readonly answers: CallerAnswers;
  readonly visits: Visits;
}

/** Answers to every kind of question. */
export interface CallerAnswers extends Required<Answers> {
  roots(): Promise<Roots>;
}

interface HeldRoots {
  readonly resolve: (roots: Roots) => void;
  readonly reject: (reason: Error) => void;
}

type Roots = Awaited<ReturnType<CallContext["roots"]>>;

/** A server that asks for roots when it starts waits this long for a call whose caller has some. */
const holdRootsMs = 30_000;

/**
 * Answers the questions of one connection whose call is unknown. It asks the caller of the only call in progress, and
 * refuses a question that could belong to several callers or to none. It never answers for a person.
 */
export class UnattributedQuestions {
  readonly answers: Answers;
  /** All calls come from one client, so that each of them may carry a question. */
  readonly #hasOneCaller: boolean;
  readonly #callers = new Set<Caller>();
  readonly #held = new Set<HeldRoots>();
  /** The server asked for roots before there was a caller, and got none. */
  #lacksRoots = false;

  constructor(hasOneCaller: boolean) {
    this.#hasOneCaller = hasOneCaller;
    this.answers = {
      elicit: (params, about) => this.#caller().answers.elicit(params, about),
      openUrl: (params, about) => this.#caller().answers.openUrl(params, about),
      sample: (params, about) => this.#caller().answers.sample(params, about),
      roots: () => (this.#callers.size > 0 ? this.#caller().answers.roots() : this.#hold()),
    };
  }

  /** Adds the caller of a call in progress. Returns the function that removes it. */
  begin(caller: Caller): () => void {
    this.#callers.add(caller);
    return () => this.#callers.delete(caller);
  }

  /** Passes on that a user has finished on a page. */
  visited(elicitationId: unknown): void {
    for (const { visits } of this.#callers) visits.visited(elicitationId);
  }

  /** Asks the caller for the roots that the server wanted before there was a call. `again` makes the server ask again. */
  async giveRoots({ context }: Caller, again: () => void): Promise<void> {
    const waiting = [...this.#held];
    if (waiting.length === 0 && !this.#lacksRoots) return;
    if (!context.mayAsk("roots")) {
      for (const { reject } of waiting) reject(refusal("the client has no roots"));
      return;
    }
    this.#lacksRoots = false;
    if (waiting.length === 0) {
      again();
      return;
    }
    try {
      const roots = await context.roots("roots before the call");
      for (const { resolve } of waiting) resolve(roots);
    } catch (reason) {
      // The handler of a stateless caller is suspended, and runs again with the answer: the server waits for it.
      if (context.signal.aborted) throw reason;
      for (const { reject } of waiting) reject(refusal("the client did not answer"));
    }
  }

  #caller(): Caller {
    const [first, ...others] = this.#callers;
    if (!first) throw refusal("no call is in progress");
    if (others.length > 0 && !this.#hasOneCaller) throw refusal("it may belong to several callers");
    return first;
  }

  #hold(): Promise<Roots> {
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        this.#held.delete(held);
      };
      const held: HeldRoots = {
        resolve(roots) {
          end();
          resolve(roots);
        },
        reject: (reason) => {
          end();
          this.#lacksRoots = true;
          reject(reason);
        },
      };
      const timer = setTimeout(() => held.reject(refusal("no client has called yet")), holdRootsMs);
      timer.unref();
      this.#held.add(held);
    });
  }
}

function refusal(why: string): Error {
  return new Error(`The question was refused: ${why}`);
}

/** The pages that the user of one call agreed to open. */
export class Visits {
  readonly #visits = new Set<Visit>();

  /** Asks the user to open a page. Resolves when the user has agreed or refused. */
  async open(
    context: CallContext,
    key: string,
    { message, url, elicitationId }: { message: string; url: string; elicitationId?: string | undefined },
  ): Promise<{ action: "accept" | "decline" | "cancel" }> {
    const known = [...this.#visits].find((visit) => visit.url === url && visit.message === message);
    // A stateless server repeats its question until the user has finished there; the user is asked once.
    if (known && elicitationId === undefined) {
      await pause(firstVisitPauseMs * 2 ** known.repeats, context.signal);
      known.repeats += 1;
      return { action: "accept" };
    }
    await this.finish();
    return new Promise((resolve, reject) => {
      const told = context.openUrl(key, {
        message,
        url,
        // Called when the user has agreed. The client is told of the end of the visit when this promise resolves.
        ready: () =>
          new Promise<void>((complete, abandon) => {
            this.#visits.add({ message, url, elicitationId, repeats: 0, complete, abandon, told });
            resolve({ action: "accept" });
          }),
      });
      told.then(resolve, reject);
    });
  }

  /** Completes the visit that the server says is over. */
  visited(elicitationId: unknown): void {
    for (const visit of this.#visits) if (visit.elicitationId === elicitationId) visit.complete();
  }

  /** Completes the visits that a stateless server does not ask for any more, and tells the client. */
  async finish(): Promise<void> {
    const over = [...this.#visits].filter(({ elicitationId }) => elicitationId === undefined);
    for (const { complete } of over) complete();
    await this.#forget(over);
  }

  /** Forgets the visits of a call that has ended: the server did not say that they are over. */
  async abandon(): Promise<void> {
    const open = [...this.#visits];
    for (const { abandon } of open) abandon(new Error("The call has ended"));
    await this.#forget(open);
  }

  async #forget(visits: readonly Visit[]): Promise<void> {
    for (const visit of visits) this.#visits.delete(visit);
    await Promise.allSettled(visits.map(({ told }) => told));
  }
}

interface Visit {
  readonly message: string;
  readonly url: string;
  /** The id by which a stateful server says that the visit is over. */
  readonly elicitationId: string | undefined;
  repeats: number;
  readonly complete: () => void;
  readonly abandon: (reason: Error) => void;
  /** Settles when the client was told. */
  readonly told: Promise<unknown>;
}

const firstVisitPauseMs = 1_000;
const maxVisitPauseMs = 30_000;

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, Math.min(ms, maxVisitPauseMs));
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    if (signal.aborted) done();
    else signal.addEventListener("abort", done, { once: true });
  });
}

/** Accepts every value: the upstream server validates. */
export const anything = {
  "~standard": {
    version: 1 as const,
    vendor: "portolan",
    validate: (value: unknown): { value: unknown } => ({ value }),
  },
};

/** Passes questions of the upstream server to the caller. */
export function answersOf(context: CallContext, visits: Visits): CallerAnswers {
  let count = 0;
  /** Numbered within the call, so that a handler that runs again finds the answers to its questions. */
  const nextKey = () => {
    count += 1;
    return `question-${count}`;
  };
  return {
    elicit({ message, requestedSchema }) {
      const key = nextKey();
      // The server that asks checks the answer itself: fields are neither added, refused nor dropped here.
      const form = withJsonSchema(anything, { ...requestedSchema, additionalProperties: true });
      return asked(visits.finish().then(() => context.elicit(key, { message, form }) as Promise<ElicitResult>));
    },
    openUrl: (page) => asked(visits.open(context, nextKey(), page)),
    sample: (params) => asked(context.sample(nextKey(), params)),
    roots: () => asked(context.roots(nextKey())),
  };
}

/** Refuses a question that the caller's client does not support. Its error is for the caller, not for the server. */
async function asked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (reason) {
    if (reason instanceof RpcError && reason.kind === "missing-capability") throw refusal(reason.message);
    throw reason;
  }
}

/** Returns the capabilities of a caller that its revision has, so that the server asks nothing that cannot be asked. */
export function askableBy(context: CallContext): ClientCapabilities {
  const { roots, sampling, elicitation, ...others } = context.capabilities;
  const form = context.mayAsk("elicitation.form") && { form: elicitation?.form ?? {} };
  const url = context.mayAsk("elicitation.url") && { url: elicitation?.url ?? {} };
  const { tools, context: contextPart, ...rest } = sampling ?? {};
  return {
    ...others,
    ...(roots && context.mayAsk("roots") && { roots }),
    ...(sampling &&
      context.mayAsk("sampling") && {
        sampling: {
          ...rest,
          ...(tools && context.mayAsk("sampling.tools") && { tools }),
          ...(contextPart && context.mayAsk("sampling.context") && { context: contextPart }),
        },
      }),
    ...((form || url) && { elicitation: { ...form, ...url } }),
  };
}

/** Returns true if the caller's client can be asked anything. */
export function isAskable(context: CallContext): boolean {
  return (["elicitation.form", "elicitation.url", "sampling", "roots"] as const).some((it) => context.mayAsk(it));
}
