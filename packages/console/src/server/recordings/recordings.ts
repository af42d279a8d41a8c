import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PortolanError } from "portolan";
import type { TapEvent } from "portolan/client";
import {
  endCutRecording,
  loadRecording,
  MessageRedactor,
  openRecordedServer,
  openRecorder,
  openRecording,
  type Recorder,
  type RecordingReader,
  type RecordingRow,
} from "portolan-recording";
import type { RecordingHead } from "../../api.ts";
import { type ConsoleBase, createSlices } from "../base.ts";
import { type Connections, mainId } from "../connections/connections.ts";
import { ApiRefusal, messageOf } from "../failure.ts";
import { makePrivateFolder } from "../files.ts";
import { maxExportChars, maxRecordings, sliceMs } from "../limits.ts";

interface Running {
  readonly recorder: Recorder;
  readonly stop: () => void;
}

/** The recordings of the folder, those of this process among them. */
export class Recordings {
  readonly #base: ConsoleBase;
  readonly #connections: Connections;
  readonly #folder: string;
  readonly #heads = new Map<string, RecordingHead>();
  readonly #running = new Map<string, Running>();
  #endedCut = Promise.resolve();

  constructor(base: ConsoleBase, connections: Connections) {
    this.#base = base;
    this.#connections = connections;
    this.#folder = join(base.options.folder, "recordings");
  }

