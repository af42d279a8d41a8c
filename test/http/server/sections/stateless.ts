import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { createFixture } from "../../fixture.ts";
import { send, start, toNotification, toRequest } from "../../kit.ts";
import { StatelessPeer, textOf, toHeaders, toMeta } from "../../peer.ts";
import { byUser } from "../../users.ts";
import type { HttpRequirement } from "../requirement.ts";

const filter = { toolsListChanged: true };
const subscription = metaKey("subscriptionId");

export const stateless: readonly HttpRequirement[] = [
  {
    row: "F8",
    says: "a tool that needs an undeclared capability is refused with the required capabilities",
    async test() {
      const { url } = await start(createFixture().server);
      const answer = await new StatelessPeer(url).call("needy", {}, "x");
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({
        id: "x",
        error: { code: -32021, data: { requiredCapabilities: { sampling: {} } } },
      });
      expect(await new StatelessPeer(url, { capabilities: { sampling: {} } }).textOf("needy")).toBe("has sampling");
    },
  },
  {
    row: "F8",
    says: "a handler that asks a client without the capability is refused in the same way",
    async test() {
      const { url } = await start(createFixture().server);
      const answer = await new StatelessPeer(url).call("ask", {}, "x");
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ id: "x", error: { code: -32021 } });
    },
  },
  {
    row: "F9",
    says: "an unknown method is 404 with a JSON-RPC body, initialize and ping too",
    async test() {
      const { url } = await start(createFixture().server);
      const peer = new StatelessPeer(url);
      for (const method of ["no/such", "initialize", "ping", "resources/subscribe", "logging/setLevel"]) {
        const answer = await peer.request(method, {}, "x");
        expect([method, answer.status]).toEqual([method, 404]);
        expect(await answer.json()).toMatchObject({ jsonrpc: "2.0", id: "x", error: { code: -32601 } });
      }
    },
  },
  {
    row: "F10",
    says: "an unknown tool, prompt or resource, a bad cursor and a failing tool are 200",
    async test() {
      const { url } = await start(createFixture().server);
      const peer = new StatelessPeer(url);
      const requests = [
        ["tools/call", { name: "nonesuch" }],
        ["prompts/get", { name: "nonesuch" }],
        ["resources/read", { uri: "none://such" }],
        ["tools/list", { cursor: "garbage" }],
      ] as const;
      for (const [method, params] of requests) {
        const answer = await peer.request(method, params, "x");
        expect([method, answer.status]).toEqual([method, 200]);
        expect(await answer.json()).toMatchObject({ id: "x", error: { code: -32602 } });
      }
      const failed = await peer.call("fail");
      expect([failed.status, (await failed.json()).result.isError]).toEqual([200, true]);
    },
  },
  {
    row: "F18",
    says: "a stream has headers against buffering, caching and transformation",
    async test() {
      const { url } = await start(createFixture().server);
      const peer = new StatelessPeer(url);
      const { headers } = await peer.call("steps");
      expect(headers["x-accel-buffering"]).toBe("no");
      expect((await peer.call("progress")).headers["x-accel-buffering"]).toBe("no");
      expect(headers["cache-control"]).toContain("no-cache");
      expect(headers["cache-control"]).toContain("no-transform");
    },
  },
  {
    row: "F18",
    says: "a listen stream is kept alive by comments",
    async test() {
      const { url } = await start(createFixture().server, { keepAliveMs: 5 });
      const answer = await new StatelessPeer(url).request("subscriptions/listen", { notifications: filter }, 1);
      await answer.message();
      answer.event().catch(() => {});
      await answer.commented();
    },
  },
  {
    row: "F19",
    says: "a request is aborted when its stream breaks, and its id can be used again",
    async test() {
      const fixture = createFixture();
      const { url } = await start(fixture.server, { quietMs: 1 });
      const peer = new StatelessPeer(url);
      const answer = await peer.call("hold", { key: "a" }, 1);
      answer.drop();
      await fixture.noted("aborted a");
      expect(textOf(await (await peer.call("echo", { text: "again" }, 1)).json())).toBe("again");
    },
  },
  {
    row: "F20",
    says: "a server without sessions answers GET and DELETE with 405",
    async test() {
      const { url } = await start(createFixture().server, { sessions: false });
      for (const method of ["GET", "DELETE", "PUT"]) {
        const { status, headers } = await send(url, { method, headers: { "mcp-session-id": "x" } });
        expect([method, status, headers.allow]).toEqual([method, 405, "POST"]);
      }
    },
  },
  {
    row: "F20",
    says: "session headers are ignored",
    async test() {
      const { url } = await start(createFixture().server);
      const odd = { "mcp-session-id": "nobody", "last-event-id": "get_7" };
      const answer = await new StatelessPeer(url).call("echo", { text: "hi" }, 1, odd);
      expect([answer.status, answer.headers["mcp-session-id"]]).toEqual([200, undefined]);
    },
  },
  {
    row: "F21",
    says: "a notification is answered 202, with or without Mcp-Method",
    async test() {
      const { url } = await start(createFixture().server);
      const body = toNotification("notifications/cancelled", { requestId: 1, _meta: toMeta() });
      for (const headers of [toHeaders("notifications/cancelled"), { ...toHeaders("x"), "mcp-method": undefined }]) {
        const answer = await send(url, { headers, body });
        expect([answer.status, await answer.text()]).toEqual([202, ""]);
      }
    },
  },
  {
    row: "F-order",
    says: "the checks run in a fixed order",
    async test() {
      const { url } = await start(createFixture().server);
      const later = { [metaKey("protocolVersion")]: "2099-01-01" };
      const wrong = { "mcp-method": "other/method", "mcp-name": "other" };
      const cases = [
        ["no JSON", "{", {}, 400, -32700],
        ["no request", { jsonrpc: "2.0", id: 1, method: 5 }, {}, 400, -32600],
        ["no version beats wrong headers", { _meta: {} }, wrong, 400, -32602],
        ["other version in the header beats the unknown version", { _meta: later }, wrong, 400, -32020],
        [
          "an unknown version beats the rest",
          { _meta: later },
          { ...wrong, "mcp-protocol-version": "2099-01-01" },
          400,
          -32022,
        ],
        [
          "bad capabilities beat wrong headers",
          { _meta: toMeta({ [metaKey("clientCapabilities")]: 1 }) },
          wrong,
          400,
          -32602,
        ],
        ["wrong headers beat an unknown method", { _meta: toMeta() }, wrong, 400, -32020],
        ["an unknown method beats bad params", { _meta: toMeta(), name: 5 }, {}, 404, -32601],
      ] as const;
      for (const [what, params, headers, status, code] of cases) {
        const isParams = typeof params === "object" && !("jsonrpc" in params);
        const body = isParams ? toRequest("no/such", params) : params;
        const answer = await send(url, { headers: { ...toHeaders("no/such"), ...headers }, body });
        expect([what, answer.status, (await answer.json()).error?.code]).toEqual([what, status, code]);
      }
    },
  },
  {
    row: "F-order",
    says: "an unknown tool is refused first, then wrong argument headers, then missing capabilities",
    async test() {
      const fixture = createFixture();
      const input = { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } };
      fixture.server.update((current) => current.tool("both", { input, needs: { sampling: {} }, run: () => "ok" }));
      const { url } = await start(fixture.server);
      const peer = new StatelessPeer(url);
      const args = { region: "eu" };
      expect((await (await peer.call("nonesuch", args)).json()).error?.code).toBe(-32602);
      expect((await (await peer.call("both", args)).json()).error?.code).toBe(-32020);
      expect((await (await peer.call("both", args, 1, { "mcp-param-region": "eu" })).json()).error?.code).toBe(-32021);
    },
  },
  {
    row: "M1",
    says: "a request to the client is a result, and the retry with its answer completes the call on any process",
    async test() {
      const secrets = ["a secret of at least thirty-two characters"];
      const { server } = createFixture(secrets);
      const other = createFixture(secrets);
      const [one, two] = [await start(server), await start(other.server)];
      const capabilities = { elicitation: {} };
      const first = await (await new StatelessPeer(one.url, { capabilities }).call("ask", {}, 1)).json();
      expect(first.result).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
      const [key] = Object.keys(first.result.inputRequests);
      const retry = await new StatelessPeer(two.url, { capabilities }).request("tools/call", {
        name: "ask",
        arguments: {},
        inputResponses: { [String(key)]: { action: "accept", content: { name: "Ada" } } },
        requestState: first.result.requestState,
      });
      expect(textOf(await retry.json())).toBe("Hello Ada");
    },
  },
  {
    row: "M7",
    says: "the request state of one principal is refused from another",
    async test() {
      const { url } = await start(createFixture().server, { verify: byUser });
      const capabilities = { elicitation: {} };
      const peers = ["ada", "mallory"].map(
        (authorization) => new StatelessPeer(url, { capabilities, headers: { authorization } }),
      );
      const { result } = await (await peers[0]!.call("ask")).json();
      const inputResponses = { who: { action: "accept", content: { name: "Ada" } } };
      const retry = { name: "ask", arguments: {}, inputResponses, requestState: result.requestState };
      expect((await (await peers[1]!.request("tools/call", retry)).json()).error?.code).toBe(-32602);
      expect(textOf(await (await peers[0]!.request("tools/call", retry)).json())).toBe("Hello Ada");
    },
  },
  {
    row: "U1",
    says: "listen keeps a stream open and sends only the requested notifications",
    async test() {
      const { server } = createFixture();
      const { url } = await start(server);
      const answer = await new StatelessPeer(url).request("subscriptions/listen", { notifications: filter }, "sub");
      expect(answer.isStream).toBe(true);
      await answer.message();
      server.update((current) => current.prompt("grown", { get: () => "new" }));
      server.update((current) => current.tool("grown", { run: () => "new" }));
      expect((await answer.message()).method).toBe("notifications/tools/list_changed");
    },
  },
  {
    row: "U3",
    says: "the acknowledgement is the first message",
    async test() {
      const { url } = await start(createFixture().server);
      const answer = await new StatelessPeer(url).request("subscriptions/listen", { notifications: filter }, "sub");
      expect(await answer.message()).toMatchObject({
        method: "notifications/subscriptions/acknowledged",
        params: { notifications: filter },
      });
    },
  },
  {
    row: "U4",
    says: "every message has the id of its subscription, with its JSON type",
    async test() {
      const { server } = createFixture();
      const { url } = await start(server);
      for (const id of [7, "7"]) {
        const answer = await new StatelessPeer(url).request("subscriptions/listen", { notifications: filter }, id);
        expect((await answer.message()).params._meta[subscription]).toBe(id);
        server.update((current) => current.tool(`grown-${typeof id}`, { run: () => "new" }));
        expect((await answer.message()).params._meta[subscription]).toBe(id);
      }
    },
  },
  {
    row: "U6",
    says: "a server that closes ends the subscription with its result, then the stream",
    async test() {
      const { url, close } = await start(createFixture().server);
      const answer = await new StatelessPeer(url).request("subscriptions/listen", { notifications: filter }, "sub");
      await answer.message();
      const closed = close();
      const last = await answer.messages();
      expect(last).toMatchObject([{ id: "sub", result: { _meta: { [subscription]: "sub" } } }]);
      await closed;
    },
  },
];
