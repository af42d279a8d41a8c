import { type JsonObject, PortolanError } from "portolan";
import { canonicalJson, sha256 } from "portolan/storage";
import type { Model, ModelCapabilities, ModelEvent, ModelRequest } from "./model.ts";

/** One recorded turn; `JSON.stringify` makes a line of it. */
export interface Recording {
  /** The SHA-256 of the canonical request. */
  readonly key: string;
  readonly model: string;
  /** Without its signal. It holds what was said, and no key: adapters keep those to themselves. */
  readonly request: JsonObject;
  readonly events: readonly ModelEvent[];
}

/** The same model, of which each turn that ends is kept: `record(model, (turn) => appendFile(file, …))`. */
export function recordModel(model: Model, keep: (recording: Recording) => void | Promise<void>): Model {
  return {
    id: model.id,
    capabilities: model.capabilities,
    ...(model.traits !== undefined && { traits: model.traits }),
    ...(model.notice !== undefined && { notice: model.notice }),
    async *stream(request: ModelRequest) {
      // Before the turn: the caller may go on with its list of messages.
      const { text, key } = await keyOf(request);
      const events: ModelEvent[] = [];
      for await (const event of model.stream(request)) {
        events.push(event);
        if (event.type === "end") await keep({ key, model: model.id, request: JSON.parse(text) as JsonObject, events });
        yield event;
      }
    },
  };
}

export interface ReplayOptions {
  /** The recorded model's unless given. */
  readonly id?: string;
  readonly capabilities?: ModelCapabilities;
}

/**
 * A model that says again what was recorded; a request that was not recorded fails and names what differs. Equal requests
 * get their turns in the order of the recordings, and the last one from then on.
 */
export function replay(recordings: Iterable<Recording>, options: ReplayOptions = {}): Model {
  const all = [...recordings];
  const played = new Map<string, number>();
  return {
    id: options.id ?? all[0]?.model ?? "replay",
    capabilities: options.capabilities ?? { tools: true, images: true, audio: true },
    notice: "recorded",
    async *stream(request: ModelRequest) {
      const { signal } = request;
      signal?.throwIfAborted();
      const { text, key } = await keyOf(request);
      const turns = all.filter((recording) => recording.key === key);
      const number = played.get(key) ?? 0;
      played.set(key, number + 1);
      const turn = turns[Math.min(number, turns.length - 1)];
      if (turn === undefined) throw missed(JSON.parse(text), all);
      for (const event of turn.events) {
        signal?.throwIfAborted();
        yield event;
      }
    },
  };
}

/** Recordings out of JSON lines. */
export function parseRecordings(text: string): Recording[] {
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    const recording = toRecording(line);
    if (recording !== undefined) return [recording];
    throw new PortolanError(
      "invalid-argument",
      `Line ${index + 1} of the recordings: expected a JSON object with key, model, request and events; record that turn anew`,
    );
  });
}

function toRecording(line: string): Recording | undefined {
  try {
    const value = JSON.parse(line) as Partial<Recording> | null;
    const isWhole =
      typeof value?.key === "string" &&
      typeof value.model === "string" &&
      typeof value.request === "object" &&
      value.request !== null &&
      Array.isArray(value.events) &&
      value.events.at(-1)?.type === "end";
    return isWhole ? (value as Recording) : undefined;
  } catch {
    // The caller says which line it is.
    return undefined;
  }
}

async function keyOf({ signal: _, ...request }: ModelRequest): Promise<{ text: string; key: string }> {
  const text = canonicalJson(request);
  return { text, key: await sha256(text) };
}

function missed(request: unknown, all: readonly Recording[]): PortolanError {
  const found = all.map((recording) => differencesOf(recording.request, request));
  // The closest is the one that agrees the longest; of equals, the one with fewer differences.
  found.sort((a, b) => b.agreed - a.agreed || a.differences.length - b.differences.length);
  const [closest] = found;
  const what =
    closest === undefined
      ? "there are none"
      : `the closest one differs in ${closest.differences.slice(0, 3).join("; ")}${closest.differences.length > 3 ? "; and more" : ""}`;
  return new PortolanError(
    "model-failed",
    `None of ${all.length} recordings has this request: ${what}. Record it anew, or make the request as it was.`,
  );
}

const maxShown = 60;
const maxDifferences = 20;

/** Where two JSON values differ. */
export interface Differences {
  /** How many simple values are the same; a text that begins like the other counts in part. */
  readonly agreed: number;
  /** `messages[0].content.text: recorded "a", got "b"`. */
  readonly differences: readonly string[];
}

/** Compares two JSON values member by member. */
export function differencesOf(recorded: unknown, got: unknown): Differences {
  const differences: string[] = [];
  let agreed = 0;
  const compare = (a: unknown, b: unknown, path: string): void => {
    if (differences.length >= maxDifferences) return;
    if (isTree(a) && isTree(b) && Array.isArray(a) === Array.isArray(b)) {
      const names = new Set([...Object.keys(a), ...Object.keys(b)]);
      for (const name of names) compare(a[name], b[name], Array.isArray(a) ? `${path}[${name}]` : join(path, name));
      return;
    }
    agreed += likeness(a, b);
    if (a !== b) differences.push(`${path || "the request"}: recorded ${show(a)}, got ${show(b)}`);
  };
  compare(recorded, got, "");
  return { agreed, differences };
}

function likeness(a: unknown, b: unknown): number {
  if (a === b) return 1;
  if (typeof a !== "string" || typeof b !== "string") return 0;
  let same = 0;
  while (same < a.length && a.charCodeAt(same) === b.charCodeAt(same)) same += 1;
  return same / Math.max(a.length, b.length);
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function isTree(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null;
}

function show(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}
