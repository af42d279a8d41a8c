// Loaded late: the server card, which tells a client how to connect before it does, and the catalog that names it.

import type { JsonObject } from "../../jsonrpc/message.ts";
import { checkOptions, type OptionNames } from "../../options.ts";
import { revisions, statelessVersions } from "../../protocol/revisions/index.ts";
import type { Icon } from "../../protocol/types/index.ts";
import { unexpected } from "../define/check.ts";
import type { ServerRuntime } from "../runtime.ts";
import type { HttpHeaders, HttpReply, HttpRequest } from "./adapter.ts";
import { isLoopback } from "./hosts.ts";
import { documentMaxAgeSeconds, maxCardBytes } from "./limits.ts";
import { cardCatalogPath, type ServeHttpOptions } from "./options.ts";
import { refuse } from "./reply.ts";

/** A value that a client asks its user for: a header, or a variable of an address. */
export interface CardInput {
  readonly description?: string;
  readonly isRequired?: boolean;
  /** The client keeps the value as a secret. A card never has the value of one. */
  readonly isSecret?: boolean;
  readonly format?: "boolean" | "filepath" | "number" | "string";
  readonly default?: string;
  readonly placeholder?: string;
  readonly choices?: readonly string[];
  /** A fixed value; `{name}` in it stands for the variable of that name. */
  readonly value?: string;
}

/** A header that an address needs. */
export interface CardHeader extends CardInput {
  readonly name: string;
  readonly variables?: { readonly [name: string]: CardInput };
}

/** An address of the server, and what a client needs to connect to it. */
export interface CardRemote {
  /** Default: "streamable-http". */
  readonly type?: "streamable-http" | "sse";
  /** https, or http on this machine. `{name}` in it stands for the variable of that name. */
  readonly url: string;
  readonly headers?: readonly CardHeader[];
  readonly variables?: { readonly [name: string]: CardInput };
  /** Default: all versions that the endpoint serves. */
  readonly supportedProtocolVersions?: readonly string[];
}

/** Where the source of the server is. */
export interface CardRepository {
  readonly url: string;
  /** The service that hosts it, such as "github". */
  readonly source: string;
  readonly id?: string;
  readonly subfolder?: string;
}

/** The content of the server card of an endpoint. Anyone can read it. */
export interface ServerCardOptions {
  /** A domain of yours, reversed, and a name: "com.example/weather". */
  readonly name: string;
  /** At most 100 characters. Default: the title of the server. */
  readonly title?: string;
  /** At most 100 characters. Default: the description of the server. */
  readonly description?: string;
  /** Default: the version of the server. */
  readonly version?: string;
  /** Default: the website of the server. */
  readonly websiteUrl?: string;
  /** Where the source of the server is. Default: none. */
  readonly repository?: CardRepository;
  /** Default: the icons of the server. */
  readonly icons?: readonly Icon[];
  /** The public addresses of the server. Default: none; clients then use the address where they found the card. */
  readonly remotes?: readonly CardRemote[];
  /** Other metadata, by names with a prefix such as "com.example/team". */
  readonly meta?: JsonObject;
  /** Also serves a catalog with this one card at `/.well-known/ai-catalog.json`. Default: false. */
  readonly catalog?: boolean;
}

/** A server card as it is sent. */
export interface ServerCard {
  readonly $schema: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly title?: string;
  readonly websiteUrl?: string;
  readonly repository?: CardRepository;
  readonly icons?: readonly Icon[];
  readonly remotes?: readonly CardRemote[];
  readonly _meta?: JsonObject;
}

const cardType = "application/mcp-server-card+json";
const catalogType = "application/ai-catalog+json";
const schemaAddress = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";

const cardNames: OptionNames<ServerCardOptions> = {
  ...{ name: 1, title: 1, description: 1, version: 1, websiteUrl: 1, repository: 1, icons: 1, remotes: 1, meta: 1 },
  catalog: 1,
};
const inputNames: OptionNames<CardInput> = {
  ...{ description: 1, isRequired: 1, isSecret: 1, format: 1, default: 1, placeholder: 1, choices: 1, value: 1 },
};
const headerNames: OptionNames<CardHeader> = { ...inputNames, name: 1, variables: 1 };
const remoteNames: OptionNames<CardRemote> = {
  ...{ type: 1, url: 1, headers: 1, variables: 1, supportedProtocolVersions: 1 },
};
const repositoryNames: OptionNames<CardRepository> = { url: 1, source: 1, id: 1, subfolder: 1 };

