import type { MaybePromise } from "../async.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import type { Revision } from "../protocol/revision.ts";
import type { InputRequests, InputResponses } from "../protocol/types/index.ts";
import type { Client } from "./api.ts";
import type { Clock } from "./deadlines.ts";
import type { CallOptions, InteractiveCallOptions } from "./options.ts";

/** An addition to the protocol, for `connect({ extensions })`. */
export interface ClientExtension {
  /** With a prefix, such as "com.example/id". */
  readonly id: string;
  /** The settings that the client declares. Default: {}. */
  readonly settings?: JsonObject;
  /**
   * Returns its additions to a revision; undefined if it takes no part in that revision and is not declared there. Called
   * anew for each client.
   */
  on(revision: Revision): ClientExtensionParts | undefined;
}

/** The additions of a client's extension to one revision. */
export interface ClientExtensionParts {
  /** Called once, when the revision is agreed on and before `connect` resolves. */
  readonly connected?: (client: Client, connection: ExtendedConnection) => void;
  /** Further capabilities of the client, for a revision that knows the feature under another name. */
  readonly capabilities?: JsonObject;
  /**
   * Turns a result of another type into the final one. The key is the `resultType`; on revisions without result types it
   * is a member that both the params and the result have.
   */
  readonly results?: { readonly [resultType: string]: ResultHandler };
  /** Called for each notification of the method, and before `onNotification`. */
  readonly notifications?: { readonly [method: string]: (params: JsonObject) => void };
  /** Further members of the filter of `client.watch`. */
  readonly listen?: { readonly [member: string]: WatchedMember };
  /** Changes the params of a request before it is sent. */
  readonly prepare?: (method: string, params: JsonObject, call: PreparedCall) => MaybePromise<JsonObject>;
  /** Returns the call in which a stateful server asks a question, if the params of the question tell. */
  readonly askedIn?: (params: JsonObject) => ExtendedCall | undefined;
}

/** A call whose request is about to be sent. */
export interface PreparedCall extends ExtendedConnection {
  /** The options of the caller, the very same object. */
  readonly options: InteractiveCallOptions;
}

/** Returns the final result of a call whose server answered with a result of another type. */
export type ResultHandler = (result: JsonObject, call: ExtendedCall) => Promise<JsonObject>;

/** Returns the final result of a call whose request was sent earlier. */
export type ResumedCall = (call: ExtendedCall) => Promise<JsonObject>;

/** A call that an extension carries on with. Its time limits no longer apply. */
export interface ExtendedCall extends ExtendedConnection {
  readonly method: string;
  readonly params: JsonObject;
  /** The options of the caller, the very same object. */
  readonly options: InteractiveCallOptions;
  /** Aborts when the call is over for its caller: aborted, or its connection is lost. */
  readonly signal: AbortSignal;
  /** Answers questions as if the server had asked them in the call, with the same consent and the same checks. */
  answer(questions: InputRequests, signal?: AbortSignal): Promise<InputResponses>;
}

/** The connection of a client, as its extensions see it. */
export interface ExtendedConnection {
  readonly clock: Clock;
  /** Sends a request of its own, with time limits of its own. */
  request(method: string, params: JsonObject, options?: CallOptions): Promise<JsonObject>;
  /** Carries on with a call whose request was sent earlier, perhaps by another process. Its result is checked as usual. */
  resume(method: string, params: JsonObject, options: InteractiveCallOptions, go: ResumedCall): Promise<JsonObject>;
  /** Passes a problem that fails no call to `onError`. */
  report(error: Error): void;
}

/** A member of the filter of `client.watch`. */
export interface WatchedMember {
  /** The notification that reports a change, such as "notifications/tasks". */
  readonly notification: string;
  /** Returns whether a notification is about the wanted value. Default: all are. */
  covers?(wanted: unknown, params: JsonObject): boolean;
  /** Changes with the same key replace each other until they are read. Default: all changes of the member do. */
  keyOf?(params: JsonObject): string;
}
