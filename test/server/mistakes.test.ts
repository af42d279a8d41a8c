import { createMemoryPair, PortolanError } from "portolan";
import { type Context, createServer, form, inputRequired, live, type Servable, serveChannel } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { describe, expect, onTestFinished, test } from "vitest";
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
      /^createServer\(\{ name, version \}\): expected name as a string, got nothing/,
    ],
    [
      "info without version",
      () => createServer(wrong({ name: "x" })),
      /^createServer\(\{ name, version \}\): expected version as a string, got nothing/,
    ],
    [
      "a secret that is not set",
      () => createServer(info, { secrets: [wrong(undefined)] }),
      /^createServer: secrets: expected strings of at least 32 characters; is each variable set\?$/,
    ],
    [
      "a secret that is no list",
      () => createServer(info, { secrets: wrong("s".repeat(32)) }),
      /^createServer: secrets: expected strings of at least 32 characters; is each variable set\?$/,
    ],
    [
      "an update that returns nothing",
      () => live(server).update(wrong(() => {})),
      /^update: the function's return value: expected the changed server, got nothing/,
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
      /^Tool "t": expected an object \{ run, … \}, got nothing/,
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
      /^Resource "x:a": expected an object \{ read, … \}, got nothing/,
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
      /^Resource "x:\{a\}": expected an object \{ read, … \}, got null/,
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
      /^Prompt "p": expected an object \{ get, … \}, got nothing/,
    ],
    ["a prompt without get", () => server.prompt("p", wrong({})), /^Prompt "p": get: expected a function, got nothing/],
    ["a prompt defined twice", () => server.prompt("p", { get }).prompt("p", { get }), /^Prompt "p" is defined twice/],
    ["middleware that is not a function", () => server.use(wrong({})), /^use: expected a function, got an object/],
    [
      "an extension that is undefined",
      () => server.extend(wrong(undefined)),
      /^extend: expected \{ id, on \} with an id such as com.example\/id, got nothing/,
    ],
    [
      "an extension without a prefix",
      () => server.extend({ id: "x", on: () => undefined }),
      /^extend: expected \{ id, on \} with an id such as com.example\/id, got "x"/,
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
      /^inputRequired: expected requests or a state/,
    ],
    [
      "inputRequired without requests and state",
      () => inputRequired({}),
      /^inputRequired: expected requests or a state/,
    ],
    [
      "an unknown value of asks",
      () => server.tool("t", { asks: wrong("parked"), run }),
      /^Tool "t": asks: expected "replay" or "park", got "parked"/,
    ],
    [
      "a misspelt annotation of a tool",
      () => server.tool("t", { annotations: wrong({ readonlyHint: true }), run }),
      /^Tool "t": annotations: unknown option `readonlyHint`; did you mean `readOnlyHint`\?/,
    ],
    [
      "a misspelt annotation of a resource",
      () => server.resource("x:a", { annotations: wrong({ prio: 1 }), read }),
      /^Resource "x:a": annotations: unknown option `prio`; did you mean `priority`\?/,
    ],
    [
      "an unknown capability in needs",
      () => server.tool("t", { needs: wrong({ elicit: {} }), run }),
      /^Tool "t": needs: unknown option `elicit`; did you mean `elicitation`\?/,
    ],
    [
      "an unknown member of the server's info",
      () => createServer(wrong({ ...info, instructions: "x" })),
      /^createServer: info: unknown option `instructions`/,
    ],
    [
      "an unknown topic",
      () => server.publish(wrong("tools/listChanged"), {}),
      /^publish: expected a topic such as "resources\/updated", got "tools\/listChanged"/,
    ],
    [
      "a raw shape as input",
      () => server.tool("t", { input: wrong({ city: z.string() }), run }),
      /^Tool "t": input: expected one schema, got an object of schemas; wrap it in z.object/,
    ],
    [
      "a raw shape as output",
      () => server.tool("t", { output: wrong({ city: z.string() }), run }),
      /^Tool "t": output: expected one schema, got an object of schemas; wrap it in z.object/,
    ],
    [
      "a prompt with run",
      () => server.prompt("p", wrong({ run })),
      /^Prompt "p": unknown option `run`; did you mean `get`\?/,
    ],
    [
      "a description instead of a definition",
      () => server.tool("t", wrong("Adds numbers")),
      /^Tool "t": expected an object \{ run, … \}, got "Adds numbers"/,
    ],
    [
      "a path without a slash",
      () => serveHttp(server, { path: "mcp" }),
      /^serveHttp: path: expected a path such as "\/mcp", got "mcp"/,
    ],
    [
      "limits.body",
      () => serveHttp(server, { limits: wrong({ body: 1 }) }),
      /^serveHttp: limits: unknown option `body`; did you mean `bodyBytes`\?/,
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

  test("a mistake that is found only after loading is reported to onError, and the feature is left out", async () => {
    const errors: Error[] = [];
    const from = createServer(info, { onError: (error) => errors.push(error as Error) }).tool("good", { run });
    const late: [server: Servable, expected: RegExp][] = [
      [from.template("x:{a", { read }), /^URI template "x:\{a"/],
      [
        from.template("x:{a}", { read, complete: { b: [] } }),
        /^Resource "x:\{a\}": complete: the template has no variable "b"/,
      ],
      [
        from.tool("t", { input: { type: "object", properties: { a: { type: "strnig" } } }, run }),
        /^Tool "t": input: .*strnig/,
      ],
      [
        from.tool("t", { output: { $ref: "https://example.com/x" }, run }),
        /^Tool "t": output: .*https:\/\/example.com\/x/,
      ],
    ];
    expect(() => from.tool("t", { input: { type: "array" }, run })).toThrow(
      /^Tool "t": input: expected a schema whose root is \{ type: "object" \}/,
    );
    for (const [served, expected] of late) {
      errors.length = 0;
      const { result } = await (await connect(served)).request("tools/list");
      expect(result.tools.map(({ name }: { name: string }) => name)).toEqual(["good"]);
      expect(errors).toHaveLength(1);
      expect(errors[0]?.message).toMatch(expected);
      expect(errors[0]?.message).not.toContain("\n");
    }
  });
});

