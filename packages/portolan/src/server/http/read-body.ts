import { readText } from "../../jsonrpc/framing.ts";
import type { Message, Unreadable } from "../../jsonrpc/message.ts";

/** Takes what is read of one body, which is there when reading returns: the same for all of them. */
const reading = {
  read: undefined as Message | Message[] | Unreadable | undefined,
  message: (message: Message): void => {
    reading.read = message;
  },
  batch: (messages: Message[]): void => {
    reading.read = messages;
  },
  unreadable: (problem: Unreadable): void => {
    reading.read = problem;
  },
};

/** The messages of a body, or what is wrong with it. */
export function readBody(body: string): Message | Message[] | Unreadable {
  reading.read = undefined;
  readText(body, reading);
  const { read } = reading;
  reading.read = undefined;
  return read ?? { code: -32700, why: "the body is empty", answerable: true };
}
