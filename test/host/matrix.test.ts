import { fileURLToPath, pathToFileURL } from "node:url";
import { createMemoryPair } from "portolan";
import { serveChannel } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import type { Host, HostAnswers, ServerDefinition } from "portolan-host";
import { echoModel } from "portolan-host/models";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import createFullServer from "../kit/full-server.mjs";
import { between, type RevisionDate, revisions } from "../kit/revisions.ts";
import { makeFolder, makeHost, nextEvent, textOf } from "./kit.ts";

const paths = ["serve.mjs", "full-server.mjs"].map((name) => fileURLToPath(new URL(`../kit/${name}`, import.meta.url)));

/** A server on one transport, with a way to kill it. */
interface TestServer {
  readonly definition: ServerDefinition;
  /** Kills the server and starts it again; resolves when the host can reach it. */
  restart(host: Host): Promise<void>;
}

/** Waits until the host reports the server as down, then starts it again. */
async function startAgain(host: Host): Promise<void> {
  await vi.waitFor(() => expect(host.servers[0]?.state).toBe("down"));
  await host.start("full");
}

const transports: { readonly [name: string]: () => Promise<TestServer> } = {
  async memory() {
    const server = createFullServer();
    let closeServer = async () => {};
    const open = () => {
      const [near, far] = createMemoryPair({ serialize: true });
      serveChannel(server, far);
      closeServer = () => far.close();
      return near;
    };
    return {
      definition: { open },
      async restart(host) {
        await closeServer();
        await startAgain(host);
      },
    };
  },
  async stdio() {
    return {
      definition: { command: process.execPath, args: paths },
      async restart(host) {
        process.kill(host.servers[0]?.pid ?? 0, "SIGKILL");
        await startAgain(host);
      },
    };
  },
  http: () => overHttp(false),
  "http+sse": () => overHttp(true),
};

async function overHttp(httpSse: boolean): Promise<TestServer> {
  const start = async (port = 0) => {
    const server = serveHttp(createFullServer(), { httpSse });
    onTestFinished(() => server.close());
    const { url } = await server.listen(port);
    return { url, close: () => server.close() };
  };
  const first = await start();
  return {
    definition: httpSse ? { url: new URL("/sse", first.url).href, legacySse: true } : { url: first.url },
    async restart(host) {
      await first.close();
      await start(Number(new URL(first.url).port));
      // Without an open connection the host notices the loss only at the next call.
      if (host.servers[0]?.state !== "ready") await startAgain(host);
    },
  };
}

const columns = [
  ...revisions.map((revision) => ["memory", revision] as const),
  ...revisions.map((revision) => ["stdio", revision] as const),
  ...between("2025-03-26", "2026-07-28").map((revision) => ["http", revision] as const),
  ["http+sse", "2024-11-05"] as const,
];

describe.each(columns)("a host over %s, %s", (transport, revision: RevisionDate) => {
  const has = (since: RevisionDate) => revision >= since;

  async function start(answers: HostAnswers = {}) {
    const server = await transports[transport]?.();
    if (!server) throw new Error(`unknown transport ${transport}`);
    const uri = pathToFileURL(await makeFolder()).href;
    const host = await makeHost({
      servers: { full: { ...server.definition, era: revision } },
      policy: [{ then: "allow" }],
      model: echoModel(),
      roots: [{ uri, for: ["full"] }],
      answers,
    });
    const call = async (name: string, args = {}) => textOf(await host.callTool("full", name, args));
    return { host, call, uri, restart: () => server.restart(host) };
  }

  test("starts, lists and calls a server, and answers its questions to the user, a model and for roots", async () => {
    const asked: string[] = [];
    const { host, call, uri } = await start({
      elicit({ params }) {
        asked.push(params.message);
        return { action: "accept", content: { name: "Ada" } };
      },
      sample({ stage }) {
        asked.push(stage);
        return true;
      },
    });
    const [status] = await host.ready();
    expect(status, status?.reason).toMatchObject({ state: "ready", profile: { version: revision } });
    expect(host.catalog.tool("full", "add")).toMatchObject({ modelName: "full__add", isQuarantined: false });
    expect(host.catalog.prompts.map(({ name }) => name)).toContain("greet");
    expect(host.catalog.resources.map(({ uri: address }) => address)).toContain("note://a");
    expect(host.catalog.templates.map(({ name }) => name)).toContain("page");
    expect(host.catalog.instructions("full")).toBe("Use with care.");
    expect(JSON.parse(await call("who"))).toMatchObject({ version: revision, client: { name: "portolan" } });
    const { contents } = await host.readResource("full", "note://a", { by: "user" });
    expect(contents).toMatchObject([{ uri: "note://a", text: "A" }]);
    const { messages } = await host.getPrompt("full", "greet", { who: "Ada" });
    expect(messages).toMatchObject([{ role: "user", content: { text: "Hello Ada" } }]);

    if (has("2025-06-18")) expect(await call("ask_name")).toBe("Hello Ada");
    expect(JSON.parse(await call("ask_model"))).toMatchObject({ type: "text" });
    expect(JSON.parse(await call("ask_roots"))).toEqual([{ uri }]);
    expect(asked).toEqual([...(has("2025-06-18") ? ["Who are you?"] : []), "request", "response"]);
  });

  test("notices changes, cancels calls, and reconnects to a server that was killed", async () => {
    const { host, call, restart } = await start();
    await host.ready();
    const events = host.events({ kinds: ["catalog", "progress"] });
    expect(await call("change")).toBe("changed");
    await nextEvent(events, "catalog", ({ changed }) => changed === "tools");
    expect(host.catalog.tools.some(({ name }) => name.startsWith("extra_"))).toBe(true);

    expect(await call("progress", { steps: 3 })).toBe("done");
    expect((await nextEvent(events, "progress")).progress).toMatchObject({ total: 1.5 });

    // Repeated, because the call may be aborted before the server has received it.
    await vi.waitFor(async () => {
      const stop = new AbortController();
      const waiting = host.callTool("full", "wait", { ms: 30_000 }, { signal: stop.signal });
      waiting.catch(() => {});
      expect(await call("echo", { message: "between" })).toBe("between");
      stop.abort(new Error("never mind"));
      await expect(waiting).rejects.toThrow("never mind");
      expect(JSON.parse(await call("aborted"))).not.toEqual([]);
    });

    await restart();
    await vi.waitFor(async () => expect(await call("echo", { message: "again" })).toBe("again"), { timeout: 5_000 });
    expect(host.catalog.tool("full", "echo")).toMatchObject({ isQuarantined: false });
  });
});
