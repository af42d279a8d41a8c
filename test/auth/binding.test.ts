import { protect } from "portolan/auth/server";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { expect, onTestFinished, test } from "vitest";
import { send } from "../http/kit.ts";
import { toHeaders, toMeta } from "../http/peer.ts";
import { TestIssuer } from "./issuer.ts";

const resource = "https://mcp.example.com/mcp";

async function startAsking() {
  const issuer = await TestIssuer.start(resource);
  const told: unknown[] = [];
  const server = createServer({ name: "asking", version: "1.0.0" })
    .tool("ask", {
      run: async (_, ctx) => ((await ctx.confirm("sure", "Are you sure?")) ? "done" : ctx.cancelled()),
    })
    .tool("look", {
      run: (_, { principal }) => {
        told.push(principal);
        return "seen";
      },
    });
  const serving = serveHttp(server, { auth: protect({ resource, issuers: [issuer.url] }) });
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen();
  const call = async (token: string, name: string, more: object = {}) => {
    const meta = toMeta({}, { elicitation: {} });
    const params = { name, arguments: {}, ...more, _meta: meta };
    const headers = { ...toHeaders("tools/call", name), authorization: `Bearer ${token}` };
    const answer = await send(url, { headers, body: { jsonrpc: "2.0", id: 1, method: "tools/call", params } });
    return answer.json();
  };
  return { issuer, call, told };
}

test("a parked call continues for its own caller only", async () => {
  const { issuer, call } = await startAsking();
  const ada = await issuer.token();
  const { result } = await call(ada, "ask");
  expect(result).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
  const [question = ""] = Object.keys(result.inputRequests);
  const { requestState } = result;
  const inputResponses = { [question]: { action: "accept", content: { confirmed: true } } };
  const more = { inputResponses, requestState };
  for (const claims of [{ sub: "bob" }, { client_id: "other" }]) {
    const answer = await call(await issuer.token({ claims }), "ask", more);
    expect(answer).toMatchObject({ error: { code: -32602 } });
  }
  expect(await call(await issuer.token(), "ask", more)).toMatchObject({ result: { content: [{ text: "done" }] } });
});

test("handlers get the claims of a token, but not the token", async () => {
  const { issuer, call, told } = await startAsking();
  const token = await issuer.token({ claims: { email: "ada@example.com" } });
  await call(token, "look");
  expect(told).toMatchObject([{ subject: "ada", claims: { email: "ada@example.com" } }]);
  expect(JSON.stringify(told)).not.toContain(token);
});
