import { Lazy } from "../../async.ts";
import { runtimeOf, type Servable } from "../define/server.ts";
import { Endpoint } from "./endpoint.ts";
import { closeFlushMs } from "./limits.ts";
import { type NodeListener, nodeListener } from "./node.ts";
import type { EndpointUsage } from "./observe.ts";
import { checkHttpOptions, defaultPath, type ServeHttpOptions } from "./options.ts";

/** Options of `listen`. */
export interface ListenSettings {
  /** Closes on SIGTERM and SIGINT and exits; a second signal exits at once. Default: false. */
  readonly signals?: boolean;
  /**
   * Time between the beginning of `close` and the end of serving. Requests are served in it, and `readyPath` is answered
   * with 503, so that a load balancer sends no more of them. Default: 0.
   */
  readonly drainMs?: number;
  /** A path that is answered with 200, and with 503 once the server closes. Default: none. */
  readonly readyPath?: string;
}

/** A server that is served over HTTP. */
export interface HttpEndpoint extends AsyncDisposable {
  /** For `node:http`, and for frameworks that hand over its request and response. */
  readonly node: NodeListener;
  /** For runtimes and frameworks with web-standard requests. */
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * Listens on a port. Default: a free port of 127.0.0.1. Resolves to the URL of the endpoint. Rejects if a feature of the
   * server is invalid, or if other processes with the same storage have other secrets.
   */
  listen(
    port?: number,
    host?: string,
    options?: ListenSettings,
  ): Promise<{ readonly url: string; readonly port: number }>;
  /** False once `close` was called, also while `drainMs` lasts. */
  readonly isReady: boolean;
  /** Returns what callers use now, and the requests in progress. */
  usage(): Promise<EndpointUsage>;
  /**
   * Refuses new requests, waits for running ones at most `graceMs`, and releases everything. Meanwhile the answers that
   * running calls wait for are accepted. Default: 10 s.
   */
  close(graceMs?: number): Promise<void>;
}

/** Serves clients of every revision at one URL. */
export function serveHttp(server: Servable, options: ServeHttpOptions = {}): HttpEndpoint {
  checkHttpOptions(options);
  const endpoint = new Endpoint(server, options);
  const runtime = runtimeOf(server);
  runtime.reportWhenLoaded();
  const { limits = {}, path = defaultPath } = options;
  const fetches = new Lazy(async () => (await import("./fetch.ts")).fetchHandler(endpoint.handle, limits));
  const closers: ((drained: Promise<void>) => Promise<void>)[] = [];
  let drain: (() => Promise<void> | undefined) | undefined;
  const close = async (graceMs?: number): Promise<void> => {
    endpoint.isReady = false;
    await drain?.();
    const drained = endpoint.close(graceMs);
    await Promise.all([drained, ...closers.splice(0).map((end) => end(drained))]);
  };
  return {
    node: nodeListener(endpoint.handle, limits),
    fetch: async (request) => (await fetches.get())(request),
    async listen(port = 0, host = "127.0.0.1", settings) {
      // Before anything is awaited: an invalid feature rejects here, and is not reported too.
      const ready = runtime.ready();
      ready.catch(() => {});
      endpoint.state.isListening = true;
      const { checkListen, createDrain, exitOnSignals, listenOn } = await import("#server-listen");
      await checkListen(port, host, settings, options, runtime);
      await ready;
      await endpoint.joined;
      const { state } = endpoint;
      const listening = await listenOn(nodeListener(endpoint.handleOwnPaths, limits), {
        ...{ port, host, limits },
        onError: (error) => state.observe((observer) => observer.notAccepted(error)),
        onDropped: (dropped) => state.observe((observer) => observer.dropped(dropped)),
      });
      // The port stays open while calls are running: they may wait for an answer that their client sends.
      closers.push((drained) => listening.close(closeFlushMs, drained));
      endpoint.preload();
      endpoint.readyPath = settings?.readyPath;
      drain = createDrain(settings?.drainMs);
      if (settings?.signals) await exitOnSignals(close);
      return { url: `${listening.url}${path}`, port: listening.port };
    },
    get isReady() {
      return endpoint.isReady;
    },
    usage: async () => (await endpoint.state.observer.get()).usage(),
    close,
    [Symbol.asyncDispose]: close,
  };
}
