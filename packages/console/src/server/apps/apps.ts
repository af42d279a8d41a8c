import { createHash } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "portolan";
import { type AppSession, openApp } from "portolan-host/apps";
import { type SandboxHandler, type SandboxPage, sandboxHandler } from "portolan-host/apps/sandbox";
import type { AppRecord } from "../../api.ts";
import type { ConsoleBase } from "../base.ts";
import type { CallRecords } from "../calls/calls.ts";
import { ApiRefusal, messageOf } from "../failure.ts";
import { maxAppHeight, maxApps, maxHeaderBytes, requestMs } from "../limits.ts";

interface OpenedApp {
  record: AppRecord;
  readonly stop: AbortController;
  session?: AppSession;
  page?: SandboxPage;
  /** Passes a message of the app to its session. */
  receive?: (message: unknown) => void;
}

/**
 * The apps that are shown. Each has an origin of its own, and so has the sandbox of each server, on a port that serves nothing
 * else: names below `localhost` are this machine, and no cookie or storage is shared with them.
 */
export class Apps {
  readonly #base: ConsoleBase;
  readonly #calls: CallRecords;
  readonly #apps = new Map<string, OpenedApp>();
  readonly #server: Server;
  #sandbox: SandboxHandler | undefined;
  #port = 0;

  constructor(base: ConsoleBase, calls: CallRecords) {
    this.#base = base;
    this.#calls = calls;
    this.#server = createServer({ maxHeaderSize: maxHeaderBytes, requestTimeout: requestMs }, (request, response) => {
      const { host = "" } = request.headers;
      // Another name would be another site's (DNS rebinding).
      if (host.endsWith(`.localhost:${this.#port}`)) this.#sandbox?.node(request, response);
      else response.writeHead(421).end();
    });
  }

  get all(): readonly AppRecord[] {
    return [...this.#apps.values()].map(({ record }) => record);
  }

  /** Returns the apps that are open beside a conversation. */
  sessionsOf(conversation: string): readonly AppSession[] {
    return [...this.#apps.values()].flatMap(({ record, session }) =>
      session && this.#calls.find(record.call)?.conversation === conversation ? [session] : [],
    );
  }

  /** The frames that pages of the console may show. */
  get frames(): string {
    return this.#port === 0 ? "" : `http://*.localhost:${this.#port}`;
  }

  async listen(origin: string): Promise<void> {
    this.#sandbox = sandboxHandler({ hosts: [origin] });
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(0, "127.0.0.1", resolve);
    });
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Opens the app of a call that has ended. It appears after the consent of the user. */
  open(callId: string): string {
    const call = this.#calls.find(callId);
    const uri = call?.end?.result?.app?.uri;
    if (!call || uri === undefined) throw new ApiRefusal("not-found", "The call has no app.");
    const open = [...this.#apps.values()].filter(({ record }) => record.state !== "stopped");
    if (open.length >= maxApps) throw new ApiRefusal("busy", "Too many apps are open.", { next: "Close one of them." });
    const { server, tool } = call;
    const id = crypto.randomUUID();
    const stop = new AbortController();
    const app: OpenedApp = { record: { id, call: callId, server, uri, frame: "", state: "waiting" }, stop };
    this.#apps.set(id, app);
    this.#show(app, {});
    const opening = openApp(this.#base.host, {
      ...{ server, tool, args: this.#calls.argumentsOf(callId), result: this.#calls.resultOf(callId), callId },
      signal: stop.signal,
      appTools: true,
      onTools: (tools) => this.#show(app, { tools: tools.map(({ name }) => name) }),
      surroundings: { platform: "web", displayMode: "inline", containerDimensions: { maxHeight: maxAppHeight } },
    });
    opening.then(
      (session) => this.#connect(app, session),
      (reason) => this.#stopped(app, messageOf(reason)),
    );
    return id;
  }

  /** Takes a message of the frame. */
  receive(id: string, message: JsonObject): void {
    const app = this.#get(id);
    const { session, receive } = app;
    const { method, params } = message;
    if (method === "ui/notifications/sandbox-proxy-ready" && session) {
      const { html, permissions } = session.resource;
      const granted = Object.fromEntries(permissions.map((one) => [camelCase(one), {}]));
      this.#post(id, {
        jsonrpc: "2.0",
        method: "ui/notifications/sandbox-resource-ready",
        params: { html, ...(permissions.length > 0 && { permissions: granted }) },
      });
    }
    // These are between the page and the sandbox; an app must not speak for either.
    if (typeof method === "string" && method.startsWith("ui/notifications/sandbox-")) return;
    if (method === "ui/notifications/size-changed") this.#resize(app, params);
    receive?.(message);
  }

  async close(id: string): Promise<void> {
    const { session, stop } = this.#get(id);
    stop.abort(new Error("closed by the user"));
    await session?.close("closed by the user");
  }

  async end(): Promise<void> {
    for (const { stop } of this.#apps.values()) stop.abort(new Error("the console was closed"));
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  #connect(app: OpenedApp, session: AppSession): void {
    if (session.state === "closed" || !this.#sandbox) {
      this.#stopped(app, "It was closed.");
      return;
    }
    const { id, server } = app.record;
    const { sources, permissions } = session.resource;
    app.session = session;
    const sandbox = this.#originOf(server);
    const origins = { sandbox, app: this.#originOf(JSON.stringify([server, session.resource.uri])) };
    app.page = this.#sandbox.add({ ...(sources && { sources }), permissions }, origins);
    session.connect({
      open: (receive) => {
        app.receive = receive;
      },
      post: (message) => this.#post(id, message),
      close: () => {},
    });
    this.#show(app, { state: "open", frame: `${sandbox}${app.page.path}` });
    void session.closed.then((end) => this.#stopped(app, reasons[end]));
  }

  /** Returns an origin of this machine for a server, or for one of its apps. */
  #originOf(owner: string): string {
    return `http://${createHash("sha256").update(owner).digest("hex").slice(0, 32)}.localhost:${this.#port}`;
  }

  #stopped(app: OpenedApp, reason: string): void {
    app.page?.remove();
    if (this.#apps.get(app.record.id) !== app) return;
    this.#show(app, { state: "stopped", frame: "", reason });
    const stopped = [...this.#apps.values()].filter(({ record }) => record.state === "stopped");
    for (const { record } of stopped.slice(0, Math.max(0, stopped.length - maxApps))) this.#apps.delete(record.id);
  }

  #resize(app: OpenedApp, params: unknown): void {
    const { height } = (params ?? {}) as { readonly height?: unknown };
    if (typeof height !== "number" || !(height >= 0)) return;
    this.#show(app, { height: Math.min(Math.ceil(height), maxAppHeight) });
  }

  #post(app: string, message: JsonObject): void {
    this.#base.publish({ kind: "app-message", app, message });
  }

  #show(app: OpenedApp, changed: Partial<AppRecord>): void {
    app.record = { ...app.record, ...changed };
    this.#base.publish({ kind: "app", app: app.record });
  }

  #get(id: string): OpenedApp {
    const app = this.#apps.get(id);
    if (!app) throw new ApiRefusal("not-found", "There is no such app.");
    return app;
  }
}

/** Why an app is gone, for a person. */
const reasons = {
  closed: "It was closed.",
  "no-start": "It did not start.",
  flood: "It sent too much.",
  "too-large": "It sent a message that was too large.",
  failed: "Its frame failed.",
} as const;

function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
