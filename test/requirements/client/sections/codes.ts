import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless, stateful } from "../../../kit/revisions.ts";
import { answerOf, asks, text } from "../kit/calls.ts";
import { refusal } from "../kit/scripted-server.ts";
import type { Requirement } from "../requirement.ts";

export const codes: Requirement[] = [
  {
    row: "C-A10",
    says: "every request rejects with the code, message and data of the error",
    async test({ open }) {
      const codes = [-32700, -32600, -32601, -32602, -32603];
      const fail = ({ params }: { params?: { name?: string } }) => {
        throw refusal(Number(params?.name ?? -32603), "No", { why: ["x"] });
      };
      const { client } = await open({ on: { "tools/call": fail, "tools/list": fail } });
      for (const code of codes) {
        const expected = { name: "RpcError", code, message: "No", data: { why: ["x"] } };
        await expect(client.callTool(String(code))).rejects.toMatchObject(expected);
      }
      await expect(client.listTools()).rejects.toMatchObject({ code: -32603 });
    },
  },
  {
    row: "C-A11",
    says: "the error of a missing resource has its code and URI",
    async test({ open }) {
      const { client } = await open({
        on: {
          "resources/read": ({ params: { uri } }) => {
            throw refusal(uri === "note://old" ? -32002 : -32602, "Resource not found", { uri });
          },
        },
      });
      await expect(client.readResource("note://old")).rejects.toMatchObject({
        code: -32002,
        data: { uri: "note://old" },
      });
      await expect(client.readResource("note://new")).rejects.toMatchObject({
        code: -32602,
        data: { uri: "note://new" },
      });
    },
  },
  {
    row: "C-A12",
    says: "the error lists the URLs, and the completion notification is delivered",
    async test({ open }) {
      const data = { elicitations: [{ mode: "url", url: "https://example.com", elicitationId: "e", message: "m" }] };
      const notifications: unknown[] = [];
      const { client, server, settled } = await open({
        on: {
          "tools/call": () => {
            throw refusal(-32042, "Visit first", data);
          },
        },
        onNotification: (method, params) => notifications.push([method, params]),
      });
      await expect(client.callTool("a")).rejects.toMatchObject({ code: -32042, data });
      server.notify("notifications/elicitation/complete", { elicitationId: "e" });
      await settled();
      expect(notifications).toEqual([["notifications/elicitation/complete", { elicitationId: "e" }]]);
    },
  },
  {
    row: "C-A13",
    says: "stateless error codes reject only their call",
    async test({ open }) {
      const { client } = await open({
        on: {
          "tools/call": ({ params }) => {
            throw refusal(Number(params.name), "No", { requiredCapabilities: { sampling: {} } });
          },
        },
      });
      for (const code of [-32020, -32021, -32022]) {
        const data = { requiredCapabilities: { sampling: {} } };
        await expect(client.callTool(String(code))).rejects.toMatchObject({ code, data });
      }
      await client.ping();
    },
  },
  {
    row: "C-A14",
    says: "every code reaches the caller unchanged",
    async test({ open }) {
      const { client } = await open({
        on: {
          "tools/call": ({ params }) => {
            throw refusal(Number(params.name));
          },
        },
      });
      for (const code of [-32000, -32001, -32019, -32050, -32099, -1, 0, 5, 404]) {
        await expect(client.callTool(String(code))).rejects.toMatchObject({ name: "RpcError", code });
      }
    },
  },
  {
    row: "C-A14",
    says: "a request without an answer is refused with a code of JSON-RPC or of the specification's examples",
    on: stateful,
    async test({ open, revision }) {
      const elicit = { message: "?", requestedSchema: { type: "object", properties: {} } };
      for (const [method, params] of [["roots/list"], ["elicitation/create", elicit], ["no/such"]] as const) {
        const { client } = await open({ on: { "tools/call": asks(revision, method, params) } });
        expect([-32601, -32602]).toContain((await answerOf(client)).error.code);
      }
      const { client } = await open({
        on: { "tools/call": asks(revision, "roots/list") },
        answers: {
          roots: () => {
            throw new Error("broken");
          },
        },
      });
      expect((await answerOf(client)).error.code).toBe(-1);
    },
  },
  {
    row: "C-A15",
    says: "metadata of the caller is sent beside that of the protocol, and metadata of results is kept",
    async test({ open, revision }) {
      const _meta = { "example.com/trace": { deep: [1] } };
      const { client, server } = await open({
        on: { "tools/call": () => ({ ...text("x"), _meta }), "tools/list": () => ({ tools: [], _meta }) },
      });
      expect(await client.callTool("a", {}, { meta: { "example.com/id": "7" } })).toMatchObject({ _meta });
      expect(await client.request("tools/list", {}, { meta: { "example.com/id": "8" } })).toMatchObject({ _meta });
      const version = isStateless(revision) ? { [metaKey("protocolVersion")]: "1999-12-31" } : {};
      const forged = { progressToken: "forged", ...version };
      await client.callTool("a", {}, { meta: forged });
      const [call, other] = server.of("tools/call");
      expect(other!.params._meta.progressToken).toBe(other!.id);
      expect(other!.params._meta[metaKey("protocolVersion")]).toBe(isStateless(revision) ? revision : undefined);
      expect(call!.params._meta).toMatchObject({ "example.com/id": "7", progressToken: call!.id });
      const [list] = server.of("tools/list");
      expect(list!.params._meta["example.com/id"]).toBe("8");
      expect(list!.params._meta[metaKey("protocolVersion")]).toBe(isStateless(revision) ? revision : undefined);
    },
  },
  {
    row: "C-A16",
    says: "trace context is sent as the caller gives it",
    async test({ open }) {
      const trace = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: "a=1" };
      const { client, server } = await open();
      await client.callTool("a", {}, { meta: { ...trace, baggage: "user=ada" } });
      expect(server.of("tools/call")[0]!.params._meta).toMatchObject({ ...trace, baggage: "user=ada" });
    },
  },
];
