import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "portolan";
import { type RawAnswer, sendRaw } from "./http.ts";
import { type HistoryRecord, type RecordedCall, type RecordedSubscription, toEnd } from "./record.ts";

// biome-ignore lint/suspicious/noExplicitAny: messages of every shape
type AnyMessage = any;

const revision = "2026-07-28";
const inMeta = "io.modelcontextprotocol/";

/** A stateless client that shows everything it hears. */
export class RawStatelessClient {
  readonly name: string;
  readonly statuses: { readonly at: number; readonly status: number; readonly text: string }[] = [];
  readonly #url: string;
  readonly #record: HistoryRecord;
  readonly #principal: string;
  #isClosed = false;
  #lastId = 0;
  readonly #streams = new Set<RawAnswer>();
  readonly #listening: Promise<void>[] = [];

  constructor(name: string, url: string, record: HistoryRecord) {
    this.name = name;
    this.#url = url;
    this.#record = record;
    this.#principal = `${record.seed}-${name}`;
  }

  async open(): Promise<void> {}

  async call(tool: string, args: JsonObject): Promise<void> {
    const call = this.#record.begin(this.name, tool, true);
    const params: JsonObject = { name: tool, arguments: { ...args, call: call.id } };
    let more: JsonObject = {};
    for (;;) {
      const message = await this.#exchange(call, { ...params, ...more });
      if (message === undefined) return;
      const { result, error } = message;
      if (error) this.#record.end(call, { reason: error.message, status: message.status });
      else if (result.resultType === "input_required") {
        const [key = ""] = Object.keys(result.inputRequests);
        const asked = result.inputRequests[key]?.params?.message;
        if (asked !== `Who is ${call.id}?`) this.#record.violation(this.name, `${call.id}: the question ${asked}`);
        call.answered = `name of ${call.id}`;
        call.rounds += 1;
        more = {
          requestState: result.requestState,
          inputResponses: { [key]: { action: "accept", content: { name: call.answered } } },
        };
        await sleep(Math.random() * 100);
        continue;
      } else this.#record.end(call, toEnd(result));
      return;
    }
  }

  /** Starts a call that only ends when its connection is closed. */
  async cancelled(afterMs: number): Promise<void> {
    const call = this.#record.begin(this.name, "hold", true);
    const stop = new AbortController();
    const params = { name: "hold", arguments: { call: call.id } };
    const running = this.#post("tools/call", this.#nextId(), params, stop.signal).catch((error: Error) => error);
    await sleep(afterMs);
    call.cancelledAt = Date.now();
    this.#record.end(call, { reason: "cancelled by the end of its connection" });
    stop.abort();
    await running;
  }

  async subscribe(uri: string): Promise<void> {
    const { name: client } = this;
    const one: RecordedSubscription = {
      ...{
        client,
        uri,
        isStateless: true,
        askedAt: Date.now(),
        confirmedAt: undefined,
        gaps: [],
        heard: [],
        connections: 1,
        isRaw: true,
      },
    };
    this.#record.subscriptions.push(one);
    await new Promise<void>((resolve) => this.#listening.push(this.#listen(one, resolve)));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const stream of this.#streams) stream.drop();
    await Promise.all(this.#listening);
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  #post(method: string, id: number, { _meta, ...params }: JsonObject, signal?: AbortSignal): Promise<RawAnswer> {
    const name = params["name"];
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: this.#principal,
      "mcp-protocol-version": revision,
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
    };
    const meta = {
      [`${inMeta}protocolVersion`]: revision,
      [`${inMeta}clientCapabilities`]: { elicitation: { form: {} } },
      [`${inMeta}clientInfo`]: { name: "raw", version: "1.0.0" },
      ...(_meta as JsonObject | undefined),
    };
    const message = { jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } };
    return sendRaw(this.#url, "POST", headers, message, signal);
  }

  async #exchange(call: RecordedCall, params: JsonObject): Promise<AnyMessage> {
    const id = this.#nextId();
    try {
      const answer = await this.#post("tools/call", id, { ...params, _meta: { progressToken: id } });
      let last: AnyMessage;
      if (!answer.isStream) {
        const text = await answer.text();
        if (answer.status >= 400)
          this.statuses.push({ at: Date.now(), status: answer.status, text: text.slice(0, 300) });
        try {
          last = JSON.parse(text);
        } catch {
          last = { error: { message: text } };
        }
        last.status = answer.status;
      } else {
        for await (const { data } of answer.events) {
          if (data === "") continue;
          const message = JSON.parse(data);
          if (message.method === "notifications/progress") {
            const { progressToken, progress } = message.params;
            if (progressToken !== id || progress !== call.progress + 1) {
              this.#record.violation(this.name, `${call.id}: progress ${progress} came after ${call.progress}`);
            }
            call.progress = progress;
          } else last = message;
        }
      }
      if (last === undefined) throw new Error("the stream ended before the response");
      if (last.result && last.id !== id) this.#record.violation(this.name, `${call.id}: got the answer to ${last.id}`);
      return last;
    } catch (error) {
      this.#record.end(call, { reason: (error as Error).message });
      return undefined;
    }
  }

  async #listen(one: RecordedSubscription, confirmed: () => void): Promise<void> {
    while (!this.#isClosed) {
      const id = this.#nextId();
      let answer: RawAnswer | undefined;
      try {
        answer = await this.#post("subscriptions/listen", id, { notifications: { resourceSubscriptions: [one.uri] } });
        this.#streams.add(answer);
        if (this.#isClosed) answer.drop();
        if (answer.isStream)
          for await (const { data } of answer.events) if (data !== "") this.#hear(one, JSON.parse(data), confirmed);
        if (!answer.isStream) {
          const text = await answer.text();
          if (answer.status >= 400)
            this.statuses.push({ at: Date.now(), status: answer.status, text: text.slice(0, 300) });
        }
      } catch {
        // The connection broke.
      }
      if (answer) this.#streams.delete(answer);
      await sleep(40);
    }
    confirmed();
  }

  #hear(one: RecordedSubscription, { method, params }: AnyMessage, confirmed: () => void): void {
    if (method === "notifications/subscriptions/acknowledged") {
      if (one.confirmedAt === undefined) one.confirmedAt = Date.now();
      else one.gaps.push(Date.now());
      one.connections += 1;
      this.#record.note(this.name, `listens to ${one.uri}`);
      confirmed();
    } else if (method === "notifications/resources/updated") {
      const uri = String(params.uri);
      this.#record.note(this.name, `heard ${uri}`);
      if (uri === one.uri || uri.startsWith(`${one.uri}/`)) one.heard.push({ at: Date.now(), uri });
      else this.#record.violation(this.name, `heard ${uri}, to which it does not listen`);
    } else if (method !== undefined && method !== "notifications/cancelled") {
      this.#record.violation(this.name, `heard ${method} on a stream of changes`);
    }
  }
}
