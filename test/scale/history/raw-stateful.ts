import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "portolan";
import { type RawAnswer, sendRaw } from "./http.ts";
import { type HistoryRecord, type RecordedCall, type RecordedSubscription, toEnd } from "./record.ts";

// biome-ignore lint/suspicious/noExplicitAny: messages of every shape
type AnyMessage = any;

const revision = "2025-11-25";
/** Longer than any fault of a history or of a soak. */
const deliverMs = 60_000;
const kinds = { "content-type": "application/json", accept: "application/json, text/event-stream" };

/** A stateful client that shows everything it hears, where a client of ours would hide a fault. */
export class RawStatefulClient {
  readonly name: string;
  readonly #url: string;
  readonly #record: HistoryRecord;
  readonly #principal: string;
  #session: string | undefined;
  #renewal: Promise<void> | undefined;
  #isClosed = false;
  #stream: RawAnswer | undefined;
  #listening: Promise<void> | undefined;
  #lastId = 0;
  /** Sessions that ended with a confirmation. */
  readonly ended: string[] = [];
  readonly #subscriptions = new Map<string, RecordedSubscription>();

  constructor(name: string, url: string, record: HistoryRecord) {
    this.name = name;
    this.#url = url;
    this.#record = record;
    this.#principal = `${record.seed}-${name}`;
  }

  async open(): Promise<void> {
    await this.#begin();
    this.#listening = this.#listen();
  }

  async call(tool: string, args: JsonObject): Promise<void> {
    const call = this.#record.begin(this.name, tool, false);
    await this.#run(call, { ...args, call: call.id });
  }

