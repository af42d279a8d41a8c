import { schemasMissing } from "./official-schema.ts";
import { metaKey } from "./raw-peer.ts";
import { isStateless, type RevisionDate, revisions } from "./revisions.ts";
import { type AnyMessage, problemsWith } from "./valid.ts";

/** Who sent a message. */
export type Sender = "client" | "server";

/** Something that passed between a client and a server. */
export interface Passed {
  /** Ids are unique within it. */
  readonly connection: string;
  /** For what names no other: what is meant to be spoken there. */
  readonly revision: RevisionDate;
  readonly from: Sender;
  /** A message, or a batch of them, as it came. */
  readonly message: unknown;
}

if (schemasMissing) console.log(`what passes is not checked against the official schemas: ${schemasMissing}`);

/**
 * What is wrong with the messages of one side, each in the revision that it belongs to: that of the request it is about,
 * or the one that was agreed on.
 */
export function problemsOf(passed: readonly Passed[], ours: Sender): string[] {
  if (schemasMissing) return [];
  const conversations = new Map<string, Conversation>();
  return passed.flatMap(({ connection, revision, from, message }) => {
    const conversation = conversations.get(connection) ?? new Conversation(ours, revision);
    conversations.set(connection, conversation);
    return conversation.hear(from, message);
  });
}

/** What a transcript on the side of a client says that passed: `> ` or `→ ` is what it sent. */
export function passedIn(transcript: readonly string[], revision: RevisionDate): Passed[] {
  return transcript.map((line) => {
    const from = /^[>→]/.test(line) ? "client" : "server";
    return { connection: "", revision, from, message: JSON.parse(line.slice(2)) };
  });
}

interface Asked {
  readonly method: string;
  readonly revision: RevisionDate;
}

const other: { readonly [S in Sender]: Sender } = { client: "server", server: "client" };

/** One connection, and what was agreed and asked on it up to now. */
class Conversation {
  readonly #ours: Sender;
  readonly #usual: RevisionDate;
  /** What is open under each id: more than one only where ids are used twice. */
  readonly #asked = new Map<string, readonly Asked[]>();
  readonly #answers = new Set<string>();
  readonly #tokens = new Map<unknown, RevisionDate>();
  #agreed: RevisionDate | undefined;

  constructor(ours: Sender, usual: RevisionDate) {
    this.#ours = ours;
    this.#usual = usual;
  }

  /** What is wrong with it, if it is ours. */
  hear(from: Sender, value: unknown): string[] {
    if (!Array.isArray(value)) return this.#one(from, value);
    const problems = value.flatMap((one) => this.#one(from, one));
    const isAllowed = from !== this.#ours || (this.#agreed ?? this.#usual) === "2025-03-26";
    return isAllowed ? problems : [...problems, `a batch: ${show(value)}`];
  }

  #one(from: Sender, value: unknown): string[] {
    const isOurs = from === this.#ours;
    if (typeof value !== "object" || value === null) return isOurs ? [`no message: ${show(value)}`] : [];
    const message = value as AnyMessage;
    if (message.method === undefined) return this.#response(from, message);
    const revision = this.#revisionOf(from, message);
    if (message.id !== undefined) {
      const key = keyOf(from, message.id);
      this.#asked.set(key, [...(this.#asked.get(key) ?? []), { method: String(message.method), revision }]);
      this.#tokens.set(message.params?._meta?.progressToken, revision);
    }
    return isOurs ? problemsWith(message, revision) : [];
  }

  #response(from: Sender, message: AnyMessage): string[] {
    const key = keyOf(other[from], message.id);
    const asked = this.#asked.get(key) ?? [];
    const readings = asked.map((one) => ({ one, problems: this.#problemsAbout(one, from, message) }));
    // Under an id that is used twice the later request is refused, and the earlier one answered.
    if (message.error !== undefined) readings.reverse();
    const [best] = readings.sort((a, b) => a.problems.length - b.problems.length);
    this.#asked.set(
      key,
      asked.filter((one) => one !== best?.one),
    );
    if (from !== this.#ours) return [];
    const text = JSON.stringify(message);
    // A stream that is gone on with repeats what it said.
    const isRepeated = this.#answers.has(text);
    this.#answers.add(text);
    if (best || isRepeated) return best?.problems ?? [];
    if (message.error !== undefined) return problemsWith(message, this.#agreed ?? this.#usual);
    return [`an answer to what nobody asked: ${show(message)}`];
  }

  #problemsAbout({ method, revision }: Asked, from: Sender, message: AnyMessage): string[] {
    const isHandshake = method === "initialize";
    if (isHandshake) this.#agreed = toRevision(message.result?.protocolVersion) ?? this.#agreed;
    return from === this.#ours ? problemsWith(message, (isHandshake && this.#agreed) || revision, method) : [];
  }

  #revisionOf(from: Sender, { method, id, params }: AnyMessage): RevisionDate {
    const now = this.#agreed ?? this.#usual;
    const named = method === "initialize" ? params?.protocolVersion : params?._meta?.[metaKey("protocolVersion")];
    if (id !== undefined) return toRevision(named) ?? now;
    if (method === "notifications/progress") return this.#tokens.get(params?.progressToken) ?? now;
    if (method === "notifications/cancelled") {
      const keys = [keyOf(from, params?.requestId), keyOf(other[from], params?.requestId)];
      return keys.flatMap((key) => this.#asked.get(key) ?? [])[0]?.revision ?? now;
    }
    const isSubscribed = params?._meta?.[metaKey("subscriptionId")] !== undefined;
    return isSubscribed ? (revisions.find(isStateless) ?? now) : now;
  }
}

function show(value: unknown): string {
  return JSON.stringify(value).slice(0, 300);
}

/** `1` and `"1"` are two ids. */
function keyOf(side: Sender, id: unknown): string {
  return `${side} ${JSON.stringify(id)}`;
}

function toRevision(value: unknown): RevisionDate | undefined {
  return revisions.find((revision) => revision === value);
}
