import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { schemasMissing } from "../kit/official-schema.ts";
import { connect as connectV1 } from "../peers/clients/sdk-v1.mjs";
import { connect as connectV2 } from "../peers/clients/sdk-v2.mjs";
import { createColumn, textOf } from "./feature.ts";

const columns = [
  createColumn("SDK v1", connectV1, { version: "2025-11-25" }),
  createColumn("SDK v2", connectV2, { version: "2025-11-25", mode: "legacy" }),
  createColumn("SDK v2", connectV2, { version: "2026-07-28", mode: "pin" }),
];

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "portolan-interop-"));
});
afterAll(() => rm(folder, { recursive: true }));

test("clients of both SDKs work at once, each with its own server process", async () => {
  const peers = await Promise.all(columns.map((column) => column.open()));
  expect(new Set(peers.map(({ pid }) => pid)).size).toBe(peers.length);
  const rounds = Array.from({ length: 50 }, (_, round) => round);
  await Promise.all(
    rounds.flatMap((round) =>
      peers.map(async (peer) => {
        const text = `${peer.name} ${round}`;
        expect(textOf(await peer.callTool("text", { text }))).toBe(text);
        expect(textOf(await peer.callTool("sample", { text }))).toBe(`tiny-1: <Summarize: ${text}>`);
      }),
    ),
  );
  for (const peer of peers) expect(peer.asked).toHaveLength(rounds.length);
  await Promise.all(peers.map((peer) => peer.close()));
  for (const peer of peers) expect(await peer.exit).toMatchObject({ code: 0, signal: null });
});

describe.each(columns)("$title", ({ title, open }) => {
  test("closing during a call aborts its handler, and the server exits by itself", async () => {
    const journal = join(folder, `${title}.txt`);
    const peer = await open({ env: { INTEROP_JOURNAL: journal } });
    let call: Promise<unknown> = Promise.resolve();
    await new Promise<void>((started) => {
      call = peer.callTool("slow", { label: "left alone" }, { onProgress: () => started() });
      call.catch(() => {});
    });
    await Promise.all([peer.close(), expect(call).rejects.toThrow("Connection closed")]);
    expect(await peer.exit).toMatchObject({ code: 0, signal: null });
    expect(await readFile(journal, "utf8")).toBe("started left alone\naborted left alone\n");
  });
});

test("a server that receives SIGTERM ends the subscriptions of a stateless client gracefully", async () => {
  const peer = await columns[2]!.open();
  const { ended } = await peer.follow("counter://ticks");
  process.kill(peer.pid, "SIGTERM");
  expect(await ended).toBe("graceful");
  expect(await peer.exit).toMatchObject({ code: 0, signal: null });
  await peer.close();
});

test.skipIf(schemasMissing).each(columns)("$title received only valid messages from our server", ({ tap }) => {
  tap.expectValid("server", 50);
});
