import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "portolan";
import type { Servable } from "portolan/server";
import { connectInMemory } from "portolan/testing";
import { createEverything } from "portolan-everything";
import { expect } from "vitest";
import { runApp, showApp } from "../../apps/browser/run.ts";
import { appWith, openStage } from "../../apps/browser/stage.ts";
import type { Requirement } from "./requirement.ts";

/** Requirements on the page and the sandbox, in a real browser. */
export const browserRequirements: readonly Requirement[] = [
  {
    row: "X84",
    says: "the frame follows the height that the app asks for, up to a bound",
    async test() {
      const stage = await openStage();
      const size = (params: object) =>
        `post({ method: "ui/notifications/size-changed", params: ${JSON.stringify(params)} });`;
      await runApp(stage, `${size({ height: 321.4, width: 5_000 })} await call("ping");`);
      const box = () => stage.page.locator("iframe").boundingBox();
      expect(await box()).toMatchObject({ height: 322, width: 400 });
      await runAgain(stage, size({ height: 1e9 }), { height: 4_000 });
    },
  },
  {
    row: "X87",
    says: "the apps of our servers say what they have, and show the result in another mode, whatever came before it",
    async test() {
      const seats = readFileSync(join(import.meta.dirname, "../../../examples/apps/seats.html"), "utf8");
      const hall = { film: "Metropolis", rows: ["A"], seatsPerRow: 2, booked: ["A2"] };
      const measured = { place: { name: "Porto" }, celsius: [12, 18] };
      for (const [html, structuredContent, text] of [
        [seats, hall, "Metropolis"],
        [await documentOf(createEverything(), "ui://everything/measure"), measured, "Porto"],
      ] as const) {
        const stage = await openStage();
        await showApp(stage, { html, isBare: true, surroundings: { displayMode: "fullscreen" } });
        await stage.page.waitForFunction(() => window.shown.session.state === "ready");
        const [started] = (await stage.page.evaluate(() => window.log())).filter(isInitialize);
        expect(started?.params).toMatchObject({ appCapabilities: { availableDisplayModes: ["inline"], tools: {} } });
        await stage.page.evaluate((content) => {
          const { session } = window.shown;
          session.sendPartialInput({ film: "Metro", place: 5, nothing: null });
          session.sendInput({});
          session.sendResult({ content: [], structuredContent: content });
        }, structuredContent as JsonObject);
        const app = stage.page.frameLocator("iframe").frameLocator("iframe");
        await app.getByText(text, { exact: true }).waitFor();
        expect(stage.console).toEqual([]);
      }
    },
  },
  {
    row: "X90",
    says: "the app has no origin, and stands in a frame of another origin than the page",
    async test() {
      const stage = await openStage();
      const tries = await runApp(
        stage,
        `await attempt("origin", () => window.origin);
         await attempt("depth", () => [parent !== window, parent !== top, parent.parent === top].join());`,
      );
      expect(tries).toEqual({ origin: "null", depth: "true,true,true" });
      const frame = stage.page.locator("iframe");
      expect(await frame.getAttribute("sandbox")).toBe("allow-scripts allow-same-origin allow-forms");
      const source = new URL((await frame.getAttribute("src")) ?? "");
      expect(source.origin).toBe(stage.sandbox);
      expect(source.origin).not.toBe(stage.origin);
      const inner = stage.page.frameLocator("iframe").locator("iframe");
      expect(await inner.getAttribute("sandbox")).toBe("allow-scripts allow-forms");
    },
  },
  {
    row: "X91",
    says: "the proxy loads the document once it has announced itself, and passes messages on in both directions",
    async test() {
      const stage = await openStage();
      const tries = await runApp(
        stage,
        `const list = () => received.filter((one) => one.method).map((one) => one.method);
         await call("ping");
         await attempt("received", () => list().join());
         await attempt("input", () => JSON.stringify(received.find((one) => one.method === "ui/notifications/tool-input").params));
         post({ method: "ui/notifications/sandbox-own", params: {} });
         await call("ping");`,
      );
      const received = (tries["received"] ?? "").split(",");
      expect(received[0]).toBe("ui/notifications/tool-input");
      expect(tries["input"]).toBe('{"arguments":{"a":1}}');
      expect(JSON.stringify(await stage.page.evaluate(() => window.log()))).not.toContain("sandbox-own");
      // The proxy asks for nothing itself.
      const requests = await stage.page.frames()[1]?.evaluate(() => performance.getEntriesByType("resource").length);
      expect(requests).toBe(0);
    },
  },
  {
    row: "X92",
    says: "declared origins are reached, in the policy that is a header of the proxy",
    async test() {
      const stage = await openStage();
      const answered = stage.page.waitForResponse((response) => response.url().startsWith(stage.sandbox));
      const allowed = `${stage.outside}/allowed`;
      const csp = { connectDomains: [stage.outside], resourceDomains: [stage.outside], frameDomains: [stage.outside] };
      const tries = await runApp(
        stage,
        `const load = (tag, members) => new Promise((resolve) => {
           const element = Object.assign(document.createElement(tag), members);
           element.onload = () => resolve("loaded");
           element.onerror = () => resolve("blocked");
           document.head.append(element);
         });
         await attempt("fetch", async () => (await fetch("${allowed}")).status);
         await attempt("script", () => load("script", { src: "${allowed}.js" }));
         await attempt("frame", () => new Promise((resolve) => {
           document.body.append(Object.assign(document.createElement("iframe"), { src: "${allowed}", onload: () => resolve("loaded") }));
         }));
         await attempt("data", () => load("img", { src: "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==" }));
         await attempt("inline", () => new Function("return 1"));`,
        { ui: { csp } },
      );
      expect(tries).toEqual({
        ...{ fetch: "200", script: "loaded", frame: "loaded", data: "loaded", inline: "failed: EvalError" },
      });
      const policy = (await answered).headers()["content-security-policy"] ?? "";
      expect(policy).toContain(`connect-src ${stage.outside};`);
      expect(policy).toContain(`script-src 'self' 'unsafe-inline' ${stage.outside};`);
      expect(policy).toContain(`frame-src ${stage.outside};`);
      expect(policy).toContain("object-src 'none'");
      expect(policy).toContain(`frame-ancestors ${stage.origin}`);
    },
  },
  {
    row: "X93",
    says: "declared permissions are those of the frame, and no others",
    async test() {
      const stage = await openStage();
      const tries = await runApp(
        stage,
        `for (const one of ["camera", "clipboard-write", "microphone", "geolocation"]) {
           await attempt(one, () => document.featurePolicy.allowsFeature(one));
         }`,
        { ui: { permissions: { camera: {}, clipboardWrite: {}, usb: {} } } },
      );
      expect(tries).toEqual({ camera: "true", "clipboard-write": "true", microphone: "false", geolocation: "false" });
      expect(await stage.page.locator("iframe").getAttribute("allow")).toBe("camera *; clipboard-write *");
    },
  },
  {
    row: "X94",
    says: "undeclared connections are blocked, and declared ones are in the question and in the log",
    async test() {
      const stage = await openStage();
      const tries = await runApp(stage, `await attempt("fetch", () => fetch("${stage.outside}/secret"));`, {
        ui: { csp: { connectDomains: ["https://api.example.com"] } },
      });
      expect(tries).toEqual({ fetch: "failed: TypeError" });
      expect(stage.heard).toEqual([]);
      const asked = JSON.stringify(await stage.page.evaluate(() => window.shown.asked));
      expect(asked).toContain("It connects to https://api.example.com.");
      const [opened] = await stage.page.evaluate(() => window.log());
      expect(opened).toMatchObject({ method: "open", csp: { connectDomains: ["https://api.example.com"] } });
    },
  },
];

interface LoggedInitialize {
  readonly params: JsonObject;
}

function isInitialize(entry: unknown): entry is LoggedInitialize {
  const { method, params } = entry as JsonObject;
  return method === "ui/initialize" && params !== undefined;
}

/** Returns the document of an app as its server sends it. */
async function documentOf(server: Servable, uri: string): Promise<string> {
  const client = await connectInMemory(server);
  const { contents } = await client.readResource(uri);
  const [content] = contents;
  return content && "text" in content ? content.text : "";
}

async function runAgain(
  stage: Awaited<ReturnType<typeof openStage>>,
  script: string,
  expected: { height: number },
): Promise<void> {
  await stage.page.evaluate(() => window.shown.session.close());
  await showApp(stage, { html: appWith(script) });
  await expect.poll(() => stage.page.locator("iframe").boundingBox()).toMatchObject(expected);
}
