import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { request as sendRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serveHttp } from "portolan/server/http";
import { type ConsoleOptions, type ConsoleTools, type RunningConsole, startConsole } from "portolan-console";
import type { ApiError, ConsoleEvent, ConsoleState, Verb, Verbs } from "portolan-console/api";
import { createHost, type HostOptions } from "portolan-host";
import type { Model } from "portolan-host/models";
import { expect, onTestFinished } from "vitest";
import createFullServer from "../kit/full-server.mjs";
import { quickServer } from "../kit/quick-servers.mjs";

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** The full server as a child process, on the first revision. */
export const oldServer = {
  command: process.execPath,
  args: [pathOf("../kit/serve.mjs"), quickServer(pathOf("../kit/full-server.mjs"))],
  era: "2024-11-05",
};

/** A server of an older revision without any library: 2,100 tools, and nothing that it does not have to know. */
export const plainServer = { command: process.execPath, args: [pathOf("plain-server.mjs")] };

/** The full server over HTTP, on the last revision. */
export async function newServer(): Promise<{ url: string; era: string }> {
  const server = serveHttp(createFullServer());
  onTestFinished(() => server.close());
  const { url } = await server.listen(0);
  return { url, era: "2026-07-28" };
}

const missing = (what: string) => async (): Promise<never> => {
  throw new Error(`these tests have no ${what}`);
};

const noTools: ConsoleTools = {
  findServers: async () => ({ servers: [], problems: [] }),
  adopt: missing("adopt"),
  add: missing("add"),
  entry: missing("entry") as never,
  replace: missing("replace"),
  setVariables: missing("setVariables"),
  savedTarget: (_, name) => name,
  examine: missing("examine") as never,
  grade: missing("grade"),
  signIn: missing("signIn"),
  signOut: missing("signOut"),
};

export interface ConsoleTestOptions extends Omit<HostOptions, "answers" | "model" | "tasks"> {
  readonly model?: Model;
  readonly tools?: Partial<ConsoleTools>;
  readonly folder?: string;
  readonly onError?: (error: unknown) => void;
  readonly port?: number;
}

export async function makeFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "portolan-console-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Returns the options of a console over these servers. */
export async function consoleOptions({
  model,
  tools,
  folder,
  onError,
  port,
  ...hostOptions
}: ConsoleTestOptions): Promise<ConsoleOptions> {
  const home = folder ?? (await makeFolder());
  const assets = await makeFolder();
  await writeFile(join(assets, "index.html"), '<!doctype html><meta name="style-nonce" nonce="STYLE_NONCE">');
  await writeFile(join(assets, "app.js"), "export {};");
  return {
    createHost: (parts) => createHost({ ...hostOptions, ...parts }),
    models: model ? [model] : [],
    tools: { ...noTools, ...tools },
    folder: join(home, "console"),
    project: home,
    assets,
    version: "0.0.0-test",
    ...(port !== undefined && { port }),
    onError: onError ?? (() => {}),
  };
}

/** Starts a console that is closed after the test. */
export async function openConsole(options: ConsoleTestOptions = {}): Promise<RunningConsole> {
  const running = await startConsole(await consoleOptions(options));
  onTestFinished(() => running.close());
  return running;
}

/** A reply as it was sent. */
export interface RawReply {
  readonly status: number;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  readonly text: string;
}

