import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "portolan";
import { type ChangeStream, type Client, connect, type EraPolicy } from "portolan/client";
import { http } from "portolan/client/http";
import { type HistoryRecord, type RecordedCall, type RecordedSubscription, type ToolResult, toEnd } from "./record.ts";

/** A client of ours, of either era. */
export class OwnClient {
  readonly name: string;
  readonly statuses: { readonly at: number; readonly status: number; readonly text: string }[] = [];
  readonly #url: string;
  readonly #record: HistoryRecord;
  readonly #era: EraPolicy;
  #client: Client | undefined;
  readonly #watches: ChangeStream[] = [];
  readonly #reading: Promise<void>[] = [];
  #isClosed = false;

  constructor(name: string, url: string, record: HistoryRecord, era: "stateful" | "stateless") {
    this.name = name;
    this.#url = url;
    this.#record = record;
    this.#era = era;
  }

  async open(): Promise<void> {
    const { seed } = this.#record;
    for (;;) {
      try {
        this.#client = await connect(http(this.#url, { headers: { authorization: `${seed}-${this.name}` } }), {
          era: this.#era,
          idleMs: 60_000,
          tap: (event) => {
            if (event.kind === "link" && (event.state === "renewed" || event.state === "interrupted"))
              this.#beginStream();
          },
          answers: {
            elicit: async ({ message }) => {
              const [, id = ""] = /^Who is (.*)\?$/.exec(message) ?? [];
              const call = this.#record.calls.find((one) => one.id === id);
              if (call?.client !== this.name) {
                this.#record.violation(this.name, `was asked a question of another client: ${message}`);
                return { action: "decline" };
              }
              await sleep(Math.random() * 100);
              call.answered = `name of ${id}`;
              if (call.isStateless) call.rounds += 1;
              this.#record.note(this.name, `answers the question of ${id}`);
              return { action: "accept", content: { name: call.answered } };
            },
          },
          onError: (error) => this.#record.note(this.name, `reports: ${error.message}`),
        });
        return;
      } catch (error) {
        this.#record.note(this.name, `cannot connect: ${(error as Error).message}`);
        await sleep(100);
      }
    }
  }

  /** Notes that another stream begins: it may repeat what was heard on the one before, and the client is told to read again. */
  #beginStream(): void {
    this.#record.note(this.name, "gets another stream");
    for (const one of this.#record.subscriptions) if (one.client === this.name) one.gaps.push(Date.now());
  }

  async call(tool: string, args: JsonObject): Promise<void> {
    const call = this.#record.begin(this.name, tool, this.#era === "stateless");
    await this.#run(call, args);
  }

  async cancelled(afterMs: number): Promise<void> {
    const call = this.#record.begin(this.name, "hold", this.#era === "stateless");
    const stop = new AbortController();
    const running = this.#run(call, {}, stop.signal);
    await sleep(afterMs);
    call.cancelledAt = Date.now();
    stop.abort();
    await running;
  }

  async subscribe(uri: string): Promise<void> {
    const { name: client } = this;
    const one: RecordedSubscription = {
      ...{
        client,
        uri,
        isStateless: this.#era === "stateless",
        askedAt: Date.now(),
        confirmedAt: undefined,
        gaps: [],
        heard: [],
        connections: 1,
        isRaw: false,
      },
    };
    this.#record.subscriptions.push(one);
    while (!this.#isClosed) {
      try {
        const changes = await this.#connected.watch({ uris: [uri] });
        one.confirmedAt = Date.now();
        this.#record.note(this.name, `watches ${uri}`);
        this.#watches.push(changes);
        this.#reading.push(this.#read(one, changes));
        return;
      } catch (error) {
        this.#record.note(this.name, `cannot watch ${uri}: ${(error as Error).message}`);
        await sleep(50);
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#watches.map((watch) => watch.close()));
    await Promise.all(this.#reading);
    await this.#client?.close();
  }

  get #connected(): Client {
    if (!this.#client) throw new Error("not connected");
    return this.#client;
  }

  async #run(call: RecordedCall, args: JsonObject, signal?: AbortSignal): Promise<void> {
    try {
      const result = await this.#connected.callTool(
        call.tool,
        { ...args, call: call.id },
        {
          ...(signal && { signal }),
          onProgress: ({ progress }) => {
            if (progress !== call.progress + 1) {
              this.#record.violation(this.name, `${call.id}: progress ${progress} came after ${call.progress}`);
            }
            call.progress = progress;
          },
        },
      );
      this.#record.end(call, toEnd(result as ToolResult));
    } catch (error) {
      const { message, cause } = error as Error & { cause?: { status?: number } };
      this.#record.end(call, { reason: message, status: cause?.status });
    }
  }

  async #read(one: RecordedSubscription, changes: ChangeStream): Promise<void> {
    try {
      for await (const change of changes) {
        const uri = change.kind === "resource" ? change.uri : change.kind;
        this.#record.note(this.name, `heard ${uri}`);
        if (uri === one.uri || uri.startsWith(`${one.uri}/`)) one.heard.push({ at: Date.now(), uri });
        else this.#record.violation(this.name, `heard ${uri}, which it does not watch`);
      }
      if (!this.#isClosed) this.#record.violation(this.name, `the watch of ${one.uri} ended by itself`);
    } catch (error) {
      if (!this.#isClosed)
        this.#record.violation(this.name, `the watch of ${one.uri} failed: ${(error as Error).message}`);
    }
  }
}
