import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import type { JsonObject } from "portolan";
import type { Host, HostQuestion } from "portolan-host";
import { display } from "portolan-host";
import { type AppSession, appUriOf, openApp } from "portolan-host/apps";
import { type SandboxHandler, type SandboxPage, sandboxHandler } from "portolan-host/apps/sandbox";
import { previewDocument, previewStyle } from "./document.ts";
import type { PreviewEvent, PreviewQuestion, PreviewRequest, PreviewTool } from "./messages.ts";

/** Pages at the same time; a developer has one or two. */
const maxPages = 8;
/** An app's message with its envelope. */
const maxBodyBytes = 16 * 1024 * 1024;
/** Unread events of one page. A page that is slower is closed. */
const maxUnreadBytes = 64 * 1024 * 1024;

/** A running preview. */
export interface Preview {
  readonly url: string;
  close(): Promise<void>;
}

/** Options of `openPreview`. */
export interface PreviewOptions {
  /** The file of the command: the script of the page stands beside it. */
  readonly self: string;
  /** Is told of what failed without a page to show it. */
  readonly onError: (error: unknown) => void;
}

/**
 * Serves a page with the apps of a host's servers, on loopback. The page, the sandbox of its apps and each app have names of
 * their own for the same machine: as many origins, and no cookie is for two of them.
 */
