import {
  type JsonObject,
  PortolanError,
  type Prompt,
  type Resource,
  type ResourceTemplate,
  RpcError,
  type Tool,
} from "portolan";
import type { Answers, Client, Progress } from "portolan/client";
import {
  type Context as CallContext,
  createServer,
  type LiveServer,
  live,
  type Server,
  ToolError,
  withJsonSchema,
} from "portolan/server";
import { type Catalog, listAll } from "../output/catalog.ts";
import type { Upstream } from "./upstream.ts";

/** Accepts every value: the upstream server validates. */
const anything = {
  "~standard": { version: 1 as const, vendor: "portolan", validate: (value: unknown) => ({ value }) },
};

/** A server that offers what its upstream server offers, and forwards every call to it. */
export class ProxyServer {
  #upstream: Upstream | undefined;
  #live: LiveServer | undefined;
  /** Calls in progress. */
  readonly #running = new Set<CallContext>();
  readonly #onError: ((error: unknown) => void) | undefined;

  /** `onError` gets invalid definitions of the upstream server, and internal errors. */
  constructor(onError?: (error: unknown) => void) {
    this.#onError = onError;
  }

  get server(): LiveServer {
    if (!this.#live) throw new Error("The proxy server is not connected yet");
    return this.#live;
  }

  /** Offers what the upstream server offers now, and follows its changes while it is connected. */
  async follow(client: Client, upstream: Upstream): Promise<void> {
    await this.#refresh(client);
    this.#upstream = upstream;
    const { capabilities } = client.server;
    const filter = {
      tools: capabilities.tools?.listChanged === true,
      prompts: capabilities.prompts?.listChanged === true,
      resources: capabilities.resources?.listChanged === true,
    };
    if (!Object.values(filter).includes(true)) return;
    const watch = await client.watch(filter);
    const look = async () => {
      for await (const _ of watch) await this.#refresh(client);
    };
    // The watch ends with the connection, and `Upstream` handles that.
    look().catch(() => {});
  }

  /** Sends a log message to the only call in progress; otherwise to all listeners, because its call is unknown. */
  log({ level, data, logger }: { level: string; data: unknown; logger?: string }): void {
    const [only, ...others] = this.#running;
    if (only && others.length === 0) only.log(level as Parameters<CallContext["log"]>[0], data, logger);
    else this.#live?.publish("message", { level, data, ...(logger !== undefined && { logger }) });
  }

  #client(): Promise<Client> {
    if (!this.#upstream) throw new Error("The proxy server is not connected yet");
    return this.#upstream.client();
  }

  async #refresh(client: Client): Promise<void> {
    const catalog = await listAll(client);
    const server = this.#define(client, catalog);
    if (this.#live) this.#live.update(() => server);
    else this.#live = live(server);
  }

  #define(client: Client, { tools, resources, templates, prompts }: Catalog): Server {
    const { info, instructions } = client.server;
    let server: Server = createServer(
      { ...info, name: info?.name ?? "server", version: info?.version ?? "0" },
      {
        leaveOutInvalid: true,
        ...(this.#onError && { onError: this.#onError }),
        ...(instructions !== undefined && { instructions }),
      },
    );
    const known = new Set(resources.map(({ uri }) => uri));
    for (const tool of tools) server = this.#tool(server, tool);
    for (const resource of resources) server = this.#resource(server, resource, client);
    for (const template of templates) server = this.#template(server, template, client);
    for (const prompt of prompts) server = this.#prompt(server, prompt, client);
    if (!client.server.capabilities.resources) return server;
    // Some servers can read resources that they do not list.
    return server.use(
      async (exchange, next) => {
        try {
          return await next(exchange);
        } catch (reason) {
          const uri = exchange.params["uri"];
          if (!(reason instanceof RpcError) || typeof uri !== "string" || known.has(uri)) throw reason;
          const read = (await this.#client()).readResource(uri, { signal: exchange.signal });
          return { kind: "complete", result: { ...(await read) } };
        }
      },
      { method: "resources/read" },
    );
  }

  #tool(server: Server, { name, inputSchema, outputSchema, _meta, ...described }: Tool): Server {
    const { title, description, icons, annotations } = described;
    return server.tool(name, {
      ...defined({ title, description, icons, annotations, meta: _meta }),
      input: withJsonSchema(anything, inputSchema),
      ...(outputSchema && { output: withJsonSchema(anything, outputSchema) }),
      // A call reaches the upstream server only once, even if it asks questions.
      asks: "park",
      run: (args, context) =>
        this.#forward(context, (client, options) => client.callTool(name, args as JsonObject, options)),
    });
  }

  #resource(server: Server, { uri, name, _meta, ...rest }: Resource, client: Client): Server {
    const { title, description, icons, mimeType, annotations, size } = rest;
    return server.resource(uri, {
      ...defined({ name, title, description, icons, mimeType, annotations, size, meta: _meta }),
      ...this.#subscribable(client),
      read: (context) => this.#forward(context, (upstream, options) => upstream.readResource(uri, options)),
    });
  }

