import type { CallToolResult, ContentBlock, JsonObject } from "portolan";
import type { Progress } from "portolan/client";
import { appUriOf } from "portolan-host/apps";
import type { CallEnd, CallRecord } from "../../api.ts";
import type { ConsoleBase } from "../base.ts";
import { ApiRefusal } from "../failure.ts";
import {
  maxKeptCalls,
  maxKeptResultChars,
  maxListedCalls,
  maxShownArgumentsChars,
  maxTitleChars,
  progressMs,
} from "../limits.ts";
import { headOf } from "./result.ts";

interface KeptCall {
  record: CallRecord;
  readonly cancel: CancelCall | undefined;
  /** The user cancelled it before it was sent. */
  isUnwanted?: boolean;
  /** All of its arguments; its record may have only their start. */
  readonly argumentsText: string;
  /** When its progress was shown last. */
  shownAt?: number;
  /** Since when a question of it waits. */
  waitsSince?: number;
  /** The milliseconds since it was sent, if they are known before its end. */
  sentMs?: number;
  /** Why it failed, if that is known before its end. */
  failure?: string;
  /** The whole result, while it is kept. */
  result?: CallToolResult;
  text?: string;
}

/** Cancels a call. Returns false if it is not sent yet. */
export type CancelCall = () => boolean;

/** A call before it has ended. */
export type NewCall = Pick<CallRecord, "server" | "tool" | "by" | "argumentsText"> &
  Partial<Pick<CallRecord, "id" | "app" | "conversation" | "connection">>;

/** How a call ended, with its whole result if there is one. */
export interface EndedCall extends Pick<CallEnd, "how"> {
  readonly message?: string;
  readonly result?: CallToolResult;
  /** The part of the result that the model gets. Default: as the host presents it. */
  readonly seen?: { readonly text: string; readonly tokens: number };
  readonly schemaProblems?: readonly string[];
}

/** The calls of this process, whoever makes them, and the results of the last ones. */
export class CallRecords {
  readonly #base: ConsoleBase;
  /** In the order of their beginning. */
  readonly #calls = new Map<string, KeptCall>();
  #resultChars = 0;
  readonly #onChange: (record: CallRecord) => void;

  /** `onChange` is called for each new version of a record. */
  constructor(base: ConsoleBase, onChange: (record: CallRecord) => void = () => {}) {
    this.#base = base;
    this.#onChange = onChange;
  }

