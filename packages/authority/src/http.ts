import type { IncomingMessage, ServerResponse } from "node:http";
import { pageHeaders } from "./pages/layout.ts";

const maxForm = 16 * 1024;

export function sendPage(response: ServerResponse, status: number, page: string): void {
  response.writeHead(status, { ...pageHeaders, "content-type": "text/html; charset=utf-8" }).end(page);
}

/** Sends a browser on that came by a link or a redirect. */
export function sendOn(response: ServerResponse, address: string): void {
  response.writeHead(303, { ...pageHeaders, location: address }).end();
}

/** The fields of a form; undefined when it is too long or no form. */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams | undefined> {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(request.headers["content-type"] ?? "")) return undefined;
  // A framework may have read it already.
  const { body } = request as { body?: unknown };
  if (typeof body === "object" && body !== null) return new URLSearchParams(body as Record<string, string>);
  const chunks: Buffer[] = [];
  let length = 0;
  // Not destroyed when it is too long: the answer goes the same way.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    length += (chunk as Buffer).length;
    if (length > maxForm) return undefined;
    chunks.push(chunk as Buffer);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
}
