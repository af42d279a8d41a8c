import { PortolanError } from "../errors.ts";
import type { JsonObject, RequestId, RpcRequest, RpcResponse } from "../jsonrpc/message.ts";
import { RpcError } from "../jsonrpc/message.ts";
import { encodeAnswer } from "../protocol/client-codec.ts";
import type { InputRequest, InputRequests, InputResponse, InputResponses } from "../protocol/types/index.ts";
import type { Answers } from "./answers.ts";
import type { Call } from "./call.ts";
import { declaredBy } from "./capabilities.ts";
import type { Wire } from "./connection.ts";
import { toError } from "./failures.ts";
import { askUser, checkQuestion } from "./question.ts";

/** A server that asks more at once is refused. */
const maxOpenQuestions = 100;

/** Answers the server's questions, whether they come as requests or inside results. */
export class Answering {
  readonly #wire: Wire;
  readonly #answers: Answers;
  readonly #open = new Map<RequestId, AbortController>();
  /** Questions that the server no longer wants answered. */
  readonly #unwanted = new WeakSet<AbortController>();

  constructor(wire: Wire, answers: Answers) {
    this.#wire = wire;
    this.#answers = answers;
  }

  /** Answers a request of a stateful server. */
  async answerRequest(
    request: RpcRequest,
    answer: (response: RpcResponse) => void,
    during: RequestId | undefined,
  ): Promise<void> {
    const { id, method } = request;
    const respond = (error: RpcError) => answer({ jsonrpc: "2.0", id, error: error.toErrorObject() });
    if (this.#open.size >= maxOpenQuestions) {
      respond(new RpcError(-32603, `Too many questions are open: at most ${maxOpenQuestions}`));
      return;
    }
    const controller = new AbortController();
    this.#open.set(id, controller);
    const call = this.#callOf(during);
    // On a channel nobody knows which call a question belongs to, so all of them wait.
    const waiting = call && during !== undefined ? [call] : this.#wire.calls.values();
    for (const each of waiting) each.pause();
    const callOver = () => controller.abort(call?.questionSignal.reason);
    call?.questionSignal.addEventListener("abort", callOver, { once: true });
    const over = aborting(controller.signal);
    try {
      const result = await this.#answer(request as unknown as InputRequest, call, controller.signal, over.promise);
      if (!this.#unwanted.has(controller)) answer({ jsonrpc: "2.0", id, result });
    } catch (thrown) {
      if (!this.#unwanted.has(controller)) respond(this.#refusal(method, thrown, controller.signal));
    } finally {
      call?.questionSignal.removeEventListener("abort", callOver);
      over.stop();
      this.#open.delete(id);
      for (const each of waiting) each.resume();
    }
  }

  /** Answers all questions of a round; rejects when one of them is not answered. */
  async answerRound(requests: InputRequests, call: Call): Promise<InputResponses> {
    const entries = Object.entries(requests);
    if (entries.length > maxOpenQuestions) {
      throw new PortolanError("limit-reached", `${call.what}: the server asks ${entries.length} questions at once`);
    }
    // One for all of them: questions may be many, and each listener costs.
    const over = aborting(call.questionSignal);
    try {
      const answers = await Promise.all(
        entries.map(async ([key, request]) => [
          key,
          await this.#answer(request, call, call.questionSignal, over.promise),
        ]),
      );
      return Object.fromEntries(answers) as InputResponses;
    } finally {
      over.stop();
    }
  }

  /** The server takes a question back. */
  takeBack(id: RequestId): void {
    const controller = this.#open.get(id);
    if (controller) this.#drop(controller, new PortolanError("cancelled", "The server took the question back"));
  }

  stopAll(reason: Error): void {
    for (const controller of this.#open.values()) this.#drop(controller, reason);
  }

  #drop(controller: AbortController, reason: Error): void {
    this.#unwanted.add(controller);
    controller.abort(reason);
  }

  async #answer(
    request: InputRequest,
    call: Call | undefined,
    signal: AbortSignal,
    over: Promise<never>,
  ): Promise<JsonObject> {
    const { revision, options, self, profile } = this.#wire;
    const own = call?.options;
    const answers = own?.answers ? { ...this.#answers, ...own.answers } : this.#answers;
    // What a stateful server may ask was declared in the handshake, once for all calls.
    const isOwn = profile?.era === "stateless" && (own?.capabilities !== undefined || own?.answers !== undefined);
    const capabilities = isOwn ? (own?.capabilities ?? declaredBy(answers, options.capabilities)) : self.capabilities;
    checkQuestion(request, capabilities, revision);
    const during = call && { method: call.method, name: call.name };
    const asked = askUser(request, answers, { server: profile, during, signal });
    const answer: InputResponse = await Promise.race([asked, over]);
    return encodeAnswer(revision, request.method, answer as unknown as JsonObject);
  }

  /** The call a question came with, or the only one that can have led to it. */
  #callOf(during: RequestId | undefined): Call | undefined {
    if (during !== undefined) return this.#wire.calls.get(during);
    const asking = this.#wire.calls.values().filter(({ method }) => this.#wire.revision.requests.get(method)?.mayAsk);
    return asking.length === 1 ? asking[0] : undefined;
  }

  /** What a server hears when it gets no answer: of our own errors no more than that. */
  #refusal(method: string, thrown: unknown, signal: AbortSignal): RpcError {
    if (thrown instanceof RpcError) return thrown;
    if (!signal.aborted) this.#wire.report(toError(thrown));
    return new RpcError(-1, `The client did not answer ${method}`);
  }
}

/** Rejects when questions need not be answered any more, whether or not their answerers notice. */
function aborting(signal: AbortSignal): { readonly promise: Promise<never>; readonly stop: () => void } {
  let stop = () => {};
  const promise = new Promise<never>((_, reject) => {
    const abort = () => reject(toError(signal.reason));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    stop = () => signal.removeEventListener("abort", abort);
  });
  promise.catch(() => {});
  return { promise, stop };
}
