import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connectInMemory, type TestClient } from "portolan/testing";
import { fromOpenApi, type OpenApiDescription, type OpenApiOptions } from "portolan-openapi";
import { onTestFinished } from "vitest";

/** A request that the API got. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** An API on loopback, and the requests that it got. */
export interface TestApi {
  readonly address: string;
  readonly seen: SeenRequest[];
}

type Answer = (request: SeenRequest, response: ServerResponse, count: number) => void;

const answerOk: Answer = (_, response) => response.setHeader("content-type", "application/json").end('{"ok":true}');

/** Starts an API that answers every request, until the test ends. */
export async function startApi(answer: Answer = answerOk): Promise<TestApi> {
  const seen: SeenRequest[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const { method = "", url = "", headers } = request;
    const one = { method, url, headers, body };
    seen.push(one);
    answer(one, response, seen.length);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

/** Returns a description with these paths. */
export function describing(paths: object, more: object = {}): OpenApiDescription {
  return { openapi: "3.1.0", info: { title: "Test API", version: "1.2.3" }, paths, ...more };
}

type ClientOptions = NonNullable<Parameters<typeof connectInMemory>[1]>;

/** Connects a client to the server of a description, until the test ends; no wait is long. */
export async function open(
  description: OpenApiDescription,
  options: OpenApiOptions = {},
  clientOptions: ClientOptions = {},
): Promise<TestClient> {
  const limits = { firstWaitMs: 1, maxWaitMs: 2_000, ...options.limits };
  const server = fromOpenApi(description, { ask: false, ...options, limits });
  const client = await connectInMemory(server, clientOptions);
  onTestFinished(() => client.close());
  return client as TestClient;
}

/** Returns the text of a result. */
export async function textOf(client: TestClient, tool: string, args: object = {}): Promise<string> {
  const { content } = await client.callTool(tool, args as never);
  return content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n");
}
