import { spawn } from "node:child_process";
import { lstatSync } from "node:fs";
import { resolve } from "node:path";
import { LineReader, type Message, type RequestId, type RpcResponse, rpcCodes } from "portolan";
import type { Link } from "portolan/client";
import { childEnvironment } from "portolan/client/stdio";
import type { CommandTarget, ServerEntry } from "portolan-host";
import type { Recorder } from "portolan-recording";
import { withoutValues } from "../arguments/flags.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { createLineSplitter } from "../record/line-splitter.ts";
import { createRecorder, recordedLink } from "../record/record-link.ts";
import { findServer } from "../servers/find-server.ts";
import { requireUsable } from "../servers/host.ts";
import { explainLink } from "../servers/link.ts";
import { quoteCommand } from "../terminal/escape.ts";

/** Forwards between a client and a server unchanged, and records both sides. */
export async function run(
  context: CommandContext,
  [given]: readonly string[],
  flags: Flags,
): Promise<CommandResult | undefined> {
  const { system } = context;
  if (given !== undefined && context.command.length > 0 && /\.(?:jsonl|ndjson)$/.test(given)) {
    const [name = "", ...rest] = withoutValues(system.argv);
    const others = rest.filter((_, at) => at !== rest.indexOf(given));
    throw new Failure("usage", `the recording goes after --out: ${given}`, {
      next: quoteCommand(["portolan", name, "--out", given, ...others]),
    });
  }
  const entry = await findServer(context, given, flags);
  await requireUsable(context, entry);
  const file = typeof flags["out"] === "string" ? resolve(system.cwd, flags["out"]) : freeName(entry.name, system.cwd);
  const recorder = createRecorder(context, file, entry, flags);
  system.stderr.write(`recording to ${context.screen.safe(file)}\n`);
  try {
    if ("command" in entry.target) await passBytes(entry.target, environmentOf(entry, context), context, recorder);
    else await passMessages(await recordedLink(entry, context, recorder), context);
  } catch (reason) {
    throw await explainLink(reason, entry, system);
  } finally {
    recorder.close();
  }
  return undefined;
}

/** Returns a file name that is free: an earlier recording is never overwritten. */
function freeName(name: string, folder: string): string {
  const safe = name.replace(/[^\w.-]/g, "_");
  for (let count = 1; ; count += 1) {
    const file = resolve(folder, count === 1 ? `${safe}.jsonl` : `${safe}-${count}.jsonl`);
    // A symbolic link without a target counts as a file: the recording would be written where it points.
    if (!lstatSync(file, { throwIfNoEntry: false })) return file;
  }
}

/** A server from a file gets the environment that any host gives; a typed command gets ours. */
function environmentOf({ target, source }: ServerEntry, { system: { env } }: CommandContext): NodeJS.ProcessEnv {
  const own = "command" in target ? target.env : undefined;
  return source.kind === "code" ? { ...env, ...own } : childEnvironment(env, own);
}

/** Forwards every byte to and from a child process. */
async function passBytes(
  { command, args = [], cwd }: CommandTarget,
  env: NodeJS.ProcessEnv,
  context: CommandContext,
  recorder: Recorder,
): Promise<void> {
  const { system, signal } = context;
  const { stdin, stdout, stderr } = system;
  const child = spawn(command, args, { env, ...(cwd !== undefined && { cwd }) });
  const complained = createLineSplitter(context.forwardStderr);
  if (stderr.isTTY) child.stderr.on("data", (chunk: Buffer) => complained.push(chunk)).on("end", complained.end);
  else child.stderr.pipe(stderr, { end: false });
  const kill = () => void child.kill();
  const release = system.onExit(kill);
  signal.addEventListener("abort", kill, { once: true });
  const said = createLineSplitter((line) => recorder.add("client", line));
  const answered = createLineSplitter((line) => recorder.add("server", line));
  const hear = (chunk: Buffer) => {
    // Recorded first: an answer must not come before its request.
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
    release();
  });
  answered.end();
  if (code !== 0 && code !== null) throw new Failure("unreachable", `${command} exited with code ${code}`);
}

/** Forwards every message to and from a server at an address. */
async function passMessages(link: Link, context: CommandContext): Promise<void> {
  const { system, signal } = context;
  const { stdin, stdout } = system;
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
        invalid: context.forwardStderr,
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
        failed: ({ message: why }) =>
          settle({ jsonrpc: "2.0", id, error: { code: rpcCodes.internalError, message: why } }),
      });
    } else if (message.method === "notifications/cancelled") {
      const id = message.params?.["requestId"];
      if (typeof id !== "string" && typeof id !== "number") return;
      link.cancel(id, String(message.params?.["reason"] ?? ""));
      // A cancelled request gets no answer.
      running.delete(id);
      finish();
    } else link.notify(message);
  };
  const reader = new LineReader({
    message: receive,
    batch: (messages) => messages.forEach(receive),
    unreadable: ({ why }) => context.forwardStderr(why),
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