  /** Starts a call that only ends by its cancellation. */
  async cancelled(afterMs: number): Promise<void> {
    const call = this.#record.begin(this.name, "hold", false);
    const id = this.#nextId();
    const session = this.#session;
    const running = this.#post(this.#callMessage("hold", { call: call.id }, id)).catch((error: Error) => error);
    await sleep(afterMs);
    call.cancelledAt = Date.now();
    const told = await this.#deliver(
      {
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: id },
      },
      session,
    );
    const status = told instanceof Error ? undefined : told;
    this.#record.end(call, { reason: `cancelled, and told ${told instanceof Error ? told.message : told}`, status });
    const answer = await Promise.race([running, sleep(200, undefined, { ref: false })]);
    if (answer && !(answer instanceof Error)) answer.drop();
    else running.then((late) => late instanceof Error || late.drop());
  }

  async subscribe(uri: string): Promise<void> {
    const found = this.#subscriptions.get(uri);
    if (found) return;
    const { name: client } = this;
    const one: RecordedSubscription = {
      ...{
        client,
        uri,
        isStateless: false,
        askedAt: Date.now(),
        confirmedAt: undefined,
        gaps: [],
        heard: [],
        connections: 1,
        isRaw: true,
      },
    };
    this.#subscriptions.set(uri, one);
    this.#record.subscriptions.push(one);
    await this.#confirm(one);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (let tries = 0; tries < 20 && this.#session !== undefined; tries += 1) {
      const answer = await sendRaw(this.#url, "DELETE", this.#headers()).catch(() => undefined);
      await answer?.text().catch(() => {});
      if (answer && answer.status < 300) this.ended.push(this.#session);
      if (answer && answer.status < 500) break;
      await sleep(100);
    }
    this.#stream?.drop();
    await this.#listening;
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  #headers(): { [name: string]: string } {
    const session = this.#session === undefined ? undefined : { "mcp-session-id": this.#session };
    return { ...kinds, authorization: this.#principal, "mcp-protocol-version": revision, ...session };
  }

  #post(message: object): Promise<RawAnswer> {
    return sendRaw(this.#url, "POST", this.#headers(), message);
  }

  #callMessage(name: string, args: JsonObject, id: number): object {
    const params = { name, arguments: args, _meta: { progressToken: id } };
    return { jsonrpc: "2.0", id, method: "tools/call", params };
  }

  /** Begins a session. All requests that found the earlier one lost share one attempt. */
  #renew(lost: string | undefined): Promise<void> {
    if (this.#session !== lost) return Promise.resolve();
    this.#renewal ??= this.#begin().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #begin(): Promise<void> {
    if (this.#session !== undefined) {
      this.#record.note(this.name, "was told that its session is lost");
      for (const one of this.#subscriptions.values()) {
        one.gaps.push(Date.now());
        one.confirmedAt = undefined;
      }
    }
    this.#session = undefined;
    const params = {
      protocolVersion: revision,
      capabilities: { elicitation: {} },
      clientInfo: { name: "raw", version: "1.0.0" },
    };
    // A server counts handshakes, also those that fail.
    for (let pauseMs = 50; ; pauseMs = Math.min(2 * pauseMs, 1_000)) {
      try {
        const answer = await this.#post({ jsonrpc: "2.0", id: this.#nextId(), method: "initialize", params });
        const text = await answer.text();
        this.#judge(answer.status, text);
        if (answer.status === 200 && answer.session !== undefined) {
          this.#session = answer.session;
          break;
        }
      } catch {
        // A broken connection: the next attempt begins another session.
      }
      await sleep(pauseMs);
    }
    const told = await this.#deliver({ jsonrpc: "2.0", method: "notifications/initialized" }, this.#session);
    this.#record.note(this.name, `has session ${this.#session?.slice(0, 6)} ${told}`);
    for (const one of this.#subscriptions.values()) void this.#confirm(one);
  }

  /** Subscribes until it is confirmed: a second request changes nothing. */
  async #confirm(one: RecordedSubscription): Promise<void> {
    const { uri } = one;
    while (!this.#isClosed && one.confirmedAt === undefined) {
      const session = this.#session;
      try {
        const message = { jsonrpc: "2.0", id: this.#nextId(), method: "resources/subscribe", params: { uri } };
        const answer = await this.#post(message);
        const text = answer.isStream ? await lastData(answer) : await answer.text();
        this.#judge(answer.status, text);
        if (answer.status === 404) {
          await this.#renew(session);
          return;
        }
        if (answer.status === 200 && "result" in JSON.parse(text) && session === this.#session) {
          one.confirmedAt = Date.now();
          this.#record.note(this.name, `is subscribed to ${uri}`);
          return;
        }
      } catch {
        // A broken connection.
      }
      await sleep(50);
    }
  }

  /** Sends a message without an answer until a process has accepted it. */
  async #deliver(message: object, session: string | undefined): Promise<number | Error> {
    let failure = new Error("not sent");
    for (const late = Date.now() + deliverMs; Date.now() < late; ) {
      try {
        if (this.#session !== session) return 404;
        const answer = await this.#post(message);
        const text = await answer.text();
        this.#judge(answer.status, text);
        if (answer.status < 500) return answer.status;
        failure = new Error(`status ${answer.status}`);
      } catch (error) {
        failure = error as Error;
      }
      await sleep(50);
    }
    this.#record.violation(this.name, `a message was not accepted: ${failure.message}`);
    return failure;
  }

  /** Statuses are checked against the faults of the time. */
  readonly statuses: { readonly at: number; readonly status: number; readonly text: string }[] = [];
  #judge(status: number, text: string): void {
    if (status >= 400) this.statuses.push({ at: Date.now(), status, text: text.slice(0, 300) });
  }

  async #run(call: RecordedCall, args: JsonObject): Promise<void> {
    const id = this.#nextId();
    const session = this.#session;
    let answer: RawAnswer;
    let position = "";
    try {
      answer = await this.#post(this.#callMessage(call.tool, args, id));
    } catch (error) {
      this.#record.end(call, { reason: (error as Error).message });
      return;
    }
    for (let resumed = 0; ; resumed += 1) {
      try {
        if (!answer.isStream) {
          const text = await answer.text();
          this.#judge(answer.status, text);
          if (answer.status < 500 || position === "") {
            await this.#finish(call, id, answer.status, text, session);
            return;
          }
        } else {
          for await (const { id: eventId, data } of answer.events) {
            if (eventId !== undefined) position = this.#follows(call, position, eventId);
            if (data !== "" && (await this.#receive(call, id, JSON.parse(data), session))) return;
          }
        }
      } catch (error) {
        if (position === "") {
          this.#record.end(call, { reason: `the stream broke: ${(error as Error).message}` });
          return;
        }
      }
      if (position === "") {
        this.#record.end(call, { reason: "the stream ended without an id to resume from" });
        return;
      }
      if (resumed > 400) {
        this.#record.violation(this.name, `${call.id} cannot be resumed after ${position}`);
        this.#record.end(call, { reason: "resumed too often" });
        return;
      }
      await sleep(40);
      if (this.#session !== session) {
        this.#record.end(call, { reason: "the session was lost", status: 404 });
        return;
      }
      this.#record.note(this.name, `resumes ${call.id} after ${position}`);
      answer = await this.#get(position);
    }
  }

  /** Repeats a GET until it is answered. */
  async #get(lastEventId: string): Promise<RawAnswer> {
    for (;;) {
      try {
        const resume = lastEventId === "" ? {} : { "last-event-id": lastEventId };
        return await sendRaw(this.#url, "GET", { ...this.#headers(), ...resume });
      } catch {
        await sleep(40);
      }
    }
  }

  /** Checks that the events of an answer follow each other. */
  #follows(call: RecordedCall, before: string, now: string): string {
    const [stream, number] = now.split("_");
    const [streamBefore, numberBefore] = before.split("_");
    if (before !== "" && (stream !== streamBefore || Number(number) !== Number(numberBefore) + 1)) {
      this.#record.violation(this.name, `${call.id}: event ${now} came after ${before}`);
    }
    return now;
  }

  /** Handles a message on the stream of a call. Returns true for its response. */
  async #receive(call: RecordedCall, id: number, message: AnyMessage, session: string | undefined): Promise<boolean> {
    const { method, params } = message;
    if (method === "notifications/progress") {
      if (params.progressToken !== id || params.progress !== call.progress + 1) {
        const got = JSON.stringify(params);
        this.#record.violation(this.name, `${call.id}: progress ${got} came after ${call.progress}`);
      }
      call.progress = params.progress;
      return false;
    }
    if (method === "elicitation/create") {
      if (params.message !== `Who is ${call.id}?`) {
        this.#record.violation(this.name, `${call.id}: the question of another call: ${params.message}`);
      }
      if (call.answered !== undefined) this.#record.violation(this.name, `${call.id}: asked twice`);
      call.answered = `name of ${call.id}`;
      const result = { action: "accept", content: { name: call.answered } };
      void sleep(Math.random() * 100)
        .then(() => this.#deliver({ jsonrpc: "2.0", id: message.id, result }, session))
        .then((told) => this.#record.note(this.name, `answered the question of ${call.id}: ${told}`));
      return false;
    }
    if (method === "notifications/cancelled") return false;
    if (method !== undefined || message.id !== id) {
      this.#record.violation(this.name, `${call.id}: a message of another call: ${JSON.stringify(message)}`);
      return false;
    }
    await this.#finish(call, id, 200, JSON.stringify(message), session);
    return true;
  }

  async #finish(
    call: RecordedCall,
    id: number,
    status: number,
    text: string,
    session: string | undefined,
  ): Promise<void> {
    const message: AnyMessage = parse(text);
    if (message?.result) {
      if (message.id !== id) this.#record.violation(this.name, `${call.id}: got the answer to ${message.id}`);
      this.#record.end(call, toEnd(message.result));
    } else this.#record.end(call, { reason: message?.error?.message ?? text, status });
    if (status === 404 && !this.#isClosed) await this.#renew(session);
  }

  /** Keeps the standalone stream open, from where it broke. */
  async #listen(): Promise<void> {
    let position = "";
    let session = this.#session;
    let isToldOfGap = false;
    while (!this.#isClosed) {
      if (session !== this.#session) {
        session = this.#session;
        position = "";
      }
      if (session === undefined) {
        await sleep(20);
        continue;
      }
      const answer = await this.#get(position);
      this.#stream = answer;
      if (this.#isClosed) {
        answer.drop();
        return;
      }
      try {
        if (answer.isStream) {
          this.#record.note(this.name, `listens ${position === "" ? "from now" : `after ${position}`}`);
          for (const one of this.#subscriptions.values()) one.connections += 1;
          if (isToldOfGap) for (const one of this.#subscriptions.values()) one.gaps.push(Date.now());
          isToldOfGap = false;
          for await (const { id, data } of answer.events) {
            if (id !== undefined) position = this.#isLater(position, id);
            if (data !== "" && session === this.#session) this.#hear(JSON.parse(data), id);
          }
          this.#record.note(this.name, "its stream has ended");
        } else {
          const text = await answer.text();
          if (this.#isClosed) return;
          this.#judge(answer.status, text);
          this.#record.note(this.name, `its stream was refused: ${answer.status} ${text.slice(0, 100)}`);
          if (answer.status === 404) await this.#renew(session);
          if (answer.status === 400) {
            position = "";
            isToldOfGap = true;
          }
        }
      } catch {
        this.#record.note(this.name, "its stream broke");
      }
      await sleep(40);
    }
  }

  /** Checks that the ids of the standalone stream grow. */
  #isLater(before: string, now: string): string {
    const [stream, id = ""] = now.split("_");
    const [streamBefore, idBefore = ""] = before.split("_");
    if (id !== "" && stream === streamBefore && idBefore !== "" && compareIds(id, idBefore) <= 0) {
      this.#record.violation(this.name, `event ${now} came after ${before}`);
    }
    return now;
  }

  #hear({ method, params }: AnyMessage, id: string | undefined): void {
    if (method !== "notifications/resources/updated") {
      if (method === "notifications/resources/list_changed") return;
      this.#record.violation(this.name, `heard ${method} outside a call`);
      return;
    }
    const uri = String(params.uri);
    this.#record.note(this.name, `heard ${uri} (${id?.split("_")[1]})`);
    let isWanted = false;
    for (const one of this.#subscriptions.values()) {
      if (uri !== one.uri && !uri.startsWith(`${one.uri}/`)) continue;
      isWanted = true;
      one.heard.push({ at: Date.now(), uri });
    }
    if (!isWanted) this.#record.violation(this.name, `heard ${uri}, to which it is not subscribed`);
  }
}

async function lastData(answer: RawAnswer): Promise<string> {
  let last = "";
  for await (const { data } of answer.events) if (data !== "") last = data;
  return last;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function compareIds(one: string, other: string): number {
  const [ms = 0, sequence = 0] = one.split("-").map(Number);
  const [otherMs = 0, otherSequence = 0] = other.split("-").map(Number);
  return ms - otherMs || sequence - otherSequence;
}
