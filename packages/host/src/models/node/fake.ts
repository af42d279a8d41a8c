import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "portolan";
import { checkOptions, encodeEvent, isObject, type OptionNames, type OutgoingEvent } from "portolan/internal";
import { maxFakeRequestBytes } from "../limits.ts";
import type { Model, ModelEvent } from "../model.ts";
import { type ScriptedTurn, scriptedModel } from "../scripted.ts";
import { anthropicDialect } from "./fake-anthropic.ts";
import type { Dialect, DialectWriter } from "./fake-dialect.ts";
import { openaiDialect } from "./fake-openai.ts";

const dialects = { openai: openaiDialect, anthropic: anthropicDialect };

/** Options of the fake provider. */
export interface FakeProviderOptions {
  /** The API that the provider has. */
  readonly dialect: "openai" | "anthropic";
  /** The turns of a script, each used once and in order. Use either this or `model`. */
  readonly turns?: readonly ScriptedTurn[];
  /** The model that answers. Use either this or `turns`. */
  readonly model?: Model;
  /** Refuse requests with another key. */
  readonly apiKey?: string;
  /** Faults of the first requests, in order. Later requests have none. */
  readonly faults?: readonly FakeModelFaults[];
  /** Default: a free port. */
  readonly port?: number;
}

/** A request that the fake provider has received. */
export interface ReceivedRequest {
  readonly path: string;
  /** Keys are masked. */
  readonly headers: { readonly [name: string]: string | undefined };
  readonly body: JsonObject;
  /** The number of its connection, from 1. */
  readonly connection: number;
  /** "answered" if the response was sent completely, "cut" if the connection closed before. */
  readonly ended: Promise<"answered" | "cut">;
}

/** A provider on this machine for tests and experiments. */
export interface FakeProvider {
  /** The `baseUrl` for an adapter. */
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  /** Closes all connections. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const optionNames: OptionNames<FakeProviderOptions> = {
  dialect: 1,
  turns: 1,
  model: 1,
  apiKey: 1,
  faults: 1,
  port: 1,
};
const faultNames: OptionNames<FakeModelFaults> = {
  times: 1,
  status: 1,
  redirectTo: 1,
  waitFor: 1,
  reset: 1,
  malformed: 1,
  error: 1,
  silent: 1,
  cut: 1,
  pieceBytes: 1,
  splitTools: 1,
  noUsage: 1,
  noDone: 1,
  plain: 1,
};

/** Starts an HTTP server on the loopback address that behaves like a provider, with the given faults. */
export async function startFakeProvider(options: FakeProviderOptions): Promise<FakeProvider> {
  checkOptions(options, optionNames, "startFakeProvider");
  for (const fault of options.faults ?? []) checkOptions(fault, faultNames, "faults");
  const dialect = dialects[options.dialect];
  const model = options.model ?? scriptedModel(options.turns ?? []);
  const faults = (options.faults ?? []).flatMap((one) => Array.from({ length: one.times ?? 1 }, () => one));
  const requests: ReceivedRequest[] = [];
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
    if (length > maxFakeRequestBytes) throw new Error(`The request has more than ${maxFakeRequestBytes} bytes`);
    chunks.push(chunk);
  }
  try {
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    return isObject(body) ? body : {};
  } catch {
    // `problemOf` of the dialect reports what is missing.
    return {};
  }
}

function mask(headers: { readonly [name: string]: string }, key = ""): { readonly [name: string]: string } {
  if (key === "") return headers;
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.replaceAll(key, "***")]));
}

/** Faults of one response of the fake provider. `afterEvents` is the number of events sent before the fault. */
export interface FakeModelFaults {
  /** The number of consecutive requests with these faults. Default: 1. */
  readonly times?: number;
  /** Respond with an error status. */
  readonly status?: {
    readonly code: number;
    readonly retryAfter?: string;
    readonly message?: string;
    readonly type?: string;
  };
  /** Respond with a redirect. */
  readonly redirectTo?: string;
  /** Delay the response headers until this promise settles. */
  readonly waitFor?: Promise<unknown>;
  /** Reset the connection. */
  readonly reset?: "before-headers" | { readonly afterEvents: number };
  /** Send an event that is not JSON. */
  readonly malformed?: { readonly afterEvents: number };
  /** Send an error event, then end the stream. */
  readonly error?: { readonly afterEvents: number; readonly type: string; readonly message: string };
  /** Send nothing more and keep the connection open. */
  readonly silent?: { readonly afterEvents: number };
  /** End the stream early, as if it were complete. */
  readonly cut?: { readonly afterEvents: number };
  /** Send this many bytes at a time, also within a character. */
  readonly pieceBytes?: number;
  /** Send the arguments of tool calls character by character. */
  readonly splitTools?: boolean;
  readonly noUsage?: boolean;
  /** Omit the end marker. */
  readonly noDone?: boolean;
  /** Send one JSON body instead of a stream. */
  readonly plain?: boolean;
}

