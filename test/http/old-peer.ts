import type { JsonObject, RequestId } from "portolan";
import type { RawResponse } from "../kit/raw-peer.ts";
import {
  type Answer,
  type Headers,
  plainHeaders,
  type ReceivedMessage,
  send,
  toInitialize,
  toNotification,
  toRequest,
} from "./kit.ts";

/** A client of HTTP+SSE (2024-11-05): it reads a stream at one address and posts to another. */
export class OldPeer {
  readonly stream: Answer;
  /** The address of the `endpoint` event, as it was sent. */
  readonly endpoint: string;
  readonly url: string;

  constructor(stream: Answer, endpoint: string, url: string) {
    this.stream = stream;
    this.endpoint = endpoint;
    this.url = url;
  }

  post(body: unknown, headers: Headers = {}): Promise<Answer> {
    return send(this.url, { headers: { ...plainHeaders, ...headers }, body });
  }

  /** Sends a request and resolves to the next message on the stream. */
  async request(method: string, params?: JsonObject, id: RequestId = 1): Promise<RawResponse> {
    await this.post(toRequest(method, params, id));
    return this.stream.message();
  }

  async next(): Promise<ReceivedMessage> {
    return this.stream.message();
  }

  async initialize(revision: string, capabilities: JsonObject = {}): Promise<RawResponse> {
    await this.post(toInitialize(revision, capabilities));
    const response = await this.stream.message();
    await this.post(toNotification("notifications/initialized"));
    return response;
  }
}

/** Opens the stream and reads the address to post to. */
export async function openOld(url: string, headers: Headers = {}): Promise<OldPeer> {
  const sse = new URL("/sse", url);
  const stream = await send(sse.href, { method: "GET", headers: { accept: "text/event-stream", ...headers } });
  const first = await stream.event();
  if (first?.event !== "endpoint") throw new Error(`expected the endpoint first, got ${JSON.stringify(first)}`);
  return new OldPeer(stream, first.data, new URL(first.data, sse).href);
}
