import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { createTap } from "../kit/tap.ts";
import type { Connect } from "../peers/clients/peer.d.mts";
import { type Column, type ColumnOptions, defaultAnswers, fixture, nameColumn } from "./feature.ts";
import { resumptionFeatures } from "./features/resumption.ts";

const withoutEvents = Object.fromEntries(
  resumptionFeatures.map(({ name }) => [name, "HTTP+SSE has no event ids to resume after"]),
);

/** Creates a column for a client over HTTP; each connection gets its own server process. */
export function createHttpColumn(peer: string, connect: Connect, { lacks, own, ...options }: ColumnOptions): Column {
  const named = nameColumn(peer, options);
  const tap = createTap(named.version);
  return {
    ...named,
    wire: options.httpSse ? "HTTP+SSE" : "Streamable HTTP",
    transport: "http",
    tap,
    lacks: { ...(options.httpSse && withoutEvents), ...lacks },
    ...(own && { own }),
    async open({ env, via, ...more } = {}) {
      const { child, url } = await startFixture({ ...env, INTEROP_TAP: tap.module("http") });
      try {
        const address = (await via?.(url)) ?? url;
        const peer = await connect({ name: named.title, url: address, answers: defaultAnswers(), ...options, ...more });
        const close = async () => {
          await peer.close();
          await stop(child);
        };
        return { ...peer, close };
      } catch (error) {
        await stop(child);
        throw error;
      }
    },
  };
}

async function startFixture(env: { [name: string]: string }): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [fixture], {
    env: { ...process.env, ...env, INTEROP_HTTP: "1" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`the server exited with code ${code} before it printed its address`);
  });
  const [url] = await Promise.race([once(createInterface(child.stdout), "line"), ended]);
  ended.catch(() => {});
  child.stdout.resume();
  return { child, url };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill();
  await exited;
}
