import { once } from "node:events";
import { createServer, type IncomingMessage, request as openRequest, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** One request and its answer. */
export interface Passed {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  body: string;
  status: number;
  answerHeaders: Headers;
  answer: string;
  /** The side that ended the answer; undefined while it is open. */
  endedBy: "client" | "server" | undefined;
}

type Headers = readonly (readonly [name: string, value: string])[];

export interface RecordingProxy {
  readonly url: string;
  /** All exchanges, in the order of their requests. */
  readonly passed: readonly Passed[];
  /** Resolves as soon as the condition holds. */
  until(condition: (passed: readonly Passed[]) => boolean): Promise<void>;
}

/** Starts a proxy that forwards HTTP to a server and records every exchange; it is closed at the end of the test. */
export async function startRecordingProxy(target: string): Promise<RecordingProxy> {
  const { hostname, port } = new URL(target);
  const passed: Passed[] = [];
  const waiting = new Set<() => void>();
  const changed = () => {
    for (const look of [...waiting]) look();
  };

  const pass = (request: IncomingMessage, response: ServerResponse) => {
    const { method = "", url: path = "" } = request;
    const one: Passed = {
      method,
      path,
      headers: toHeaders(request.rawHeaders),
      body: "",
      status: 0,
      answerHeaders: [],
      answer: "",
      endedBy: undefined,
    };
    passed.push(one);
    changed();
    const onward = openRequest({ hostname, port, method, path, headers: request.headers, agent: false });
    request.on("data", (chunk) => {
      one.body += chunk;
      onward.write(chunk);
      changed();
    });
    request.on("end", () => onward.end());
    onward.on("response", (answer) => {
      one.status = answer.statusCode ?? 0;
      one.answerHeaders = toHeaders(answer.rawHeaders);
      response.writeHead(one.status, answer.rawHeaders);
      response.flushHeaders();
      answer.on("data", (chunk) => {
        one.answer += chunk;
        response.write(chunk);
        changed();
      });
      answer.on("end", () => {
        one.endedBy ??= "server";
        response.end();
        changed();
      });
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => {
      one.endedBy ??= "client";
      onward.destroy();
      changed();
    });
  };

  const server = createServer(pass);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = new URL(target);
  address.port = String((server.address() as AddressInfo).port);
  return {
    url: address.href,
    passed,
    until: (condition) =>
      new Promise((resolve) => {
        const look = () => {
          if (!condition(passed)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}

function toHeaders(raw: readonly string[]): Headers {
  return raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ""] as const] : []));
}
