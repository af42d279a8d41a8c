import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { CallToolResult } from "portolan";
import { type Answers, type Client, connect } from "portolan/client";
import { afterEach, describe, expect, test } from "vitest";
import { portolan } from "./kit.ts";
import { makeProject, type Running, root, startPortolan, until } from "./make-kit.ts";

const fixture = (name: string) => join(root, "test/cli/fixtures", name);

const started: Running[] = [];
const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  for (const running of started.splice(0)) await running.end("SIGKILL");
});

async function serve(folder: string, ...args: readonly string[]): Promise<string> {
  const running = startPortolan(["serve", "--http", "0", ...args], folder);
  started.push(running);
  return String((await running.event("ready"))["url"]);
}

async function open(url: string, era: string, answers?: Answers): Promise<Client> {
  const client = await connect(url, { era, ...(answers && { answers }) });
  clients.push(client);
  return client;
}

async function textOf(result: Promise<Pick<CallToolResult, "content">>): Promise<string | undefined> {
  const [block] = (await result).content;
  return block?.type === "text" ? block.text : undefined;
}

/** Answers forms with a name, after `before`. */
function named(name: string, asked: string[], before: Promise<unknown> = Promise.resolve()): Answers {
  return {
    async elicit({ message }) {
      asked.push(message);
      await before;
      return { action: "accept", content: { name } };
    },
  };
}

describe.each(["2025-06-18", "2026-07-28"])("two callers of %s with one stateful server", (era) => {
  test("are both asked when their calls overlap, each about its own call", async () => {
    const url = await serve(makeProject(), "--", process.execPath, fixture("questioner.mjs"));
    const asked: { [who: string]: string[] } = { ada: [], bob: [] };
    const calls = ["ada", "bob"].map(async (who) => {
      const client = await open(url, era, named(who, asked[who] ?? []));
      return textOf(client.callTool("ask", { who }));
    });
    expect(await Promise.all(calls)).toEqual(["ada: accept ada", "bob: accept bob"]);
    expect(asked).toEqual({ ada: ["Are you ada?"], bob: ["Are you bob?"] });
  });

  test("do not wait for each other's users", async () => {
    const url = await serve(makeProject(), "--", process.execPath, fixture("questioner.mjs"));
    let answer = () => {};
    const asked: { [who: string]: string[] } = { ada: [], bob: [] };
    const thinking = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const ada = await open(url, era, named("ada", asked["ada"] ?? [], thinking));
    const slow = textOf(ada.callTool("ask", { who: "ada" }));
    await until(() => asked["ada"]?.length === 1);
    const bob = await open(url, era, named("bob", asked["bob"] ?? []));
    expect(await textOf(bob.callTool("ask", { who: "bob" }))).toBe("bob: accept bob");
    answer();
    expect(await slow).toBe("ada: accept ada");
  });
});

describe.each(["2025-06-18", "2026-07-28"])(
  "a server that goes on with a call which its caller of %s cancelled",
  (era) => {
    /** Calls `delete` and cancels it when the server works on it. */
    async function cancelDeletion(running: Running, client: Client): Promise<void> {
      const controller = new AbortController();
      const call = client.callTool("delete", { owner: "ada" }, { signal: controller.signal });
      call.catch(() => {});
      await until(() => running.errors().includes("deleting"));
      controller.abort(new Error("changed her mind"));
      await expect(call).rejects.toThrow("changed her mind");
      await until(() => running.errors().includes("cancelled"));
    }

    async function start(...args: readonly string[]): Promise<readonly [running: Running, url: string]> {
      const command = [process.execPath, fixture("late-questioner.mjs"), ...args];
      const running = startPortolan(["serve", "--http", "0", "--", ...command], makeProject());
      started.push(running);
      return [running, String((await running.event("ready"))["url"])];
    }

    test.each([
      ["can be asked", named("ada", [])],
      ["cannot be asked", undefined],
    ])("asks no other caller about it, if the first one %s", async (_, answers) => {
      const [running, url] = await start();
      const asked: string[] = [];
      const bob = await open(url, era, named("bob", asked));
      const before = await textOf(bob.callTool("pid"));
      await cancelDeletion(running, await open(url, era, answers));
      expect(await textOf(bob.callTool("wait"))).toBe("waited");
      expect(asked).toEqual([]);
      expect(running.errors()).not.toContain("answered");
      // The server said nothing about the cancelled call, so it was started again.
      expect(await textOf(bob.callTool("pid"))).not.toBe(before);
    });

    test("is refused its question while calls of clients that cannot be asked go on with it", async () => {
      const [running, url] = await start();
      await cancelDeletion(running, await open(url, era, named("ada", [])));
      const mute = await open(url, era);
      expect(await textOf(mute.callTool("wait"))).toBe("waited, refused");
    });

    test("is used again after it has answered the cancelled call", async () => {
      const [running, url] = await start("answers");
      const asked: string[] = [];
      const bob = await open(url, era, named("bob", asked));
      const before = await textOf(bob.callTool("pid"));
      await cancelDeletion(running, await open(url, era, named("ada", [])));
      expect(await textOf(bob.callTool("wait"))).toBe("waited");
      expect(await textOf(bob.callTool("pid"))).toBe(before);
    });
  },
);

