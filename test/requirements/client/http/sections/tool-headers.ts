import type { ServerResponse } from "node:http";
import type { JsonObject } from "portolan";
import { expect } from "vitest";
import { type RawServer, reasonOf, resultOf, type Seen, sendJson } from "../../../../http-client/kit.ts";
import type { RevisionDate } from "../../../../kit/revisions.ts";
import { open, requestsOf, serve } from "../kit.ts";
import type { HttpRequirement } from "../requirement.ts";

const annotated = (type: string, name: unknown) => ({ type, "x-mcp-header": name });
const schemaOf = (properties: JsonObject) => ({ type: "object", properties });
const mismatch = { code: -32020, message: "Mcp-Param-Region: expected a value" };

/** Starts a server with these tools; it may refuse calls. */
function serveTools(
  revision: RevisionDate,
  schemas: { readonly [name: string]: JsonObject },
  isRefused: (seen: Seen) => boolean = () => false,
): Promise<RawServer> {
  const tools = Object.entries(schemas).map(([name, inputSchema]) => ({ name, inputSchema }));
  return serve(revision, {
    first: (seen, response: ServerResponse) => {
      const { message } = seen;
      if (message.method === "tools/list") {
        const list = { resultType: "complete", ttlMs: 0, cacheScope: "private", tools };
        sendJson(response, 200, resultOf(message, list));
      } else if (message.method === "tools/call" && isRefused(seen)) {
        sendJson(response, 400, { jsonrpc: "2.0", id: message.id, error: mismatch });
      } else return false;
      return true;
    },
  });
}

const paramsOf = ({ headers }: Seen) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("mcp-param-")));

export const toolHeaders: readonly HttpRequirement[] = [
  {
    row: "C-F12",
    says: "strings, integers and booleans are mirrored, also nested ones, and encoded if necessary",
    async test(revision) {
      const deploy = schemaOf({
        region: annotated("string", "Region"),
        size: annotated("integer", "Size"),
        at: schemaOf({ once: annotated("boolean", "Once") }),
        note: { type: "string" },
      });
      const server = await serveTools(revision, { deploy });
      const client = await open(server, revision);
      await client.listTools();
      await client.callTool("deploy", { region: "Österreich", size: 42, at: { once: false }, note: "n" });
      const [call] = requestsOf(server, "tools/call") as [Seen];
      expect(paramsOf(call)).toEqual({
        "mcp-param-region": "=?base64?w5ZzdGVycmVpY2g=?=",
        "mcp-param-size": "42",
        "mcp-param-once": "false",
      });
    },
  },
  {
    row: "C-F13",
    says: "tools with wrong types, names or positions or repeated names are dropped and reported",
    async test(revision) {
      const errors: string[] = [];
      const server = await serveTools(revision, {
        good: schemaOf({ a: annotated("string", "A") }),
        number: schemaOf({ a: annotated("number", "A") }),
        injected: schemaOf({ a: annotated("string", "A\r\nX: 1") }),
        twice: schemaOf({ a: annotated("string", "A"), b: annotated("string", "a") }),
        inside: schemaOf({ a: { type: "array", items: annotated("string", "A") } }),
        plain: schemaOf({ a: { type: "string" } }),
      });
      const client = await open(server, revision, {}, { onError: ({ message }) => errors.push(message) });
      expect((await client.listTools()).map(({ name }) => name)).toEqual(["good", "plain"]);
      expect(errors).toHaveLength(4);
    },
  },
  {
    row: "C-F14",
    says: "null and absent arguments have no header, other arguments of the tool have theirs",
    async test(revision) {
      const schema = schemaOf({
        a: annotated("string", "A"),
        b: annotated("string", "B"),
        c: annotated("string", "C"),
      });
      const server = await serveTools(revision, { x: schema });
      const client = await open(server, revision);
      await client.listTools();
      await client.callTool("x", { a: null, c: "" });
      const [call] = requestsOf(server, "tools/call") as [Seen];
      expect(Object.keys(paramsOf(call))).toEqual(["mcp-param-c"]);
    },
  },
  {
    row: "C-F15",
    says: "a header mismatch fetches tools/list and retries the call with the required headers",
    async test(revision) {
      const schema = schemaOf({ region: annotated("string", "Region") });
      const server = await serveTools(revision, { deploy: schema }, (seen) => Object.keys(paramsOf(seen)).length === 0);
      const client = await open(server, revision);
      await client.callTool("deploy", { region: "eu" });
      expect(server.seen.map(({ message }) => message.method).slice(1)).toEqual([
        "tools/call",
        "tools/list",
        "tools/call",
      ]);
    },
  },
  {
    row: "C-F4",
    says: "a header mismatch rejects a tool call after one retry",
    async test(revision) {
      const server = await serveTools(revision, {}, () => true);
      const client = await open(server, revision);
      expect(await reasonOf(client.callTool("deploy"))).toMatchObject({ code: -32020 });
      expect(requestsOf(server, "tools/call")).toHaveLength(2);
    },
  },
];
