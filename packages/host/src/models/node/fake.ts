import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "portolan";
import { encodeEvent, type OutgoingEvent } from "portolan/internal";
import type { Model, ModelEvent } from "../model.ts";
import { type ScriptedTurn, scriptedModel } from "../scripted.ts";
import { anthropicDialect } from "./fake-anthropic.ts";
import { type Dialect, type DialectWriter, isObject } from "./fake-dialect.ts";
import { openaiDialect } from "./fake-openai.ts";

const dialects = { openai: openaiDialect, anthropic: anthropicDialect };
const maxBodyBytes = 64 * 1024 * 1024;

export interface FakeProviderOptions {
  readonly dialect: "openai" | "anthropic";
  /** What it says; either these turns, each once and in order, or a model. */
  readonly turns?: readonly ScriptedTurn[];
  readonly model?: Model;
  /** Refuses requests with another key. */
  readonly apiKey?: string;
  /** What goes wrong with the first requests, in order; with the ones after them nothing does. */
  readonly faults?: readonly FakeModelFaults[];
  /** A free one unless given. */
  readonly port?: number;
}

/** A request as the fake provider saw it. */
export interface SeenRequest {
  readonly path: string;
  /** Keys are masked. */
  readonly headers: { readonly [name: string]: string | undefined };
  readonly body: JsonObject;
  /** By which connection it came, from 1. */
  readonly connection: number;
  /** How it ended: the answer was sent whole, or the connection was gone before. */
  readonly ended: Promise<"answered" | "cut">;
}

/** A provider on this machine, for tests and for trying things out. */
export interface FakeProvider {
  /** The `baseUrl` for an adapter. */
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  /** Ends all connections. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a real HTTP server on the loopback address that speaks a provider's dialect, with whatever faults are asked for. */
export async function startFakeProvider(options: FakeProviderOptions): Promise<FakeProvider> {
  const dialect = dialects[options.dialect];
  const model = options.model ?? scriptedModel(options.turns ?? []);
  const faults = (options.faults ?? []).flatMap((one) => Array.from({ length: one.times ?? 1 }, () => one));
  const requests: SeenRequest[] = [];
  const broken = new Map<string, readonly ModelEvent[]>();
  const connections = new Map<unknown, number>();

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await readBody(request);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const ended = new Promise<"answered" | "cut">((resolve) => {
      response.once("close", () => resolve(response.writableFinished ? "answered" : "cut"));
    });
    const connection = connections.get(request.socket) ?? connections.size + 1;
    connections.set(request.socket, connection);
    const path = request.url ?? "";
    requests.push({ path, headers: mask(headers, dialect.keyOf(headers)), body, connection, ended });
    const fault = faults.shift() ?? {};
    await answer({ dialect, model, fault, apiKey: options.apiKey, path, headers, body, broken }, response);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const close = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  };
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, requests, close, [Symbol.asyncDispose]: close };
}

async function readBody(request: IncomingMessage): Promise<JsonObject> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > maxBodyBytes) throw new Error(`The request has more than ${maxBodyBytes} bytes`);
    chunks.push(chunk);
  }
  try {
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    return isObject(body) ? body : {};
  } catch {
    // The dialect says what is missing.
    return {};
  }
}

function mask(headers: { readonly [name: string]: string }, key = ""): { readonly [name: string]: string } {
  if (key === "") return headers;
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.replaceAll(key, "***")]));
}

/** What goes wrong with an answer of the fake provider. Numbers of events count what was sent before. */
export interface FakeModelFaults {
  /** How many requests in a row have these faults; one unless given. */
  readonly times?: number;
  /** An error instead of an answer. */
  readonly status?: {
    readonly code: number;
    readonly retryAfter?: string;
    readonly message?: string;
    readonly type?: string;
  };
  /** A redirect instead of an answer. */
  readonly redirectTo?: string;
  /** The headers wait for this. */
  readonly waitFor?: Promise<unknown>;
  /** The connection is reset. */
  readonly reset?: "before-headers" | { readonly afterEvents: number };
  /** An event that is no JSON. */
  readonly malformed?: { readonly afterEvents: number };
  /** An error as an event, after which the stream ends. */
  readonly error?: { readonly afterEvents: number; readonly type: string; readonly message: string };
  /** Nothing more comes, and the connection stays. */
  readonly silent?: { readonly afterEvents: number };
  /** The stream ends as if it were over. */
  readonly cut?: { readonly afterEvents: number };
  /** So many bytes at a time, wherever characters end. */
  readonly pieceBytes?: number;
  /** The arguments of tools come character by character. */
  readonly splitTools?: boolean;
  readonly noUsage?: boolean;
  /** Without the event that says that all is over. */
  readonly noDone?: boolean;
  /** One JSON body instead of a stream. */
  readonly plain?: boolean;
}

/** One request to the fake provider, and all that decides its answer. */
export interface FakeRequest {
  readonly dialect: Dialect;
  readonly model: Model;
  readonly fault: FakeModelFaults;
  readonly apiKey: string | undefined;
  readonly path: string;
  readonly headers: { readonly [name: string]: string | undefined };
  readonly body: JsonObject;
  /** Turns of answers that broke, by their request: who asks again gets the same one. */
  readonly broken: Map<string, readonly ModelEvent[]>;
}