test("a question of a cancelled call that arrives outside its stream is refused", async () => {
  const { url: upstream, seen, close } = await startLateHttpServer();
  try {
    const url = await serve(makeProject(), upstream);
    const asked: string[] = [];
    const ada = await open(url, "2025-06-18", named("ada", asked));
    const bob = await open(url, "2025-06-18", named("bob", asked));
    const controller = new AbortController();
    const call = ada.callTool("delete", {}, { signal: controller.signal });
    call.catch(() => {});
    await until(() => seen.includes("tools/call delete"));
    controller.abort();
    await until(() => seen.includes("notifications/cancelled"));
    expect(await textOf(bob.callTool("wait"))).toBe("waited, refused");
    expect(asked).toEqual([]);
  } finally {
    close();
  }
});

/** Starts a stateful HTTP server that asks about a cancelled call on the stream of its session. */
async function startLateHttpServer() {
  const seen: string[] = [];
  let ofSession: ServerResponse | undefined;
  let waiting: ServerResponse | undefined;
  let waitingId: unknown;
  const server = createServer(async (request, response) => {
    if (request.method === "GET") {
      ofSession = response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      return;
    }
    let body = "";
    for await (const chunk of request) body += chunk;
    const { id, method, params, result } = JSON.parse(body || "{}");
    seen.push([method, params?.name].filter(Boolean).join(" "));
    const json = (to: ServerResponse, answered: unknown, value: unknown) =>
      to
        .writeHead(200, { "content-type": "application/json", "mcp-session-id": "one" })
        .end(JSON.stringify({ jsonrpc: "2.0", id: answered, result: value }));
    if (method === "initialize") {
      const { protocolVersion } = params;
      const serverInfo = { name: "late", version: "1" };
      json(response, id, { protocolVersion, capabilities: { tools: {} }, serverInfo });
    } else if (method === "tools/list") {
      json(response, id, { tools: ["delete", "wait"].map((name) => ({ name, inputSchema: { type: "object" } })) });
    } else if (method === "tools/call" && params.name === "wait") {
      [waiting, waitingId] = [response, id];
      await until(() => ofSession);
      const question = { message: "Delete it?", requestedSchema: { type: "object", properties: {} } };
      const asking = { jsonrpc: "2.0", id: "q", method: "elicitation/create", params: question };
      ofSession?.write(`data: ${JSON.stringify(asking)}\n\n`);
    } else if (method === undefined && request.method === "POST") {
      response.writeHead(202).end();
      const text = `waited, ${result ? result.action : "refused"}`;
      if (waiting) json(waiting, waitingId, { content: [{ type: "text", text }] });
    } else if (method === "tools/call") response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    else if (method === "server/discover") {
      response.writeHead(400, { "content-type": "application/json" }).end("{}");
    } else response.writeHead(202).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}/mcp`, seen, close };
}

test.each(["2025-06-18", "2026-07-28"])("a prompt asks its caller of %s once", async (era) => {
  const url = await serve(makeProject(), "--", process.execPath, fixture("questioner.mjs"), "roots");
  const asked: string[] = [];
  const roots = [{ uri: "file:///work" }];
  const client = await open(url, era, { ...named("ada", asked), roots });
  expect((await client.getPrompt("greet")).messages).toMatchObject([{ content: { text: "Hello ada" } }]);
  expect(asked).toEqual(["Who are you?"]);
  expect(await textOf(client.callTool("roots"))).toBe("file:///work");
});

test("a question of a call whose client cannot be asked is refused, not cancelled, and asked of no other client", async () => {
  const url = await serve(makeProject(), "--", process.execPath, fixture("questioner.mjs"));
  const asked: string[] = [];
  const [mute, ada] = [await open(url, "2025-06-18"), await open(url, "2025-06-18", named("ada", asked))];
  const results = await Promise.all([
    textOf(mute.callTool("ask", { who: "mute" })),
    textOf(ada.callTool("ask", { who: "ada" })),
    textOf(mute.callTool("ask", { who: "mute" })),
  ]);
  expect(results).toEqual(["refused -1", "ada: accept ada", "refused -1"]);
  expect(asked).toEqual(["Are you ada?"]);
});

test("calls of clients that cannot be asked run at the same time", async () => {
  const url = await serve(makeProject(), "--", process.execPath, fixture("questioner.mjs"));
  const client = await open(url, "2026-07-28");
  const both = [1, 2].map(() => textOf(client.callTool("meet")));
  expect(await Promise.all(both)).toEqual(["met", "met"]);
});

describe("a server that asks for roots after the handshake", () => {
  test.each(["2025-06-18", "2026-07-28"])("gets those of the first caller, of %s", async (era) => {
    const url = await serve(makeProject(), "--", process.execPath, fixture("questioner.mjs"), "roots");
    const client = await open(url, era, { roots: [{ uri: "file:///work" }] });
    expect(await until(async () => (await textOf(client.callTool("roots"))) !== "not asked")).toBe(true);
    expect(await textOf(client.callTool("roots"))).toBe("file:///work");
  });

  test("is refused, not given an empty list, if the caller has none", async () => {
    const url = await serve(makeProject(), "--", process.execPath, fixture("questioner.mjs"), "roots");
    const client = await open(url, "2025-06-18");
    await until(async () => (await textOf(client.callTool("roots"))) !== "not asked");
    expect(await textOf(client.callTool("roots"))).toBe("refused -1");
  });

  test("gets them over standard input and output too", async () => {
    const folder = makeProject();
    const client = await connect(
      {
        command: process.execPath,
        args: [portolan, "serve", "--stdio", "--", process.execPath, fixture("questioner.mjs"), "roots"],
        cwd: folder,
        env: { HOME: folder, PORTOLAN_HOME: join(folder, ".portolan") },
      },
      { era: "2025-11-25", answers: { roots: [{ uri: "file:///near" }], ...named("ada", []) } },
    );
    clients.push(client);
    await until(async () => (await textOf(client.callTool("roots"))) !== "not asked");
    expect(await textOf(client.callTool("roots"))).toBe("file:///near");
    // Several calls of one client may ask at once.
    const both = ["x", "y"].map((who) => textOf(client.callTool("ask", { who })));
    expect(await Promise.all(both)).toEqual(["x: accept ada", "y: accept ada"]);
  });
});

const eager = `import { createInterface } from "node:readline";
const form = {
  type: "object",
  properties: {
    name: { type: "string" },
    email: { type: "string", format: "email" },
    size: { type: "string", enum: ["s", "m"], default: "m" },
    age: { type: "integer" },
  },
  required: ["name", "age"],
  additionalProperties: false,
};
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
let call;
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === "initialize") {
    const serverInfo = { name: "eager", version: "1" };
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } });
  } else if (method === "tools/list") {
    send({ id, result: { tools: [{ name: "ask", inputSchema: { type: "object" } }] } });
  } else if (method === "tools/call") {
    call = id;
    send({ id: "q", method: "elicitation/create", params: { message: "Who?", requestedSchema: form } });
  } else if (method === undefined) {
    send({ id: call, result: { content: [{ type: "text", text: JSON.stringify(result ?? error) }] } });
  } else if (id !== undefined) send({ id, error: { code: -32601, message: "no " + method } });
});
`;

describe.each(["2025-06-18", "2026-07-28"])("the answer of a client of %s to a form", (era) => {
  test.each([
    ["without a default", { name: "Ada", age: 3 }],
    ["with an empty optional field", { name: "Ada", age: 3, email: "" }],
    ["with an unknown field", { name: "Ada", age: 3, extra: 1 }],
    ["that does not fit the form", { name: 7 }],
  ])("reaches the server unchanged: %s", async (_, content) => {
    const folder = makeProject({ "eager.mjs": eager });
    const url = await serve(folder, "--", process.execPath, "eager.mjs");
    const elicit = () => ({ action: "accept" as const, content: content as never });
    const client = await connect(url, { era, answers: { elicit }, checkForms: false });
    clients.push(client);
    expect(JSON.parse((await textOf(client.callTool("ask"))) ?? "")).toEqual({ action: "accept", content });
  });
});

const visiting = `import { appendFileSync } from "node:fs";
import { createServer, inputRequired } from "portolan/server";
const params = { mode: "url", message: "Sign in", url: "https://example.com/sign-in" };
export default createServer({ name: "visiting", version: "1" })
  .tool("sign-in", { run: (_, ctx) => {
    const round = ctx.state() ?? 0;
    appendFileSync(new URL("rounds", import.meta.url), round + " ");
    if (round === 2) return "signed in";
    return inputRequired({ requests: { visit: { method: "elicitation/create", params } }, state: round + 1 });
  } })
  .tool("model", { needs: { sampling: {} }, run: () => "never" });
