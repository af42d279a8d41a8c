import type { JsonObject } from "portolan";
import type { AppChannel, AppSession } from "portolan-host/apps";
import { vi } from "vitest";

/** What a host answers, of every shape. */
export interface HostAnswer extends JsonObject {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape
  result?: any;
  // biome-ignore lint/suspicious/noExplicitAny: errors have every shape too
  error?: any;
}

/** The other end of an app's channel: whatever an app can send. */
export class View implements AppChannel {
  readonly received: JsonObject[] = [];
  isRemoved = false;
  /** Answers to requests of the host; the default answers each of them. */
  answers = true;
  #send: (message: unknown) => void = () => {};
  #count = 0;

  open(receive: (message: unknown) => void): void {
    this.#send = receive;
  }

  post(message: JsonObject): void {
    // What crosses a window is copied.
    const copy = structuredClone(message);
    this.received.push(copy);
    if (this.answers && "id" in copy && "method" in copy) {
      queueMicrotask(() => this.send({ jsonrpc: "2.0", id: copy["id"], result: {} }));
    }
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
): Promise<View & { initialized: HostAnswer["result"] }> {
  const view = new View();
  session.connect(view);
  const { result } = await view.initialize(appCapabilities);
  view.notify("ui/notifications/initialized");
  return Object.assign(view, { initialized: result });
}
