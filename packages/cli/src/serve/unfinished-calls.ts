import type { RequestId, RpcNotification, RpcRequest } from "portolan";
import type { Link, LinkEvents, ResponseSink } from "portolan/client";

/** Methods whose handlers may ask questions. */
const askingMethods: readonly string[] = ["tools/call", "prompts/get", "resources/read"];
/** Cancelled calls whose late answers are awaited. */
const maxAwaited = 1_000;

/**
 * A link that remembers the calls that were cancelled and not answered. The server may still work on them, and ask. A
 * question that does not name its call is refused meanwhile: it may be about the cancelled call of somebody else.
 */
export class UnfinishedCalls implements Link {
  readonly silenceMeans: NonNullable<Link["silenceMeans"]>;
  readonly exchangeText: Link["exchangeText"];
  readonly #link: Link;
  readonly #onSettled: () => void;
  readonly #hasLateAnswers: boolean;
  readonly #running = new Set<RequestId>();
  readonly #awaited = new Set<RequestId>();
  /** The end of a cancelled call will not be known. */
  #hasUnknown = false;

  /**
   * `hasLateAnswers` says that answers still arrive after a call was cancelled. `onSettled` is called when no cancelled
   * call is unfinished any more.
   */
  constructor(link: Link, hasLateAnswers: boolean, onSettled: () => void) {
    this.#link = link;
    this.#hasLateAnswers = hasLateAnswers;
    this.#onSettled = onSettled;
    this.silenceMeans = link.silenceMeans ?? "handshake";
    // Text is sent for calls of tools only.
    this.exchangeText =
      link.exchangeText && ((id, text, sink) => link.exchangeText?.(id, text, this.#watched(id, sink)));
  }

  /** True while the server may work on a call that was cancelled. */
  get areLeft(): boolean {
    return this.#hasUnknown || this.#awaited.size > 0;
  }

  async recentOutput(): Promise<string> {
    return (await this.#link.recentOutput?.()) ?? "";
  }

  open(events: LinkEvents): Promise<void> {
    return this.#link.open({
      request: (request, answer, during) => {
        if (request.method === "ping" || !this.#isDoubtful(during)) events.request(request, answer, during);
        else {
          const message = "The question was refused: it may belong to a call that was cancelled";
          answer({ jsonrpc: "2.0", id: request.id, error: { code: -1, message } });
        }
      },
      notification: (notification) => events.notification(notification),
      invalid: (why) => events.invalid(why),
      renewed: () => events.renewed?.(),
      interrupted: () => events.interrupted?.(),
      login: (isOpen) => events.login?.(isOpen),
      lost: (reason) => {
        this.#running.clear();
        this.#awaited.clear();
        this.#hasUnknown = false;
        events.lost(reason);
        this.#onSettled();
      },
    });
  }

  exchange(request: RpcRequest, sink: ResponseSink): void {
    const isAsking = askingMethods.includes(request.method);
    this.#link.exchange(request, isAsking ? this.#watched(request.id, sink) : sink);
  }

  cancel(id: RequestId, reason: string): void {
    const isRunning = this.#running.delete(id);
    if (!isRunning || !this.#hasLateAnswers || this.#awaited.size >= maxAwaited) {
      this.#hasUnknown ||= isRunning;
      this.#link.cancel(id, reason);
      return;
    }
    // `cancel` of the link would drop the late answer.
    this.#awaited.add(id);
    this.#link.notify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason } });
  }

  notify(notification: RpcNotification): void {
    this.#link.notify(notification);
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  #watched(id: RequestId, sink: ResponseSink): ResponseSink {
    this.#running.add(id);
    return {
      response: (response) => {
        if (this.#ends(id)) sink.response(response);
      },
      failed: (reason) => {
        if (this.#ends(id)) sink.failed(reason);
      },
    };
  }

  /** Notes the end of a call. Returns false if it was cancelled before. */
  #ends(id: RequestId): boolean {
    if (this.#running.delete(id)) return true;
    this.#awaited.delete(id);
    if (!this.areLeft) this.#onSettled();
    return false;
  }

  /** A question without a call, or of a call that is over, while a cancelled call is unfinished. */
  #isDoubtful(during: RequestId | undefined): boolean {
    return this.areLeft && (during === undefined || !this.#running.has(during));
  }
}
