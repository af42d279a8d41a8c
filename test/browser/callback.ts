import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** Starts a page of a web back end, where the browser ends; returns its address and the addresses that it was opened with. */
export async function startCallback(): Promise<{ address: string; opened: string[] }> {
  const opened: string[] = [];
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/callback")) opened.push(request.url);
    response.setHeader("content-type", "text/html").end("<h1>Signed in</h1>");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`, opened };
}
