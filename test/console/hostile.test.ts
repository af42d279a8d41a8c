import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { scriptedModel } from "portolan-host/models";
import { describe, expect, test } from "vitest";
import { oldServer, Tab } from "./kit.ts";
import { checkWidth, question, say } from "./page.ts";
import { goPlace, sharePage, startSite } from "./shared-page.ts";

const shared = sharePage(
  "--host-resolver-rules=MAP evil.example 127.0.0.1",
  // The browser would refuse some of these requests by itself, but others do not.
  "--disable-features=LocalNetworkAccessChecks",
);

const types = ["application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""];

/** An answer of a console to a page, also one that the browser keeps from it. */
interface Answer {
  readonly path: string;
  readonly status: number;
}

/** Records the answers that a console gives to a page. */
async function answersTo(page: Page, origin: string): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  const urls = new Map<string, URL>();
  const statuses = new Map<string, number>();
  const add = (id: string) => {
    const [url, status] = [urls.get(id), statuses.get(id)];
    if (url?.origin === origin && status !== undefined) answers.push({ path: url.pathname, status });
  };
  const protocol = await page.context().newCDPSession(page);
  protocol.on("Network.requestWillBeSent", ({ requestId, request }) => {
    urls.set(requestId, new URL(request.url));
    add(requestId);
  });
  protocol.on("Network.responseReceivedExtraInfo", ({ requestId, statusCode }) => {
    statuses.set(requestId, statusCode);
    add(requestId);
  });
  await protocol.send("Network.enable");
  return answers;
}