// biome-ignore lint/suspicious/noExplicitAny: these are the mistakes that types would catch
const mistaken = (value: unknown): any => value;

describe("a mistake in a handler is reported to onError with a message of one line", () => {
  const mistakes: [what: string, run: (ctx: Context) => unknown, expected: RegExp][] = [
    [
      "confirm without a key",
      (ctx) => mistaken(ctx).confirm("Sure?"),
      /^ctx\.confirm\(key, message\): message: expected a string, got nothing/,
    ],
    [
      "confirm with an object",
      (ctx) => mistaken(ctx).confirm({ message: "Sure?" }),
      /^ctx\.confirm\(key, message\): key: expected a name of the question, got an object/,
    ],
    [
      "elicit without a key",
      (ctx) => mistaken(ctx).elicit({ message: "Who?", form: {} }),
      /^ctx\.elicit\(key, \{ message, form \}\): key: expected a name of the question, got an object/,
    ],
    [
      "elicit without a question",
      (ctx) => mistaken(ctx).elicit("who"),
      /^ctx\.elicit\(key, \{ message, form \}\): message: expected a string, got nothing/,
    ],
    [
      "elicit with requestedSchema",
      (ctx) => mistaken(ctx).elicit("who", { message: "Who?", requestedSchema: {} }),
      /^ctx\.elicit\(key, \{ message, form \}\): form: expected a schema, got nothing/,
    ],
    [
      "openUrl without a URL",
      (ctx) => mistaken(ctx).openUrl("page", { message: "Look" }),
      /^ctx\.openUrl: expected an http: or https: URL, got nothing/,
    ],
  ];

  test.each(mistakes)("%s", async (_, run, expected) => {
    const errors: Error[] = [];
    const onError = (error: unknown) => errors.push(error as Error);
    const server = createServer(info, { onError }).tool("t", { run: async (_, ctx) => String(await run(ctx)) });
    for (const revision of ["2025-11-25", "2026-07-28"] as const) {
      const peer = await connect(server, { revision, capabilities: { elicitation: { form: {}, url: {} } } });
      expect((await peer.callTool("t")).result).toMatchObject({ isError: true });
    }
    expect(errors).toMatchObject([{ code: "invalid-argument" }, { code: "invalid-argument" }]);
    for (const { message } of errors) expect(message).toMatch(expected);
    for (const { message } of errors) expect(message).not.toContain("\n");
  });

  test("middleware that returns nothing", async () => {
    const errors: Error[] = [];
    const server = createServer(info, { onError: (error) => errors.push(error as Error) })
      .tool("t", { run: () => "" })
      .use(mistaken(async () => {}));
    expect((await (await connect(server)).callTool("t")).error?.code).toBe(-32603);
    expect(errors[0]?.message).toMatch(
      /^Middleware: expected the return value of next\(exchange\), or .*, got nothing$/,
    );
  });

  test("a result with a BigInt", async () => {
    const errors: Error[] = [];
    const onError = (error: unknown) => errors.push(error as Error);
    const server = createServer(info, { onError }).tool("t", { run: mistaken(() => ({ rows: [{ n: 1n }] })) });
    expect((await (await connect(server)).callTool("t")).result).toMatchObject({ isError: true });
    expect(errors).toMatchObject([
      {
        code: "unserializable",
        message: "result.structuredContent.rows[0].n: a BigInt has no JSON form; send a string",
      },
    ]);
  });
});

test.each([true, undefined, "ada", {}])("verify that returns %j is reported as a mistake", async (verdict) => {
  const errors: Error[] = [];
  const onError = (error: unknown) => errors.push(error as Error);
  const server = createServer(info, { onError }).tool("t", { run: () => "" });
  const serving = serveHttp(server, { verify: () => mistaken(verdict) });
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen();
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const { status } = await fetch(url, { method: "POST", headers, body: "{}" });
  expect(status).toBe(500);
  expect(errors).toHaveLength(1);
  expect(errors[0]?.message).toMatch(/^verify: expected a principal such as \{ key: "ada" \}, or a refusal such as/);
});

test.each<[unknown[], string]>([
  [[{ port: 0 }], "listen(port, host, { signals }): port: expected a number, got an object"],
  [[0, { signals: true }], "listen(port, host, { signals }): host: expected a string"],
  [[0, "127.0.0.1", { signal: true }], "listen: unknown option `signal`; did you mean `signals`?"],
])("listen refuses %j", async (args, expected) => {
  const serving = serveHttp(createServer(info));
  onTestFinished(() => serving.close(0));
  await expect(serving.listen(...(args as []))).rejects.toThrow(expected);
});