export async function openPreview(host: Host, { self, onError }: PreviewOptions): Promise<Preview> {
  const script = await readFile(join(dirname(self), "preview.js"), "utf8");
  // A path that other pages and programs cannot guess: they could call tools otherwise.
  const root = `/${crypto.randomUUID().replaceAll("-", "")}/`;
  const site: PreviewSite = { host, root, script, onError, pages: new Set(), origin: "", sandbox: undefined };
  const page = createServer((request, response) => {
    answer(site, request, response).catch((reason) => {
      onError(reason);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  const sandbox = createServer((request, response) => site.sandbox?.handler.node(request, response));
  const [port, sandboxPort] = [await listen(page), await listen(sandbox)];
  site.origin = `http://127.0.0.1:${port}`;
  const handler = sandboxHandler({ hosts: [site.origin] });
  site.sandbox = { handler, origin: `http://localhost:${sandboxPort}` };
  const following = follow(site).catch(onError);
  return {
    url: `${site.origin}${root}`,
    async close() {
      for (const one of site.pages) one.response.end();
      await Promise.all([...site.pages].map((one) => one.close()));
      await Promise.all([end(page), end(sandbox)]);
      await host.close();
      await following;
    },
  };
}

interface PreviewSite {
  readonly host: Host;
  readonly root: string;
  readonly script: string;
  readonly onError: (error: unknown) => void;
  readonly pages: Set<PreviewPage>;
  origin: string;
  sandbox: { readonly handler: SandboxHandler; readonly origin: string } | undefined;
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return (server.address() as AddressInfo).port;
}

function end(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

async function answer(site: PreviewSite, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { root, script, origin, sandbox } = site;
  const { method = "", url = "", headers } = request;
  const send = (status: number, type: string, text: string) => {
    response.writeHead(status, {
      ...{ "content-type": `${type}; charset=utf-8`, "cache-control": "no-store", "x-content-type-options": "nosniff" },
      // The sandbox answers only to a page whose origin it sees.
      ...{ "referrer-policy": "strict-origin", "cross-origin-opener-policy": "same-origin" },
      "content-security-policy": [
        ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src data:", "connect-src 'self'"],
        ...[`frame-src ${sandbox?.origin}`, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
      ].join("; "),
    });
    response.end(text);
  };
  // Another name for this machine would be another site's (DNS rebinding).
  if (`http://${headers.host}` !== origin || !url.startsWith(root)) return send(404, "text/plain", "Not found.\n");
  const name = url.slice(root.length);
  if (method === "GET" && name === "") return send(200, "text/html", previewDocument);
  if (method === "GET" && name === "style.css") return send(200, "text/css", previewStyle);
  if (method === "GET" && name === "page.js") return send(200, "text/javascript", script);
  if (method === "GET" && name === "events") {
    if (site.pages.size >= maxPages) return send(503, "text/plain", "Too many pages are open.\n");
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    new PreviewPage(site, response).begin();
    return undefined;
  }
  if (method !== "POST" || name !== "do") return send(404, "text/plain", "Not found.\n");
  if (headers.origin !== origin) return send(403, "text/plain", "Only the preview page may ask.\n");
  const body = await read(request);
  if (body === undefined) return send(413, "text/plain", "The message is too large.\n");
  const problem = await perform(site, body);
  return send(problem === undefined ? 200 : 400, "text/plain", problem ?? "");
}

async function read(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Carries out what a page asks. Returns what is wrong with it, as a sentence for the page. */
async function perform(site: PreviewSite, body: string): Promise<string | undefined> {
  let asked: PreviewRequest;
  try {
    asked = JSON.parse(body) as PreviewRequest;
  } catch {
    return "The request is no JSON.";
  }
  if (asked.kind === "answer") return answerQuestion(site.host, asked);
  const pages = [...site.pages];
  if (asked.kind === "show") {
    let args: unknown;
    try {
      args = JSON.parse(asked.args.trim() === "" ? "{}" : asked.args);
    } catch (reason) {
      return `Arguments: ${(reason as Error).message}`;
    }
    if (typeof args !== "object" || args === null || Array.isArray(args)) return "Arguments: expected a JSON object.";
    const { page, server, tool, theme } = asked;
    pages
      .find(({ id }) => id === page)
      ?.show({ server, tool, args: args as JsonObject, theme: theme === "dark" ? "dark" : "light" });
    return undefined;
  }
  const { app } = asked;
  const page = pages.find((one) => one.apps.has(app));
  if (asked.kind === "message") page?.apps.get(app)?.receive(asked.message);
  if (asked.kind === "close") void page?.apps.get(app)?.session.close(asked.reason);
  return undefined;
}

async function answerQuestion(
  host: Host,
  { id, allow, always }: Extract<PreviewRequest, { kind: "answer" }>,
): Promise<string | undefined> {
  const question = host.questions.find((one) => one.id === id);
  if (!question) return "The question is no longer open.";
  const verdict = { allow, ...(always && { for: "session" as const }) };
  await host.answer(id, question.kind === "openUrl" ? { action: allow ? "accept" : "decline" } : verdict);
  return undefined;
}

/** Tells all pages what happens in the host. */
async function follow({ host, pages }: PreviewSite): Promise<void> {
  for await (const event of host.events()) {
    if (event.kind === "catalog") for (const page of pages) page.sendTools();
    if (event.kind === "question") for (const page of pages) page.ask(event.question);
    if (event.kind === "answered") for (const page of pages) page.send({ kind: "answered", id: event.question.id });
  }
}

interface OpenedApp {
  readonly session: AppSession;
  readonly page: SandboxPage;
  receive: (message: unknown) => void;
}

/** One open page. Its apps end with it. */
class PreviewPage {
  readonly id = crypto.randomUUID();
  readonly apps = new Map<string, OpenedApp>();
  readonly response: ServerResponse;
  readonly #site: PreviewSite;
  readonly #gone = new AbortController();

  constructor(site: PreviewSite, response: ServerResponse) {
    this.#site = site;
    this.response = response;
  }

  begin(): void {
    this.#site.pages.add(this);
    this.send({ kind: "hello", page: this.id });
    this.response.on("close", () => void this.close());
    this.sendTools();
    for (const question of this.#site.host.questions) this.ask(question);
  }

  send(event: PreviewEvent): void {
    if (this.response.writableEnded) return;
    this.response.write(`data: ${JSON.stringify(event)}\n\n`);
    if (this.response.writableLength > maxUnreadBytes) this.response.destroy();
  }

  sendTools(): void {
    this.send({ kind: "tools", tools: toolsOf(this.#site.host) });
  }

  ask(question: HostQuestion): void {
    const shown = toQuestion(question);
    if (shown) this.send({ kind: "question", question: shown });
  }

  /** Calls a tool for the user, and shows its app. */
  show({
    server,
    tool,
    args,
    theme,
  }: {
    server: string;
    tool: string;
    args: JsonObject;
    theme: "light" | "dark";
  }): void {
    const { host } = this.#site;
    const { signal } = this.#gone;
    const result = host.callTool(server, tool, args, { by: "user", signal });
    result.catch((reason) => this.#note("host", `${tool}: ${messageOf(reason)}`, true));
    const opening = openApp(host, {
      ...{ server, tool, args, result, signal },
      surroundings: { theme, platform: "web", displayMode: "inline", containerDimensions: { maxHeight: 4_000 } },
      onMessage: (content) => {
        this.#note("user", `message: ${content.map((block) => ("text" in block ? block.text : "")).join(" ")}`);
      },
      onLog: ({ level, data }) =>
        this.#note("app", `${level}: ${typeof data === "string" ? data : JSON.stringify(data)}`),
    });
    opening.then(
      (session) => this.#open(session, tool),
      (reason) => this.send({ kind: "failed", reason: messageOf(reason) }),
    );
  }

  async close(): Promise<void> {
    this.#site.pages.delete(this);
    this.#gone.abort();
    await Promise.all([...this.apps.values()].map(({ session }) => session.close("the page was closed")));
  }

  #open(session: AppSession, tool: string): void {
    const { sandbox } = this.#site;
    if (!sandbox || session.state === "closed") return;
    const { id, resource } = session;
    const { sources, permissions, html } = resource;
    const grant = { ...(sources && { sources }), permissions };
    const name = createHash("sha256")
      .update(JSON.stringify([session.server, resource.uri]))
      .digest("hex")
      .slice(0, 32);
    const app = sandbox.origin.replace("//", `//${name}.`);
    const page = sandbox.handler.add(grant, { app, sandbox: sandbox.origin });
    const opened: OpenedApp = { session, page, receive: () => {} };
    this.apps.set(id, opened);
    const title = `${session.server}.${tool}`;
    this.send({
      kind: "opened",
      app: id,
      title,
      sandbox: `${sandbox.origin}${page.path}`,
      resource: { html, permissions },
    });
    session.connect({
      open: (receive) => {
        opened.receive = (message) => {
          this.#noteMessage("app", message);
          receive(message);
          this.send({ kind: "state", app: id, state: session.state });
        };
      },
      post: (message) => {
        this.#noteMessage("host", message);
        this.send({ kind: "message", app: id, message });
      },
      // The page hears of it with the reason, below.
      close: () => {},
    });
    void session.closed.then((end) => {
      this.apps.delete(id);
      page.remove();
      this.send({ kind: "closed", app: id, end });
    });
  }

  #noteMessage(from: "app" | "host", message: unknown): void {
    const { method, error, params } = (message ?? {}) as {
      method?: unknown;
      error?: { message?: unknown };
      params?: unknown;
    };
    if (method !== undefined)
      this.#note(from, `${String(method)} ${params === undefined ? "" : JSON.stringify(params)}`);
    else if (error) this.#note(from, `error: ${String(error.message)}`, true);
  }

  #note(from: "app" | "host" | "user", text: string, isProblem = false): void {
    this.send({ kind: "log", from, text: display(text, { maxChars: 400 }), isProblem });
  }
}

function messageOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}

function toolsOf(host: Host): PreviewTool[] {
  return host.catalog.tools.flatMap(({ server, name, definition, isFor }) => {
    const app = appUriOf(definition);
    // A tool for apps alone is no beginning: an app calls it.
    if (app === undefined || !isFor.model) return [];
    const { title, description, inputSchema } = definition;
    return [
      {
        ...{ server, name, app, args: JSON.stringify(sampleOf(inputSchema), undefined, 2) },
        ...(title !== undefined && { title }),
        ...(description !== undefined && { description: description.slice(0, 1_000) }),
      },
    ];
  });
}

/** Returns arguments to begin with: defaults and examples, or an empty value of each required member. */
function sampleOf({ properties = {}, required = [] }: JsonObject): JsonObject {
  const names = required as readonly string[];
  return Object.fromEntries(
    Object.entries(properties as { readonly [name: string]: JsonObject }).flatMap(([name, schema]) => {
      const { default: preset, examples, enum: values, type } = schema as { [key: string]: unknown };
      const known = [preset, (examples as unknown[] | undefined)?.[0]].find((value) => value !== undefined);
      if (known !== undefined) return [[name, known]];
      if (!names.includes(name)) return [];
      const empty: { readonly [type: string]: unknown } = {
        number: 0,
        integer: 0,
        boolean: false,
        array: [],
        object: {},
      };
      return [[name, (values as unknown[] | undefined)?.[0] ?? empty[String(type)] ?? ""]];
    }),
  );
}

function toQuestion(question: HostQuestion): PreviewQuestion | undefined {
  const { id, server } = question;
  if (question.kind === "approve") {
    const { action, cautions, findings } = question;
    const warnings = [...cautions.map(({ from }) => `Caution: results of ${from.join(", ")} may have led to this.`)];
    warnings.push(...findings.map(({ why, excerpt }) => `${why}: ${excerpt}`));
    if (action.kind === "app") {
      const title = `Show the app of ${server}.${action.tool}?`;
      return {
        id,
        title,
        subject: display(action.uri),
        warnings: action.warnings.map((one) => display(one)),
        yes: "Show it",
      };
    }
    const isTool = action.kind === "tool";
    const title = isTool ? `The app wants to call ${server}.${action.tool}` : `Read a resource of ${server}?`;
    const subject = isTool ? JSON.stringify(action.args, undefined, 2) : action.uri;
    return { id, title: display(title), subject: display(subject, { lines: "keep" }), warnings, yes: "Allow" };
  }
  if (question.kind === "openUrl") {
    const { href, warnings } = question.address;
    return {
      id,
      title: `An app of ${server} wants to open an address`,
      subject: href,
      warnings,
      yes: "Open it",
      opens: href,
    };
  }
  if (question.kind !== "say") return undefined;
  const text = question.content.map((block) => ("text" in block ? block.text : "")).join("\n");
  const warnings = question.findings.map(({ why, excerpt }) => `${why}: ${excerpt}`);
  const title = `An app of ${server} wants to send a message as you`;
  return { id, title, subject: display(text, { lines: "keep" }), warnings, yes: "Send it" };
}
