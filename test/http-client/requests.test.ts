import { describe, expect, test } from "vitest";
import {
  answerHandshake,
  begin,
  discovery,
  openLink,
  reasonOf,
  resultOf,
  sendJson,
  startRaw,
  stateless,
  until,
} from "./kit.ts";

describe("a stateless request", () => {
  test("mirrors its version, method and name in headers", async () => {
    const server = await startRaw(({ message }, response) => sendJson(response, 200, resultOf(message)));
    const { ask } = await openLink(server.url);
    await ask(stateless("tools/call", { name: "weiß alles" }));
    await ask(stateless("resources/read", { uri: "note://1" }));
    await ask(stateless("prompts/get", { name: "greet" }));
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) await ask(stateless(method, { taskId: "t-1" }));
    await ask(stateless("tools/list"));
    await ask(stateless("vendor/named", { name: "x", uri: "y:", taskId: "z" }));
    expect(server.seen.map(({ headers }) => [headers["mcp-method"], headers["mcp-name"]])).toEqual([
      ["tools/call", "=?base64?d2Vpw58gYWxsZXM=?="],
      ["resources/read", "note://1"],
      ["prompts/get", "greet"],
      ["tasks/get", "t-1"],
      ["tasks/update", "t-1"],
      ["tasks/cancel", "t-1"],
      ["tools/list", undefined],
      ["vendor/named", undefined],
    ]);
    for (const { headers, method } of server.seen) {
      expect(method).toBe("POST");
      expect(headers).toMatchObject({
        "mcp-protocol-version": "2026-07-28",
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "accept-encoding": "identity",
      });
      expect(headers).not.toHaveProperty("mcp-session-id");
    }
  });

  test("mirrors the arguments that the tool annotates", async () => {
    const inputSchema = {
      type: "object",
      properties: { region: { type: "string", "x-mcp-header": "Region" }, note: { type: "string" } },
    };
    const server = await startRaw(({ message }, response) =>
      sendJson(response, 200, resultOf(message, { tools: [{ name: "deploy", inputSchema }] })),
    );
    const { ask } = await openLink(server.url);
    await ask(stateless("tools/list"));
    await ask(stateless("tools/call", { name: "deploy", arguments: { region: "Österreich", note: "x" } }));
    await ask(stateless("tools/call", { name: "deploy", arguments: { region: null } }));
    const [, first, second] = server.seen;
    expect(first!.headers["mcp-param-region"]).toBe("=?base64?w5ZzdGVycmVpY2g=?=");
    expect(first!.headers).not.toHaveProperty("mcp-param-note");
    expect(second!.headers).not.toHaveProperty("mcp-param-region");
  });

  test("drops tools with invalid annotations from the list and keeps the others", async () => {
    const bad = { type: "object", properties: { a: { type: "number", "x-mcp-header": "A" } } };
    const injected = { type: "object", properties: { a: { type: "string", "x-mcp-header": "A\r\nEvil: 1" } } };
    const good = { type: "object" };
    const tools = [bad, good, injected].map((inputSchema, index) => ({ name: `tool-${index}`, inputSchema }));
    const server = await startRaw(({ message }, response) => sendJson(response, 200, resultOf(message, { tools })));
    const { ask, invalid } = await openLink(server.url);
    expect(await ask(stateless("tools/list"))).toMatchObject({ result: { tools: [{ name: "tool-1" }] } });
    expect(invalid).toHaveLength(2);
    expect(invalid[0]).toContain('"tool-0"');
  });

  test("is retried with the headers that the server requires", async () => {
    const inputSchema = { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } };
    const mismatch = { code: -32020, message: "Mcp-Param-Region: expected" };
    const server = await startRaw(({ message, headers }, response) => {
      const { id, method, params } = message;
      if (method === "tools/list") {
        const isFirst = params!["cursor"] === undefined;
        const page = isFirst ? { tools: [], nextCursor: "2" } : { tools: [{ name: "deploy", inputSchema }] };
        sendJson(response, 200, resultOf(message, page));
      } else if (headers["mcp-param-region"] === undefined)
        sendJson(response, 400, { jsonrpc: "2.0", id, error: mismatch });
      else sendJson(response, 200, resultOf(message, { region: headers["mcp-param-region"] }));
    });
    const { ask } = await openLink(server.url);
    const call = stateless("tools/call", { name: "deploy", arguments: { region: "eu" } });
    expect(await ask(call)).toEqual({ jsonrpc: "2.0", id: 1, result: { region: "eu" } });
    expect(server.seen.map(({ message }) => message.method)).toEqual([
      "tools/call",
      "tools/list",
      "tools/list",
      "tools/call",
    ]);
  });

  test("is retried only once", async () => {
    const server = await startRaw(({ message }, response) => {
      const error = { code: -32020, message: "no" };
      if (message.method === "tools/list") sendJson(response, 200, resultOf(message, { tools: [] }));
      else sendJson(response, 400, { jsonrpc: "2.0", id: message.id, error });
    });
    const { ask } = await openLink(server.url);
    expect(await ask(stateless("tools/call", { name: "x" }))).toMatchObject({ error: { code: -32020 } });
    expect(server.seen).toHaveLength(3);
  });

  test("is cancelled by closing its connection", async () => {
    let isGone = false;
    const server = await startRaw((_, response) => {
      response.on("close", () => {
        isGone = true;
      });
    });
    const { link } = await openLink(server.url);
    const received: unknown[] = [];
    const sink = { response: (one: unknown) => received.push(one), failed: (one: unknown) => received.push(one) };
    link.exchange({ jsonrpc: "2.0", id: 1, ...stateless("tools/call", { name: "x" }) }, sink);
    await until(() => server.seen.length === 1);
    link.cancel(1, "enough");
    await until(() => isGone);
    expect(received).toEqual([]);
    expect(server.seen).toHaveLength(1);
  });
});