  /** Running calls, and the last ones that ended. */
  get listed(): readonly CallRecord[] {
    const records = [...this.#calls.values()].map(({ record }) => record);
    const ended = records.filter(({ end }) => end).slice(-maxListedCalls);
    return records.filter((record) => !record.end || ended.includes(record));
  }

  get running(): number {
    let count = 0;
    for (const { record } of this.#calls.values()) if (!record.end) count += 1;
    return count;
  }

  find(id: string): CallRecord | undefined {
    return this.#calls.get(id)?.record;
  }

  begin(call: NewCall, cancel?: CancelCall): CallRecord {
    const { argumentsText } = call;
    const record: CallRecord = {
      ...{ id: crypto.randomUUID(), startedAt: Date.now() },
      ...call,
      argumentsText: argumentsText.slice(0, maxShownArgumentsChars),
    };
    this.#calls.set(record.id, { record, cancel, argumentsText });
    this.#forgetOld();
    this.#show(record.id, record);
    return record;
  }

  /** Shows the progress of a call, now and then: a server may report it without end. */
  progress(id: string, progress: Progress): void {
    const kept = this.#calls.get(id);
    if (!kept || performance.now() - (kept.shownAt ?? Number.NEGATIVE_INFINITY) < progressMs) return;
    kept.shownAt = performance.now();
    const { message, ...numbers } = progress;
    this.change(id, {
      progress: { ...numbers, ...(message !== undefined && { message: message.slice(0, maxTitleChars) }) },
    });
  }

  /** Changes members of a running call. */
  change(id: string, members: Partial<Pick<CallRecord, "progress" | "waitsFor" | "visits" | "task">>): void {
    const kept = this.#calls.get(id);
    if (!kept || kept.record.end) return;
    const { waitsFor, visits, ...rest } = { ...this.#waited(kept, members.waitsFor), ...members };
    // An empty text removes the member.
    this.#show(id, { ...rest, ...(waitsFor && { waitsFor }), ...(visits && { visits }) });
  }

  end(id: string, { how, message, result, seen, schemaProblems = [] }: EndedCall): void {
    const kept = this.#calls.get(id);
    if (!kept || kept.record.end) return;
    const { waitsFor: _, visits: __, ...record } = this.#waited(kept, "");
    const failed = how === "done" ? kept.failure : undefined;
    const why = message ?? failed;
    const end: CallEnd = {
      how: failed === undefined ? how : "failed",
      ms: serverMs(record, Date.now() - record.startedAt, kept.sentMs),
      ...(why !== undefined && { message: why }),
      ...(result && { result: this.#keep(kept, result, seen, schemaProblems) }),
    };
    this.#show(id, { ...record, end });
  }

  /** A call of the model has failed: what the model got says so, and the record must not look like a result of the tool. */
  fail(id: string, message: string | undefined): void {
    const kept = this.#calls.get(id);
    if (!kept) return;
    const { end } = kept.record;
    if (!end) kept.failure = message ?? "";
    else if (end.how === "done") {
      const failed: CallEnd = { ...end, how: "failed", ...(message !== undefined && { message }) };
      this.#show(id, { ...kept.record, end: failed });
    }
  }

  /** A model failed instead of answering a request of the server during a call, also one that has ended since. */
  modelFailed(id: string, modelFailure: CallRecord["modelFailure"]): void {
    const record = this.find(id);
    if (record && modelFailure) this.#show(id, { ...record, modelFailure });
  }

  /** A call took so long since it was sent. */
  took(id: string, ms: number): void {
    const kept = this.#calls.get(id);
    if (!kept) return;
    const { record } = kept;
    if (!record.end) kept.sentMs = ms;
    else if (ms < record.end.ms) this.#show(id, { ...record, end: { ...record.end, ms } });
  }

  cancel(id: string): void {
    const kept = this.#calls.get(id);
    if (!kept) throw noCall();
    if (kept.record.end) throw new ApiRefusal("busy", "The call has ended already.");
    if (!kept.cancel) throw new ApiRefusal("busy", "The call cannot be cancelled alone.");
    if (kept.cancel()) return;
    kept.isUnwanted = true;
  }

  /** A call is being sent: one that was cancelled a moment before ends at once. */
  sent(id: string): void {
    const kept = this.#calls.get(id);
    if (kept?.isUnwanted) kept.cancel?.();
  }

  /** Returns the whole result as JSON text. */
  textOf(id: string): string {
    const { text } = this.#result(id);
    return text;
  }

  blockOf(id: string, index: number): ContentBlock {
    const block = this.#result(id).result.content[index];
    if (!block) throw new ApiRefusal("not-found", "The result has no such part.");
    return block;
  }

  argumentsOf(id: string): JsonObject {
    const kept = this.#calls.get(id);
    if (!kept) throw noCall();
    return parseArguments(kept.argumentsText);
  }

  resultOf(id: string): CallToolResult {
    return this.#result(id).result;
  }

  #result(id: string): { readonly text: string; readonly result: CallToolResult } {
    const kept = this.#calls.get(id);
    if (!kept) throw noCall();
    const { text, result } = kept;
    if (text !== undefined && result) return { text, result };
    const message = kept.record.end?.result ? "The result is no longer kept." : "The call has no result.";
    throw new ApiRefusal("not-found", message);
  }

  #keep(kept: KeptCall, result: CallToolResult, seen: EndedCall["seen"], schemaProblems: readonly string[]) {
    const { host } = this.#base;
    const { server, tool, app: offeredBy } = kept.record;
    const text = JSON.stringify(result);
    kept.text = text;
    kept.result = result;
    this.#resultChars += text.length;
    this.#forgetOld();
    const definition = host.catalog.tool(server, tool)?.definition;
    // A tool that an app offers may have the name of a tool of its server.
    const app = definition && offeredBy === undefined ? appUriOf(definition) : undefined;
    const { text: modelText, tokens: modelTokens } = seen ?? host.present(result, { server });
    return headOf(result, text, {
      modelText,
      modelTokens,
      schemaProblems: schemaProblems.slice(0, 20),
      ...(app !== undefined && { app: { uri: app } }),
    });
  }

  /** The record with the time that its questions waited until now. */
  #waited(kept: KeptCall, waitsFor: string | undefined): CallRecord {
    const { record, waitsSince } = kept;
    if (waitsFor === undefined) return record;
    if (waitsFor !== "") kept.waitsSince ??= Date.now();
    if (waitsFor !== "" || waitsSince === undefined) return record;
    delete kept.waitsSince;
    return { ...record, waitedMs: (record.waitedMs ?? 0) + Date.now() - waitsSince };
  }

  #show(id: string, record: CallRecord): void {
    const kept = this.#calls.get(id);
    if (!kept) return;
    kept.record = record;
    this.#base.publish({ kind: "call", call: record });
    this.#onChange(record);
  }

  /** Forgets the oldest ended calls, and results beyond the bound of all. */
  #forgetOld(): void {
    let surplus = this.#calls.size - maxKeptCalls;
    for (const [id, kept] of this.#calls) {
      if (surplus <= 0 && this.#resultChars <= maxKeptResultChars) return;
      if (!kept.record.end) continue;
      this.#resultChars -= kept.text?.length ?? 0;
      delete kept.text;
      delete kept.result;
      if (surplus <= 0) continue;
      surplus -= 1;
      this.#calls.delete(id);
    }
  }
}

/** Returns the time without waiting for the person: what was waited before a call was sent is not in `sentMs` either. */
function serverMs({ waitedMs = 0 }: CallRecord, ms: number, sentMs = ms): number {
  return Math.max(0, Math.min(ms - waitedMs, sentMs));
}

function noCall(): ApiRefusal {
  return new ApiRefusal("not-found", "There is no such call, or it ended long ago.");
}

/** Returns the object in the text of arguments; throws with the reason. */
export function parseArguments(argumentsText: string, path = "argumentsText"): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(argumentsText.trim() === "" ? "{}" : argumentsText);
  } catch (reason) {
    throw invalidText(path, (reason as Error).message);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw invalidText(path, "expected a JSON object");
}

function invalidText(path: string, message: string): ApiRefusal {
  return new ApiRefusal("invalid", message, { paths: [{ path, message }] });
}