describe.each([
  ["another port of this machine", (port: number) => `http://127.0.0.1:${port}/`],
  ["another site", (port: number) => `http://evil.example:${port}/`],
])("a page of %s", (_, addressOf) => {
  test("sends nothing that counts and reads nothing, also with the session of a person", async () => {
    const running = await shared.start({ servers: { it: oldServer } });
    const tab = await Tab.open(running);
    const page = await shared.window();
    const site = await startSite();
    await page.goto(addressOf(site.port));
    const answers = await answersTo(page, running.origin);
    const read = await page.evaluate(
      async ({ origin, session, types }) => {
        const read: string[] = [];
        const body = JSON.stringify({ request: "a".repeat(32), theme: "dark" });
        const attempt = async (path: string, options: RequestInit) => {
          try {
            const response = await fetch(`${origin}${path}`, options);
            if (response.type !== "opaque") read.push(`${path} ${response.status} ${await response.text()}`);
          } catch {
            // The browser keeps the answer from the page.
          }
        };
        for (const given of [{}, { "portolan-session": session, "portolan-api": "1" }]) {
          for (const type of types) {
            const headers = { ...given, ...(type === "" ? {} : { "content-type": type }) };
            for (const mode of ["cors", "no-cors"] as const) {
              await attempt("/api/settings.change", { method: "POST", mode, headers, body, credentials: "include" });
            }
          }
          for (const mode of ["cors", "no-cors"] as const) {
            await attempt("/api/events", { mode, headers: given });
            await attempt("/", { mode, headers: given });
          }
        }
        navigator.sendBeacon(`${origin}/api/settings.change`, new Blob([body], { type: "text/plain" }));
        const events = new EventSource(`${origin}/api/events`);
        await new Promise<void>((resolve) => {
          events.onerror = () => resolve();
          events.onopen = () => {
            read.push("events");
            resolve();
          };
        });
        events.close();
        await new Promise<void>((resolve) => {
          const script = document.createElement("script");
          script.src = `${origin}/app.js`;
          script.onerror = () => resolve();
          script.onload = () => {
            read.push("script");
            resolve();
          };
          document.head.append(script);
        });
        return read;
      },
      { origin: running.origin, session: tab.session, types },
    );
    expect(read).toEqual([]);
    const reached = answers.filter(({ path }) => path.startsWith("/api/"));
    expect(reached.length).toBeGreaterThan(0);
    expect(reached.filter(({ status }) => status < 400)).toEqual([]);
    // A form may be sent to anywhere, and its answer replaces the page.
    for (const enctype of types.slice(1, 4)) {
      await page.goto(addressOf(site.port));
      const sent = page.waitForResponse((response) => response.url().includes("settings.change"));
      await page.evaluate(
        ({ action, enctype }) => {
          const form = document.createElement("form");
          Object.assign(form, { method: "POST", action, enctype });
          const field = document.createElement("input");
          Object.assign(field, { name: '{"theme":"dark","x":"', value: '"}' });
          form.append(field);
          document.body.append(form);
          form.submit();
        },
        { action: `${running.origin}/api/settings.change`, enctype },
      );
      expect((await sent).status()).toBe(403);
      await page.waitForURL(`${running.origin}/api/settings.change`);
    }
    expect((await (await tab.events()).state()).settings.theme).toBe("system");
  });

  test("shows the console in no frame, and the launch address in it is not spent", async () => {
    const running = await shared.start({});
    const launch = running.openAddress();
    const page = await shared.window();
    const site = await startSite();
    await page.goto(addressOf(site.port));
    const answers = await answersTo(page, running.origin);
    const looks = await page.evaluate(async (launch) => {
      const loaded = (["iframe", "embed", "object"] as const).map(
        (name) =>
          new Promise<void>((resolve) => {
            const element = document.createElement(name);
            element.onload = () => resolve();
            element.onerror = () => resolve();
            if (element instanceof HTMLObjectElement) element.data = launch;
            else element.src = launch;
            document.body.append(element);
          }),
      );
      await loaded[0];
      return frames.length;
    }, launch);
    expect(looks).toBeGreaterThan(0);
    for (const frame of page.frames().slice(1)) expect(frame.url()).not.toContain(running.origin);
    expect(answers.filter(({ path }) => path.startsWith("/api/") || path.endsWith(".js"))).toEqual([]);
    const own = await shared.window();
    await own.goto(launch);
    await own.getByRole("textbox", { name: "Message to the model" }).waitFor();
  });

  test("has no hold on a console that it opens, and its messages are heard by nobody", async () => {
    const running = await shared.start({ servers: { it: oldServer } });
    const problems: string[] = [];
    const person = await shared.open(running, problems);
    const session = await person.evaluate(() => sessionStorage.getItem("portolan-session"));
    const stranger = await person.context().newPage();
    const site = await startSite();
    await stranger.goto(addressOf(site.port));
    const opening = person.context().waitForEvent("page");
    const heard = await stranger.evaluateHandle((origin) => {
      const heard: unknown[] = [];
      for (const name of ["portolan-session", "portolan-events"]) {
        const channel = new BroadcastChannel(name);
        channel.onmessage = ({ data }) => heard.push(data);
        channel.postMessage({ kind: "ask" });
        channel.postMessage({ kind: "give", session: "stranger" });
        channel.postMessage({ kind: "link", state: "lost", reason: "A stranger says so." });
      }
      addEventListener("message", ({ data }) => heard.push(data));
      const opened = open(`${origin}/#launch=1-guessed.guessed`, "console");
      (globalThis as never as { opened: unknown }).opened = opened;
      return heard;
    }, running.origin);
    const opened = await opening;
    await opened.waitForURL((url) => url.origin === running.origin);
    // A window of the same browser gets the session from the tab of the person, and not from the stranger.
    await opened.getByRole("textbox", { name: "Message to the model" }).waitFor();
    expect(await opened.evaluate(() => [opener, sessionStorage.getItem("portolan-session")])).toEqual([null, session]);
    const hold = await stranger.evaluate(() => {
      const { opened } = globalThis as never as { opened: Window | null };
      opened?.postMessage({ kind: "give", session: "stranger" }, "*");
      opened?.postMessage({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo" } }, "*");
      return opened?.closed ?? true;
    });
    expect(hold).toBe(true);
    for (const page of [person, opened]) {
      expect(await page.getByText("A stranger says so").count()).toBe(0);
      expect(await page.evaluate(() => sessionStorage.getItem("portolan-session"))).toBe(session);
    }
    expect(await heard.jsonValue()).toEqual([]);
    expect(problems).toEqual([]);
  });

  test("leads to a place of the console, where nothing happens by itself", async () => {
    const running = await shared.start({ servers: { it: oldServer } });
    const problems: string[] = [];
    const person = await shared.open(running, problems);
    const tab = await Tab.open(running);
    const stranger = await person.context().newPage();
    const site = await startSite();
    await stranger.goto(addressOf(site.port));
    await stranger.evaluate((address) => {
      location.href = address;
    }, `${running.origin}/?run=1#/inspect/it/try/tool/echo?run=1&arguments=%7B%7D`);
    await stranger.getByRole("heading", { name: "echo", exact: true }).waitFor();
    const { calls, questions } = await (await tab.events()).state();
    expect([calls, questions]).toEqual([[], []]);
  });
});

test("a name that leads to this machine is refused, although its page is of one origin with it", async () => {
  const running = await shared.start({});
  const { port } = new URL(running.origin);
  const tab = await Tab.open(running);
  const page = await shared.window();
  const answer = await page.goto(`http://evil.example:${port}/`);
  expect(answer?.status()).toBe(421);
  // The page of the stranger came before its name led here.
  await page.route("**/", (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html>" }));
  await page.goto(`http://evil.example:${port}/`);
  const statuses = await page.evaluate(async (session) => {
    const headers = { "portolan-session": session, "portolan-api": "1", "content-type": "application/json" };
    const posted = await fetch("/api/found", { method: "POST", headers, body: "{}" });
    const events = await fetch("/api/events", { headers });
    const script = await fetch("/app.js");
    return [posted.status, events.status, script.status];
  }, tab.session);
  expect(statuses).toEqual([421, 421, 421]);
});

test("a launch address that was stolen opens nothing after its first use", async () => {
  const running = await shared.start({});
  const launch = running.openAddress();
  const person = await shared.window();
  await person.goto(launch);
  await person.getByRole("textbox", { name: "Message to the model" }).waitFor();
  expect(person.url()).not.toContain("launch");
  const thief = await shared.window();
  await thief.goto(launch);
  await thief.getByRole("heading", { name: "Open the console" }).waitFor();
  expect(await thief.evaluate(() => ({ ...sessionStorage, ...localStorage }))).toEqual({});
  expect(await thief.context().cookies()).toEqual([]);
});

/** Records what the policy of the page stops. */
async function recordViolations(page: Page): Promise<() => Promise<readonly string[]>> {
  await page.addInitScript(() => {
    const stopped: string[] = [];
    Object.assign(globalThis, { stopped });
    addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sourceFile, lineNumber }) =>
      stopped.push(`${violatedDirective} ${blockedURI} ${sourceFile}:${lineNumber}`),
    );
  });
  return () => page.evaluate(() => (globalThis as never as { stopped: string[] }).stopped);
}

test("the policy stops scripts and addresses, and a whole journey never meets it", async () => {
  const site = await startSite();
  const running = await shared.start({
    servers: { it: { ...oldServer, trustHints: false } },
    model: scriptedModel([
      { say: "I **add**: `1 + 2`\n\n```js\nconst a = 1;\n```\n", call: { name: "it__add", input: { a: 1, b: 2 } } },
      { say: "That is all." },
    ]),
  });
  const page = await shared.window();
  const stopped = await recordViolations(page);
  await page.goto(running.openAddress());
  await page.getByRole("textbox", { name: "Message to the model" }).waitFor();
  await say(page, "Add");
  await question(page).getByRole("button", { name: "Allow once" }).click();
  await page.getByText("That is all.").waitFor();
  await goPlace(page, "inspect/it/try/tool/mixed");
  await page.getByRole("button", { name: "JSON", exact: true }).click();
  await page.getByRole("textbox", { name: /as JSON/ }).fill("{}");
  await page.getByRole("button", { name: /^Run/ }).first().click();
  await page.getByRole("heading", { name: "What the model sees" }).waitFor();
  for (const place of ["timeline", "log", "recordings", "saved", "sign-in", "doctor"]) {
    await goPlace(page, `inspect/it/${place}`);
    await page.locator(".main :is(h1, h2, h3)").first().waitFor();
  }
  await goPlace(page, "activity");
  await page.getByRole("heading", { name: "Activity" }).waitFor();
  expect(await stopped()).toEqual([]);
  const thrown = await page.evaluate(async (address) => {
    const thrown: string[] = [];
    const attempt = async (work: () => unknown) => {
      try {
        await work();
        thrown.push("nothing");
      } catch (error) {
        thrown.push((error as Error).name);
      }
    };
    await attempt(() => Object.assign(document.createElement("div"), { innerHTML: "<b>" }));
    await attempt(() => Object.assign(document.createElement("script"), { text: "1" }));
    await attempt(() =>
      (
        globalThis as never as { trustedTypes: { createPolicy(name: string, rules: object): void } }
      ).trustedTypes.createPolicy("mine", {}),
    );
    await attempt(() => fetch(`${address}/fetched`));
    await attempt(
      () =>
        new Promise((resolve, reject) => {
          const image = new Image();
          image.onload = resolve;
          image.onerror = () => reject(new Error());
          image.src = `${address}/image`;
        }),
    );
    return thrown;
  }, site.origin);
  expect(thrown).toEqual(["TypeError", "TypeError", "TypeError", "TypeError", "Error"]);
  expect((await stopped()).length).toBeGreaterThanOrEqual(4);
  expect(site.asked).toEqual([]);
});

describe("a server whose every word is an attack", () => {
  /** A console with that server; `check` fails if anything of it ran, was fetched, or is in the page as it is. */
  async function openHostile(width: number, calls: readonly string[]) {
    const site = await startSite();
    const hostile = {
      command: process.execPath,
      args: [fileURLToPath(new URL("hostile-server.mjs", import.meta.url)), site.origin],
      era: "2025-11-25" as const,
      trustHints: false,
    };
    const problems: string[] = [];
    const attack = `<img src="${site.origin}/model" onerror="globalThis.hasRun=true"> ![p](${site.origin}/model.png) [x](javascript:globalThis.hasRun=true)`;
    const running = await shared.start({
      servers: { it: hostile, refuses: { ...hostile, args: [...hostile.args, "refuse"] } },
      model: scriptedModel(
        calls.flatMap((name) => [{ call: { name: `it__${name}`, input: {} } }, { say: `That is all. ${attack}` }]),
      ),
    });
    const page = await shared.open(running, problems, { viewport: { width, height: 800 } });
    const check = async () => {
      await checkWidth(page);
      const found = await page.evaluate(() => {
        const hidden = /[\u202a-\u202e\u2066-\u2069\u200b]|\u{e0041}/u;
        const found: string[] = [];
        if ("hasRun" in globalThis) found.push("a script has run");
        for (const element of document.querySelectorAll("#app *")) {
          if (["IFRAME", "SCRIPT", "STYLE", "OBJECT", "EMBED"].includes(element.tagName)) found.push(element.outerHTML);
          for (const { name, value } of element.attributes) {
            if (/^on/.test(name)) found.push(`${element.tagName} ${name}`);
            if (/^(href|src|action)$/.test(name) && /^\s*(javascript|data|file):/i.test(value)) found.push(value);
            // A field keeps what will be sent as it is, and nobody sees what the page keeps for itself.
            if (name !== "value" && !name.startsWith("data-") && hidden.test(value))
              found.push(`${element.tagName} ${name}=${value.slice(0, 60)}`);
          }
          const isField = ["TEXTAREA", "OPTION"].includes(element.tagName);
          for (const node of isField ? [] : element.childNodes) {
            if (node instanceof Text && hidden.test(node.data)) {
              found.push(`${element.tagName}.${element.className} ${node.data.slice(0, 80)}`);
            }
          }
        }
        return found;
      });
      expect(found, page.url()).toEqual([]);
      expect(site.asked).toEqual([]);
      expect(problems).toEqual([]);
    };
    return { page, check };
  }

  test.each([320, 1440])("is shown as text in a conversation of %i pixels", async (width) => {
    const { page, check } = await openHostile(width, ["attack", "ask", "sample", "visit", "fail"]);
    const card = question(page);
    const allow = async (text: string) => {
      await say(page, text);
      await card.getByText("wants to use").waitFor();
      await check();
      await card.getByRole("button", { name: "Allow once" }).click();
    };
    await allow("Attack");
    await page.getByText("That is all.").waitFor();
    const fold = page.locator(".tool-card [aria-expanded]").first();
    if ((await fold.getAttribute("aria-expanded")) === "false") await fold.click();
    await page
      .locator(".tool-card")
      .getByText("cell <img")
      .or(page.locator(".tool-card").getByText("result <img"))
      .first()
      .waitFor();
    await check();
    expect(await page.locator(".main").innerText()).toContain('onerror="globalThis.hasRun=true"');
    expect(await page.locator(".main").innerText()).toContain("U+202E");
    expect(await page.locator(".main img").count()).toBe(0);
    await allow("Ask");
    await card.getByText("form-title").first().waitFor();
    await check();
    await card
      .getByRole("button", { name: /decline|not now|refuse/i })
      .first()
      .click();
    await page.getByText("That is all.").nth(1).waitFor();
    await allow("Sample");
    await card.getByText("wants to ask your model").waitFor();
    await check();
    await card
      .getByRole("button", { name: /refuse|decline|not now/i })
      .first()
      .click();
    await page.getByText("That is all.").nth(2).waitFor();
    await check();
    await allow("Visit");
    // An address that is none is not shown as one, so that nobody can open it.
    await page.getByText("That is all.").nth(3).waitFor();
    await check();
    await allow("Fail");
    await page.getByText("That is all.").nth(4).waitFor();
    await page.getByRole("main").getByText("error <img").first().waitFor();
    await check();
  });

  test.each([320, 1440])("is shown as text in Inspect of %i pixels", async (width) => {
    const { page, check } = await openHostile(width, []);
    await goPlace(page, "inspect/it/try/tool/attack");
    await page.getByRole("heading", { name: "attack", exact: true }).waitFor();
    await page.getByText("tool-description").first().waitFor();
    await check();
    for (const view of ["JSON", "Definition"]) {
      await page.getByRole("button", { name: view, exact: true }).click();
      await check();
    }
    await page.getByRole("button", { name: /^Run/ }).first().click();
    const result = page.getByRole("region", { name: "Result" });
    await result.getByRole("heading", { name: "What the model sees" }).waitFor();
    await check();
    await result.getByRole("button", { name: "Raw" }).click();
    await check();
    await page.getByRole("listbox", { name: "tools" }).getByRole("option").last().click();
    await page.getByRole("heading", { name: /^long-n/ }).waitFor();
    await check();
    await goPlace(page, "inspect/refuses/try");
    await page.getByRole("main").getByText("error <img").first().waitFor();
    await check();
    await goPlace(page, "inspect/it/try/resource");
    await page.getByRole("region", { name: "Resources" }).getByText("resource-").first().waitFor();
    await check();
    await goPlace(page, "inspect/it/try/prompt");
    await page.getByRole("region", { name: "Prompts" }).getByText("prompt-").first().waitFor();
    await check();
    await goPlace(page, "inspect/it/timeline");
    await page.getByRole("listbox", { name: "Messages" }).getByText("tools/call").first().click();
    await page.getByRole("tab", { name: "Response" }).click();
    await check();
    await goPlace(page, "inspect/it/log");
    await page.getByText("stderr <img").first().waitFor();
    await check();
    await goPlace(page, "inspect/it/doctor");
    await page.locator(".main h1").first().waitFor();
    await check();
    await goPlace(page, "activity");
    await page.getByRole("heading", { name: "Activity" }).waitFor();
    await check();
    await page.keyboard.press("ControlOrMeta+k");
    await page.getByRole("combobox", { name: /Find/ }).fill("prompt");
    await page.locator("[role=option]").first().waitFor();
    await check();
  });

  test("is shown as text in the pickers of prompts and resources", async () => {
    const { page, check } = await openHostile(1024, []);
    await goPlace(page, "inspect/it/try");
    await page.getByRole("heading", { name: "attack", exact: true }).waitFor();
    await goPlace(page, "chat");
    await page.getByRole("textbox", { name: "Message to the model" }).press("@");
    await page.getByRole("dialog", { name: "Attach resources" }).getByRole("checkbox").first().check();
    await check();
    await page.keyboard.press("ControlOrMeta+Enter");
    await page.getByText("resource-title").first().waitFor();
    await check();
    await page.getByRole("button", { name: "Prompts" }).click();
    await page.getByRole("option").first().click();
    await check();
  });
});
