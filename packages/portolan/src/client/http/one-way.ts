import type { IncomingEvent } from "../../transport/sse.ts";
import { refused } from "./failure.ts";
import { Reply, type ReplyEvents } from "./reply.ts";
import type { Traffic } from "./requests.ts";
import type { Sending } from "./send.ts";
import type { Head } from "./transport.ts";

/** Sends a request whose answer says no more than whether it was accepted; returns how to give it up. */
export function sendOneWay(traffic: Traffic, request: Sending, done: (failure: Error | undefined) => void): () => void {
  const events: ReplyEvents = {
    body(head: Head, text: string) {
      done(head.status < 300 ? undefined : refused(request, head, text));
    },
    event: (event: IncomingEvent) => traffic.receiveEvent(event),
    over: () => done(undefined),
    failed: done,
  };
  const reply = new Reply(traffic, request, events);
  reply.send();
  return () => reply.cancel();
}
