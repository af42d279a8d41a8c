import type { JsonObject } from "../jsonrpc/message.ts";
import { all, type Encode, type EncoderParts, hide, listMember, member } from "./encode.ts";
import type { Question, Revision } from "./revision.ts";
import type { ClientCapabilities, InputRequest } from "./types/index.ts";

/** The half of an encoder that is about asking the client. */
export function questionEncoder(
  parts: EncoderParts,
  content: Encode | undefined,
): Pick<Revision, "encodeQuestion" | "lacks"> {
  const encoders = new Map<string, Encode | undefined>([
    ["elicitation/create", elicitationEncoder(parts)],
    ["sampling/createMessage", samplingEncoder(parts, content)],
  ]);
  return {
    encodeQuestion(question) {
      const encode = encoders.get(question.method);
      if (!encode || question.params === undefined) return question;
      return { method: question.method, params: encode(question.params as JsonObject) } as InputRequest;
    },
    lacks(question, capabilities) {
      for (const need of needsOf(question)) {
        if (!parts.asks.has(need) || !declares[need](capabilities)) return required[need];
      }
      return undefined;
    },
  };
}

function elicitationEncoder(parts: EncoderParts): Encode | undefined {
  const fallback = parts.after.map((changes) => changes.older?.elicitationField);
  const field = all(...fallback.reverse(), hide(parts, "elicitationField"));
  const schema: Encode | undefined =
    field &&
    ((value) => ({
      ...value,
      properties: Object.fromEntries(
        Object.entries((value["properties"] ?? {}) as { [name: string]: JsonObject }).map(([name, f]) => [
          name,
          field(f),
        ]),
      ),
    }));
  return all(hide(parts, "elicitation"), member("requestedSchema", schema));
}

function samplingEncoder(parts: EncoderParts, content: Encode | undefined): Encode | undefined {
  const reshape = parts.after.map((changes) => changes.older?.samplingMessages).filter((f) => f !== undefined);
  const messages: Encode | undefined =
    reshape.length === 0
      ? undefined
      : (value) => ({
          ...value,
          messages: reshape.reduceRight((list, f) => f(list), (value["messages"] ?? []) as JsonObject[]),
        });
  const message = all(hide(parts, "samplingMessage"), member("content", content));
  return all(messages, hide(parts, "sampling"), listMember("messages", message));
}

function needsOf(question: InputRequest): Question[] {
  if (question.method === "roots/list") return ["roots"];
  if (question.method === "elicitation/create") {
    return [question.params.mode === "url" ? "elicitation.url" : "elicitation.form"];
  }
  const needs: Question[] = ["sampling"];
  const { tools, toolChoice, includeContext } = question.params;
  if (tools !== undefined || toolChoice !== undefined) needs.push("sampling.tools");
  if (includeContext !== undefined && includeContext !== "none") needs.push("sampling.context");
  return needs;
}

const declares: { [Q in Question]: (capabilities: ClientCapabilities) => boolean } = {
  roots: (c) => c.roots !== undefined,
  sampling: (c) => c.sampling !== undefined,
  "sampling.tools": (c) => c.sampling?.tools !== undefined,
  "sampling.context": (c) => c.sampling?.context !== undefined,
  // An empty elicitation capability means forms only.
  "elicitation.form": (c) =>
    c.elicitation !== undefined && (c.elicitation.form !== undefined || c.elicitation.url === undefined),
  "elicitation.url": (c) => c.elicitation?.url !== undefined,
};

const required: { [Q in Question]: ClientCapabilities } = {
  roots: { roots: {} },
  sampling: { sampling: {} },
  "sampling.tools": { sampling: { tools: {} } },
  "sampling.context": { sampling: { context: {} } },
  "elicitation.form": { elicitation: { form: {} } },
  "elicitation.url": { elicitation: { url: {} } },
};