/** Answers a request, or fails in the way that was asked for. */
export async function answer(asked: FakeRequest, response: ServerResponse): Promise<void> {
  const { dialect, fault, body } = asked;
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  // Single writes stay single packets.
  response.socket?.setNoDelay(true);
  await Promise.race([fault.waitFor, closed(gone.signal, fault.waitFor === undefined)]);
  if (gone.signal.aborted) return;
  if (fault.reset === "before-headers") {
    response.socket?.resetAndDestroy();
    return;
  }
  const refusal = refusalOf(asked);
  if (refusal !== undefined) {
    sendError(response, dialect, refusal);
    return;
  }
  const events = eventsOf(asked, gone.signal);
  let next: IteratorResult<ModelEvent>;
  try {
    // Before the headers: a script that does not fit is a bad request, and says so.
    next = await events.next();
  } catch (error) {
    sendError(response, dialect, { code: 400, type: "invalid_request_error", message: String(error) });
    return;
  }
  const writer = dialect.createWriter(body, fault);
  if (fault.plain === true || body["stream"] !== true) {
    const all: ModelEvent[] = [];
    for (; next.done !== true; next = await events.next()) all.push(next.value);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(writer.whole(all)));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  const stream = new Stream(response, fault, dialect, gone.signal);
  await stream.send(writer.begin());
  for (; next.done !== true && stream.goesOn; next = await events.next()) await stream.send(writer.write(next.value));
  if (stream.goesOn) response.end();
  else await events.return(undefined);
}

async function* eventsOf(
  { dialect, model, fault, body, broken }: FakeRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  const key = JSON.stringify(body);
  const kept = broken.get(key);
  const stream = kept ?? model.stream({ ...dialect.toRequest(body), signal });
  broken.delete(key);
  if ([fault.reset, fault.malformed, fault.error, fault.silent, fault.cut].every((one) => one === undefined)) {
    yield* stream;
    return;
  }
  const events: ModelEvent[] = [];
  for await (const event of stream) events.push(event);
  broken.set(key, events);
  yield* events;
}

interface Refusal {
  readonly code: number;
  readonly type: string;
  readonly message: string;
  readonly headers?: { readonly [name: string]: string };
}

function refusalOf({ dialect, fault, apiKey, path, headers, body }: FakeRequest): Refusal | undefined {
  const { status, redirectTo } = fault;
  if (redirectTo !== undefined) return { code: 307, type: "", message: "", headers: { location: redirectTo } };
  if (status !== undefined) {
    const { code, message = `Fault ${code}`, type = `error_${code}`, retryAfter } = status;
    return { code, type, message, ...(retryAfter !== undefined && { headers: { "retry-after": retryAfter } }) };
  }
  const key = dialect.keyOf(headers);
  // Real providers quote the key, too.
  if (apiKey !== undefined && key !== apiKey) {
    return { code: 401, type: "authentication_error", message: `Incorrect API key provided: ${key ?? "none"}` };
  }
  if (!path.split("?")[0]?.endsWith(dialect.path))
    return { code: 404, type: "not_found_error", message: `No such path` };
  const problem = dialect.problemOf(body, headers);
  return problem === undefined ? undefined : { code: 400, type: "invalid_request_error", message: problem };
}

function sendError(response: ServerResponse, dialect: Dialect, { code, type, message, headers = {} }: Refusal): void {
  response.writeHead(code, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(dialect.toError(type, message)));
}

/** A stream of events, up to where it goes wrong. */
class Stream {
  readonly #response: ServerResponse;
  readonly #fault: FakeModelFaults;
  readonly #dialect: Dialect;
  readonly #gone: AbortSignal;
  #sent = 0;
  goesOn = true;

  constructor(response: ServerResponse, fault: FakeModelFaults, dialect: Dialect, gone: AbortSignal) {
    this.#response = response;
    this.#fault = fault;
    this.#dialect = dialect;
    this.#gone = gone;
  }

  async send(events: ReturnType<DialectWriter["write"]>): Promise<void> {
    for (const event of events) {
      if (this.#gone.aborted) this.goesOn = false;
      if (this.goesOn) await this.#fail();
      if (!this.goesOn) return;
      await this.#write(event);
      this.#sent += 1;
    }
  }

  async #fail(): Promise<void> {
    const { reset, malformed, error, silent, cut } = this.#fault;
    const isDue = (fault: { readonly afterEvents: number } | undefined) => fault?.afterEvents === this.#sent;
    if (isDue(malformed)) await this.#write({ data: "{this is no JSON" });
    if (typeof reset === "object" && isDue(reset)) {
      this.goesOn = false;
      this.#response.socket?.resetAndDestroy();
    } else if (error !== undefined && isDue(error)) {
      this.goesOn = false;
      await this.#write(this.#dialect.toErrorEvent(error.type, error.message));
      this.#response.end();
    } else if (isDue(cut)) {
      this.goesOn = false;
      this.#response.end();
    } else if (isDue(silent)) {
      this.goesOn = false;
      await closed(this.#gone);
    }
  }

  async #write(event: OutgoingEvent): Promise<void> {
    const bytes = Buffer.from(encodeEvent(event));
    const size = this.#fault.pieceBytes ?? bytes.length;
    for (let start = 0; start < bytes.length && !this.#gone.aborted; start += size) {
      // Written once it has left, so that pieces are not put together again.
      await new Promise<void>((resolve) => {
        this.#response.write(bytes.subarray(start, start + size), () => resolve());
      });
    }
  }
}

function closed(gone: AbortSignal, isAlready = false): Promise<void> {
  if (isAlready || gone.aborted) return Promise.resolve();
  return new Promise((resolve) => gone.addEventListener("abort", () => resolve(), { once: true }));
}
