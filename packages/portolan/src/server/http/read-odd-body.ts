import { readText } from "../../jsonrpc/framing.ts";
import type { Message, Unreadable } from "../../jsonrpc/message.ts";

/** The messages of a body that is a batch, or what is wrong with one that is no message. */
export function readOddBody(body: string): Message[] | Unreadable {
  const found: Message[] = [];
  let problem: Unreadable | undefined;
  let isBatch = false;
  readText(body, {
    message(message) {
      found.push(message);
    },
    batch(messages) {
      isBatch = true;
      found.push(...messages);
    },
    unreadable(why) {
      problem = why;
    },
  });
  // Of answers that came together, those that can be read are taken.
  if (isBatch || found.length > 0) return found;
  return problem ?? { code: -32700, why: "the body is empty", answerable: true };
}
