import { createSafeFetch, type FetchPolicy } from "portolan/net";
import type { CommandContext } from "../command.ts";
import { Failure } from "../failure.ts";
import { viaProxy } from "../http-proxy/choose.ts";
import { documentMs, maxDocumentBytes } from "./limits.ts";

/** How a document of another party is fetched. */
export interface DocumentRequest {
  /** The address that the person typed: its host may be this machine or a private one. */
  readonly typed: URL;
  readonly accept: string;
  readonly policy?: Pick<FetchPolicy, "maxBytes" | "timeoutMs" | "redirects">;
}

/** Returns the addresses that may be reached: public ones over https, and the host that the person typed. */
export function policyFor({ system }: CommandContext, typed: URL): FetchPolicy {
  return { privateHosts: [typed.hostname], via: viaProxy(system.env) };
}

/** Fetches a document through the address guard, without credentials. */
export function fetchDocument(
  context: CommandContext,
  url: URL | string,
  { typed, accept, policy }: DocumentRequest,
): Promise<Response> {
  const fetch = createSafeFetch({
    ...policyFor(context, typed),
    ...{ maxBytes: maxDocumentBytes, timeoutMs: documentMs, ...policy },
  });
  return fetch(url, { headers: { accept, "user-agent": "portolan" }, signal: context.signal });
}

/** An object of a document whose members are not known yet. */
export interface Table {
  readonly [member: string]: unknown;
}

export function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses a document that must be one JSON object. */
export function parseTable(text: string, what: string): Table {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Failure("protocol", `${what} is not JSON`, { cause });
  }
  if (isTable(value)) return value;
  throw new Failure("protocol", `${what}: expected a JSON object, got something else`);
}

/** Returns the address that a person typed. */
export function toTypedUrl(text: string, what: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new Failure("usage", `${what}: expected an http or https address, got ${JSON.stringify(text)}`);
}
