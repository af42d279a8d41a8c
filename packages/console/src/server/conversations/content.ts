import type { JsonObject } from "portolan";
import type { RunInput, RunOptions, RunState } from "portolan-host";
import type { AttachedResource, Block, ConversationHead } from "../../api.ts";
import type { JournalLine } from "./journal.ts";

/** The members of a conversation that the user sets. */
export interface ConversationSettings {
  readonly title: string;
  readonly model: string;
  readonly off: readonly string[];
  readonly attached: readonly AttachedResource[];
}

/** The input of a run that was started. */
export interface BegunRun {
  readonly task: RunInput;
  readonly attach: NonNullable<RunOptions["attach"]>;
  /** The id of the run. */
  readonly run?: string;
}

/** Everything that is kept of a conversation. */
export interface ConversationContent {
  readonly id: string;
  readonly createdAt: number;
  changedAt: number;
  settings: ConversationSettings;
  usage: ConversationHead["usage"];
  /** In order. */
  readonly blocks: Map<string, Block>;
  /** The blocks of the calls of the last run, by the model's ids of the calls. */
  readonly calls: Map<string, string>;
  /** The last state of the last run, from which the next one goes on. */
  state: RunState | undefined;
  /** The run that has begun and not ended; after a start it was interrupted. */
  begun: BegunRun | undefined;
  hasFailed: boolean;
}

export function newContent(id: string, settings: ConversationSettings): ConversationContent {
  const createdAt = Date.now();
  return {
    ...{ id, createdAt, changedAt: createdAt, settings, usage: undefined, blocks: new Map(), calls: new Map() },
    ...{ state: undefined, begun: undefined, hasFailed: false },
  };
}

/** The version of the files. A file of a later one is left alone. */
const fileVersion = 1;

/** Returns the shortest journal of a conversation. */
export function toLines(content: ConversationContent): readonly JournalLine[] {
  const { id, createdAt, changedAt, settings, usage, blocks, calls, state, begun, hasFailed } = content;
  const callIds = new Map([...calls].map(([callId, block]) => [block, callId]));
  return [
    { conversation: fileVersion, id, at: createdAt },
    { set: settings, at: changedAt },
    ...(begun ? [{ begun }] : [{ ended: { hasFailed } }]),
    ...[...blocks.values()].map((block) => ({ block, callId: callIds.get(block.id) })),
    ...(usage ? [{ usage }] : []),
    ...(state ? [{ checkpoint: state }] : []),
  ];
}

/** Returns the conversation that a journal tells; undefined for one of another version, or without a first line. */
export function fromLines(lines: readonly JsonObject[]): ConversationContent | undefined {
  const { conversation, id, at } = lines[0] ?? {};
  if (conversation !== fileVersion || typeof id !== "string" || typeof at !== "number") return undefined;
  const content = newContent(id, { title: "", model: "", off: [], attached: [] });
  const found = { ...content, createdAt: at, changedAt: at };
  for (const line of lines) apply(found, line as Line);
  return found;
}

/** A line of our own files, which no other user can write. */
interface Line {
  readonly at?: number;
  readonly set?: Partial<ConversationSettings>;
  readonly block?: Block;
  readonly callId?: string;
  readonly usage?: ConversationHead["usage"];
  readonly checkpoint?: RunState;
  readonly begun?: BegunRun;
  readonly ended?: { readonly hasFailed?: boolean };
}

function apply(content: ConversationContent, line: Line): void {
  const { at, set, block, callId, usage, checkpoint, begun, ended } = line;
  if (typeof at === "number") content.changedAt = at;
  if (set) content.settings = { ...content.settings, ...set };
  if (block) content.blocks.set(block.id, block);
  if (block && callId !== undefined) content.calls.set(callId, block.id);
  if (usage) content.usage = usage;
  if (checkpoint) content.state = checkpoint;
  if (begun) {
    content.begun = begun;
    content.calls.clear();
  }
  if (!ended) return;
  content.begun = undefined;
  content.hasFailed = ended.hasFailed === true;
}
