import { readText } from "../../jsonrpc/framing.ts";
import { type Message, rpcCodes, type Unreadable } from "../../jsonrpc/message.ts";
import { readMessage } from "./body.ts";

/** Parses a body: one message, a batch, or the reason why it is neither. */
export function readBody(body: string): Message | Message[] | Unreadable {
  return readMessage(body) ?? readBatch(body);
}

/** Returns the messages of a batch, or the reason why a body is neither message nor batch. */
function readBatch(body: string): Message[] | Unreadable {
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
  // In a batch of responses, unreadable ones are skipped.
  if (isBatch || found.length > 0) return found;
  return problem ?? { code: rpcCodes.parseError, why: "the body is empty", answerable: true };
}
