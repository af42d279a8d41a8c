import type { CallToolResult, JsonObject } from "portolan";
import type { AppChannel, AppSession } from "portolan-host/apps";
import { vi } from "vitest";

/** What a host answers, of every shape. */
export interface HostAnswer extends JsonObject {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape
  result?: any;
  // biome-ignore lint/suspicious/noExplicitAny: errors have every shape too
  error?: any;
}

/** A tool that a view offers, written by hand: a hostile one may have anything in it. */
export interface ViewTool extends JsonObject {
  readonly name: string;
  /** Undefined never answers. */
  readonly run?: (args: JsonObject) => CallToolResult | JsonObject | undefined;
}

/** The other end of an app's channel: whatever an app can send. */
export class View implements AppChannel {
  readonly received: JsonObject[] = [];
  isRemoved = false;
  /** Answers to requests of the host; the default answers each of them. */
  answers = true;
  /** The tools that it offers, if it says so. */
  tools: readonly ViewTool[] = [];
  #send: (message: unknown) => void = () => {};
  #count = 0;

  open(receive: (message: unknown) => void): void {
    this.#send = receive;
  }

  post(message: JsonObject): void {
    // What crosses a window is copied.
    const copy = structuredClone(message);
    this.received.push(copy);
    if (copy["method"] === "tools/list" || copy["method"] === "tools/call") {
      queueMicrotask(() => this.#answerTools(copy));
      return;
    }
    if (this.answers && "id" in copy && "method" in copy) {
      queueMicrotask(() => this.send({ jsonrpc: "2.0", id: copy["id"], result: {} }));
    }
  }

  #answerTools({ id, method, params }: JsonObject): void {
    if (!this.answers) return;
    const { name, arguments: args = {} } = params as JsonObject;
    const tools = this.tools.map(({ run: _, ...tool }) => ({ inputSchema: { type: "object" }, ...tool }));
    const called = this.tools.find((tool) => tool.name === name);
    const result = method === "tools/list" ? { tools } : called?.run?.(args as JsonObject);
    if (result) this.send({ jsonrpc: "2.0", id, result });
  }

  /** Offers other tools, and says so. */
  offer(...tools: readonly ViewTool[]): void {
    this.tools = tools;
    this.notify("notifications/tools/list_changed");
  }

  close(): void {
    this.isRemoved = true;
  }

  send(message: unknown): void {
    this.#send(message);
  }

  notify(method: string, params: object = {}): void {
    this.send({ jsonrpc: "2.0", method, params });
  }

  /** Sends a request and returns its whole answer. */
  async request(method: string, params: object = {}): Promise<HostAnswer> {
    this.#count += 1;
    const id = `v${this.#count}`;
    this.send({ jsonrpc: "2.0", id, method, params });
    return this.answerTo(id);
  }

  answerTo(id: string | number): Promise<HostAnswer> {
    return vi.waitUntil(() => this.received.find((message) => message["id"] === id && !("method" in message)));
  }

  /** The names of the messages that the host has sent on its own. */
  get methods(): unknown[] {
    return this.received.flatMap((message) => ("method" in message ? [message["method"]] : []));
  }

  paramsOf(method: string): unknown[] {
    return this.received.flatMap((message) => (message["method"] === method ? [message["params"]] : []));
  }

  initialize(appCapabilities: object = {}): Promise<HostAnswer> {
    return this.request("ui/initialize", {
      protocolVersion: "2026-01-26",
      appInfo: { name: "view", version: "1.0.0" },
      appCapabilities,
    });
  }
}

/** Connects a view to a session and starts it. */
export async function start(
  session: AppSession,
  appCapabilities?: object,
  tools: readonly ViewTool[] = [],
): Promise<View & { initialized: HostAnswer["result"] }> {
  const view = new View();
  view.tools = tools;
  session.connect(view);
  const { result } = await view.initialize(appCapabilities);
  view.notify("ui/notifications/initialized");
  return Object.assign(view, { initialized: result });
}

/** Connects a view that offers tools, and waits until the host knows them. */
export async function startWithTools(session: AppSession, ...tools: readonly ViewTool[]): Promise<View> {
  const view = await start(session, { tools: { listChanged: true } }, tools);
  await session.settleTools();
  return view;
}