`;

test.each(["2025-11-25", "2026-07-28"])(
  "a URL question that is repeated is asked once, of a client of %s",
  async (era) => {
    const folder = makeProject({ "server.mjs": visiting });
    const rounds = join(folder, "rounds");
    const running = startPortolan(["serve", "--http", "0", "server.mjs"], folder);
    started.push(running);
    const { url } = await running.event("ready");
    const asked: string[] = [];
    const completed: string[] = [];
    const client = await connect(String(url), {
      era,
      answers: {
        openUrl(page) {
          asked.push(page.url);
          return { action: "accept" };
        },
      },
      onNotification(method) {
        if (method === "notifications/elicitation/complete") completed.push(readFileSync(rounds, "utf8"));
      },
    });
    clients.push(client);
    expect(await textOf(client.callTool("sign-in"))).toBe("signed in");
    expect(asked).toEqual(["https://example.com/sign-in"]);
    // The client is told once, after the server has gone on, and not when the user agreed.
    expect(completed).toEqual(era === "2025-11-25" ? ["0 1 2 "] : []);
  },
);

test.each([
  ["2025-06-18", -32002],
  ["2026-07-28", -32602],
])("a missing resource has the code of a client of %s", async (era, code) => {
  const missing = `import { createServer } from "portolan/server";
