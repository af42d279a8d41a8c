import { type OAuth, type OAuthEvent, type OAuthOptions, oauth } from "portolan/auth/client";
import { type ProtectOptions, protect } from "portolan/auth/server";
import { type Client, type ConnectOptions, connect } from "portolan/client";
import { type HttpLinkOptions, http } from "portolan/client/http";
import { createServer } from "portolan/server";
import { type ServeHttpOptions, serveHttp } from "portolan/server/http";
import { onTestFinished } from "vitest";
import { TestAuthority } from "./authority.ts";
import { Person } from "./person.ts";
import { Site, TestClock } from "./site.ts";

/** The transport and era of the server. */
export type Way = "stateless" | "stateful" | "HTTP+SSE";
export const ways: readonly Way[] = ["stateless", "stateful", "HTTP+SSE"];

/** A protected MCP server and everything about it that a test may inspect. */
export interface ProtectedServer {
  readonly site: Site;
  readonly origin: string;
  /** Its URL for each transport. */
  readonly url: string;
  readonly resource: string;
  /** The URL of its metadata. */
  readonly metadataPath: string;
  /** Protects it again, with other options. */
  protect(options: Partial<ProtectOptions>): void;
}

export interface ServerOptions extends Partial<ProtectOptions> {
  readonly way?: Way;
  readonly http?: ServeHttpOptions;
}

/** Starts a server that accepts the tokens of an authority. */
export async function startProtected(authority: TestAuthority, options: ServerOptions = {}): Promise<ProtectedServer> {
  const { way = "stateless", http: served = {}, ...given } = options;
  const site = await Site.start(false);
  const isOld = way === "HTTP+SSE";
  const resource = isOld ? site.origin : `${site.origin}/mcp`;
  const server = createServer({ name: "protected", version: "1.0.0" })
    .tool("whoami", { run: (_, { principal }) => `${principal.subject} by ${principal.clientId}` })
    .tool("write", { run: () => "written" });
  const serve = (more: Partial<ProtectOptions>) => {
    const auth = protect({ resource, issuers: [authority.issuer], onError: () => {}, ...given, ...more });
    const serving = serveHttp(server, { ...served, auth, httpSse: isOld });
    onTestFinished(() => serving.close(0));
    site.serve = (_, request, response) => serving.node(request, response);
  };
  serve({});
  const path = isOld ? "" : "/mcp";
  return {
    site,
    origin: site.origin,
    url: `${site.origin}${isOld ? "/sse" : "/mcp"}`,
    resource,
    metadataPath: `/.well-known/oauth-protected-resource${path}`,
    protect: serve,
  };
}

export interface WorldOptions {
  readonly way?: Way;
  /** The path of the issuer. */
  readonly tenant?: string;
  readonly protect?: ServerOptions;
  readonly oauth?: OAuthOptions;
}

/** A protected server, its authority, a person and a client. */
export interface World {
  readonly way: Way;
  readonly clock: TestClock;
  readonly authority: TestAuthority;
  readonly server: ProtectedServer;
  readonly person: Person;
  readonly events: OAuthEvent[];
  readonly auth: OAuth;
  connect(options?: ConnectOptions, link?: HttpLinkOptions): Promise<Client>;
}

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const { way = "stateless" } = options;
  const clock = new TestClock();
  const authority = await TestAuthority.start({ path: options.tenant ?? "", now: clock.now });
  const server = await startProtected(authority, { way, now: clock.now, ...options.protect });
  const person = new Person();
  const events: OAuthEvent[] = [];
  const redirect = options.oauth?.grant ? {} : { redirect: person };
  const onEvent = (event: OAuthEvent) => events.push(event);
  const auth = oauth({ ...redirect, onEvent, now: clock.now, ...options.oauth });
  return {
    ...{ way, clock, authority, server, person, events, auth },
    connect: (more = {}, link = {}) => connectTo(server.url, way, { auth, ...link }, more),
  };
}

/** Connects over one of the transports. */
export async function connectTo(url: string, way: Way, link: HttpLinkOptions, options: ConnectOptions = {}) {
  const target = http(url, { ...link, ...(way === "HTTP+SSE" && { legacySse: true }) });
  const client = await connect(target, { era: way === "stateless" ? "stateless" : "stateful", ...options });
  onTestFinished(() => client.close());
  return client;
}

export const textOf = (result: { content: unknown }): string => (result.content as { text: string }[])[0]!.text;