/** Sends one request with exactly these headers. */
export function send(
  origin: string,
  path: string,
  { method = "GET", headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<RawReply> {
  return new Promise((resolve, reject) => {
    const outgoing = sendRequest(`${origin}${path}`, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString("utf8"),
        }),
      );
      response.on("error", reject);
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** A refusal of a verb. */
export class Refused extends Error {
  readonly status: number;
  readonly error: ApiError["error"];

  constructor(status: number, error: ApiError["error"]) {
    super(`${status} ${error.code}: ${error.message}`);
    this.status = status;
    this.error = error;
  }
}

/** A verb without the `request` that the tab adds. */
type TakesOf<V extends Verb> = Omit<Verbs[V]["takes"], "request"> & { readonly request?: string };

/** What a page of the console does, without a browser. */
export class Tab {
  readonly origin: string;
  session = "";
  boot = "";

  constructor(origin: string) {
    this.origin = origin;
  }

  /** Opens a session with the token of an address. */
  static async open(running: Pick<RunningConsole, "openAddress">): Promise<Tab> {
    const url = new URL(running.openAddress());
    const tab = new Tab(url.origin);
    const { session, boot } = await tab.do("hello", { launch: url.hash.slice("#launch=".length) });
    tab.session = session;
    tab.boot = boot;
    return tab;
  }

  get headers(): Record<string, string> {
    return {
      origin: this.origin,
      "sec-fetch-site": "same-origin",
      "portolan-api": "1",
      "content-type": "application/json",
      ...(this.session && { "portolan-session": this.session }),
    };
  }

  /** Calls a verb; verbs that change something get a new `request`. */
  async do<V extends Verb>(verb: V, takes: TakesOf<V>): Promise<Verbs[V]["gives"]> {
    const reads =
      /^(hello|found|catalog|definition|complete|skills|skill\.preview|preview|result|content|messages?|message\.copy|lines|find)$/;
    const alsoReads =
      /^(server\.(subject|ping|entry)|resource\.read|prompt\.get|conversation\.blocks|connection\.facts|recording\.export|compare|saved\.list|activity(\..*)?|app\.message)$/;
    const body = reads.test(verb) || alsoReads.test(verb) ? takes : { request: crypto.randomUUID(), ...takes };
    const { status, text } = await send(this.origin, `/api/${verb}`, {
      method: "POST",
      headers: this.headers,
      body: JSON.stringify(body),
    });
    const reply = JSON.parse(text);
    if (status !== 200) throw new Refused(status, reply.error);
    return reply;
  }

  /** Reads events; ends with the test. */
  async events(lastId?: string): Promise<EventReader> {
    const reader = new EventReader(this, lastId);
    onTestFinished(() => reader.close());
    await reader.opened;
    return reader;
  }
}

/** The events of one stream, in order. */
export class EventReader {
  readonly all: { readonly id: string; readonly event: ConsoleEvent }[] = [];
  readonly opened: Promise<void>;
  status = 0;
  isEnded = false;
  readonly #request: ReturnType<typeof sendRequest>;
  #response: import("node:http").IncomingMessage | undefined;
  #rest = "";
  #next = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(tab: Tab, lastId?: string) {
    const headers = { ...tab.headers, ...(lastId !== undefined && { "last-event-id": lastId }) };
    this.#request = sendRequest(`${tab.origin}/api/events`, { headers, agent: false });
    this.opened = new Promise((resolve, reject) => {
      this.#request.on("error", reject);
      this.#request.on("response", (response) => {
        this.status = response.statusCode ?? 0;
        this.#response = response;
        response.setEncoding("utf8");
        response.on("data", (text: string) => this.#take(text));
        response.on("error", () => {});
        response.on("close", () => {
          this.isEnded = true;
          this.#wake();
        });
        resolve();
      });
    });
    this.#request.end();
  }

  /** Stops reading from the socket, as a slow page does. */
  pause(): void {
    this.#response?.pause();
  }

  resume(): void {
    this.#response?.resume();
  }

  get lastId(): string {
    return this.all.at(-1)?.id ?? "";
  }

  /** Resolves with the next event of a kind that fits; skips others. */
  async next<K extends ConsoleEvent["kind"]>(
    kind: K,
    fits: (event: Extract<ConsoleEvent, { kind: K }>) => boolean = () => true,
  ): Promise<Extract<ConsoleEvent, { kind: K }>> {
    const { found, index } = await this.#find(this.#next, kind, fits);
    this.#next = index + 1;
    return found;
  }

  /** Resolves with the first event of a kind that fits, also one that was skipped. */
  async ever<K extends ConsoleEvent["kind"]>(
    kind: K,
    fits: (event: Extract<ConsoleEvent, { kind: K }>) => boolean = () => true,
  ): Promise<Extract<ConsoleEvent, { kind: K }>> {
    return (await this.#find(0, kind, fits)).found;
  }

  async #find<K extends ConsoleEvent["kind"]>(
    from: number,
    kind: K,
    fits: (event: Extract<ConsoleEvent, { kind: K }>) => boolean,
  ): Promise<{ found: Extract<ConsoleEvent, { kind: K }>; index: number }> {
    for (let index = from; ; index += 1) {
      while (index >= this.all.length) {
        if (this.isEnded) throw new Error(`the stream ended before an event of the kind ${kind}`);
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
      const found = this.all[index]!.event as Extract<ConsoleEvent, { kind: K }>;
      if (found.kind === kind && fits(found)) return { found, index };
    }
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async state(): Promise<ConsoleState> {
    return (await this.next("reset")).state;
  }

  close(): void {
    this.#request.destroy();
  }

  #take(text: string): void {
    this.#rest += text;
    const frames = this.#rest.split("\n\n");
    this.#rest = frames.pop() ?? "";
    for (const frame of frames) {
      const id = /^id: (.*)$/m.exec(frame)?.[1];
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (id !== undefined && data !== undefined) this.all.push({ id, event: JSON.parse(data) });
    }
    this.#wake();
  }
}

/** Resolves with the refusal of a verb. */
export async function refusalOf(work: Promise<unknown>): Promise<Refused> {
  const thrown = await work.then(
    () => new Error("the verb was carried out"),
    (reason: unknown) => reason,
  );
  expect(thrown).toBeInstanceOf(Refused);
  return thrown as Refused;
}
