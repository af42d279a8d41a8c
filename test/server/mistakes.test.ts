import { createMemoryPair, PortolanError } from "portolan";
import { createServer, form, inputRequired, live, type Servable, serveChannel } from "portolan/server";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { connect, info } from "./peers.ts";

describe("a mistake in a definition throws with a message of one line", () => {
  const run = () => "";
  const read = () => "";
  const get = () => "";
  const server = createServer(info);
  // biome-ignore lint/suspicious/noExplicitAny: these are the mistakes that types would catch
  const wrong = (value: unknown): any => value;

  const mistakes: [what: string, make: () => unknown, expected: RegExp][] = [
    [
      "no info",
      () => createServer(wrong(undefined)),
      /^createServer: expected \{ name, version \} as strings, got nothing/,
    ],
    [
      "info without version",
      () => createServer(wrong({ name: "x" })),
      /^createServer: expected \{ name, version \} as strings/,
    ],
    [
      "options that are not an object",
      () => createServer(info, wrong("options")),
      /^createServer: options: expected an object, got "options"/,
    ],
    [
      "a tool without a name",
      () => server.tool("", { run }),
      /^The name of a tool: expected a string that is not empty, got ""/,
    ],
    ["a tool with a number for a name", () => server.tool(wrong(5), { run }), /^The name of a tool: .*, got number 5/],
    [
      "a tool without a definition",
      () => server.tool("t", wrong(undefined)),
      /^Tool "t": expected \{ run \}, got nothing/,
    ],
    ["a tool without run", () => server.tool("t", wrong({})), /^Tool "t": run: expected a function, got nothing/],
    [
      "a tool defined twice",
      () => server.tool("t", { run }).tool("t", { run }),
      /^Tool "t" is defined twice; names must differ/,
    ],
    [
      "a schema that is not a schema",
      () => server.tool("t", { input: wrong("string"), run }),
      /^Tool "t": input: expected a Standard Schema .*, got "string"/,
    ],
    [
      "an input that is not an object",
      () => server.tool("t", { input: wrong(z.string()), run }),
      /^Tool "t": input: expected a schema whose root is \{ type: "object" \}/,
    ],
    [
      "an input without a JSON Schema",
      () => server.tool("t", { input: wrong(z.object({ d: z.date() })), run }),
      /^Tool "t": input: .*date/i,
    ],
    [
      "an output without a JSON Schema",
      () => server.tool("t", { output: wrong(z.bigint()), run }),
      /^Tool "t": output: .*bigint/i,
    ],
    [
      "a relative URI",
      () => server.resource("notes.txt", { read }),
      /^Resource "notes.txt": expected an absolute URI such as file:\/\/\/notes.txt/,
    ],
    [
      "a resource without a definition",
      () => server.resource("x:a", wrong(undefined)),
      /^Resource "x:a": expected \{ read \}, got nothing/,
    ],
    [
      "a resource without read",
      () => server.resource("x:a", wrong({})),
      /^Resource "x:a": read: expected a function, got nothing/,
    ],
    [
      "a resource defined twice",
      () => server.resource("x:a", { read }).resource("x:a", { read }),
      /^Resource "x:a" is defined twice/,
    ],
    [
      "a template without a definition",
      () => server.template("x:{a}", wrong(null)),
      /^Resource "x:\{a\}": expected \{ read \}, got null/,
    ],
    [
      "a template without read",
      () => server.template("x:{a}", wrong({})),
      /^Resource "x:\{a\}": read: expected a function, got nothing/,
    ],
    [
      "a template defined twice",
      () => server.template("x:{a}", { read }).template("x:{a}", { read }),
      /^Resource template "x:\{a\}" is defined twice/,
    ],
    [
      "a prompt without a definition",
      () => server.prompt("p", wrong(undefined)),
      /^Prompt "p": expected \{ get \}, got nothing/,
    ],
    ["a prompt without get", () => server.prompt("p", wrong({})), /^Prompt "p": get: expected a function, got nothing/],
    ["a prompt defined twice", () => server.prompt("p", { get }).prompt("p", { get }), /^Prompt "p" is defined twice/],
    ["middleware that is not a function", () => server.use(wrong({})), /^use: expected a function, got an object/],
    [
      "an extension that is undefined",
      () => server.extend(wrong(undefined)),
      /^extend: expected \{ id, on \}, got nothing/,
    ],
    [
      "an extension without a prefix",
      () => server.extend({ id: "x", on: () => undefined }),
      /^Extension "x": expected an id with a prefix, such as com.example\/id/,
    ],
    [
      "an extension without on",
      () => server.extend(wrong({ id: "a/b" })),
      /^Extension "a\/b": on: expected a function, got nothing/,
    ],
    [
      "an extension used twice",
      () => server.extend({ id: "a/b", on: () => undefined }).extend({ id: "a/b", on: () => undefined }),
      /^Extension "a\/b" is defined twice/,
    ],
    [
      "a mount of undefined",
      () => server.mount("x_", wrong(undefined)),
      /^Expected a server made by createServer or live, got nothing/,
    ],
    [
      "a mount without a prefix",
      () => server.mount(wrong(server), wrong(undefined)),
      /^mount: expected a prefix as a string, got an object/,
    ],
    [
      "a method without a handler",
      () => server.method("x/y", wrong({})),
      /^Method "x\/y": handle: expected a function, got nothing/,
    ],
    [
      "a method without a name",
      () => server.method("", { handle: () => ({}) }),
      /^The name of a method: expected a string that is not empty/,
    ],
    [
      "a method defined twice",
      () => server.method("x", { handle: () => ({}) }).method("x", { handle: () => ({}) }),
      /^The method "x" is defined twice/,
    ],
    [
      "a notification without a handler",
      () => server.notification("x", wrong(undefined)),
      /^Notification "x": expected a function, got nothing/,
    ],
    [
      "a live server of undefined",
      () => live(wrong(undefined)),
      /^Expected a server made by createServer, got nothing/,
    ],
    [
      "a live server of a live server",
      () => live(wrong(live(server))),
      /^Expected a server made by createServer, got an object/,
    ],
    [
      "a page size of 0",
      () => runtime(createServer(info, { pageSize: 0 })),
      /^pageSize: expected a whole number above 0, got 0/,
    ],
    [
      "serving undefined",
      () => serveChannel(wrong(undefined), createMemoryPair()[0]),
      /^Expected a server made by createServer or live, got nothing/,
    ],
    [
      "serving without a channel",
      () => serveChannel(server, wrong(undefined)),
      /^serveChannel: expected a channel with open, send and close, got nothing/,
    ],
    ["a form of undefined", () => form(wrong(undefined)), /expected a Standard Schema .*, got nothing/],
    [
      "a nested form",
      () => form(z.object({ a: z.object({}) })),
      /^form field "a": expected a string, number, boolean or choice; forms are flat/,
    ],
    [
      "inputRequired of undefined",
      () => inputRequired(wrong(undefined)),
      /^inputRequired: expected requests, a state, or both; got neither/,
    ],
    [
      "inputRequired without requests and state",
      () => inputRequired({}),
      /^inputRequired: expected requests, a state, or both; got neither/,
    ],
    [
      "an update that is not a function",
      () => live(server).update(wrong(server)),
      /^update: expected a function, got an object/,
    ],
  ];

  const runtime = (served: Servable) => serveChannel(served, createMemoryPair()[1]);

  test.each(mistakes)("%s", (_, make, expected) => {
    let thrown: unknown;
    try {
      make();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(PortolanError);
    expect((thrown as PortolanError).message).toMatch(expected);
    expect((thrown as PortolanError).message).not.toContain("\n");
    expect(["invalid-definition", "invalid-argument"]).toContain((thrown as PortolanError).code);
  });

  test("a mistake that is found only after loading is reported to onError at the first request", async () => {
    const late: [server: Servable, expected: RegExp][] = [];
    const reported = (define: (from: typeof server) => Servable, expected: RegExp) =>
      late.push([define(server), expected]);
    const errors: Error[] = [];
    const from = createServer(info, { onError: (error) => errors.push(error as Error) });
    reported(() => from.template("x:{a", { read }), /^Resource "x:\{a": |x:\{a/);
    reported(
      () => from.template("x:{a}", { read, complete: { b: [] } }),
      /^Resource "x:\{a\}": complete: the template has no variable "b"/,
    );
    reported(
      () => from.tool("t", { input: { type: "object", properties: { a: { type: "strnig" } } }, run }),
      /^Tool "t": input: .*strnig/,
    );
    reported(
      () => from.tool("t", { output: { $ref: "https://example.com/x" }, run }),
      /^Tool "t": output: .*https:\/\/example.com\/x/,
    );
    expect(() => from.tool("t", { input: { type: "array" }, run })).toThrow(
      /^Tool "t": input: expected a schema whose root is \{ type: "object" \}/,
    );
    for (const [served, expected] of late) {
      errors.length = 0;
      const { error } = await (await connect(served)).request("tools/list");
      expect(error?.code).toBe(-32603);
      expect(errors).toHaveLength(1);
      expect(errors[0]?.message).toMatch(expected);
      expect(errors[0]?.message).not.toContain("\n");
    }
  });
});
