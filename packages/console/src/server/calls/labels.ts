import type { Progress } from "portolan/client";
import type { HostEvent } from "portolan-host";
import type { ConsoleBase } from "../base.ts";
import { maxKeptCalls } from "../limits.ts";
import type { CallRecords } from "./calls.ts";

/** Finds the record of a call by the id that the host gives it: messages and questions have that id. */
export class CallLabels {
  readonly #base: ConsoleBase;
  readonly #calls: CallRecords;
  readonly #ofRun: (run: string, callId: string) => string | undefined;
  readonly #known = new Map<string, string>();

  constructor(base: ConsoleBase, calls: CallRecords, ofRun: (run: string, callId: string) => string | undefined) {
    this.#base = base;
    this.#calls = calls;
    this.#ofRun = ofRun;
  }

  find(label: string): string | undefined {
    const known = this.#known.get(label);
    if (known !== undefined) return known;
    // A call on an opened connection has the id of its record as its label.
    if (this.#calls.find(label)) return label;
    const found = this.#base.host.calls.find(({ id }) => id === label);
    return this.#note(label, found?.run, found?.callId);
  }

  hear(event: HostEvent): void {
    if (event.kind === "call") {
      const { id, run, callId, by, server, name, args } = event;
      const known = this.#note(id, run, callId);
      if (known !== undefined) this.#calls.sent(known);
      if (known !== undefined || by !== "app" || event.what !== "tool") return;
      const cancel = () => this.#base.host.cancel(id);
      this.#calls.begin({ id, server, tool: name, by, argumentsText: JSON.stringify(args ?? {}) }, cancel);
    }
    if (event.kind === "progress") this.#progressOf(event.id, event.progress);
    if (event.kind !== "ended") return;
    const record = this.find(event.id);
    if (record === undefined) return;
    const { how, by, error, ms } = event;
    if (how !== "refused") this.#calls.took(record, ms);
    if (by === "app") this.#calls.end(record, { how, ...(error !== undefined && { message: error }) });
    else if (how === "failed") this.#calls.fail(record, error);
  }

  /** The progress of calls by the model and by hand comes to those who make them. */
  #progressOf(id: string, progress: Progress): void {
    if (this.#calls.find(id)?.by === "app") this.#calls.progress(id, progress);
  }

  #note(label: string, run: string | undefined, callId: string | undefined): string | undefined {
    if (callId === undefined) return undefined;
    const record = run === undefined ? this.#calls.find(callId)?.id : this.#ofRun(run, callId);
    if (record === undefined) return undefined;
    this.#known.set(label, record);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= maxKeptCalls) break;
      this.#known.delete(oldest);
    }
    return record;
  }
}