/** One request to the fake provider and the settings for its response. */
interface FakeRequest {
  readonly dialect: Dialect;
  readonly model: Model;
  readonly fault: FakeModelFaults;
  readonly apiKey: string | undefined;
  readonly path: string;
  readonly headers: { readonly [name: string]: string | undefined };
  readonly body: JsonObject;
  /** Turns of broken responses by request, so that a retry gets the same turn. */
  readonly broken: Map<string, readonly ModelEvent[]>;
}

/** Responds to a request, with its fault. */
async function answer(request: FakeRequest, response: ServerResponse): Promise<void> {
  const { dialect, fault, body } = request;
  const disconnected = new AbortController();
  response.once("close", () => disconnected.abort());
  // Each write is one packet.
  response.socket?.setNoDelay(true);
  await Promise.race([fault.waitFor, untilDisconnected(disconnected.signal, fault.waitFor === undefined)]);
  if (disconnected.signal.aborted) return;
  if (fault.reset === "before-headers") {
    response.socket?.resetAndDestroy();
    return;
  }
  const refusal = refusalOf(request);
  if (refusal !== undefined) {
    sendError(response, dialect, refusal);
    return;
  }
  const events = eventsOf(request, disconnected.signal);
  let next: IteratorResult<ModelEvent>;
  try {
    // Before the headers, so that a script that does not match gives status 400.
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
  const stream = new FaultyStream(response, fault, dialect, disconnected.signal);
  await stream.send(writer.begin());
  for (; next.done !== true && stream.isOpen; next = await events.next()) await stream.send(writer.write(next.value));
  if (stream.isOpen) response.end();
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
  // Real providers quote the key too.
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

/** A stream of events up to its fault. */
class FaultyStream {
  readonly #response: ServerResponse;
  readonly #fault: FakeModelFaults;
  readonly #dialect: Dialect;
  readonly #disconnected: AbortSignal;
  #sent = 0;
  isOpen = true;

  constructor(response: ServerResponse, fault: FakeModelFaults, dialect: Dialect, disconnected: AbortSignal) {
    this.#response = response;
    this.#fault = fault;
    this.#dialect = dialect;
    this.#disconnected = disconnected;
  }

  async send(events: ReturnType<DialectWriter["write"]>): Promise<void> {
    for (const event of events) {
      if (this.#disconnected.aborted) this.isOpen = false;
      if (this.isOpen) await this.#fail();
      if (!this.isOpen) return;
      await this.#write(event);
      this.#sent += 1;
    }
  }

  async #fail(): Promise<void> {
    const { reset, malformed, error, silent, cut } = this.#fault;
    const isDue = (fault: { readonly afterEvents: number } | undefined) => fault?.afterEvents === this.#sent;
    if (isDue(malformed)) await this.#write({ data: "{this is no JSON" });
    if (typeof reset === "object" && isDue(reset)) {
      this.isOpen = false;
      this.#response.socket?.resetAndDestroy();
    } else if (error !== undefined && isDue(error)) {
      this.isOpen = false;
      await this.#write(this.#dialect.toErrorEvent(error.type, error.message));
      this.#response.end();
    } else if (isDue(cut)) {
      this.isOpen = false;
      this.#response.end();
    } else if (isDue(silent)) {
      this.isOpen = false;
      await untilDisconnected(this.#disconnected);
    }
  }

  async #write(event: OutgoingEvent): Promise<void> {
    const bytes = Buffer.from(encodeEvent(event));
    const size = this.#fault.pieceBytes ?? bytes.length;
    for (let start = 0; start < bytes.length && !this.#disconnected.aborted; start += size) {
      // Waits until the bytes are sent, so that pieces are not joined.
      await new Promise<void>((resolve) => {
        this.#response.write(bytes.subarray(start, start + size), () => resolve());
      });
    }
  }
}

function untilDisconnected(disconnected: AbortSignal, isAlready = false): Promise<void> {
  if (isAlready || disconnected.aborted) return Promise.resolve();
  return new Promise((resolve) => disconnected.addEventListener("abort", () => resolve(), { once: true }));
}
