import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { checkOptions, type OptionNames } from "portolan";
import type { Verb, Verbs } from "../api.ts";
import { apiVersion } from "../api.ts";
import { createAssets } from "./assets.ts";
import { endAll } from "./base.ts";
import { createConsole } from "./console.ts";
import { makePrivateFolder } from "./files.ts";
import { createListener, type Site } from "./http.ts";
import { maxHeaderBytes, maxSockets, requestMs } from "./limits.ts";
import type { ConsoleOptions, RunningConsole } from "./options.ts";
import { Replies } from "./replies.ts";
import { createAddresses, isAlive, type RunningFile, readRunning, removeOpenFiles, writeRunning } from "./running.ts";
import { Sessions } from "./sessions.ts";
import { name } from "./takes.ts";
import { reads, type VerbRow } from "./verbs.ts";

/** Starts the console, or finds the one of the same folder that runs already. */
export async function startConsole(options: ConsoleOptions): Promise<RunningConsole> {
  checkOptions(options, optionNames, "startConsole");
  const { folder, onError, project, purpose } = options;
  await makePrivateFolder(folder);
  const earlier = await readRunning(folder);
  if (earlier && (await isAlive(earlier))) return elsewhere(folder, earlier);
  await removeOpenFiles(folder);
  const boot = randomBytes(9).toString("base64url");
  const secret = randomBytes(32).toString("base64url");
  const sessions = new Sessions(secret);
  const server = createServer({ maxHeaderSize: maxHeaderBytes, requestTimeout: requestMs });
  server.maxConnections = maxSockets;
  const origin = await listen(server, options.port === undefined ? [earlier?.port ?? 0, 0] : [options.port]);
  const port = Number(new URL(origin).port);
  let subjects: Awaited<ReturnType<typeof createConsole>>;
  try {
    subjects = await createConsole({ options, boot, origin });
  } catch (reason) {
    await end(server);
    throw reason;
  }
  const hello = reads<"hello">({ launch: name }, ({ launch }) => ({
    session: sessions.open(launch),
    boot,
    api: [apiVersion],
  }));
  const site: Site = {
    ...{ boot, secret, sessions, onError, origin, isClosing: false },
    replies: new Replies(),
    events: subjects.events,
    assets: createAssets(options.assets, subjects.frames),
    verbs: toMap({ hello, ...subjects.verbs }),
  };
  server.on("request", createListener(site));
  try {
    await writeRunning(folder, {
      port,
      pid: process.pid,
      boot,
      secret,
      project,
      ...(purpose !== undefined && { purpose }),
    });
  } catch (reason) {
    await subjects.close();
    await end(server);
    throw reason;
  }
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= (async () => {
      site.isClosing = true;
      site.events.close("The console was closed.");
      await endAll([
        () => subjects.close(),
        () => end(server),
        () => Promise.all([writeRunning(folder, { port }), removeOpenFiles(folder)]).catch(onError),
      ]);
    })();
    return closing;
  };
  return {
    origin,
    isElsewhere: false,
    ...{ project, purpose },
    ...createAddresses(folder, origin, secret),
    close,
    [Symbol.asyncDispose]: close,
  };
}

const optionNames = {
  ...{ createHost: 1, models: 1, tools: 1, folder: 1, project: 1, assets: 1, version: 1, isSandbox: 1, port: 1 },
  ...{ purpose: 1, onError: 1 },
} satisfies OptionNames<ConsoleOptions>;

function elsewhere(folder: string, { port, secret = "", project, purpose }: RunningFile): RunningConsole {
  const origin = `http://127.0.0.1:${port}`;
  const close = async () => {};
  return {
    origin,
    isElsewhere: true,
    ...{ project, purpose },
    ...createAddresses(folder, origin, secret),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Listens on loopback, on the first of these ports that is free, and returns the origin. */
async function listen(server: Server, ports: readonly number[]): Promise<string> {
  for (const [at, wanted] of ports.entries()) {
    try {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(wanted, "127.0.0.1", () => {
          server.off("error", reject);
          resolve();
        });
      });
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    } catch (reason) {
      if (at === ports.length - 1) throw reason;
    }
  }
  throw new Error("unreachable");
}

function end(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function toMap(table: { readonly [V in Verb]?: VerbRow<V> }): ReadonlyMap<string, VerbRow<Verb>> {
  return new Map(Object.entries(table) as [keyof Verbs, VerbRow<Verb>][]);
}