/** Returns the card of a server. Throws if the specification does not allow it, or if it would publish a secret. */
export function toServerCard({ card, sessions, httpSse }: ServeHttpOptions, runtime: ServerRuntime): ServerCard {
  const { info, options } = runtime.snapshot;
  if (typeof card !== "object" || card === null) throw wrong("", 'an object { name: "com.example/weather" }', card);
  checkOptions(card, cardNames, "serveHttp: card");
  const { name, meta, remotes, repository, icons = info.icons } = card;
  const { title = info.title, description = info.description, version = info.version } = card;
  const { websiteUrl = info.websiteUrl } = card;
  if (!/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/.test(name) || name.length > 200) {
    throw wrong("name", 'a reversed domain and a name, such as "com.example/weather"', name);
  }
  if (title !== undefined) checkText("title", title, 100);
  checkText("description", description, 100);
  checkText("version", version, 255);
  if (/^[\^~<>=]|(^|\.)[x*]($|\.)/i.test(version)) throw wrong("version", "one version such as 1.0.2", version);
  if (websiteUrl !== undefined) checkAddress("websiteUrl", websiteUrl);
  if (repository !== undefined) {
    checkOptions(repository, repositoryNames, "serveHttp: card: repository");
    checkAddress("repository: url", repository.url);
    checkText("repository: source", repository.source, 255);
  }
  for (const { src } of icons ?? []) checkAddress("icons: src", src, /^(https?|data):/);
  const versions = (sessions === false ? [] : revisions.map((revision) => revision.version)).concat(statelessVersions);
  const served = [...new Set(versions)].sort();
  const result: ServerCard = {
    ...{ $schema: schemaAddress, name, version, description },
    ...(title !== undefined && { title }),
    ...(websiteUrl !== undefined && { websiteUrl }),
    ...(repository !== undefined && { repository }),
    ...(icons !== undefined && icons.length > 0 && { icons }),
    ...(remotes !== undefined && { remotes: remotes.map((remote, at) => toRemote(remote, at, served, httpSse)) }),
    ...(meta !== undefined && { _meta: meta }),
  };
  const text = JSON.stringify(result);
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > maxCardBytes) throw wrong("", `at most ${maxCardBytes} bytes`, bytes);
  // The message has no value: a secret must not reach a log.
  const isPublished = (options.secrets ?? []).some((secret) => typeof secret === "string" && text.includes(secret));
  if (isPublished) throw wrong("", "no secret of the server, because anyone can read it", "one");
  return result;
}

function toRemote(
  remote: CardRemote,
  at: number,
  served: readonly string[],
  httpSse: ServeHttpOptions["httpSse"],
): CardRemote {
  const where = `remotes[${at}]`;
  checkOptions(remote, remoteNames, `serveHttp: card: ${where}`);
  const { type = "streamable-http", url, headers, variables } = remote;
  if (type !== "streamable-http" && !(type === "sse" && httpSse)) {
    const also = httpSse ? ' or "sse"' : ', or `httpSse` in the options for "sse"';
    throw wrong(`${where}: type`, `"streamable-http"${also}`, type);
  }
  // An address that begins with a variable gets its host from the user.
  if (typeof url !== "string" || !/^\{[a-zA-Z_]\w*\}\S*$/.test(url)) checkEndpoint(`${where}: url`, url);
  checkInputs(`${where}: variables`, variables);
  for (const header of headers ?? []) {
    checkOptions(header, headerNames, `serveHttp: card: ${where}: headers`);
    const { name, variables: own, ...input } = header;
    checkText(`${where}: headers: name`, name, 255);
    checkInput(`${where}: headers: ${name}`, input);
    checkInputs(`${where}: headers: ${name}`, own);
  }
  const versions = remote.supportedProtocolVersions ?? (type === "sse" ? undefined : served);
  return { ...remote, type, ...(versions !== undefined && { supportedProtocolVersions: versions }) };
}

function checkInputs(where: string, inputs: CardRemote["variables"] = {}): void {
  for (const [name, input] of Object.entries(inputs)) checkInput(`${where}: ${name}`, input);
}

