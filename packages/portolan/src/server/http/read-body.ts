import type { MaybePromise } from "../../async.ts";
import { checkMessage, type Message, type Unreadable } from "../../jsonrpc/message.ts";

/** The messages of a body, or what is wrong with it. */
export function readBody(body: string): MaybePromise<Message | Message[] | Unreadable> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {}
  // Nearly every body is one message; batches and what is wrong are looked at by who knows them.
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return import("./read-odd-body.ts").then(({ readOddBody }) => readOddBody(body));
  }
  return checkMessage(value) ?? (value as Message);
}

/** Whether there is no message; whatever members a message has, it names its protocol. */
export function isUnreadable(read: Message | Message[] | Unreadable): read is Unreadable {
  return !Array.isArray(read) && !("jsonrpc" in read);
}
