import { schemasMissing } from "./official-schema.ts";
import { metaKey } from "./raw-peer.ts";
import { isStateless, type RevisionDate, revisions } from "./revisions.ts";
import { type AnyMessage, problemsWith } from "./valid.ts";

/** The sender of a message. */
export type Sender = "client" | "server";

/** One message or batch between a client and a server. */
export interface Passed {
  /** The scope in which ids are unique. */
  readonly connection: string;
  /** The revision of messages that name no other. */
  readonly revision: RevisionDate;
  readonly from: Sender;
  /** The message or batch as it was sent. */
  readonly message: unknown;
}

if (schemasMissing) console.log(`Messages are not checked against the official schemas: ${schemasMissing}`);

/**
 * Returns the problems of one side's messages. Each is checked by its own revision: that of its request, or the
 * negotiated one.
 */
export function problemsOf(passed: readonly Passed[], ours: Sender): string[] {
  if (schemasMissing) return [];
  const conversations = new Map<string, Conversation>();
  return passed.flatMap(({ connection, revision, from, message }) => {
    const conversation = conversations.get(connection) ?? new Conversation(ours, revision);
    conversations.set(connection, conversation);
    return conversation.record(from, message);
  });
}

/** Parses a transcript of a client: lines with `> ` or `→ ` are messages that the client sent. */
export function passedIn(transcript: readonly string[], revision: RevisionDate): Passed[] {
  return transcript.map((line) => {
    const from = /^[>→]/.test(line) ? "client" : "server";
    return { connection: "", revision, from, message: JSON.parse(line.slice(2)) };
  });
}

interface OpenRequest {
  readonly method: string;
  readonly revision: RevisionDate;
}

const other: { readonly [S in Sender]: Sender } = { client: "server", server: "client" };

/** One connection with its negotiated revision and its open requests. */
class Conversation {
  readonly #ours: Sender;
  readonly #usual: RevisionDate;
  /** The open requests of each id: more than one only if an id is used twice. */
  readonly #asked = new Map<string, readonly OpenRequest[]>();
  readonly #answers = new Set<string>();
  readonly #tokens = new Map<unknown, RevisionDate>();
  #agreed: RevisionDate | undefined;

  constructor(ours: Sender, usual: RevisionDate) {
    this.#ours = ours;
    this.#usual = usual;
  }

  /** Records a message or batch; returns its problems if our side sent it. */
  record(from: Sender, value: unknown): string[] {
    if (!Array.isArray(value)) return this.#one(from, value);
    const problems = value.flatMap((one) => this.#one(from, one));
    const isAllowed = from !== this.#ours || (this.#agreed ?? this.#usual) === "2025-03-26";
    return isAllowed ? problems : [...problems, `a batch: ${show(value)}`];
  }

  #one(from: Sender, value: unknown): string[] {
    const isOurs = from === this.#ours;
    if (typeof value !== "object" || value === null) return isOurs ? [`not a message: ${show(value)}`] : [];
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
    // If an id is used twice, the later request is refused and the earlier one answered.
    if (message.error !== undefined) readings.reverse();
    const [best] = readings.sort((a, b) => a.problems.length - b.problems.length);
    this.#asked.set(
      key,
      asked.filter((one) => one !== best?.one),
    );
    if (from !== this.#ours) return [];
    const text = JSON.stringify(message);
    // A resumed stream repeats its messages.
    const isRepeated = this.#answers.has(text);
    this.#answers.add(text);
    if (best || isRepeated) return best?.problems ?? [];
    if (message.error !== undefined) return problemsWith(message, this.#agreed ?? this.#usual);
    return [`a response without a request: ${show(message)}`];
  }

  #problemsAbout({ method, revision }: OpenRequest, from: Sender, message: AnyMessage): string[] {
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

/** Returns a key for an id; `1` and `"1"` are different ids. */
function keyOf(side: Sender, id: unknown): string {
  return `${side} ${JSON.stringify(id)}`;
}

function toRevision(value: unknown): RevisionDate | undefined {
  return revisions.find((revision) => revision === value);
}
