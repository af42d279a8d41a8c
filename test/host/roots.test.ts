import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createServer } from "portolan/server";
import { createClock } from "portolan/testing";
import type { Host } from "portolan-host";
import { findWorkspace } from "portolan-host/node";
import { expect, test, vi } from "vitest";
import { activityEntries, allow, initializeResult, inMemory, makeFolder, makeHost, rawServer, textOf } from "./kit.ts";

const asker = createServer({ name: "asker", version: "1.0.0" }).tool("where", {
  run: async (_, ctx) => JSON.stringify(await ctx.roots("roots")),
});

async function where(host: Host): Promise<{ uri: string }[]> {
  return JSON.parse(textOf(await host.callTool("s", "where")));
}

test("a denial exposes no roots and is remembered, and exposed roots are logged", async () => {
  const uri = pathToFileURL(await makeFolder()).href;
  let asked = 0;
  const roots = () => {
    asked += 1;
    return false;
  };
  const host = await makeHost({
    servers: { s: inMemory(asker) },
    policy: allow,
    roots: [{ uri }],
    answers: { roots },
  });
  expect([await where(host), await where(host)]).toEqual([[], []]);
  expect(asked).toBe(1);
  await host.setRoots([{ uri, for: ["s"] }]);
  await where(host);
  expect((await activityEntries(host, "roots")).map(({ roots: exposed }) => exposed)).toEqual([[], [], [{ uri }]]);
});

test("an approval for once is asked for again", async () => {
  const uri = pathToFileURL(await makeFolder()).href;
  let asked = 0;
  const roots = () => {
    asked += 1;
    return { allow: true, for: "once" as const };
  };
  const host = await makeHost({
    servers: { s: inMemory(asker) },
    policy: allow,
    roots: [{ uri }],
    answers: { roots },
  });
  expect([await where(host), await where(host)]).toEqual([[{ uri }], [{ uri }]]);
  expect(asked).toBe(2);
});

test("a file or a missing folder is not listed as a root", async () => {
  const folder = await makeFolder();
  await writeFile(join(folder, "file"), "");
  const uris = ["file", "nothing", "."].map((name) => pathToFileURL(join(folder, name)).href);
  const roots = uris.map((uri) => ({ uri, for: ["s"] }));
  const host = await makeHost({ servers: { s: inMemory(asker) }, policy: allow, roots });
  expect(await where(host)).toEqual([{ uri: uris[2] }]);
});

test("servers are notified when roots are set, and when a root's folder disappears", async () => {
  const uri = pathToFileURL(await makeFolder()).href;
  const clock = createClock();
  let notifications = 0;
  const server = rawServer((method) => (method === "initialize" ? initializeResult : { tools: [] }));
  const way = {
    ...server,
    async open() {
      const channel = await server.open();
      const send = (channel as { send(message: object): unknown }).send.bind(channel);
      return Object.assign(channel, {
        send(message: { method?: string }) {
          if (message.method === "notifications/roots/list_changed") notifications += 1;
          return send(message);
        },
      });
    },
  };
  const host = await makeHost({ clock, servers: { s: way } });
  await host.start("s");
  const { pending } = clock;
  await Promise.all([host.setRoots([]), host.setRoots([{ uri }]), host.setRoots([{ uri }])]);
  expect(notifications).toBeGreaterThan(0);
  // One timer watches the roots, no matter how often they were set.
  expect(clock.pending).toBe(pending + 1);
  notifications = 0;
  await clock.advance(5_000);
  expect(notifications).toBe(0);
  await rm(fileURLToPath(uri), { recursive: true });
  await vi.waitFor(async () => {
    await clock.advance(1_000);
    expect(notifications).toBe(1);
  });
  await host.close();
  expect(clock.pending).toBe(0);
  await host.setRoots([{ uri }]);
  expect(clock.pending).toBe(0);
});

test("roots that are set while the host closes are not watched", async () => {
  const uri = pathToFileURL(await makeFolder()).href;
  const clock = createClock();
  const early = await makeHost({ clock });
  const loading = early.setRoots([{ uri }]);
  await early.close();
  await loading;
  const late = await makeHost({ clock, roots: [] });
  const looking = late.setRoots([{ uri }]);
  // The host has begun to check the folder.
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  await late.close();
  await looking;
  expect(clock.pending).toBe(0);
});

test("findWorkspace returns the nearest repository above a folder, or the folder itself", async () => {
  const folder = await makeFolder();
  const deep = join(folder, "project", "src", "deep");
  await mkdir(deep, { recursive: true });
  expect(await findWorkspace(deep)).toEqual({ uri: pathToFileURL(deep).href, name: "deep" });
  await writeFile(join(folder, "project", ".git"), "gitdir: elsewhere");
  expect(await findWorkspace(deep)).toEqual({ uri: pathToFileURL(join(folder, "project")).href, name: "project" });
});