  get all(): readonly RecordingHead[] {
    return [...this.#heads.values()];
  }

  /** Lists the recordings of earlier starts, one after the other: each is read once to count its lines. */
  async load(): Promise<void> {
    this.#endedCut = makePrivateFolder(this.#folder).then(() => this.#endCut());
    await this.#endedCut;
    const names = (await readdir(this.#folder)).filter((name) => name.endsWith(".jsonl"));
    for (const name of names.sort().slice(-maxRecordings)) {
      if (this.#base.closing.aborted) return;
      const id = name.slice(0, -".jsonl".length);
      await this.#index(id).catch((reason) => {
        this.#base.onError(new Error(`The recording ${this.#fileOf(id)} is not shown`, { cause: reason }));
      });
    }
  }

  /** Records what is said on the host's own connection to a server, with the handshake and the lists that came before. */
  async start(server: string, isRaw: boolean): Promise<string> {
    // A recording that begins now must not be taken for one that was cut.
    await this.#endedCut;
    this.#checkPlace();
    const startedAt = Date.now();
    const id = `${fileNameOf(server)}-${new Date(startedAt).toISOString().replace(/[:.]/g, "-")}`;
    const process_ = { pid: process.pid, onExit: () => () => {} };
    await writeFile(this.#markOf(id), "", { mode: 0o600 });
    const recorder = openRecorder(this.#fileOf(id), { server, by: "portolan console", isRaw }, process_);
    let messages = 0;
    const hear = (event: TapEvent) => {
      recorder.hear(event);
      if (event.kind !== "message") return;
      messages += 1;
      const head = this.#heads.get(id);
      // Its size is told now and then; every message would be as much again.
      if (head && messages % 100 === 0) this.#show({ ...head, messages });
    };
    this.#hearEarlier(server, hear);
    const tap = (from: string, event: TapEvent) => {
      if (from === server) hear(event);
    };
    this.#connections.taps.add(tap);
    this.#running.set(id, { recorder, stop: () => void this.#connections.taps.delete(tap) });
    const revision = this.#revisionOf(server);
    this.#show({
      ...{ id, server, startedAt, isRunning: true, messages, bytes: 0, isRedacted: !isRaw },
      ...(revision !== undefined && { revision }),
    });
    return id;
  }

  async stop(id: string): Promise<void> {
    const running = this.#running.get(id);
    if (!running) throw new ApiRefusal("not-found", "The recording is not running.");
    this.#running.delete(id);
    running.stop();
    await running.recorder.end();
    await rm(this.#markOf(id), { force: true });
    await this.#index(id);
  }

  async remove(id: string): Promise<void> {
    this.#headOf(id);
    if (this.#running.has(id)) await this.stop(id);
    await rm(this.#fileOf(id), { force: true });
    this.#heads.delete(id);
    this.#base.publish({ kind: "recording-gone", id });
  }

  /** Shows a recording as a connection. Returns its id. */
  async open(id: string): Promise<string> {
    const { server } = this.#headOf(id);
    const reader = await this.#read(id);
    const connection = this.#connections.add({
      id: `recording.${id}.${crypto.randomUUID()}`,
      server,
      isMain: false,
      state: "opening",
    });
    const started = Date.parse(reader.header.startedAt);
    const fill = async () => {
      const pause = createSlices(sliceMs);
      try {
        for await (const row of reader.rows()) {
          const event = toEvent(row, started);
          if (event) connection.hear(event);
          await pause();
        }
        connection.set({
          state: "closed",
          reason: reader.isCut || this.#heads.get(id)?.isCut ? "The end of the recording is missing." : "A recording.",
        });
      } catch (reason) {
        connection.set({ state: "failed", reason: messageOf(reason) });
      } finally {
        await reader.close();
      }
      this.#connections.show(connection);
    };
    fill().catch(this.#base.onError);
    return connection.record.id;
  }

  /** Adds a recording from a file of the user. */
  async import(name: string, text: string): Promise<string> {
    this.#checkPlace();
    const id = `${fileNameOf(name.replace(/\.jsonl$/, ""))}-${crypto.randomUUID().slice(0, 8)}`;
    const file = this.#fileOf(id);
    await writeFile(file, text, { mode: 0o600, flag: "wx" });
    try {
      await this.#index(id);
    } catch (reason) {
      await rm(file, { force: true });
      const message = reason instanceof PortolanError ? "The file is not a recording." : messageOf(reason);
      throw new ApiRefusal("invalid", message, { next: "Choose a file that portolan record has written." });
    }
    return id;
  }

  /** Returns the text of a recording. Secrets are removed from one that was made with them. */
  async export(id: string): Promise<{ readonly name: string; readonly text: string }> {
    const { isRedacted, isRunning } = this.#headOf(id);
    if (isRunning) throw new ApiRefusal("busy", "The recording is running.", { next: "Stop it first." });
    const file = this.#fileOf(id);
    if ((await stat(file)).size > maxExportChars) {
      throw new ApiRefusal("too-large", "The recording is too large for a page.", { next: `It is the file ${file}` });
    }
    const text = await readFile(file, "utf8");
    const name = `${id}.jsonl`;
    return { name, text: isRedacted ? text : await withoutSecrets(text) };
  }

  /** Adds a server that answers from a recording. Returns its name. */
  async mock(id: string): Promise<string> {
    const { server } = this.#headOf(id);
    const { host } = this.#base;
    const recording = await this.use(id, (reader) => loadRecording(reader));
    const names = new Set(host.servers.map(({ name }) => name));
    let name = `${server}-recorded`;
    for (let count = 2; names.has(name); count += 1) name = `${server}-recorded-${count}`;
    await host.add(name, { open: () => openRecordedServer(recording) });
    return name;
  }

  /** Reads a recording for a moment. */
  async use<T>(id: string, work: (reader: RecordingReader) => Promise<T>): Promise<T> {
    this.#headOf(id);
    const reader = await this.#read(id);
    try {
      return await work(reader);
    } finally {
      await reader.close();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((id) => this.stop(id).catch(this.#base.onError)));
  }

  /** Ends the recordings that ran when a console was killed. */
  async #endCut(): Promise<void> {
    const names = await readdir(this.#folder);
    for (const id of names
      .filter((name) => name.endsWith(runningMark))
      .map((name) => name.slice(0, -runningMark.length))) {
      try {
        if (names.includes(`${id}.jsonl`)) await endCutRecording(this.#fileOf(id));
        await rm(this.#markOf(id), { force: true });
      } catch (reason) {
        this.#base.onError(new Error(`The recording ${this.#fileOf(id)} has no end`, { cause: reason }));
      }
    }
  }

  #hearEarlier(server: string, hear: (event: TapEvent) => void): void {
    const id = mainId(server);
    if (!this.#connections.all.some((one) => one.id === id)) return;
    const { spool } = this.#connections.get(id);
    for (let n = spool.first; n <= Math.min(spool.last, spool.first + earlierRows); n += 1) {
      const row = spool.row(n);
      if (!row || !earlierMethods.has(row.title) || (row.lane !== "client" && row.lane !== "server")) continue;
      hear({ kind: "message", at: row.at, from: row.lane, text: spool.text(n) });
    }
  }

  async #index(id: string): Promise<void> {
    const reader = await this.#read(id);
    try {
      const { header, rowCount, bytes } = reader;
      const known = this.#heads.get(id)?.revision;
      const revision = known ?? (await revisionIn(reader));
      const [last] = await reader.page({ limit: 1 });
      const end = last?.kind === "note" ? last.text : "";
      const isCut = reader.isCut || end.includes('"cut":true');
      // A file that another program has cut says nothing of secrets that were found late.
      const mayHaveSecrets = reader.isCut || end.includes('"mayHaveSecrets":true');
      this.#show({
        ...{ id, server: String(header.server), startedAt: Date.parse(header.startedAt) || 0, isRunning: false },
        ...{ messages: rowCount, bytes, isRedacted: header.redacted === true && !mayHaveSecrets },
        ...(isCut && { isCut }),
        ...(revision !== undefined && { revision }),
      });
    } finally {
      await reader.close();
    }
  }

  #read(id: string): Promise<RecordingReader> {
    return openRecording(this.#fileOf(id), { signal: this.#base.closing });
  }

  #fileOf(id: string): string {
    return join(this.#folder, `${id}.jsonl`);
  }

  #markOf(id: string): string {
    return join(this.#folder, `${id}${runningMark}`);
  }

  /** Ids are looked up before they become a path. */
  #headOf(id: string): RecordingHead {
    const head = this.#heads.get(id);
    if (!head) throw new ApiRefusal("not-found", "There is no such recording.");
    return head;
  }

  #revisionOf(server: string): string | undefined {
    return this.#base.host.servers.find(({ name }) => name === server)?.profile?.version;
  }

  #checkPlace(): void {
    if (this.#heads.size < maxRecordings) return;
    throw new ApiRefusal("busy", "There are too many recordings.", { next: "Remove some of them." });
  }

  #show(recording: RecordingHead): void {
    this.#heads.set(recording.id, recording);
    this.#base.publish({ kind: "recording", recording });
  }
}

/** The end of the name of a file that stands beside a recording as long as it runs. */
const runningMark = ".running";

/** Rows of the connection before a recording, among which its handshake and lists are looked for. */
const earlierRows = 2_000;

const earlierMethods: ReadonlySet<string> = new Set([
  ...["initialize", "notifications/initialized", "server/discover"],
  ...["tools/list", "prompts/list", "resources/list", "resources/templates/list"],
]);

function fileNameOf(name: string): string {
  return name.replace(/[^\w-]+/g, "-").slice(0, 60) || "recording";
}

function toEvent({ at, kind, from, text }: RecordingRow, started: number): TapEvent | undefined {
  const moment = { at: started + at };
  if (kind === "message" && from !== undefined) return { ...moment, kind, from, text };
  if (kind === "stderr") return { ...moment, kind, line: text };
  if (kind === "invalid") return { ...moment, kind, text, reason: "This line is not one of a recording." };
  if (kind !== "http") return undefined;
  const http = JSON.parse(text) as Omit<Extract<TapEvent, { kind: "http" }>, "kind" | "at">;
  return { ...http, ...moment, kind };
}

/** Returns the revision that the first messages agree on. */
async function revisionIn(reader: RecordingReader): Promise<string | undefined> {
  for (const { text } of await reader.page({ after: 0, limit: 20 })) {
    const found = /"protocolVersion"\s*:\s*"(20\d\d-\d\d-\d\d)"/.exec(text.slice(0, 20_000))?.[1];
    if (found !== undefined && text.includes('"result"')) return found;
  }
  return undefined;
}

/** Removes the secrets from the lines of a recording. */
async function withoutSecrets(text: string): Promise<string> {
  const redactor = new MessageRedactor();
  const pause = createSlices(sliceMs);
  const lines = text.split("\n").filter(Boolean);
  const parsed: unknown[] = [];
  for (const line of lines) {
    parsed.push(JSON.parse(line));
    await pause();
  }
  // A secret that is found late may stand in earlier lines.
  for (let round = 0, known = -1; round < 3 && known !== redactor.size; round += 1) {
    known = redactor.size;
    for (const [index, line] of parsed.entries()) {
      parsed[index] = redactor.redact(line);
      await pause();
    }
  }
  const [header, ...others] = parsed;
  return `${[{ ...(header as object), redacted: true }, ...others].map((line) => JSON.stringify(line)).join("\n")}\n`;
}
