import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { HttpTarget } from "portolan-host";
import { fetchOption } from "../http-proxy/choose.ts";
import type { ProxyFailure } from "../http-proxy/failure.ts";
import type { System } from "../system.ts";

/** The answer at an address, or why there is none. */
export interface ProbeResult {
  readonly status?: number;
  readonly type?: string;
  /** The `WWW-Authenticate` header. */
  readonly challenge?: string;
  /** The beginning of the body. */
  readonly body?: string;
  /** An error code of the system or of TLS. */
  readonly failure?: string;
  /** The failure of the proxy. */
  readonly proxy?: ProxyFailure;
}

const maxBody = 2_000;
const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });

/** Sends one harmless request without a token, on the same way as all others. */
export function probe(target: HttpTarget, { env }: System, timeoutMs = 5_000): Promise<ProbeResult> {
  const proxied = fetchOption(env, target.url);
  return proxied ? probeVia(proxied.fetch, target, timeoutMs) : probeDirectly(target, timeoutMs);
}

async function probeVia(
  send: typeof fetch,
  { url, headers = {} }: HttpTarget,
  timeoutMs: number,
): Promise<ProbeResult> {
  const { ProxyFailure } = await import("../http-proxy/failure.ts");
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(Object.assign(new Error("timeout"), { code: "ETIMEDOUT" })), timeoutMs);
  try {
    const response = await send(url, {
      method: "POST",
      headers: { accept: "application/json, text/event-stream", "content-type": "application/json", ...headers },
      body: message,
      signal: ended.signal,
    });
    const { status, headers: got } = response;
    const type = got.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
    const challenge = got.get("www-authenticate") ?? undefined;
    const body = type === "text/event-stream" ? "" : await beginningOf(response);
    return { status, type, body, ...(challenge !== undefined && { challenge }) };
  } catch (reason) {
    if (reason instanceof ProxyFailure) return { proxy: reason };
    const { code, message: said } = reason as NodeJS.ErrnoException;
    return { failure: code ?? said };
  } finally {
    clearTimeout(timer);
    ended.abort();
  }
}

async function beginningOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  const reader = body?.getReader();
  while (reader && text.length < maxBody) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  return text.slice(0, maxBody);
}

function probeDirectly({ url, headers = {} }: HttpTarget, timeoutMs: number): Promise<ProbeResult> {
  const request = url.startsWith("https:") ? requestHttps : requestHttp;
  return new Promise((resolve) => {
    const sent = request(
      url,
      {
        method: "POST",
        headers: { accept: "application/json, text/event-stream", "content-type": "application/json", ...headers },
        timeout: timeoutMs,
        agent: false,
      },
      (response) => {
        const { statusCode = 0, headers: got } = response;
        let body = "";
        const settle = () => {
          resolve({
            status: statusCode,
            type: got["content-type"]?.split(";")[0]?.trim().toLowerCase() ?? "",
            ...(got["www-authenticate"] !== undefined && { challenge: got["www-authenticate"] }),
            body: body.slice(0, maxBody),
          });
          sent.destroy();
        };
        response.setEncoding("utf8").on("data", (chunk: string) => {
          body += chunk;
          if (body.length > maxBody) settle();
        });
        // The headers of a stream are enough: it may stay open forever.
        if (got["content-type"]?.startsWith("text/event-stream")) settle();
        response.on("end", settle).on("error", settle);
      },
    );
    sent.on("timeout", () => sent.destroy(Object.assign(new Error("timeout"), { code: "ETIMEDOUT" })));
    sent.on("error", (error: Error & { code?: string; errors?: readonly { code?: string }[] }) => {
      resolve({ failure: error.code ?? error.errors?.[0]?.code ?? error.message });
    });
    sent.end(message);
  });
}
