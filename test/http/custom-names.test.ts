import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { expect, test } from "vitest";

const version = "2026-07-28";
const method = "jobs/look";

const server = createServer({ name: "jobs", version: "1" }).method(method, {
  nameIn: "job",
  handle: ({ params }) => ({ of: params["job"] }),
});

async function look(params: object, name: string | undefined) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
  };
  const response = await serveHttp(server).fetch(
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": version,
        "mcp-method": method,
        ...(name !== undefined && { "mcp-name": name }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
    }),
  );
  const { result, error } = await response.json();
  return { status: response.status, of: result?.of, code: error?.code };
}

test("Mcp-Name repeats the member that a method of one's own names", async () => {
  expect(await look({ job: "a" }, "a")).toEqual({ status: 200, of: "a", code: undefined });
  expect(await look({ job: "ä" }, "=?base64?w6Q=?=")).toEqual({ status: 200, of: "ä", code: undefined });
  expect(await look({ job: "a" }, "b")).toEqual({ status: 400, of: undefined, code: -32020 });
  expect(await look({ job: "a" }, undefined)).toEqual({ status: 400, of: undefined, code: -32020 });
  // A name that the params lack is left to the check of the params.
  expect(await look({}, undefined)).toEqual({ status: 200, of: undefined, code: undefined });
});