test("throws on a request that cannot be serialized, before anything is sent", async () => {
  const server = await startRaw((_, response) => response.end());
  const { link } = await openLink(server.url);
  const sink = { response() {}, failed() {} };
  const request = { jsonrpc: "2.0", id: 1, method: "x", params: { big: 1n } } as const;
  expect(() => link.exchange(request, sink)).toThrow(expect.objectContaining({ code: "unserializable" }));
  expect(server.seen).toEqual([]);
});

describe("custom headers", () => {
  test("are sent with every request but do not replace protocol headers", async () => {
    const server = await startRaw((seen, response) => {
      if (!answerHandshake(seen, response, "s1")) sendJson(response, 200, resultOf(seen.message));
    });
    const headers = { "X-Tenant": "a", "mcp-method": "evil", "Content-Type": "text/plain" };
    const { ask, link } = await openLink(server.url, { headers });
    await ask(stateless("server/discover")).catch(() => {});
    await ask({ method: "initialize", params: {} });
    link.notify({ jsonrpc: "2.0", method: "notifications/initialized" });
    await until(() => server.seen.some(({ method }) => method === "GET"));
    await link.close();
    expect(server.seen.map(({ method }) => method)).toEqual(["POST", "POST", "POST", "GET", "DELETE"]);
    expect(server.seen.every((seen) => seen.headers["x-tenant"] === "a")).toBe(true);
    expect(server.seen[0]!.headers).toMatchObject({
      "mcp-method": "server/discover",
      "content-type": "application/json",
    });
  });

  test("can be computed for each request", async () => {
    const server = await startRaw(({ message }, response) => sendJson(response, 200, resultOf(message)));
    let count = 0;
    const { ask } = await openLink(server.url, {
      headers: async ({ method, url, body }) => {
        count += 1;
        return { "x-count": `${count} ${method} ${url.pathname} ${body!.length > 0}` };
      },
    });
    await ask(stateless("tools/list"));
    await ask(stateless("tools/list"));
    expect(server.seen.map(({ headers }) => headers["x-count"])).toEqual(["1 POST /mcp true", "2 POST /mcp true"]);
  });

  test("with invalid values reject the request", async () => {
    const server = await startRaw((_, response) => response.end());
    const { ask } = await openLink(server.url, { headers: { "x-a": "1\r\nx-b: 2" } });
    expect((await reasonOf(ask(stateless("tools/list")))).message).toContain("x-a");
    expect(server.seen).toEqual([]);
  });
});

describe("authorization", () => {
  const guard = (token: string) =>
    startRaw(({ message, headers }, response) => {
      if (headers.authorization === `Bearer ${token}`) sendJson(response, 200, resultOf(message, discovery()));
      else response.writeHead(401, { "www-authenticate": 'Bearer realm="x"' }).end("who are you?");
    });

  test("retries the request after a challenge was handled", async () => {
    const server = await guard("two");
    let token = "one";
    const challenges: unknown[] = [];
    const { ask } = await openLink(server.url, {
      auth: {
        authorize: () => ({ authorization: `Bearer ${token}` }),
        challenged: async ({ status, header, body, sent }) => {
          challenges.push([status, header("WWW-Authenticate"), body, sent]);
          token = "two";
          return "retry";
        },
      },
    });
    expect(await ask(stateless("server/discover"))).toMatchObject({ id: 1 });
    expect(challenges).toEqual([[401, 'Bearer realm="x"', "who are you?", { authorization: "Bearer one" }]]);
    expect(server.seen).toHaveLength(2);
  });

  test("limits the number of retries after challenges", async () => {
    const server = await guard("never");
    const operations = new Set<object>();
    const { ask } = await openLink(server.url, {
      auth: {
        authorize: () => ({}),
        challenged: async ({ operation }) => {
          operations.add(operation);
          return "retry";
        },
      },
    });
    const reason = await reasonOf(ask(stateless("server/discover")));
    expect(reason).toMatchObject({ code: "unauthorized", status: 401 });
    expect(server.seen).toHaveLength(9);
    expect(operations.size).toBe(1);
  });

  test("an unhandled challenge rejects with the request, without its query values", async () => {
    const server = await guard("never");
    const { ask } = await openLink(`${server.url}?key=secret`);
    const { message } = await reasonOf(ask(stateless("server/discover")));
    expect(message).toContain(`POST ${server.url}?… answered 401`);
    expect(message).not.toContain("secret");
  });

  test("rejects with the error of the hook", async () => {
    const server = await guard("never");
    const error = new Error("The user cancelled the login");
    const { ask } = await openLink(server.url, {
      auth: { authorize: () => ({}), challenged: () => Promise.reject(error) },
    });
    expect(await reasonOf(ask(stateless("server/discover")))).toBe(error);
  });
});

