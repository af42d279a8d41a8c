import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "portolan/client";
import { http } from "portolan/client/http";
import { expect, onTestFinished, test } from "vitest";
import { App, calledBack } from "../authority/kit.ts";
import { freePort } from "../kit/free-port.ts";
import { pathTo } from "./example.ts";

async function startServer(): Promise<string> {
  const port = await freePort();
  const child = spawn(process.execPath, [pathTo("examples/authority/server.mjs"), String(port)]);
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill();
    await exited;
  });
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  expect(line).toBe(`Serving http://localhost:${port}/mcp\n`);
  return `http://localhost:${port}`;
}

test("keeps a note for the user who signed in", async () => {
  const origin = await startServer();
  const app = await App.register(origin);
  const wanted = { resource: `${origin}/mcp`, scope: "notes:read notes:write" };
  const page = await app.browser.open(app.authorizeUrl(wanted));
  const consent = await app.browser.press(page, "sign-in", { name: "ada", password: "lovelace" });
  const { body } = await app.redeem(calledBack(await app.browser.press(consent, "allow")).get("code") ?? "");
  const headers = { authorization: `Bearer ${body["access_token"]}` };
  const client = await connect(http(`${origin}/mcp`, { headers }));
  onTestFinished(() => client.close());
  await client.callTool("add", { text: "The engine weaves algebraic patterns" });
  expect(await client.callTool("list")).toMatchObject({ content: [{ text: "The engine weaves algebraic patterns" }] });
});
