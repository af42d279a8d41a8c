import type { JsonObject } from "portolan";
import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { createFixture } from "../../fixture.ts";
import { type Headers, plainHeaders, send, start, toRequest } from "../../kit.ts";
import { StatelessPeer, textOf, toHeaders, toMeta } from "../../peer.ts";
import type { HttpRequirement } from "../requirement.ts";

const encoded = (text: string) => `=?base64?${Buffer.from(text).toString("base64")}?=`;
const latin1 = (text: string) => Buffer.from(text).toString("latin1");

/** Calls a tool with the given headers and resolves to the text, or to the code of the error. */
async function outcome(url: string, name: string, args: JsonObject, headers: Headers): Promise<number | string> {
  const answer = await new StatelessPeer(url).call(name, args, "x", headers);
  const response = await answer.json();
  expect(response.id).toBe("x");
  if (!response.error) return textOf(response);
  expect(answer.status).toBe(400);
  return response.error.code;
}

export const headers: readonly HttpRequirement[] = [
  {
    row: "F1",
    says: "Mcp-Method must be present and equal the method of the body exactly",
    async test() {
      const { url } = await start(createFixture().server);
      const args = { text: "hi" };
      expect(await outcome(url, "echo", args, {})).toBe("hi");
      expect(await outcome(url, "echo", args, { "mcp-method": "  tools/call\t" })).toBe("hi");
      for (const method of [
        undefined,
        "",
        "tools/list",
        "Tools/Call",
        "tools/call, tools/call",
        encoded("tools/call"),
      ]) {
        expect([method, await outcome(url, "echo", args, { "mcp-method": method })]).toEqual([method, -32020]);
      }
    },
  },
  {
    row: "F1",
    says: "header names are case-insensitive",
    async test() {
      const { url } = await start(createFixture().server);
      const { "mcp-method": _, ...rest } = toHeaders("tools/list");
      const body = toRequest("tools/list", { _meta: toMeta() });
      expect((await send(url, { headers: { ...rest, "MCP-METHOD": "tools/list" }, body })).status).toBe(200);
    },
  },
  {
    row: "F2",
    says: "Mcp-Name must be present for tools/call, prompts/get and resources/read and equal the body",
    async test() {
      const { url } = await start(createFixture().server);
      const peer = new StatelessPeer(url);
      const requests = [
        ["tools/call", { name: "echo", arguments: { text: "hi" } }],
        ["prompts/get", { name: "greet" }],
        ["resources/read", { uri: "note://1" }],
      ] as const;
      for (const [method, params] of requests) {
        expect((await peer.request(method, params)).status).toBe(200);
        for (const name of [undefined, "", "other", "ECHO"]) {
          const answer = await peer.request(method, params, "x", { "mcp-name": name });
          expect([method, name, answer.status]).toEqual([method, name, 400]);
          expect(await answer.json()).toMatchObject({ id: "x", error: { code: -32020 } });
        }
      }
    },
  },
  {
    row: "F2",
    says: "other methods need no Mcp-Name",
    async test() {
      const { url } = await start(createFixture().server);
      const peer = new StatelessPeer(url);
      for (const method of ["server/discover", "tools/list", "resources/templates/list"]) {
        expect((await peer.request(method, {}, 1, { "mcp-name": undefined })).status).toBe(200);
      }
    },
  },
  {
    row: "F3",
    says: "an encoded name is compared after decoding",
    async test() {
      const { url } = await start(createFixture().server);
      const peer = new StatelessPeer(url);
      expect(await outcome(url, "grüße €", {}, { "mcp-name": encoded("grüße €") })).toBe("hello");
      expect(await outcome(url, "echo", { text: "hi" }, { "mcp-name": encoded("echo") })).toBe("hi");
      const read = await peer.request("resources/read", { uri: "note://ä" }, 1, { "mcp-name": encoded("note://ä") });
      expect(read.status).toBe(200);
    },
  },
  {
    row: "F3",
    says: "raw non-ASCII bytes, bad base64 and other markers are refused",
    async test() {
      const { url } = await start(createFixture().server);
      const good = Buffer.from("grüße €").toString("base64");
      const names = [latin1("grüße €"), `=?base64?${good}`, `=?BASE64?${good}?=`, "=?base64?***?=", "=?base64?/w==?="];
      for (const name of names) {
        expect([name, await outcome(url, "grüße €", {}, { "mcp-name": name })]).toEqual([name, -32020]);
      }
    },
  },
  {
    row: "F4",
    says: "a refusal names the header and keeps the id of the request",
    async test() {
      const { url } = await start(createFixture().server);
      const answer = await new StatelessPeer(url).request("tools/list", {}, 0, { "mcp-method": "prompts/list" });
      const { id, error } = await answer.json();
      expect([answer.status, id, error?.code, error?.message]).toEqual([
        400,
        0,
        -32020,
        expect.stringContaining("Mcp-Method"),
      ]);
    },
  },
  {
    row: "F5",
    says: "a version header that is missing or differs from the body is refused",
    async test() {
      const { url } = await start(createFixture().server);
      for (const version of [undefined, "", "2025-11-25", "2099-01-01", "2026-07-28, 2026-07-28"]) {
        const code = await outcome(url, "echo", { text: "hi" }, { "mcp-protocol-version": version });
        expect([version, code]).toEqual([version, -32020]);
      }
      expect(await outcome(url, "echo", { text: "hi" }, { "mcp-protocol-version": " 2026-07-28 " })).toBe("hi");
    },
  },
  {
    row: "F6",
    says: "an unsupported version is refused with the list of supported versions",
    async test() {
      const { url } = await start(createFixture().server);
      for (const version of ["2099-01-01", "2025-11-25", "DRAFT-2027"]) {
        const _meta = toMeta({ [metaKey("protocolVersion")]: version });
        const headers = { ...toHeaders("tools/list"), "mcp-protocol-version": version };
        const answer = await send(url, { headers, body: toRequest("tools/list", { _meta }, "x") });
        expect(answer.status).toBe(400);
        expect(await answer.json()).toMatchObject({
          id: "x",
          error: { code: -32022, data: { supported: ["2026-07-28"], requested: version } },
        });
      }
    },
  },
  {
    row: "F7",
    says: "a request of this version without its metadata is refused",
    async test() {
      const { url } = await start(createFixture().server);
      const { [metaKey("clientCapabilities")]: _, ...noCapabilities } = toMeta();
      for (const params of [{}, { _meta: {} }, { _meta: noCapabilities }]) {
        const answer = await send(url, {
          headers: toHeaders("tools/list"),
          body: toRequest("tools/list", params, "x"),
        });
        expect(answer.status).toBe(400);
        expect(await answer.json()).toMatchObject({ id: "x", error: { code: -32602 } });
      }
    },
  },
  {
    row: "F7",
    says: "metadata of the wrong type is refused, and clientInfo is optional",
    async test() {
      const { url } = await start(createFixture().server);
      const peer = new StatelessPeer(url);
      for (const [key, value] of [
        ["clientCapabilities", "all"],
        ["logLevel", "loud"],
      ] as const) {
        const answer = await peer.request("tools/list", { _meta: { [metaKey(key)]: value } }, "x");
        expect([key, answer.status, (await answer.json()).error?.code]).toEqual([key, 400, -32602]);
      }
      const { [metaKey("clientInfo")]: _, ...anonymous } = toMeta();
      const body = toRequest("tools/list", { _meta: anonymous });
      expect((await send(url, { headers: toHeaders("tools/list"), body })).status).toBe(200);
    },
  },
  {
    row: "F11",
    says: "a request without any version is refused without an error code of this revision",
    async test() {
      const { url } = await start(createFixture().server);
      const answer = await send(url, { headers: plainHeaders, body: toRequest("tools/list", {}, "x") });
      expect(answer.status).toBe(400);
      const { error } = await answer.json();
      expect([-32020, -32021, -32022]).not.toContain(error?.code);
    },
  },
  {
    row: "F12",
    says: "annotated arguments must be mirrored in their headers, nested ones too",
    async test() {
      const { url } = await start(createFixture().server);
      const args = { region: "eu", count: 3, dry: true, inner: { deep: "ä" } };
      const good = {
        "mcp-param-region": "eu",
        "mcp-param-count": "3",
        "mcp-param-dry": "true",
        "mcp-param-deep": encoded("ä"),
      };
      expect(await outcome(url, "routed", args, good)).toBe(JSON.stringify(args));
      for (const name of Object.keys(good)) {
        expect(await outcome(url, "routed", args, { ...good, [name]: undefined })).toBe(-32020);
        expect(await outcome(url, "routed", args, { ...good, [name]: "other" })).toBe(-32020);
        expect(
          await outcome(url, "routed", args, { ...good, [name]: [good[name as keyof typeof good], "other"] }),
        ).toBe(-32020);
      }
    },
  },
  {
    row: "F12",
    says: "headers for arguments without annotation are ignored",
    async test() {
      const { url } = await start(createFixture().server);
      expect(await outcome(url, "echo", { text: "hi" }, { "mcp-param-other": "x" })).toBe("hi");
    },
  },
  {
    row: "F14",
    says: "an absent or null argument has no header, and a header for it is refused",
    async test() {
      const { url } = await start(createFixture().server);
      expect(await outcome(url, "routed", {}, {})).toBe("{}");
      expect(await outcome(url, "routed", {}, { "mcp-param-region": "eu" })).toBe(-32020);
      expect(await outcome(url, "routed", { region: null }, { "mcp-param-region": "null" })).toBe(-32020);
    },
  },
  {
    row: "F16",
    says: "42.0 and 4.2e1 equal 42, other values do not",
    async test() {
      const { url } = await start(createFixture().server);
      for (const count of ["42", "42.0", "4.2e1"]) {
        expect(await outcome(url, "routed", { count: 42 }, { "mcp-param-count": count })).toBe('{"count":42}');
      }
      for (const count of ["43", "42.5", "0x2a", "", "42 43"]) {
        expect(await outcome(url, "routed", { count: 42 }, { "mcp-param-count": count })).toBe(-32020);
      }
    },
  },
];
