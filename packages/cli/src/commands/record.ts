import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { LineReader, type Message, type RequestId, type RpcResponse } from "portolan";
import type { Link } from "portolan/client";
import { childEnvironment } from "portolan/client/stdio";
import type { CommandTarget, ConfiguredServer, ServerEntry } from "portolan-host";
import { passOn } from "../child-words.ts";
import type { Context, Flags, Shown } from "../command.ts";
import { Failure } from "../failure.ts";
import { createLineSplitter } from "../lines.ts";
import { checkEntry, recordedLink } from "../linking.ts";
import { openRecorder, type Recorder } from "../recording.ts";
import { findTarget } from "../targets.ts";
import { version } from "../version.ts";

/** Stands between a client and a server, changes nothing, and writes down what both say. */
export async function run(context: Context, [given]: readonly string[], flags: Flags): Promise<Shown | undefined> {
  const { world } = context;
  const { entry } = await findTarget(context, context.command.length > 0 ? undefined : given);
  await checkEntry(context, entry);
  const file = typeof flags["out"] === "string" ? resolve(world.cwd, flags["out"]) : freeName(entry.name, world.cwd);
  const recorder = createRecorder(context, file, entry, flags);
  world.stderr.write(`recording to ${file}\n`);
  try {
    if ("command" in entry.target) await passBytes(entry.target, environmentOf(entry, context), context, recorder);
    else await passMessages(await recordedLink(entry, context, recorder), context);
  } finally {
    recorder.close();
  }
  return undefined;
}

/** A recorder for a server, as the flags of a command line say, who knows the secrets of both. */
export function createRecorder({ world }: Context, file: string, entry: ServerEntry, { raw = false }: Flags): Recorder {
  const recorder = openRecorder(file, { server: entry.name, by: `portolan ${version}`, isRaw: raw === true });
  const { oauth } = entry as Partial<ConfiguredServer>;
  recorder.learn([world.env, entry.target, entry.configured, oauth]);
  return recorder;
}

/** A name that nothing has yet: an earlier recording is not lost. */
function freeName(name: string, folder: string): string {
  const safe = name.replace(/[^\w.-]/g, "_");
  for (let count = 1; ; count += 1) {
    const file = resolve(folder, count === 1 ? `${safe}.jsonl` : `${safe}-${count}.jsonl`);
    if (!existsSync(file)) return file;
  }
}

/** Who puts this before a command has given us its environment; a server that a file names gets what any host gives it. */
function environmentOf({ target: way, source }: ServerEntry, { world: { env } }: Context): NodeJS.ProcessEnv {
  const own = "command" in way ? way.env : undefined;
  return source.kind === "code" ? { ...env, ...own } : childEnvironment(env, own);
}

/** A server in a child process: every byte goes on as it came. */
async function passBytes(
  { command, args = [], cwd }: CommandTarget,
  env: NodeJS.ProcessEnv,
  context: Context,
  recorder: Recorder,
): Promise<void> {
  const { world, signal } = context;
  const { stdin, stdout, stderr } = world;
  const child = spawn(command, args, { env, ...(cwd !== undefined && { cwd }) });
  const complained = createLineSplitter(passOn(context));
  if (stderr.isTTY) child.stderr.on("data", (chunk: Buffer) => complained.push(chunk)).on("end", complained.end);
  else child.stderr.pipe(stderr, { end: false });
  const kill = () => void child.kill();
  process.once("exit", kill);
  signal.addEventListener("abort", kill, { once: true });
  const said = createLineSplitter((line) => recorder.add("client", line));
  const answered = createLineSplitter((line) => recorder.add("server", line));
  const hear = (chunk: Buffer) => {
    // Written down first: the answer must not come before its question.
    said.push(chunk);
    child.stdin.write(chunk);
  };
  stdin.on("data", hear).on("end", () => {
    said.end();
    child.stdin.end();
  });
  child.stdin.on("error", () => {});
  child.stdout.on("data", (chunk: Buffer) => {
    answered.push(chunk);
    stdout.write(chunk);
  });
  const code = await new Promise<number | null>((end, fail) => {
    child.on("error", (cause) =>
      fail(new Failure("unreachable", `cannot start ${command}: ${cause.message}`, { cause })),
    );
    child.on("close", end);
  }).finally(() => {
    stdin.off("data", hear).destroy();
    process.off("exit", kill);
  });
  answered.end();
  if (code !== 0 && code !== null) throw new Failure("unreachable", `${command} exited with code ${code}`);
}

/** A server at an address: every message goes on as it came. */
async function passMessages(link: Link, context: Context): Promise<void> {
  const { world, signal } = context;
  const { stdin, stdout } = world;
  const asked = new Map<RequestId, (response: RpcResponse) => void>();
  const send = (message: Message) => stdout.write(`${JSON.stringify(message)}\n`);
  const lost = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    link
      .open({
        request(request, answer) {
          asked.set(request.id, answer);
          send(request);
        },
        notification: send,
        odd: passOn(context),
        lost: reject,
      })
      .catch(reject);
  });
  const running = new Set<RequestId>();
  let finish = () => {};
  const receive = (message: Message) => {
    if (!("method" in message)) {
      if (message.id === undefined || message.id === null) return;
      asked.get(message.id)?.(message);
      asked.delete(message.id);
    } else if ("id" in message) {
      const { id } = message;
      running.add(id);
      const settle = (response: RpcResponse) => {
        if (!running.delete(id)) return;
        send(response);
        finish();
      };
      link.exchange(message, {
        response: settle,
        failed: ({ message: why }) => settle({ jsonrpc: "2.0", id, error: { code: -32_603, message: why } }),
      });
    } else if (message.method === "notifications/cancelled") {
      const id = message.params?.["requestId"];
      if (typeof id !== "string" && typeof id !== "number") return;
      link.cancel(id, String(message.params?.["reason"] ?? ""));
      // It is not answered any more, and so not waited for.
      running.delete(id);
      finish();
    } else link.notify(message);
  };
  const reader = new LineReader({
    message: receive,
    batch: (messages) => messages.forEach(receive),
    unreadable: ({ why }) => passOn(context)(why),
  });
  stdin.on("data", (chunk: Buffer) => reader.push(chunk));
  const ended = new Promise<void>((resolve) => {
    stdin.once("end", () => {
      finish = () => {
        if (running.size === 0) resolve();
      };
      finish();
    });
  });
  try {
    await Promise.race([ended, lost]);
  } finally {
    stdin.destroy();
    lost.catch(() => {});
    await link.close();
  }
}
