import { createServer, type IncomingMessage, request as openRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { serveHttp } from "portolan/server/http";
import { onTestFinished } from "vitest";
import createFullServer from "../kit/full-server.mjs";

/** A response of the relay instead of the server behind it. */
export interface Instead {
  readonly status: number;
  readonly type?: string;
  readonly body?: string;
  readonly session?: string;
}

/** Looks at a request and may answer it instead of the server. */
export type Intercept = (request: IncomingMessage, body: string) => Instead | undefined;

/** Starts our own server behind a relay with some faults; both end with the test. */
export async function startWithFault(intercept: Intercept): Promise<string> {
  const serving = serveHttp(createFullServer(), { httpSse: true });
  const { url } = await serving.listen(0);
  const upstream = new URL(url);
  const relay = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const instead = intercept(request, body.toString());
    if (instead) {
      const { status, type = "application/json", body: said, session } = instead;
      response.writeHead(status, { "content-type": type, ...(session && { "mcp-session-id": session }) }).end(said);
      return;
    }
    const isOurs = request.headers.host === new URL(relayUrl).host;
    const headers = { ...request.headers, ...(isOurs && { host: upstream.host }) };
    const onward = openRequest(new URL(request.url ?? "/", upstream), {
      method: request.method,
      headers,
      agent: false,
    });
    onward.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
      answer.on("error", () => response.destroy());
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    onward.end(body);
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  const relayUrl = `http://127.0.0.1:${(relay.address() as AddressInfo).port}${upstream.pathname}`;
  onTestFinished(async () => {
    relay.closeAllConnections();
    relay.close();
    await serving.close(0);
  });
  return relayUrl;
}

/** Returns a plain result for a request. */
export function accept(body: string): Instead {
  const id = /"id":("[^"]*"|\d+)/.exec(body)?.[1] ?? "1";
  const result = '{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}';
  return { status: 200, body: `{"jsonrpc":"2.0","id":${id},"result":${result}}` };
}
