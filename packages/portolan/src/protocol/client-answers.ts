import type { JsonObject } from "../jsonrpc/message.ts";
import { all, hide, listMember } from "./encode.ts";
import { encodeQuestion } from "./questions.ts";
import type { Revision } from "./revision.ts";
import type { CreateMessageRequest, SamplingMessage } from "./types/index.ts";

/** An answer to a question as a revision spells it; the same object when there is nothing to change. */
export function encodeAnswer(revision: Revision, method: string, answer: JsonObject): JsonObject {
  // What a model said is a message, and may have what messages have.
  if (method === "sampling/createMessage") return encodeSample(revision, answer);
  const { asking } = revision;
  const roots = method === "roots/list" ? listMember("roots", hide(asking, "root")) : undefined;
  const encode = all(hide(asking, "answer"), roots);
  return encode ? encode(answer) : answer;
}

/** What a model said, as the one message that a server of this revision could also have sent. */
function encodeSample(revision: Revision, answer: JsonObject): JsonObject {
  const { role, content } = answer as unknown as SamplingMessage;
  const asMessage: CreateMessageRequest = {
    method: "sampling/createMessage",
    params: { messages: [{ role, content }], maxTokens: 1 },
  };
  const { messages } = (encodeQuestion(revision, asMessage) as CreateMessageRequest).params;
  const takesTools = revision.asking.asks.has("sampling.tools");
  const said = messages.map((message) => message.content as unknown as JsonObject);
  const [only] = said;
  const isKnown = only !== undefined && said.length === 1 && (takesTools || !isAboutTools(only));
  if (isKnown) return only === (content as unknown) ? answer : { ...answer, content: only };
  return { ...answer, content: { type: "text", text: said.map(inWords).join("\n") } };
}

function isAboutTools({ type }: JsonObject): boolean {
  return type === "tool_use" || type === "tool_result";
}

/** A block as text, where several have to become one: what cannot be said in words is named. */
function inWords({ type, text, mimeType, name, input }: JsonObject): string {
  if (type === "text") return String(text);
  if (type === "tool_use") return `[calls the tool ${String(name)} with ${JSON.stringify(input)}]`;
  return `[${String(mimeType ?? type)}: left out, this protocol version takes one block]`;
}