export default createServer({ name: "x", version: "1" }).template("x://t/{name}", { read: () => undefined });
`;
  for (const spoken of ["2025-11-25", "2026-07-28"]) {
    const url = await serve(makeProject({ "server.mjs": missing }), "server.mjs", "--era", spoken);
    const client = await open(url, era);
    await expect(client.readResource("x://t/none")).rejects.toMatchObject({ code, data: { uri: "x://t/none" } });
  }
});

describe("a tool that needs a capability which the caller lacks", () => {
  const call = { name: "model", arguments: {} };

  test("is HTTP 400 with -32021 for a stateless client", async () => {
    const url = await serve(makeProject({ "server.mjs": visiting }), "server.mjs");
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "model",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...call, _meta } }),
    });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: -32021, data: { requiredCapabilities: { sampling: {} } } } },
    ]);
  });

  test("is -32602 for a stateful client, with the same data", async () => {
    const url = await serve(makeProject({ "server.mjs": visiting }), "server.mjs");
    const client = await open(url, "2025-06-18");
    await expect(client.callTool("model")).rejects.toMatchObject({
      code: -32602,
      data: { requiredCapabilities: { sampling: {} } },
    });
  });
});

test("a server with parts that fail is served without them, and they are named", async () => {
  const running = startPortolan(
    ["serve", "--http", "0", "--", process.execPath, fixture("half-broken.mjs")],
    makeProject(),
  );
  started.push(running);
  const { url } = await running.event("ready");
  const client = await open(String(url), "2026-07-28");
  expect((await client.listTools()).map(({ name }) => name).sort()).toEqual(["good", "other"]);
  expect((await client.listResources()).map(({ uri }) => uri)).toEqual(["x://a"]);
  expect(await client.listTemplates()).toEqual([]);
  expect(await textOf(client.callTool("other"))).toBe("other");
  expect((await client.readResource("x://a")).contents).toMatchObject([{ text: "text of a" }]);
  const said = running.errors();
  expect(said).toMatch(/no templates are served, because .*resources\/templates\/list/);
  expect(said).toMatch(/no prompts are served, because .*away/);
  expect(said).toMatch(/Not served: Tool "bad/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  expect(said).not.toMatch(/[\u001b\u0007\u0080-\u009f\u202e]/);
});

test("a server that announces changes but does not report them is served, and the loss is named", async () => {
  const args = ["serve", "--http", "0", "--", process.execPath, fixture("silent-changes.mjs")];
  const running = startPortolan(args, makeProject());
  started.push(running);
  const { url } = await running.event("ready");
  const client = await open(String(url), "2025-06-18");
  expect(await textOf(client.callTool("good"))).toBe("good");
  expect(running.errors()).toMatch(/Changes are not followed: .*subscriptions\/listen/);
});

test("a resource is still watched after the server was lost and started again", async () => {
  const url = await serve(makeProject(), "--", process.execPath, fixture("mortal.mjs"));
  const client = await open(url, "2026-07-28");
  const watch = await client.watch({ uris: ["note://one"] });
  expect(await until(async () => (await textOf(client.callTool("change"))) === "told 1")).toBe(true);
  await client.callTool("die").catch(() => {});
  expect(await until(async () => (await textOf(client.callTool("change"))) === "told 1")).toBe(true);
  await watch.close();
});
