import { sandboxHandler } from "portolan-host/apps/sandbox";
import { expect, test } from "vitest";
import { startChromiumWithPartitions } from "../../browser/chromium.ts";
import { runApp } from "./run.ts";
import { openStage } from "./stage.ts";

const stores = `
  await attempt("before", () => localStorage.getItem("seat"));
  await attempt("stored", () => localStorage.setItem("seat", "C1"));
  await attempt("database", () => new Promise((resolve, reject) => {
    const opening = indexedDB.open("seats");
    opening.onsuccess = () => resolve(opening.result.name);
    opening.onerror = () => reject(opening.error);
  }));`;

test("an app with an origin of its own finds again what it stored, and no other app does", async () => {
  const stage = await openStage(startChromiumWithPartitions);
  const closeApp = () => stage.page.evaluate(() => window.shown.session.close());
  expect(await runApp(stage, stores, { own: "seats" })).toEqual({
    before: "null",
    stored: "undefined",
    database: "seats",
  });
  await closeApp();
  expect(await runApp(stage, stores, { own: "seats" })).toEqual({
    before: "C1",
    stored: "undefined",
    database: "seats",
  });
  await closeApp();
  expect(await runApp(stage, stores, { own: "flights" })).toEqual({
    before: "null",
    stored: "undefined",
    database: "seats",
  });
});

test("an app with an origin of its own reads nothing of its host, of its sandbox or of another app", async () => {
  const stage = await openStage();
  await stage.page.context().addCookies([{ name: "own", value: "sandbox", url: stage.sandbox }]);
  const tries = await runApp(
    stage,
    `await attempt("cookie", () => document.cookie || "none");
     await attempt("parent", () => parent.document.body.innerHTML);
     await attempt("script", () => parent.eval("1"));
     await attempt("navigate", () => { parent.location = "${stage.outside}/navigate"; });
     await attempt("top", () => top.document.cookie);
     await attempt("frame", () => window.frameElement.id);
     await attempt("sandbox", () => fetch("${stage.sandbox}/"));
     await attempt("host", () => fetch("${stage.origin}/page.js", { credentials: "include" }));
     await attempt("serviceWorker", () => navigator.serviceWorker.register("/x.js"));
     await attempt("worker", () => new Promise((resolve, reject) => { const worker = new Worker(location.pathname); worker.onerror = reject; worker.onmessage = resolve; }));
     document.cookie = "all=1; domain=localhost";
     await attempt("wide cookie", () => document.cookie || "none");`,
    { own: "seats" },
  );
  const { cookie, frame, "wide cookie": wide, worker, ...others } = tries;
  expect([cookie, frame, wide]).toEqual(["none", "failed: TypeError", "none"]);
  expect(worker).toBe("failed: undefined");
  expect(Object.values(others).filter((value) => !value.startsWith("failed"))).toEqual([]);
  expect(stage.heard).toEqual([]);
});

test("an app has no origin where the browser does not find its own", async () => {
  const stage = await openStage();
  // No host has a label of 64 characters.
  const tries = await runApp(stage, `await attempt("origin", () => window.origin);`, { own: "a".repeat(64) });
  expect(tries).toEqual({ origin: "null" });
});

test("the frame of an app is served on its own origin alone, to its sandbox alone, and as long as the app", async () => {
  const host = "https://host.example";
  const origins = { app: "https://a.apps.example", sandbox: "https://apps.example" };
  const handler = sandboxHandler({ hosts: [host], maxApps: 2 });
  const page = handler.add({ permissions: [] }, origins);
  const get = (address: string, referer: string) => handler.fetch(new Request(address, { headers: { referer } }));
  const proxy = get(`${origins.sandbox}${page.path}`, `${host}/`);
  expect(proxy.headers.get("content-security-policy")).toContain(`frame-src ${origins.app};`);
  const frame = /"(https:[^"]*\/frame\/\w+)"/.exec(await proxy.text())?.[1] ?? "";
  expect(new URL(frame).origin).toBe(origins.app);
  const served = get(frame, `${origins.sandbox}/`);
  expect(served.headers.get("content-security-policy")).toContain(`frame-ancestors ${origins.sandbox} ${host}`);
  const { pathname } = new URL(frame);
  expect([
    served.status,
    get(`${origins.sandbox}${pathname}`, `${origins.sandbox}/`).status,
    get(`https://b.apps.example${pathname}`, `${origins.sandbox}/`).status,
    get(`${origins.app}${page.path}`, `${host}/`).status,
    get(frame, `${host}/`).status,
    get(frame, `${origins.app}/`).status,
  ]).toEqual([200, 421, 421, 421, 403, 403]);
  page.remove();
  expect([get(frame, `${origins.sandbox}/`).status, get(`${origins.sandbox}${page.path}`, `${host}/`).status]).toEqual([
    404, 404,
  ]);
});

test.each([
  [{ app: "https://apps.example", sandbox: "https://apps.example" }, /different origins/],
  [{ app: "https://host.example", sandbox: "https://apps.example" }, /different origins/],
  [{ app: "https://a.apps.example", sandbox: "https://host.example" }, /different origins/],
  [{ app: "https://a.apps.example/path", sandbox: "https://apps.example" }, /app: expected an origin/],
  [{ app: "https://a.apps.example", sandbox: "*" }, /sandbox: expected an origin/],
])("the origins %j are refused", (origins, problem) => {
  const handler = sandboxHandler({ hosts: ["https://host.example"] });
  expect(() => handler.add({ permissions: [] }, origins)).toThrow(problem);
});
