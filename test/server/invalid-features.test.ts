// One invalid tool or template: where a server starts it is refused by name; behind a framework its neighbours are served.
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect as connectClient } from "portolan/client";
import { createServer, live, type Server } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { connectInMemory } from "portolan/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { ChildChannel } from "../kit/raw-peer.ts";
import { call, connect, info, names } from "./peers.ts";

const run = () => "ran";
const inputOf = (property: object) => ({ type: "object", properties: { a: property } });

const mistakes: [what: string, add: (server: Server) => Server, expected: RegExp][] = [
  [
    "a pattern with an inline flag",
    (server) => server.tool("bad", { input: inputOf({ type: "string", pattern: "(?i" }), run }),
    /^Tool "bad": input: JSON Schema: properties\/a: expected a regular expression/,
  ],
  [
    "the exclusiveMinimum of draft 4",
    (server) => server.tool("bad", { input: inputOf({ type: "number", exclusiveMinimum: true }), run }),
    /^Tool "bad": input: JSON Schema: properties\/a\/exclusiveMinimum: expected a number/,
  ],
  [
    "a reference to another document",
    (server) => server.tool("bad", { input: inputOf({ $ref: "https://example.com/x" }), run }),
    /^Tool "bad": input: JSON Schema: properties\/a: \$ref "https:\/\/example.com\/x" is not inside the schema/,
  ],
  [
    "a missing definition in the output",
    (server) => server.tool("bad", { output: { $ref: "#/$defs/none" }, run }),
    /^Tool "bad": output: JSON Schema: \$ref "#\/\$defs\/none" is not inside the schema/,
  ],
  [
    "a URI template that does not end",
    (server) => server.template("x:{bad", { read: () => "" }),
    /^URI template "x:\{bad"/,
  ],
];

/** A server with a good tool, a good template and one mistake, and the errors that its `onError` received. */
function makeServer(add: (server: Server) => Server) {
  const errors: Error[] = [];
  const server = createServer(info, { onError: (error) => errors.push(error as Error) })
    .tool("good", { input: { type: "object" }, run })
    .template("y:{id}", { read: () => "read" });
  return { server: add(server), errors };
}

/** Fails the test if a promise is rejected and nothing handles it. */
function watchRejections(): unknown[] {
  const rejections: unknown[] = [];
  const listener = (reason: unknown) => rejections.push(reason);
  process.on("unhandledRejection", listener);
  onTestFinished(() => void process.off("unhandledRejection", listener));
  return rejections;
}

describe.each(mistakes)("%s", (_, add, expected) => {
  test("is refused by listen", async () => {
    const { server, errors } = makeServer(add);
    const serving = serveHttp(server);
    onTestFinished(() => serving.close());
    await expect(serving.listen()).rejects.toThrow(expected);
    expect(errors).toEqual([]);
  });

  test("is refused by connectInMemory", async () => {
    const { server, errors } = makeServer(add);
    await expect(connectInMemory(server)).rejects.toThrow(expected);
    expect(errors).toEqual([]);
  });

  test("is refused by live.update, and the other features are served", async () => {
    const { server, errors } = makeServer((from) => from);
    const changing = live(server);
    const peer = await connect(changing);
    await expect(changing.update((current) => add(current).tool("new", { run }))).rejects.toThrow(expected);
    expect(await names(peer)).toEqual(["good", "new"]);
    expect(errors.map(({ message }) => message)).toEqual([expect.stringMatching(expected)]);
  });

  test("is reported once by an update that nothing awaits", async () => {
    const rejections = watchRejections();
    const { server, errors } = makeServer((from) => from);
    const changing = live(server);
    changing.update(add);
    changing.update((current) => current.tool("new", { run }));
    const peer = await connect(changing);
    expect(await call(peer, "new")).toBe("ran");
    await new Promise(setImmediate);
    expect(errors.map(({ message }) => message)).toEqual([expect.stringMatching(expected)]);
    expect(rejections).toEqual([]);
  });

  test("is left out and reported once behind node:http", async () => {
    const rejections = watchRejections();
    const { server, errors } = makeServer(add);
    const serving = serveHttp(server);
    const http = createHttpServer(serving.node).listen(0, "127.0.0.1");
    onTestFinished(async () => {
      await serving.close(0);
      http.close();
    });
    await once(http, "listening");
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
    for (const era of ["2026-07-28", "2025-11-25"]) {
      const client = await connectClient(url, { era });
      expect((await client.listTools()).map(({ name }) => name)).toEqual(["good"]);
      expect((await client.listTemplates()).map(({ uriTemplate }) => uriTemplate)).toEqual(["y:{id}"]);
      expect((await client.callTool("good")).content).toEqual([{ type: "text", text: "ran" }]);
      await expect(client.callTool("bad")).rejects.toThrow("Unknown tool: bad");
      await client.close();
    }
    expect(errors.map(({ message }) => message)).toEqual([expect.stringMatching(expected)]);
    expect(rejections).toEqual([]);
  });

  test("is left out of a server that mounts another", async () => {
    const { server: mounted } = makeServer(add);
    const errors: Error[] = [];
    const server = createServer(info, { onError: (error) => errors.push(error as Error) })
      .tool("own", { run })
      .mount("m_", mounted);
    const client = await connectInMemory(server);
    onTestFinished(() => client.close());
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["m_good", "own"]);
    expect(errors.map(({ message }) => message)).toEqual([expect.stringMatching(expected)]);
  });
});

test("a server with leaveOutInvalid starts without its invalid features", async () => {
  const errors: Error[] = [];
  const server = createServer(info, { leaveOutInvalid: true, onError: (error) => errors.push(error as Error) })
    .tool("good", { run })
    .tool("bad", { input: inputOf({ type: "strnig" }), run });
  const serving = serveHttp(server);
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen();
  const client = await connectClient(url);
  expect((await client.listTools()).map(({ name }) => name)).toEqual(["good"]);
  await client.close();
  expect(errors.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^Tool "bad": input: JSON Schema: properties\/a/),
  ]);
});

describe("serveStdio", () => {
  const program = (exit: boolean) => `
    import { createServer } from "portolan/server";
    import { serveStdio } from "portolan/server/stdio";
    const input = { type: "object", properties: { a: { type: "strnig" } } };
    const server = createServer({ name: "s", version: "1" }).tool("good", { run: () => "" }).tool("bad", { input, run: () => "" });
    const serving = serveStdio(server, { exit: ${exit} });
    ${exit ? "" : 'await serving.ready.catch(({ message }) => console.error("ready:", message)); await serving.closed; process.exitCode = 3;'}
  `;
  const start = (exit: boolean) => {
    const channel = new ChildChannel(process.execPath, ["--input-type=module", "--eval", program(exit)]);
    onTestFinished(() => void channel.child.kill("SIGKILL"));
    return channel;
  };

  test("exits with the tool and the place in one line", async () => {
    const channel = start(true);
    expect(await channel.exited).toBe(1);
    expect(channel.stderr).toMatch(/^Tool "bad": input: JSON Schema: properties\/a\/type: .*\n$/);
  });

  test("closes the channel and rejects `ready` if it may not exit", async () => {
    const channel = start(false);
    expect(await channel.exited).toBe(3);
    expect(channel.stderr).toMatch(/^ready: Tool "bad": input: JSON Schema: properties\/a\/type: .*\n$/);
  });
});
