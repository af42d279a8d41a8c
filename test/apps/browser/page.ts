// The page of the browser tests: a whole host in a browser, with a server in the page.
import { createMemoryPair } from "portolan";
import { createServer, serveChannel } from "portolan/server";
import { createHost, type Host } from "portolan-host";
import { type AppSession, type AppSurroundings, apps, openApp } from "portolan-host/apps";
import { type MountedApp, mountApp } from "portolan-host/apps/web";

/** Options of an app under test. */
export interface AppUnderTest {
  readonly html: string;
  /** What the server declares of it, valid or not. */
  readonly ui?: object;
  readonly teardownMs?: number;
  /** True if no call is shown until the test sends one. */
  readonly isBare?: boolean;
  readonly surroundings?: AppSurroundings;
  /** The origin of the sandbox instead of the right one. */
  readonly sandbox?: string;
  /** The name of the app's own origin, below `localhost`. Default: the app has no origin. */
  readonly own?: string;
}

interface Shown {
  readonly host: Host;
  readonly session: AppSession;
  readonly mounted: MountedApp;
  readonly called: string[];
  readonly asked: unknown[];
  readonly said: unknown[];
  /** The log messages of the app. */
  readonly reports: unknown[];
}

declare global {
  interface Window {
    shown: Shown;
    show(options: AppUnderTest): Promise<void>;
    log(): Promise<unknown[]>;
  }
}

async function show({ html, ui, sandbox, own, isBare = false, ...options }: AppUnderTest): Promise<void> {
  const called: string[] = [];
  const note = (tool: string) => () => {
    called.push(tool);
    return `result of ${tool}`;
  };
  const uri = "ui://test/app";
  const content = { uri, mimeType: "text/html;profile=mcp-app", text: html, _meta: { ui } };
  const forWhom = (...visibility: string[]) => ({ ui: { resourceUri: uri, visibility } });
  // Written by hand: `app` of the library would refuse what a hostile server declares.
  const server = createServer({ name: "test", version: "1.0.0" })
    .resource(uri, { read: () => ({ contents: [content] }) })
    .tool("show", { meta: forWhom("model", "app"), run: note("show") })
    .tool("forApp", { meta: forWhom("app"), run: note("forApp") })
    .tool("forModel", { meta: forWhom("model"), run: note("forModel") });
  const other = createServer({ name: "bank", version: "1.0.0" }).tool("pay", { run: note("pay") });
  const inPage = (served: Parameters<typeof serveChannel>[0]) => ({
    open() {
      const [near, far] = createMemoryPair();
      serveChannel(served, far);
      return near;
    },
  });
  const asked: unknown[] = [];
  const said: unknown[] = [];
  const yes = (question: { id: string }) => {
    const { signal: _, ...plain } = question as { id: string; signal?: unknown };
    asked.push(JSON.parse(JSON.stringify(plain)));
    return true;
  };
  const host = await createHost({
    servers: { test: inPage(server), bank: inPage(other) },
    extensions: [apps()],
    answers: { approve: yes, say: yes, openUrl: (question) => ({ action: yes(question) ? "accept" : "decline" }) },
  });
  await host.ready();
  const result = host.callTool("test", "show", {}, { by: "user" });
  const reports: unknown[] = [];
  const onMessage = (words: unknown) => void said.push(words);
  const onLog = ({ data }: { data: unknown }) => void reports.push(data);
  const session = await openApp(host, {
    server: "test",
    tool: "show",
    ...(!isBare && { args: { a: 1 }, result }),
    appTools: true,
    onMessage,
    onLog,
    ...options,
  });
  const { sources, permissions } = session.resource;
  const grant = { sources, permissions, own };
  const address = await (await fetch("/sandbox", { method: "POST", body: JSON.stringify(grant) })).text();
  const element = document.querySelector("#app");
  if (!element) throw new Error("no element");
  const path = new URL(address).pathname;
  const mounted = mountApp(session, element, { sandbox: sandbox === undefined ? address : sandbox + path });
  window.shown = { host, session, mounted, called, asked, said, reports };
}

window.show = show;
window.log = async () => {
  const entries: unknown[] = [];
  for await (const entry of window.shown.host.activity.query({ kinds: ["app"] })) entries.push(entry);
  return entries;
};
