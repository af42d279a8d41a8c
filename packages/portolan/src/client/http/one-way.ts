import type { IncomingEvent } from "../../transport/sse.ts";
import { refused } from "./http-failure.ts";
import { Reply, type ReplyEvents } from "./reply.ts";
import type { Sending } from "./sender.ts";
import type { Traffic } from "./traffic.ts";
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
