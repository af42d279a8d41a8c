import * as envelope from "../../jsonrpc/envelope.ts";
import { type LineReceiver, readText, scanners } from "../../jsonrpc/framing.ts";
import { type Message, rpcCodes, type Unreadable } from "../../jsonrpc/message.ts";
import { parseBody, readMessage } from "./body.ts";

// Bodies are read synchronously: the part for broken ones comes with this file.
scanners.loaded ??= envelope;

/** Parses a body: one message, a batch, or the reason why it is neither. */
export function readBody(body: string): Message | Message[] | Unreadable {
  const value = parseBody(body);
  return readMessage(value) ?? readOther(body, value);
}

/**
 * Returns the messages of a batch, or the reason why a body is neither message nor batch.
 *
 * @param value the parsed body, which is not parsed again; undefined if it is not valid JSON
 */
export function readOther(body: string, value: unknown): Message[] | Unreadable {
  const found: Message[] = [];
  let problem: Unreadable | undefined;
  let isBatch = false;
  const incoming: LineReceiver = {
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
  };
  readText(body, incoming, () => value);
  // In a batch of responses, unreadable ones are skipped.
  if (isBatch || found.length > 0) return found;
  return problem ?? { code: rpcCodes.parseError, why: "the body is empty", answerable: true };
}
