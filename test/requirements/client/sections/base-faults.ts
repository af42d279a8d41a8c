import { expect } from "vitest";
import { isStateless } from "../../../kit/revisions.ts";
import { text, textOf } from "../kit/calls.ts";
import { refusal } from "../kit/scripted-server.ts";
import type { Requirement } from "../requirement.ts";

const silent = () => undefined;
const odd = { "example.com/x": { y: [1, null] }, later: true };
const inherited = ["__proto__", "constructor", "toString", "hasOwnProperty"];

export const baseFaults: Requirement[] = [
  {
    row: "C-XA1",
    says: "late, repeated and unknown responses are ignored and not reported",
    async test({ open }) {
      const { client, server, settled, errors } = await open({
        on: {
          "tools/call": (request, scripted) => {
            if (request.params.name !== "twice") return undefined;
            scripted.result(request.id, scripted.complete("tools/call", text("first")));
            return text("second");
          },
        },
      });
      expect(textOf(await client.callTool("twice"))).toBe("first");
      server.result(999_999, text("nobody's"));
      server.result("x", text("nobody's"));
      server.error(888_888, -32603, "nobody's");
      const controller = new AbortController();
      const call = client.callTool("late", {}, { signal: controller.signal });
      const { id } = await server.arrival("tools/call", 2);
      controller.abort();
      await expect(call).rejects.toMatchObject({ code: "cancelled" });
      server.result(id, text("late"));
      await settled();
      expect(errors).toEqual([]);
      expect(textOf(await client.callTool("twice"))).toBe("first");
    },
  },
  {
    row: "C-XA2",
    says: "unknown members of results, lists, capabilities and notifications are kept",
    async test({ open, revision }) {
      const tool = { name: "t", inputSchema: { type: "object", "x-order": [1] }, ...odd };
      const received: unknown[] = [];
      const says = isStateless(revision) ? odd : { ...odd, serverInfo: { name: "s", version: "1", ...odd } };
      const { client, server, settled } = await open({
        offers: { tools: { ...odd }, ...odd },
        says,
        on: {
          "tools/list": () => ({ tools: [tool] }),
          "tools/call": () => ({ content: [{ type: "text", text: "x", ...odd }], ...odd }),
        },
        onNotification: (_, params) => received.push(params),
      });
      expect(client.server.capabilities).toEqual({ tools: { ...odd }, ...odd });
      if (!isStateless(revision)) expect(client.server.info).toMatchObject(odd);
      expect(await client.listTools()).toEqual([tool]);
      expect(await client.callTool("t")).toMatchObject({ content: [{ type: "text", text: "x", ...odd }], ...odd });
      server.notify("notifications/tools/list_changed", odd);
      await settled();
      expect(received).toEqual([odd]);
    },
  },
  {
    row: "C-XA3",
    says: "an invalid result rejects with the expected and the received value",
    async test({ open }) {
      const bad: { [method: string]: unknown } = {};
      const reply = (
        { id, method }: { id: string | number; method: string },
        server: { result(i: unknown, r: unknown): void },
      ) => {
        server.result(id, bad[method]);
        return undefined;
      };
      const methods = [
        "tools/list",
        "resources/list",
        "prompts/list",
        "resources/read",
        "prompts/get",
        "completion/complete",
      ];
      const on = Object.fromEntries([...methods, "resources/templates/list"].map((method) => [method, reply]));
      const { client } = await open({ on });
      const calls: { readonly [method: string]: [() => Promise<unknown>, unknown, RegExp] } = {
        "tools/list": [() => client.listTools(), { tools: "none" }, /tools: expected an array, got "none"/],
        "resources/list": [() => client.listResources(), { resources: [{ name: 1 }] }, /uri/],
        "prompts/list": [() => client.listPrompts(), { prompts: [], nextCursor: 5 }, /nextCursor: expected a string/],
        "resources/read": [() => client.readResource("note://a"), { contents: {} }, /contents: expected an array/],
        "prompts/get": [() => client.getPrompt("p"), {}, /messages/],
        "completion/complete": [
          () => client.complete({ type: "ref/prompt", name: "p" }, { name: "a", value: "" }),
          { completion: { values: [1] } },
          /values\[0\]: expected a string/,
        ],
      };
      const others = client.callTool("a");
      for (const [method, [call, result, message]] of Object.entries(calls)) {
        bad[method] = result;
        await expect(call(), method).rejects.toMatchObject({
          code: "answer-invalid",
          message: expect.stringMatching(message),
        });
      }
      expect(textOf(await others)).toBe("done");
    },
  },
  {
    row: "C-A8",
    says: "an invalid member of a batch does not affect the others",
    on: ["2025-03-26"],
    async test({ open }) {
      const { client, server, settled, errors } = await open({ on: { "tools/call": silent } });
      const call = client.callTool("a").then(textOf, ({ code }) => code);
      const { id } = await server.arrival("tools/call");
      server.send([5, { jsonrpc: "2.0", id, result: text("mine") }, {}]);
      await settled();
      expect(errors.length).toBeGreaterThan(0);
      expect(await Promise.race([call, settled().then(() => "nothing")])).toBe("mine");
    },
  },
  {
    row: "C-XA4",
    says: "an unserializable argument rejects with its name, and the next call works",
    async test({ open }) {
      const { client, server } = await open();
      const loop: { self?: unknown } = {};
      loop.self = loop;
      for (const args of [{ n: 1n }, { loop }]) {
        const failing = client.callTool("a", args as never);
        await expect(failing).rejects.toMatchObject({
          code: "unserializable",
          message: expect.stringContaining("arguments"),
        });
      }
      await expect(client.callTool(5 as never)).rejects.toMatchObject({ code: "invalid-argument" });
      await expect(client.readResource(undefined as never)).rejects.toMatchObject({ code: "invalid-argument" });
      await client.callTool("a");
      expect(server.of("tools/call")).toHaveLength(1);
      expect(server.of("resources/read")).toEqual([]);
    },
  },
  {
    row: "C-XA5",
    says: "a method of the other era rejects with its replacement, and nothing is sent",
    async test({ open, revision }) {
      const { client, server } = await open();
      const before = server.sent.length;
      const replaced: { readonly [method: string]: string } = isStateless(revision)
        ? {
            ping: "server/discover",
            initialize: "server/discover",
            "logging/setLevel": "logLevel",
            "resources/subscribe": "subscriptions/listen",
            "resources/unsubscribe": "subscriptions/listen",
          }
        : { "server/discover": "initialize", "subscriptions/listen": "resources/subscribe" };
      for (const [method, instead] of Object.entries(replaced)) {
        const failing = client.request(method);
        await expect(failing).rejects.toMatchObject({
          code: "capability-missing",
          message: expect.stringMatching(new RegExp(`${revision}.*${instead}`)),
        });
      }
      await client.ping();
      expect(server.sent).toHaveLength(before + 1);
    },
  },
  {
    row: "C-XA6",
    says: "names of Object.prototype work as tools and arguments, and are unknown methods and notifications",
    async test({ open, revision }) {
      const { client, server, settled } = await open({
        on: {
          "tools/call": ({ params }) => text(`${params.name} ${Object.keys(params.arguments)}`),
          "example.com/toString": () => {
            throw refusal(-32601);
          },
        },
      });
      const args = JSON.parse('{"__proto__": 1, "constructor": 2}');
      for (const name of inherited) {
        expect(textOf(await client.callTool(name, args))).toBe(`${name} __proto__,constructor`);
        server.notify(name);
        server.notify(`notifications/${name}`, { requestId: name });
        if (!isStateless(revision)) expect((await server.ask(name)).error).toMatchObject({ code: -32601 });
      }
      await settled();
      expect(server.of("tools/call")).toHaveLength(inherited.length);
    },
  },
  {
    row: "C-XA7",
    says: "60 concurrent calls get their own results and errors",
    async test({ open }) {
      const { client, server } = await open({ on: { "tools/call": silent } });
      const numbers = Array.from({ length: 60 }, (_, n) => n);
      const calls = numbers.map((n) => client.callTool("a", { n }).then(textOf, ({ message }) => message));
      const requests = await server.until(() => server.of("tools/call").length === 60 && server.of("tools/call"));
      for (const { id, params } of [...requests].reverse()) {
        const { n } = params.arguments;
        if (n % 7 === 0) server.error(id, 1, `number ${n}`);
        else server.result(id, server.complete("tools/call", text(`number ${n}`)));
      }
      expect(await Promise.all(calls)).toEqual(numbers.map((n) => `number ${n}`));
    },
  },
  {
    row: "C-XA8",
    says: "unknown requests are refused with -32601 and their id, also 0 and the empty string",
    async test({ open }) {
      const { server } = await open();
      const methods = ["example.com/x", "tools/list", "tasks/get", "sampling/create", ""];
      for (const method of methods) expect((await server.ask(method)).error?.code, method).toBe(-32601);
      for (const id of [0, "", -7, "x y"]) expect(await server.ask("ping", {}, id)).toMatchObject({ id, result: {} });
    },
  },
];
