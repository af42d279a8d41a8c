import type { JsonObject } from "../jsonrpc/message.ts";
import { all, contentEncoder, type Encode, type EncoderParts, hide, listMember, member } from "./encode.ts";
import type { AskableCapability, Peer, Revision } from "./revision.ts";
import type { ClientCapabilities, InputRequest, SamplingMessage } from "./types/index.ts";

/** Returns true if the revision has this kind of question and the client declared the capability. */
export function mayAsk({ revision, capabilities }: Peer, question: AskableCapability): boolean {
  return revision.encoderParts.asks.has(question) && declares[question](capabilities);
}

const declares: { [Q in AskableCapability]: (capabilities: ClientCapabilities) => boolean } = {
  roots: (c) => c.roots !== undefined,
  sampling: (c) => c.sampling !== undefined,
  "sampling.tools": (c) => c.sampling?.tools !== undefined,
  "sampling.context": (c) => c.sampling?.context !== undefined,
  // spec 2025-11-25: an empty elicitation capability means forms only.
  "elicitation.form": (c) =>
    c.elicitation !== undefined && (c.elicitation.form !== undefined || c.elicitation.url === undefined),
  "elicitation.url": (c) => c.elicitation?.url !== undefined,
};

/** Returns true if the name is one of a capability that questions need. */
export function isQuestion(name: string): name is AskableCapability {
  return Object.hasOwn(declares, name);
}

/** Returns the capability that the question needs and the client lacks. Undefined if the client may be asked. */
export function lackedBy(
  capabilities: ClientCapabilities,
  revision: Revision,
  question: InputRequest,
): ClientCapabilities | undefined {
  const { asks } = revision.encoderParts;
  for (const need of needsOf(question, asks)) {
    if (!mayAsk({ revision, capabilities }, need)) return required[need];
  }
  return undefined;
}

function needsOf(question: InputRequest, asks: ReadonlySet<string>): AskableCapability[] {
  if (question.method === "roots/list") return ["roots"];
  if (question.method === "elicitation/create") {
    return [question.params.mode === "url" ? "elicitation.url" : "elicitation.form"];
  }
  const needs: AskableCapability[] = ["sampling"];
  const { tools, toolChoice, includeContext, messages } = question.params;
  if (tools !== undefined || toolChoice !== undefined || messages.some(usesTools)) needs.push("sampling.tools");
  // Before "sampling.context" existed, every client with "sampling" could be asked for context.
  if (includeContext !== undefined && includeContext !== "none" && asks.has("sampling.context")) {
    needs.push("sampling.context");
  }
  return needs;
}

function usesTools({ content }: SamplingMessage): boolean {
  const blocks = Array.isArray(content) ? content : [content];
  return blocks.some(({ type }) => type === "tool_use" || type === "tool_result");
}

const required: { [Q in AskableCapability]: ClientCapabilities } = {
  roots: { roots: {} },
  sampling: { sampling: {} },
  "sampling.tools": { sampling: { tools: {} } },
  "sampling.context": { sampling: { context: {} } },
  "elicitation.form": { elicitation: { form: {} } },
  "elicitation.url": { elicitation: { url: {} } },
};

type Encoders = ReadonlyMap<string, Encode | undefined>;

/** Made at first use: most servers never ask. */
const encoders = new WeakMap<Revision, Encoders>();

/** Encodes a question for a revision. */
export function encodeQuestion(revision: Revision, question: InputRequest): InputRequest {
  let known = encoders.get(revision);
  if (!known) {
    known = new Map([
      ["elicitation/create", elicitationEncoder(revision.encoderParts)],
      ["sampling/createMessage", samplingEncoder(revision.encoderParts)],
    ]);
    encoders.set(revision, known);
  }
  const encode = known.get(question.method);
  if (!encode || question.params === undefined) return question;
  return { method: question.method, params: encode({ ...question.params }) } as InputRequest;
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

function samplingEncoder(parts: EncoderParts): Encode | undefined {
  const reshape = parts.after.map((changes) => changes.older?.samplingMessages).filter((f) => f !== undefined);
  const messages: Encode | undefined =
    reshape.length === 0
      ? undefined
      : (value) => ({
          ...value,
          messages: reshape.reduceRight((list, f) => f(list), (value["messages"] ?? []) as JsonObject[]),
        });
  const message = all(hide(parts, "samplingMessage"), member("content", contentEncoder(parts)));
  return all(messages, hide(parts, "sampling"), listMember("messages", message));
}
