import type { MaybePromise } from "../../async.ts";
import { checkOptions, type OptionNames } from "../../options.ts";
import { missingCapability } from "../../protocol/errors.ts";
import type { Outcome, Peer, Revision } from "../../protocol/revision.ts";
import type { Snapshot } from "../define/snapshot.ts";
import type { DetachOptions, ExtendedServer, ExtensionParts, FeatureKind, ServerExtension } from "../extension.ts";
import type { ServerRuntime } from "../runtime.ts";
import { detach } from "./detach.ts";
import type { Exchange, ServedExchange } from "./exchange.ts";

/** An extension that takes part in a revision, with its additions to it. */
export interface ActiveExtension {
  readonly extension: ServerExtension;
  readonly parts: ExtensionParts;
  readonly server: ExtendedServer;
  /** False if the revision must not know the extension by its id: a declaration of it then counts for nothing. */
  readonly isDeclarable: boolean;
}

/** Cached, because an extension may make its parts only once for a revision. Forgotten with the snapshot. */
const cache = new WeakMap<Snapshot, Map<Revision, readonly ActiveExtension[]>>();

/** Returns the extensions that take part in a revision. */
export function activeExtensions(runtime: ServerRuntime, revision: Revision): readonly ActiveExtension[] {
  const { snapshot } = runtime;
  const byRevision = cache.get(snapshot) ?? new Map<Revision, readonly ActiveExtension[]>();
  cache.set(snapshot, byRevision);
  let active = byRevision.get(revision);
  if (!active) {
    active = snapshot.parts.extensions.flatMap((extension): ActiveExtension[] => {
      const isDeclarable = !revision.encoderParts.traits.refusedExtensions.includes(extension.id);
      const server = extendedServer(runtime, extension);
      const parts = extension.on(revision, server);
      return parts && (isDeclarable || parts.isOpen) ? [{ extension, parts, server, isDeclarable }] : [];
    });
    byRevision.set(revision, active);
  }
  return active;
}

/** Returns whether a peer declared an extension. */
export function isDeclared({ capabilities }: Peer, { extension, isDeclarable }: ActiveExtension): boolean {
  return isDeclarable && capabilities.extensions !== undefined && Object.hasOwn(capabilities.extensions, extension.id);
}

/** Returns the extensions whose parts are for a peer: the declared ones, and the open ones. */
export function extensionsFor(runtime: ServerRuntime, peer: Peer): readonly ActiveExtension[] {
  return activeExtensions(runtime, peer.revision).filter((active) => active.parts.isOpen || isDeclared(peer, active));
}

/** Throws if a peer uses a part of an extension that it did not declare. */
export function requireDeclared(peer: Peer, active: ActiveExtension, what: string): void {
  if (active.parts.isOpen || isDeclared(peer, active)) return;
  throw missingCapability({ extensions: { [active.extension.id]: {} } }, what);
}

/** Runs the middleware of an extension, if the extension takes part in the peer's revision. */
export function runExtension(
  runtime: ServerRuntime,
  extension: ServerExtension,
  exchange: Exchange,
  next: (exchange: Exchange) => MaybePromise<Outcome>,
): MaybePromise<Outcome> {
  const { peer } = exchange;
  const active = activeExtensions(runtime, peer.revision).find((one) => one.extension === extension);
  if (!active || !extension.around) return next(exchange);
  return extension.around(exchange, next, isDeclared(peer, active), active.server);
}

const lists = { tool: "tools", resource: "resources", template: "templates", prompt: "prompts" } as const;

/** One object for each extension of a server, so that an extension can keep something for it. */
const extendedServers = new WeakMap<ServerRuntime, WeakMap<ServerExtension, ExtendedServer>>();
const runtimes = new WeakMap<ExtendedServer, ServerRuntime>();

/** Returns the runtime of the server that an extension sees. For tasks, whose records hold the rounds of questions. */
export function runtimeBehind(server: ExtendedServer): ServerRuntime {
  return runtimes.get(server) as ServerRuntime;
}

function extendedServer(runtime: ServerRuntime, extension: ServerExtension): ExtendedServer {
  const known = extendedServers.get(runtime) ?? new WeakMap<ServerExtension, ExtendedServer>();
  extendedServers.set(runtime, known);
  let server = known.get(extension);
  if (!server) {
    server = createExtendedServer(runtime, extension);
    known.set(extension, server);
    runtimes.set(server, runtime);
  }
  return server;
}

const detachNames: OptionNames<DetachOptions> = { notify: 1, status: 1, ask: 1 };

function createExtendedServer(runtime: ServerRuntime, extension: ServerExtension): ExtendedServer {
  const find = (kind: FeatureKind, key: string, exchange: Exchange) =>
    runtime.snapshot[lists[kind]].find(key, exchange as ServedExchange);
  return {
    get info() {
      return runtime.snapshot.info;
    },
    get storage() {
      return runtime.storage ?? runtime.snapshot.options.storage;
    },
    publish: (topic, payload, audience) => runtime.publish(topic, payload, audience),
    report: (error) => runtime.report(error),
    hasFeature: (kind, key, exchange) => find(kind, key, exchange) !== undefined,
    optionsOf: (kind, key, exchange) => find(kind, key, exchange)?.definition.extensions?.[extension.id],
    detach(request, options = {}) {
      checkOptions(options, detachNames, "detach");
      return detach(runtime, extension, request, options);
    },
  };
}