describe("redirects", () => {
  test("follows 307 and 308 within the host with the body and all headers", async () => {
    const server = await startRaw(({ path, message }, response) => {
      if (path === "/mcp") response.writeHead(307, { location: "/mcp/" }).end();
      else if (path === "/mcp/") response.writeHead(308, { location: "/v2" }).end();
      else sendJson(response, 200, resultOf(message, { path }));
    });
    const { ask } = await openLink(server.url, { headers: { authorization: "Bearer x" } });
    expect(await ask(stateless("tools/list"))).toMatchObject({ result: { path: "/v2" } });
    expect(server.seen[2]!.headers).toMatchObject({ authorization: "Bearer x", "mcp-method": "tools/list" });
  });

  test("remembers 308 for all later requests, and does not remember 307", async () => {
    const server = await startRaw((seen, response) => {
      const { path } = seen;
      if (path === "/mcp") response.writeHead(308, { location: "/moved" }).end();
      else if (path === "/moved") response.writeHead(307, { location: "/now" }).end();
      else if (!answerHandshake(seen, response, "s")) sendJson(response, 200, resultOf(seen.message));
    });
    const opened = await openLink(server.url, { headers: { authorization: "Bearer x" } });
    await begin(opened);
    await opened.ask({ method: "tools/list" });
    await opened.link.close();
    expect(server.seen.filter(({ path }) => path === "/mcp")).toHaveLength(1);
    expect(server.seen.map(({ method, path }) => `${method} ${path}`).slice(1)).toEqual([
      ...["POST /moved", "POST /now", "POST /moved", "POST /now", "GET /moved", "GET /now"],
      ...["POST /moved", "POST /now", "DELETE /moved", "DELETE /now"],
    ]);
    expect(server.seen.every(({ headers }) => headers.authorization === "Bearer x")).toBe(true);
  });

  test("a cycle of remembered redirects ends with an error", async () => {
    const server = await startRaw(({ path }, response) =>
      response.writeHead(308, { location: path === "/mcp" ? "/other" : "/mcp" }).end(),
    );
    const { ask } = await openLink(server.url);
    for (const _ of [1, 2]) {
      expect((await reasonOf(ask(stateless("tools/list")))).message).toContain("redirected more than 2 times");
    }
    expect(server.seen).toHaveLength(6);
  });

  test("refuses redirects to another host or port or with credentials, and does not remember them", async () => {
    const other = await startRaw(({ message }, response) => sendJson(response, 200, resultOf(message)));
    const targets = [other.url, `http://user:secret@127.0.0.1:${other.port}/`, "http://localhost:1/"];
    const server = await startRaw((_, response) =>
      response.writeHead(308, { location: targets[server.seen.length - 1] }).end(),
    );
    const { ask } = await openLink(server.url, { headers: { authorization: "Bearer x" } });
    for (const _ of targets) {
      const { message } = await reasonOf(ask(stateless("tools/list")));
      expect(message).toContain("if that is the server, connect to it");
      expect(message).not.toContain("secret");
    }
    expect(other.seen).toEqual([]);
    expect(server.seen).toHaveLength(3);
  });

  test("a redirect loop ends with an error", async () => {
    const server = await startRaw((_, response) => response.writeHead(307, { location: "/mcp" }).end());
    const { ask } = await openLink(server.url);
    expect((await reasonOf(ask(stateless("tools/list")))).message).toContain("redirected more than 2 times");
    expect(server.seen).toHaveLength(3);
  });

  test("sends nothing to another host, and the error names it", async () => {
    const other = await startRaw(({ message }, response) => sendJson(response, 200, resultOf(message)));
    const server = await startRaw((_, response) => response.writeHead(307, { location: other.url }).end());
    const { ask } = await openLink(server.url, { headers: { authorization: "Bearer x" } });
    const reason = await reasonOf(ask(stateless("tools/list")));
    expect(reason).toMatchObject({ code: "http-status", status: 307 });
    expect(reason.message).toContain(other.url);
    expect(other.seen).toEqual([]);
  });

  test.each([301, 302, 303])(
    "%i rejects with an error that names its target, because it would lose the body",
    async (status) => {
      const server = await startRaw((_, response) => response.writeHead(status, { location: "/other" }).end());
      const { ask } = await openLink(server.url);
      const reason = await reasonOf(ask(stateless("server/discover")));
      expect(reason).toMatchObject({ code: "http-status", status });
      expect(reason.message).toContain("/other");
      expect(server.seen).toHaveLength(1);
    },
  );
});
