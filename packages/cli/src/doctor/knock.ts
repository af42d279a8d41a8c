import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { HttpWay } from "portolan/host";

/** What is at an address: how it answered, or why it did not. */
export interface Knocked {
  readonly status?: number;
  readonly type?: string;
  /** What it says about who may come in. */
  readonly challenge?: string;
  /** The beginning of the body. */
  readonly body?: string;
  /** The code of the system or of TLS. */
  readonly failure?: string;
}

const maxBody = 2_000;
const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });

/** Sends one harmless request, straight and without a token, and looks at what comes back. */
export function knock({ url, headers = {} }: HttpWay, timeoutMs = 5_000): Promise<Knocked> {
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
        // A stream may stay open for ever: its head says enough.
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