  #template(server: Server, { uriTemplate, name, _meta, ...rest }: ResourceTemplate, client: Client): Server {
    const { title, description, icons, mimeType, annotations } = rest;
    const variables = [...uriTemplate.matchAll(/\{[+#./;?&]?([^}]+)\}/g)].flatMap(([, names = ""]) =>
      names.split(",").map((each) => each.replace(/(\*|:\d+)$/, "")),
    );
    const ref = { type: "ref/resource" as const, uri: uriTemplate };
    return server.template(uriTemplate, {
      ...defined({ name, title, description, icons, mimeType, annotations, meta: _meta }),
      ...this.#subscribable(client),
      ...(client.server.capabilities.completions && {
        complete: Object.fromEntries(variables.map((variable) => [variable, this.#completer(ref, variable)])),
      }),
      read: (_, context, uri) => this.#forward(context, (upstream, options) => upstream.readResource(uri, options)),
    });
  }

  #prompt(server: Server, { name, arguments: parameters = [], _meta, ...rest }: Prompt, client: Client): Server {
    const { title, description, icons } = rest;
    const ref = { type: "ref/prompt" as const, name };
    const completes = client.server.capabilities.completions !== undefined;
    return server.prompt(name, {
      ...defined({ title, description, icons, meta: _meta }),
      arguments: Object.fromEntries(
        parameters.map(({ name: argument, ...about }) => [
          argument,
          { ...about, ...(completes && { complete: this.#completer(ref, argument) }) },
        ]),
      ),
      get: (args, context) =>
        this.#forward(context, (upstream, options) =>
          upstream.getPrompt(name, defined(args) as { [name: string]: string }, options),
        ),
    });
  }

  #completer(ref: Parameters<Client["complete"]>[0], name: string) {
    return async (value: string, known: { [name: string]: string }) =>
      (await this.#client()).complete(ref, { name, value }, { known });
  }

  #subscribable(client: Client) {
    if (client.server.capabilities.resources?.subscribe !== true) return {};
    return {
      subscribe: true,
      watch: async (uri: string, changed: (uri?: string) => void) => {
        const watch = await (await this.#client()).watch({ uris: [uri] });
        const look = async () => {
          for await (const change of watch) if (change.kind === "resource") changed(change.uri);
        };
        look().catch(() => {});
        return () => void watch.close();
      },
    };
  }

  /** Forwards a call, with its progress and its questions. */
  async #forward<T>(context: CallContext, call: (client: Client, options: ForwardOptions) => Promise<T>): Promise<T> {
    this.#running.add(context);
    try {
      return await call(await this.#client(), {
        signal: context.signal,
        onProgress: ({ progress, total, message }) => context.progress(progress, total, message),
        answers: answersBy(context),
        capabilities: context.capabilities,
        logLevel: "debug",
      });
    } catch (reason) {
      // A failure of the upstream connection becomes the result of the tool, so that the caller sees it.
      if (reason instanceof PortolanError && !context.signal.aborted) throw new ToolError(reason.message);
      throw reason;
    } finally {
      this.#running.delete(context);
    }
  }
}

interface ForwardOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  readonly answers: Answers;
  readonly capabilities: CallContext["capabilities"];
  readonly logLevel: "debug";
}

/** Passes questions of the upstream server to the caller. */
function answersBy(context: CallContext): Answers {
  let count = 0;
  const key = () => {
    count += 1;
    return `question-${count}`;
  };
  return {
    elicit: ({ message, requestedSchema }) =>
      context.elicit(key(), { message, form: requestedSchema as unknown as { [member: string]: unknown } }),
    openUrl: ({ message, url }) => context.openUrl(key(), { message, url }),
    sample: (params) => context.sample(key(), params),
    roots: () => context.roots(key()),
  };
}

/** Returns the members that are not undefined. */
function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
