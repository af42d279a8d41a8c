import { describe, expect, test } from "vitest";
import type { HttpAuth, Receiver, Transport, TransportRequest } from "./options.ts";
import { HttpSender, type LinkRequest, type SenderOptions } from "./send.ts";

const url = new URL("http://host/mcp");

/** A sender whose server answers each request in turn with a status and headers, or closes a stale connection. */
function createSender(
  answers: ({ status: number; headers?: { [name: string]: string } } | "stale")[],
  options: Partial<SenderOptions> = {},
) {
  const sent: TransportRequest[] = [];
  const logins: boolean[] = [];
  const transport: Transport = {
    hidesRefusals: false,
    send(request, receiver) {
      sent.push(request);
      const answer = answers.shift() ?? { status: 200 };
      queueMicrotask(() => {
        if (answer === "stale") receiver.failed(new Error("reset"), true);
        else {
          receiver.head({ status: answer.status, header: (name) => answer.headers?.[name] });
          receiver.end();
        }
      });
      return () => {};
    },
    hold: () => () => {},
    close: () => {},
  };
  const sender = new HttpSender(transport, { server: url, onLogin: (isOpen) => logins.push(isOpen), ...options });
  const send = (request: Partial<LinkRequest> = {}): Promise<number> =>
    new Promise((resolve, reject) => {
      const receiver: Receiver = { head: ({ status }) => resolve(status), text() {}, end() {}, failed: reject };
      sender.send({ method: "POST", url, headers: {}, body: "{}", ...request }, receiver);
    });
  return { logins, send, sent };
}

test("headers of the protocol win over authorization, and authorization over the user's, whatever their case", async () => {
  const auth: HttpAuth = { authorize: () => ({ AUTHORIZATION: "token", Accept: "b" }) };
  const { send, sent } = createSender([], { headers: { accept: "a", authorization: "mine", "X-Own": "1" }, auth });
  await send({ headers: { Accept: "c" } });
  expect(sent[0]?.headers).toEqual({ accept: "c", authorization: "token", "x-own": "1" });
});

describe("redirects", () => {
  test("that are permanent are remembered", async () => {
    const { send, sent } = createSender([{ status: 308, headers: { location: "/moved" } }]);
    await send();
    await send();
    expect(sent.map((request) => request.url.pathname)).toEqual(["/mcp", "/moved", "/moved"]);
  });

  test("that are temporary are not", async () => {
    const { send, sent } = createSender([{ status: 307, headers: { location: "/now" } }]);
    await send();
    await send();
    expect(sent.map((request) => request.url.pathname)).toEqual(["/mcp", "/now", "/mcp"]);
  });
});

describe("a stale connection", () => {
  test("is replaced once for a request that may be repeated", async () => {
    const { send, sent } = createSender(["stale"]);
    expect(await send({ mayRepeat: () => true })).toBe(200);
    expect(sent).toHaveLength(2);
    const twice = createSender(["stale", "stale"]);
    await expect(twice.send({ mayRepeat: () => true })).rejects.toThrow("reset");
  });

  test("fails a request that may not be repeated", async () => {
    const { send, sent } = createSender(["stale"]);
    await expect(send({ mayRepeat: () => false })).rejects.toThrow("POST http://host/mcp failed: reset");
    expect(sent).toHaveLength(1);
  });
});

describe("a challenge", () => {
  const retry: HttpAuth = { authorize: () => ({}), challenged: async () => "retry" };

  test("is passed to `auth`, reported as a login, and the request is sent again", async () => {
    const { logins, send, sent } = createSender([{ status: 401 }], { auth: retry });
    expect(await send()).toBe(200);
    expect([sent.length, logins]).toEqual([2, [true, false]]);
  });

  test("is not passed on for a request that skips authorization", async () => {
    const { send, sent } = createSender([{ status: 401 }], { auth: retry });
    await expect(send({ skipAuth: true })).rejects.toMatchObject({ code: "unauthorized", neverRan: true });
    expect(sent).toHaveLength(1);
  });

  test("that never ends is given up after eight attempts", async () => {
    const { send, sent } = createSender(
      Array.from({ length: 20 }, () => ({ status: 401 })),
      { auth: retry },
    );
    await expect(send()).rejects.toMatchObject({ status: 401 });
    expect(sent).toHaveLength(9);
  });

  test("fails with the error of `auth`, marked as not run", async () => {
    const challenged = () => Promise.reject(new Error("the user closed the page"));
    const { send } = createSender([{ status: 401 }], { auth: { authorize: () => ({}), challenged } });
    await expect(send()).rejects.toMatchObject({ message: "the user closed the page", neverRan: true });
  });
});
