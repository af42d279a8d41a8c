import { nameOf, PortolanError } from "../errors.ts";
import type { JsonObject, RpcRequest } from "../jsonrpc/message.ts";
import { extensionId } from "../protocol/extension-id.ts";
import type { InputRequired, Revision } from "../protocol/revision.ts";
import type { ClientCapabilities } from "../protocol/types/index.ts";
import { isObject } from "../schema/shape.ts";
import type { Client } from "./api.ts";
import { Call } from "./call.ts";
import type { ClientConnection } from "./connection.ts";
import type {
  ClientExtension,
  ClientExtensionParts,
  ExtendedCall,
  ExtendedConnection,
  ResumedCall,
  WatchedMember,
} from "./extension.ts";
import { toError } from "./failures.ts";
import type { InteractiveCallOptions } from "./options.ts";

// Loaded late: only clients with extensions need it.

const noOptions: InteractiveCallOptions = {};

/** Adds extensions to a connection that is not open yet. */
export function activate(connection: ClientConnection, extensions: readonly ClientExtension[]): void {
  const active = new ActiveExtensions(connection, extensions);
  connection.extensions = active;
  connection.self = { ...connection.self, declare: (capabilities, revision) => active.declare(capabilities, revision) };
}

/** The extensions of one client. */
export class ActiveExtensions {
  readonly #connection: ClientConnection;
  readonly #extensions: readonly ClientExtension[];
  #parts: readonly ClientExtensionParts[] = [];
  readonly #calls = new WeakMap<ExtendedCall, Call>();

  constructor(connection: ClientConnection, extensions: readonly ClientExtension[]) {
    this.#connection = connection;
    this.#extensions = checkExtensions(extensions);
  }

  /** Adds the extensions to the declared capabilities of a client. */
  declare(capabilities: ClientCapabilities, revision: Revision): ClientCapabilities {
    const { refusedExtensions } = revision.encoderParts.traits;
    let declared = capabilities;
    for (const { id, settings = {}, on } of this.#on(revision)) {
      if (!refusedExtensions.includes(id)) {
        declared = { ...declared, extensions: { ...declared.extensions, [id]: settings } };
      }
      declared = { ...declared, ...on.capabilities };
    }
    return declared;
  }

  /** Starts the extensions on the agreed revision. */
  connected(client: Client): void {
    const { revision } = this.#connection;
    const active = this.#on(revision);
    this.#parts = active.map(({ on }) => on);
    this.#connection.listen(({ method, params = {} }) => {
      for (const { notifications } of this.#parts) {
        if (notifications && Object.hasOwn(notifications, method)) notifications[method]?.(params);
      }
    });
    for (const { connected } of this.#parts) connected?.(client, this.#extended());
  }

  /** Returns the call in which a stateful server asks a question, if an extension knows it. */
  askedIn({ params = {} }: RpcRequest): Call | undefined {
    for (const { askedIn } of this.#parts) {
      const call = askedIn?.(params);
      if (call) return this.#calls.get(call);
    }
    return undefined;
  }

  /** Starts a call, after the extensions have changed its params. */
  start(call: Call): void {
    const preparing = this.#parts.flatMap(({ prepare }) => prepare ?? []);
    if (preparing.length === 0) {
      call.start();
      return;
    }
    const prepared = preparing.reduce<Promise<JsonObject>>(
      async (before, prepare) => prepare(call.method, await before, { ...this.#extended(), options: call.options }),
      Promise.resolve(call.params),
    );
    prepared.then(
      (params) => {
        call.isPrepared = params !== call.params;
        call.params = params;
        call.start();
      },
      (reason: unknown) => call.fail(toError(reason)),
    );
  }

  /** Returns true if the result is of a type that an extension handles, which then ends the call. */
  take(call: Call, result: JsonObject): boolean {
    const type = this.#typeOf(call, result);
    const handle = this.#parts.find(({ results }) => type !== undefined && results && Object.hasOwn(results, type))
      ?.results?.[type ?? ""];
    if (!handle) return false;
    // Kept, so that progress which the server still reports for the request reaches the caller.
    this.#connection.calls.set(call.id, call);
    this.#handOver(call, (extended) => handle(result, extended));
    return true;
  }

  /** Returns the member of the filter of `watch` that an extension adds. */
  watched(member: string): WatchedMember | undefined {
    for (const { listen } of this.#parts) if (listen && Object.hasOwn(listen, member)) return listen[member];
    return undefined;
  }

  #typeOf({ params }: Call, result: JsonObject): string | undefined {
    const { resultType } = result;
    if (this.#connection.revision.questions === "in-result") {
      return typeof resultType === "string" ? resultType : undefined;
    }
    const types = this.#parts.flatMap(({ results }) => Object.keys(results ?? {}));
    return types.find((type) => isObject(params[type]) && isObject(result[type]));
  }

  #on(revision: Revision) {
    return this.#extensions.flatMap((extension) => {
      const on = extension.on(revision);
      return on ? [{ id: extension.id, settings: extension.settings, on }] : [];
    });
  }

  /** Lets an extension end the call. */
  #handOver(call: Call, go: ResumedCall): void {
    call.pause();
    // Between two requests the link knows nothing of this call, so the call itself must learn of a loss.
    const stopWaiting = this.#connection.onLost((reason) => call.failed(reason));
    const { method, params, options, questionSignal: signal } = call;
    const extended: ExtendedCall = {
      ...this.#extended(),
      method,
      params,
      options,
      signal,
      answer: async (questions, ended) => {
        const answerer = await this.#connection.answerer();
        const round: InputRequired = { kind: "input_required", requests: questions };
        return (await answerer.answerRound(round, call, ended)) ?? {};
      },
    };
    this.#calls.set(extended, call);
    go(extended)
      .finally(stopWaiting)
      .then((final) => call.complete(final))
      .catch((reason) => call.fail(toError(reason)));
  }

  #extended(): ExtendedConnection {
    const connection = this.#connection;
    return {
      clock: connection.clock,
      request: (method, params, options = noOptions) => connection.call(method, { ...params }, options),
      report: (error) => connection.report(error),
      resume: (method, params, options, go) =>
        new Promise((resolve, reject) => {
          const call = new Call(connection, method, params, options, resolve, reject);
          if (connection.lostReason) call.failed(connection.lostReason);
          else {
            call.start(true);
            if (!options.signal?.aborted) this.#handOver(call, go);
          }
        }),
    };
  }
}

function checkExtensions(extensions: readonly ClientExtension[]): readonly ClientExtension[] {
  const all: readonly unknown[] = Array.isArray(extensions) ? extensions : [extensions];
  const ids = new Set<string>();
  for (const one of all) {
    const { id, on } = Object(one) as Partial<ClientExtension>;
    if (typeof id !== "string" || !extensionId.test(id) || typeof on !== "function") {
      const expected = 'extensions with an `id` such as "com.example/id" and a function `on`';
      throw new PortolanError("invalid-argument", `extensions: expected ${expected}, got ${nameOf(id ?? one)}`);
    }
    if (ids.has(id)) throw new PortolanError("invalid-argument", `extensions: ${id} is there twice`);
    ids.add(id);
  }
  return all as readonly ClientExtension[];
}
