import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { folderKeyValue } from "portolan/storage/node";
import { expect, onTestFinished, test } from "vitest";
import { openEndpoint } from "../requirements/client/kit/endpoints.ts";
import { allow, makeFolder, makeHost, textOf } from "./kit.ts";
import { TaskServer } from "./task-server.ts";

const program = fileURLToPath(new URL("fixtures/task-host.mjs", import.meta.url));

test.each(["2025-11-25", "2026-07-28"] as const)("a task outlives a host that is killed (%s)", async (revision) => {
  const server = new TaskServer(revision);
  const endpoint = await openEndpoint("http", server.server);
  onTestFinished(() => endpoint.close());
  const url = String(endpoint.target);
  const folder = await makeFolder();

  const first = spawn(process.execPath, [program, folder, url, revision], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void first.kill("SIGKILL"));
  const [id] = (await once(createInterface(first.stdout), "line")) as [string];
  first.kill("SIGKILL");
  await once(first, "exit");

  const servers = { films: { url, era: revision } };
  const host = await makeHost({ tasks: true, storage: { kv: folderKeyValue(folder) }, servers, policy: allow });
  expect(host.tasks.list()).toMatchObject([{ id, server: "films", tool: "render", state: "working" }]);
  server.finish("a film");
  expect(textOf(await host.tasks.wait(id))).toBe("a film");
  expect(server.jobs.size).toBe(1);
});
