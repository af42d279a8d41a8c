import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "portolan";
import type { Model, ModelEvent } from "../model.ts";
import { type ScriptedTurn, scriptedModel } from "../scripted.ts";
import { anthropicDialect } from "./anthropic-dialect.ts";
import { isObject } from "./dialects.ts";
import { answer } from "./fake-answer.ts";
import type { FakeModelFaults } from "./faults.ts";
import { openaiDialect } from "./openai-dialect.ts";

export type { FakeModelFaults } from "./faults.ts";

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
