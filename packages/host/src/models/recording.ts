import { type JsonObject, PortolanError } from "portolan";
import { checkOptions, type OptionNames } from "portolan/internal";
import { canonicalJson, sha256 } from "portolan/storage";
import { maxDifferenceChars, maxDifferences } from "./limits.ts";
import type { Model, ModelCapabilities, ModelEvent, ModelRequest } from "./model.ts";

/** One recorded turn. Write it with `JSON.stringify` as one line of a file. */
export interface Recording {
  /** The SHA-256 of the canonical request. */
  readonly key: string;
  readonly model: string;
  /** The request without its signal. It contains the conversation, but never an API key. */
  readonly request: JsonObject;
  readonly events: readonly ModelEvent[];
}

/** Wraps a model and calls `keep` with each completed turn: `recordModel(model, (turn) => appendFile(file, …))`. */
export function recordModel(model: Model, keep: (recording: Recording) => void | Promise<void>): Model {
  return {
    id: model.id,
    capabilities: model.capabilities,
    ...(model.traits !== undefined && { traits: model.traits }),
    ...(model.notice !== undefined && { notice: model.notice }),
    ...(model.repeatsResults !== undefined && { repeatsResults: model.repeatsResults }),
    async *stream(request: ModelRequest) {
      // Before the turn, because the caller can change its list of messages later.
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

/** Options of `replayModel`. */
export interface ReplayOptions {
  /** Default: the id of the recorded model. */
  readonly id?: string;
  /** What the model can do. Default: tools, images and audio. */
  readonly capabilities?: ModelCapabilities;
}

const replayOptionNames: OptionNames<ReplayOptions> = { id: 1, capabilities: 1 };

/**
 * Creates a model that replays recordings. A request without a recording fails with the differences to the closest one.
 * Equal requests get their turns in the order of the recordings, then the last one again.
 */
export function replayModel(recordings: Iterable<Recording>, options: ReplayOptions = {}): Model {
  checkOptions(options, replayOptionNames, "replay");
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
      if (turn === undefined) throw noRecording(JSON.parse(text), all);
      for (const event of turn.events) {
        signal?.throwIfAborted();
        yield event;
      }
    },
  };
}

/** Parses recordings from JSON lines. */
export function parseRecordings(text: string): Recording[] {
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    const recording = toRecording(line);
    if (recording !== undefined) return [recording];
    throw new PortolanError(
      "invalid-argument",
      `Line ${index + 1} of the recordings: expected a JSON object with key, model, request and events; record that turn again`,
    );
  });
}

function toRecording(line: string): Recording | undefined {
  try {
    const value = JSON.parse(line) as Partial<Recording> | null;
    const isComplete =
      typeof value?.key === "string" &&
      typeof value.model === "string" &&
      typeof value.request === "object" &&
      value.request !== null &&
      Array.isArray(value.events) &&
      value.events.at(-1)?.type === "end";
    return isComplete ? (value as Recording) : undefined;
  } catch {
    // Not JSON; the caller reports the line.
    return undefined;
  }
}

async function keyOf({ signal: _, ...request }: ModelRequest): Promise<{ text: string; key: string }> {
  const text = canonicalJson(request);
  return { text, key: await sha256(text) };
}

function noRecording(request: unknown, all: readonly Recording[]): PortolanError {
  const found = all.map((recording) => differencesOf(recording.request, request));
  // The closest recording has the most equal values; among equals, the fewest differences.
  found.sort((a, b) => b.equal - a.equal || a.differences.length - b.differences.length);
  const [closest] = found;
  const what =
    closest === undefined
      ? "there are no recordings"
      : `the closest one differs in ${closest.differences.slice(0, 3).join("; ")}${closest.differences.length > 3 ? "; and more" : ""}`;
  return new PortolanError(
    "model-failed",
    `None of ${all.length} recordings has this request: ${what}. Record it again, or send the recorded request.`,
  );
}

/** The comparison of two JSON values. */
interface Differences {
  /** The number of equal simple values. Strings with the same beginning count in part. */
  readonly equal: number;
  /** For example `messages[0].content.text: recorded "a", got "b"`. */
  readonly differences: readonly string[];
}

/** Compares two JSON values member by member. */
function differencesOf(recorded: unknown, got: unknown): Differences {
  const differences: string[] = [];
  let equal = 0;
  const compare = (a: unknown, b: unknown, path: string): void => {
    if (differences.length >= maxDifferences) return;
    if (isTree(a) && isTree(b) && Array.isArray(a) === Array.isArray(b)) {
      const names = new Set([...Object.keys(a), ...Object.keys(b)]);
      for (const name of names) compare(a[name], b[name], Array.isArray(a) ? `${path}[${name}]` : join(path, name));
      return;
    }
    equal += similarity(a, b);
    if (a !== b) differences.push(`${path || "the request"}: recorded ${show(a)}, got ${show(b)}`);
  };
  compare(recorded, got, "");
  return { equal, differences };
}

function similarity(a: unknown, b: unknown): number {
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
  return text.length > maxDifferenceChars ? `${text.slice(0, maxDifferenceChars)}…` : text;
}
