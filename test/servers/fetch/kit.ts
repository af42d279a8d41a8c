import type { ServerResponse } from "node:http";
import { connectInMemory, type TestClient } from "portolan/testing";
import { createFetch, type FetchOptions } from "portolan-fetch";
import { onTestFinished } from "vitest";
import type { RevisionDate } from "../../kit/revisions.ts";
import { type Seen, startServer, type TestServer } from "../../net/kit.ts";

/** Starts a site without a robots.txt, unless the handler serves one. */
export function startSite(
  answer: (seen: Seen, response: ServerResponse) => unknown,
  robots: (response: ServerResponse) => unknown = (response) => response.writeHead(404).end(),
): Promise<TestServer> {
  return startServer((seen, response) => (seen.path === "/robots.txt" ? robots(response) : answer(seen, response)));
}

/** Connects a client to a server that may fetch from this machine. */
export async function open(options: FetchOptions & { revision?: RevisionDate } = {}): Promise<TestClient> {
  const { revision = "2026-07-28", ...rest } = options;
  const server = createFetch({ privateHosts: ["localhost"], lookup: async () => ["127.0.0.1"], ...rest });
  const client = await connectInMemory(server, { revision });
  onTestFinished(() => client.close());
  return client as TestClient;
}

export const sentence = "Some words about <b>things</b>, which matter a lot. ";

/** Returns a page with an article. */
export function article(body: string, title = "A page"): string {
  const around = '<nav><a href="/home">Home of all</a></nav>';
  return `<!doctype html><html><head><title>${title}</title><script>alert("script")</script></head><body>${around}<article><h1>Heading</h1><p>${sentence.repeat(20)}</p>${body}</article><footer>The foot</footer></body></html>`;
}

export function html(response: ServerResponse, text: string): void {
  response.setHeader("content-type", "text/html; charset=utf-8").end(text);
}
