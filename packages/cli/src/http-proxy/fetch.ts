import * as http from "node:http";
import * as https from "node:https";
import { isIP } from "node:net";
import { Readable } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { type NamedProxy, proxyFor, type Variables } from "./choose.ts";
import {
  type ProxyFailure,
  proxyAnswered,
  proxyAuthRequired,
  proxyRefused,
  unreachableProxy,
  unusableProxy,
} from "./failure.ts";

const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

/** Returns a fetch that uses the proxies of the environment. One connection per request; redirects are not followed. */
export function createProxyFetch(env: Variables): typeof fetch {
  return async (input, init) => {
    const { signal, ...rest } = init ?? {};
    const request = new Request(input, rest);
    const stop = signal ?? request.signal;
    stop.throwIfAborted();
    const url = new URL(request.url);
    url.hash = "";
    const proxy = proxyFor(url, env);
    const body = Buffer.from(await request.arrayBuffer());
    const outgoing: Outgoing = { url, method: request.method, headers: headersOf(request, body), body, signal: stop };
    try {
      return toResponse(await send(outgoing, proxy), outgoing.method);
    } catch (reason) {
      stop.throwIfAborted();
      throw reason;
    }
  };
}

interface Outgoing {
  readonly url: URL;
  readonly method: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: Buffer;
  readonly signal: AbortSignal;
}

function headersOf({ headers, method }: Request, body: Buffer): { [name: string]: string } {
  const length = body.length > 0 || method === "POST" ? { "content-length": String(body.length) } : {};
  // Responses are not decompressed here.
  return { ...Object.fromEntries(headers), ...length, "accept-encoding": "identity" };
}

async function send(outgoing: Outgoing, proxy: NamedProxy | undefined): Promise<http.IncomingMessage> {
  const { url, method, headers, body, signal } = outgoing;
  const target = { method, headers: { ...headers, host: url.host }, path: url.pathname + url.search, signal };
  if (!proxy) {
    const { request } = url.protocol === "https:" ? https : http;
    return answerTo(request({ ...target, ...placeOf(url), agent: false }), body);
  }
  if (!proxy.url) throw unusableProxy(proxy);
  if (url.protocol === "https:") {
    const socket = await openTunnel(proxy, proxy.url, url, signal);
    return answerTo(https.request({ ...target, createConnection: () => socket }), body);
  }
  const { request } = proxy.url.protocol === "https:" ? https : http;
  const own = { ...target.headers, ...credentialsOf(proxy.url) };
  const asked = request({ ...target, ...placeOf(proxy.url), path: url.href, headers: own, agent: false });
  const response = await answerTo(asked, body).catch((cause) => {
    signal.throwIfAborted();
    throw unreachableProxy(proxy, url, cause);
  });
  if (response.statusCode !== 407) return response;
  response.destroy();
  throw proxyAuthRequired(proxy, response.headers["proxy-authenticate"]?.toString());
}

function answerTo(request: http.ClientRequest, body: Buffer): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on("response", resolve).on("error", reject);
    request.on("close", () => reject(new Error("the connection was closed before the answer")));
    request.end(body);
  });
}

/** Opens a tunnel through the proxy, and TLS to the server within it. The proxy only sees the name of the server. */
async function openTunnel(proxy: NamedProxy, place: URL, url: URL, signal: AbortSignal): Promise<TLSSocket> {
  const authority = `${url.hostname}:${url.port || 443}`;
  const { request } = place.protocol === "https:" ? https : http;
  const asked = request({
    ...placeOf(place),
    method: "CONNECT",
    path: authority,
    headers: { host: authority, ...credentialsOf(place) },
    agent: false,
    signal,
  });
  return new Promise((resolve, reject) => {
    asked.on("error", (cause) => reject(unreachableProxy(proxy, url, cause)));
    asked.on("close", () => reject(unreachableProxy(proxy, url, new Error("it closed the connection"))));
    asked.on("connect", (answer, socket, first: Buffer) => {
      const failure = failureIn(answer, first, proxy, url);
      if (failure) {
        socket.destroy();
        reject(failure);
        return;
      }
      const host = withoutBrackets(url.hostname);
      resolve(connectTls({ socket, host, ...(isIP(host) === 0 && { servername: host }) }));
    });
    asked.end();
  });
}

/** Returns why the answer of a proxy opens no tunnel. */
function failureIn(
  { statusCode = 0, headers }: http.IncomingMessage,
  first: Buffer,
  proxy: NamedProxy,
  url: URL,
): ProxyFailure | undefined {
  if (statusCode === 407) return proxyAuthRequired(proxy, headers["proxy-authenticate"]?.toString());
  if (statusCode < 200 || statusCode > 299) return proxyRefused(proxy, url, statusCode);
  // In TLS the client speaks first.
  return first.length > 0 ? proxyAnswered(proxy) : undefined;
}

function placeOf({ hostname, port }: URL): { hostname: string; port: string } {
  return { hostname: withoutBrackets(hostname), port };
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}

function credentialsOf({ username, password }: URL): { "proxy-authorization"?: string } {
  if (username === "" && password === "") return {};
  const pair = Buffer.from(`${decode(username)}:${decode(password)}`);
  return { "proxy-authorization": `Basic ${pair.toString("base64")}` };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A lone percent sign is literal.
    return text;
  }
}

function toResponse(answer: http.IncomingMessage, method: string): Response {
  const { statusCode: status = 0, rawHeaders } = answer;
  if (status < 200 || status > 599) {
    answer.destroy();
    throw new Error(`expected a status from 200 to 599, got ${status}`);
  }
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  if (method === "HEAD" || bodiless.has(status)) {
    answer.resume();
    return new Response(null, { status, headers });
  }
  return new Response(Readable.toWeb(answer) as ReadableStream<Uint8Array>, { status, headers });
}
