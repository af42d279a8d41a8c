import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openConsole, refusalOf, send, Tab } from "./kit.ts";

const cinema = {
  command: process.execPath,
  args: [fileURLToPath(new URL("../../examples/apps/server.mjs", import.meta.url))],
};

test("an app is shown after consent, on an origin of its own, and asks before it acts", async () => {
  const running = await openConsole({ servers: { cinema } });
  const tab = await Tab.open(running);
  const events = await tab.events();
  const { id: call } = await tab.do("call", { server: "cinema", tool: "show_seats", argumentsText: "{}" });
  const { call: ended } = await events.next("call", (event) => event.call.end !== undefined);
  expect(ended.end?.result?.app).toEqual({ uri: "ui://cinema/seats" });
  const { id } = await tab.do("app.open", { call });
  const { question } = await events.next("question");
  expect(question).toMatchObject({ kind: "approve", action: { kind: "app", uri: "ui://cinema/seats" } });
  await tab.do("answer", { id: question.id, digest: question.digest, answer: { allow: true } });
  const { app } = await events.next("app", (event) => event.app.state === "open");
  const { hostname, port, pathname } = new URL(app.frame);
  expect(hostname).toMatch(/^[0-9a-f]{32}\.localhost$/);
  const page = await send(tab.origin, "/");
  expect(String(page.headers["content-security-policy"])).toContain(`frame-src http://*.localhost:${port};`);

  const sandbox = `http://127.0.0.1:${port}`;
  const asFrame = { host: `${hostname}:${port}`, referer: `${tab.origin}/`, "sec-fetch-dest": "iframe" };
  const frame = await send(sandbox, pathname, { headers: asFrame });
  expect(frame.status).toBe(200);
  const policy = String(frame.headers["content-security-policy"]);
  expect(policy).toContain(`frame-ancestors ${tab.origin}`);
  // The app itself has another origin than the sandbox of its server.
  const [, own = ""] = /frame-src http:\/\/([0-9a-f]{32}\.localhost):\d+;/.exec(policy) ?? [];
  expect([own === "", own === hostname]).toEqual([false, false]);
  expect((await send(sandbox, pathname, { headers: { ...asFrame, referer: "http://evil.example/" } })).status).toBe(
    403,
  );
  for (const host of [`127.0.0.1:${port}`, "evil.example"]) {
    expect((await send(sandbox, pathname, { headers: { ...asFrame, host } })).status).toBe(421);
  }
  expect(
    (await send(sandbox, "/api/found", { method: "POST", headers: { ...tab.headers, host: asFrame.host } })).status,
  ).toBe(404);

  const post = (message: object) => tab.do("app.message", { id, message: { jsonrpc: "2.0", ...message } });
  await post({ method: "ui/notifications/sandbox-proxy-ready", params: {} });
  const { message: ready } = await events.next("app-message");
  expect(ready).toMatchObject({ method: "ui/notifications/sandbox-resource-ready" });
  expect(JSON.stringify(ready)).toContain("<!doctype html>");
  const appInfo = { name: "seats", version: "1.0.0" };
  const params = { protocolVersion: "2026-01-26", appInfo, appCapabilities: {} };
  await post({ id: 1, method: "ui/initialize", params });
  const { message: answer } = await events.next("app-message");
  expect(answer).toMatchObject({ id: 1, result: { hostInfo: {} } });
  await post({ method: "ui/notifications/initialized", params: {} });
  await events.next("app-message", (event) => event.message["method"] === "ui/notifications/tool-result");
  await post({ method: "ui/notifications/size-changed", params: { height: 99_999 } });
  expect((await events.next("app", (event) => event.app.height !== undefined)).app.height).toBe(4_000);

  const booking = { name: "book_seat", arguments: { film: "Metropolis", seat: "C1" } };
  await post({ id: 2, method: "tools/call", params: booking });
  const { question: booked } = await events.next("question");
  expect(booked).toMatchObject({ kind: "approve", by: "app", action: { kind: "tool", tool: "book_seat" } });
  await tab.do("answer", { id: booked.id, digest: booked.digest, answer: { allow: true } });
  const { message: result } = await events.next("app-message", (event) => event.message["id"] === 2);
  expect(JSON.stringify(result)).toContain("C1");
  const { call: record } = await events.ever(
    "call",
    (event) => event.call.by === "app" && event.call.end !== undefined,
  );
  expect(record).toMatchObject({ tool: "book_seat", end: { how: "done" } });

  await tab.do("app.close", { id });
  expect((await events.next("app", (event) => event.app.state === "stopped")).app.frame).toBe("");
  expect((await send(sandbox, pathname, { headers: asFrame })).status).toBe(404);
});

test("a call without an app, or with an unknown one, opens nothing", async () => {
  const tab = await Tab.open(await openConsole({ servers: { cinema } }));
  expect((await refusalOf(tab.do("app.open", { call: "none" }))).error.code).toBe("not-found");
  expect((await refusalOf(tab.do("app.message", { id: "none", message: {} }))).error.code).toBe("not-found");
});
