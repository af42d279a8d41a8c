import { fileURLToPath, pathToFileURL } from "node:url";
import { createMemoryPair } from "portolan";
import { serveChannel } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import type { Host, HostAnswers, ServerDefinition } from "portolan-host";
import { echo } from "portolan-host/models";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import createFullServer from "../kit/full-server.mjs";
import { between, type RevisionDate, revisions } from "../kit/revisions.ts";
import { eventOf, makeFolder, makeHost, textOf } from "./kit.ts";

const paths = ["serve.mjs", "full-server.mjs"].map((name) => fileURLToPath(new URL(`../kit/${name}`, import.meta.url)));

/** A server to be reached in some way, and how it is lost and found again. */
interface Reached {
  readonly definition: ServerDefinition;
  /** Resolves when the host can reach it again. */
  lose(host: Host): Promise<void>;
}

/** Waits until the host has seen that its server is gone, and has it started again. */
async function restart(host: Host): Promise<void> {
  await vi.waitFor(() => expect(host.servers[0]?.state).toBe("down"));
  await host.start("full");
}

const ways: { readonly [way: string]: () => Promise<Reached> } = {
  async memory() {
    const server = createFullServer();
    let end = async () => {};
    const open = () => {
      const [near, far] = createMemoryPair({ serialize: true });
      serveChannel(server, far);
      end = () => far.close();
      return near;
    };
    return {
      definition: { open },
      async lose(host) {
        await end();
        await restart(host);
      },
    };
  },
  async stdio() {
    return {
      definition: { command: process.execPath, args: paths },
      async lose(host) {
        process.kill(host.servers[0]?.pid ?? 0, "SIGKILL");
        await restart(host);
      },
    };
  },
  http: () => overHttp(false),
  "http+sse": () => overHttp(true),
};

async function overHttp(httpSse: boolean): Promise<Reached> {
  const start = async (port = 0) => {
    const server = serveHttp(createFullServer(), { httpSse });
    onTestFinished(() => server.close());
    const { url } = await server.listen(port);
    return { url, close: () => server.close() };
  };
  const first = await start();
  return {
    definition: httpSse ? { url: new URL("/sse", first.url).href, legacySse: true } : { url: first.url },
    async lose(host) {
      await first.close();
      await start(Number(new URL(first.url).port));
      // A server that keeps no connection open is not known to be gone before it is needed.
      if (host.servers[0]?.state !== "ready") await restart(host);
    },
  };
}

const columns = [
  ...revisions.map((revision) => ["memory", revision] as const),
  ...revisions.map((revision) => ["stdio", revision] as const),
  ...between("2025-03-26", "2026-07-28").map((revision) => ["http", revision] as const),
  ["http+sse", "2024-11-05"] as const,
];

describe.each(columns)("over %s, %s", (way, revision: RevisionDate) => {
  const has = (since: RevisionDate) => revision >= since;

  async function start(answers: HostAnswers = {}) {
    const reached = await ways[way]?.();
    if (!reached) throw new Error(`no way ${way}`);
    const uri = pathToFileURL(await makeFolder()).href;
    const host = await makeHost({
      servers: { full: { ...reached.definition, era: revision } },
      policy: [{ then: "allow" }],
      model: echo(),
      roots: [{ uri, for: ["full"] }],
      answers,
    });
    const call = async (name: string, args = {}) => textOf(await host.callTool("full", name, args));
    return { host, call, uri, lose: () => reached.lose(host) };
  }

  test("a server is started, listed and called, and asks its user, a model and for roots", async () => {
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

  test("changes are heard, calls are cancelled, and a server that is lost is found again", async () => {
    const { host, call, lose } = await start();
    await host.ready();
    const events = host.events({ kinds: ["catalog", "progress"] });
    expect(await call("change")).toBe("changed");
    await eventOf(events, "catalog", ({ changed }) => changed === "tools");
    expect(host.catalog.tools.some(({ name }) => name.startsWith("extra_"))).toBe(true);

    expect(await call("progress", { steps: 3 })).toBe("done");
    expect((await eventOf(events, "progress")).progress).toMatchObject({ total: 1.5 });

    // Again, should it be given up before it has arrived.
    await vi.waitFor(async () => {
      const stop = new AbortController();
      const waiting = host.callTool("full", "wait", { ms: 30_000 }, { signal: stop.signal });
      waiting.catch(() => {});
      expect(await call("echo", { message: "between" })).toBe("between");
      stop.abort(new Error("never mind"));
      await expect(waiting).rejects.toThrow("never mind");
      expect(JSON.parse(await call("aborted"))).not.toEqual([]);
    });

    await lose();
    await vi.waitFor(async () => expect(await call("echo", { message: "again" })).toBe("again"), { timeout: 5_000 });
    expect(host.catalog.tool("full", "echo")).toMatchObject({ isQuarantined: false });
  });
});