function checkInput(where: string, input: CardInput): void {
  checkOptions(input, inputNames, `serveHttp: card: ${where}`);
  const { isSecret, value, default: usual } = input;
  const isText = [value, usual].some((text) => text !== undefined && text.replace(/\{\w+\}/g, "") !== "");
  if (isSecret && isText)
    throw wrong(where, "no value and no default of a secret, because anyone can read them", "one");
}

function checkText(where: string, value: unknown, most: number): asserts value is string {
  if (typeof value === "string" && value !== "" && value.length <= most) return;
  throw wrong(where, `a text of at most ${most} characters`, typeof value === "string" ? value.slice(0, 80) : value);
}

function checkAddress(where: string, value: unknown, scheme = /^https?:/): URL {
  const url = typeof value === "string" && URL.canParse(value) && scheme.test(value) ? new URL(value) : undefined;
  // The message does not repeat an address, which may contain a password.
  if (!url) throw wrong(where, "a whole address", typeof value === "string" ? "another text" : value);
  if (url.username !== "" || url.password !== "") throw wrong(where, "an address without user and password", "one");
  return url;
}

function checkEndpoint(where: string, value: unknown): void {
  const { protocol, hostname } = checkAddress(where, value);
  if (protocol === "http:" && !isLoopback(hostname)) throw wrong(where, "https outside this machine", "http");
}

function wrong(where: string, expected: string, got: unknown) {
  return unexpected(`serveHttp: card${where && `: ${where}`}`, expected, got, "invalid-argument");
}

/** Answers requests for the card of an endpoint, and for its catalog. */
export interface CardDocuments {
  answer(request: HttpRequest, reply: HttpReply): void;
}

/** Makes the documents of a card. Rejects if the card is invalid. */
export async function createCardDocuments(options: ServeHttpOptions, runtime: ServerRuntime): Promise<CardDocuments> {
  const card = toServerCard(options, runtime);
  const [document, catalog] = await Promise.all([toDocument(cardType, card), toDocument(catalogType, toCatalog(card))]);
  return {
    answer(request, reply) {
      const { type, text, etag } = request.path === cardCatalogPath ? catalog : document;
      const headers = { ...readableByAll, "cache-control": `public, max-age=${documentMaxAgeSeconds}`, etag };
      if (request.method === "OPTIONS") reply.send(204, preflight);
      else if (request.method !== "GET" && request.method !== "HEAD") {
        const allow = "GET, HEAD, OPTIONS";
        refuse(reply, 405, `${request.method}: expected ${allow}`, { ...readableByAll, allow });
      } else if (isKnown(request.header("if-none-match"), etag)) reply.send(304, headers);
      else reply.send(200, { ...headers, "content-type": type }, text);
    },
  };
}

// A page of any origin may read a card: it is the same for all callers, and tells nothing about them.
const readableByAll: HttpHeaders = { "access-control-allow-origin": "*", "access-control-expose-headers": "ETag" };
const preflight: HttpHeaders = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "GET",
  "access-control-allow-headers": "Content-Type, If-None-Match",
  "access-control-max-age": String(documentMaxAgeSeconds),
};

/** Returns whether the client has this document already. */
function isKnown(given: string | undefined, etag: string): boolean {
  const tags = given?.split(",").map((tag) => tag.trim().replace(/^W\//, "")) ?? [];
  return tags.includes(etag) || tags.includes("*");
}

async function toDocument(type: string, value: object) {
  const text = JSON.stringify(value);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const hex = Array.from(new Uint8Array(digest, 0, 16), (byte) => byte.toString(16).padStart(2, "0"));
  return { type, text, etag: `"${hex.join("")}"` };
}

function toCatalog(card: ServerCard): object {
  const [namespace = "", name] = card.name.split("/");
  const domain = namespace.split(".").reverse().join(".");
  const isPlain = ({ type, url }: CardRemote) => type === "streamable-http" && !url.includes("{");
  const remote = card.remotes?.find(isPlain);
  // Without a public address there is none of the card, so the catalog has the card itself.
  const place = remote ? { url: `${remote.url.replace(/\/$/, "")}/server-card` } : { data: card };
  const identifier = `urn:air:${domain}:mcp:${name}`;
  return {
    specVersion: "1.0",
    entries: [{ identifier, displayName: card.title ?? card.name, type: cardType, ...place }],
  };
}
