import { PortolanError } from "../errors.ts";
import type { RequestId, RpcNotification, RpcRequest, RpcResponse } from "../jsonrpc/message.ts";

/** What a link tells its client, in arrival order. */
export interface LinkEvents {
  /** A request of a stateful server; `answer` sends the one response. `during` names the call it came with, where that is known. */
  request(request: RpcRequest, answer: (response: RpcResponse) => void, during?: RequestId): void;
  notification(notification: RpcNotification): void;
  /** Input that is no message, or answers nobody: dropped, and told for the record. */
  odd(why: string): void;
  /** The server forgot this client, who has introduced itself anew: what it was told to watch must be told again. */
  renewed?(): void;
  /** Somebody must say who they are before anything goes on, or has: no time passes meanwhile. */
  held?(isHeld: boolean): void;
  /** The link is gone, whoever ended it. Called once per `open`, after every sink has heard why. */
  lost(reason: Error): void;
}

/** Hears what becomes of one request; exactly one of both, once, unless the request is cancelled. */
export interface Sink {
  response(response: RpcResponse): void;
  failed(reason: Error): void;
}

/** A request failed in a way that only servers of the stateful era fail: the handshake is worth a try. */
export class HandshakeWanted extends PortolanError {}

/** A client-side transport: requests out, responses back to those who asked. */
export interface Link {
  /** What an unanswered probe means: an older server, unless said that it is a server out of reach. */
  readonly silenceMeans?: "handshake" | "outage";
  /** Connects, or connects again after `lost` where that is possible; a link that cannot rejects and says so. */
  open(events: LinkEvents): Promise<void>;
  /** Sends a request. Throws a PortolanError "unserializable" before anything is sent. */
  exchange(request: RpcRequest, sink: Sink): void;
  /** Sends a request whose JSON text is known; there where text is what is sent. */
  exchangeText?: ((id: RequestId, text: string, sink: Sink) => void) | undefined;
  /** Gives a request up: its sink hears nothing more, and the server is told where there is a way to. */
  cancel(id: RequestId, reason: string): void;
  notify(notification: RpcNotification): void;
  /** Ends the link and releases everything; what still waits fails at once. */
  close(): Promise<void>;
}
