import { lstat, mkdir } from "node:fs/promises";
import { createConnection, type Socket } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { type Channel, type ChannelEvents, LineReader, type Sendable, serialize } from "portolan";
import type { ProcessEnd } from "portolan/client/stdio";
import { canonicalJson, sha256 } from "portolan/storage";
import type { CommandContext } from "../command.ts";
import { Failure } from "../failure.ts";
import { warmStateFolder } from "./warm-entry.ts";

/** The first line of a connection to the background process. */
export interface WarmRequest {
  /** The version of the command. Only `stop` is answered to another version. */
  readonly version: string;
  readonly do: "list" | "start" | "use" | "stop";
  /** The digest of the server, for `start` and `use`; of those to stop, for `stop`. Default of `stop`: all. */
  readonly digests?: readonly string[];
  /** The server to start. */
  readonly entry?: unknown;
  /** How its configured entry is trusted. */
  readonly trust?: WarmTrust;
  /** The server is stopped after it was unused for this long. */
  readonly idleMs?: number;
  /** Longest duration of connecting to it. */
  readonly connectMs?: number;
}

/** How the entry of a server was trusted when it was started. */
export interface WarmTrust {
  readonly digest: string;
  /** The same after the entry was edited. */
  readonly place: string;
}

/** One server that the background process keeps running. */
export interface WarmServer {
  readonly name: string;
  readonly digest: string;
  /** Undefined for a server that is not configured. */
  readonly trust: WarmTrust | undefined;
  readonly idleMs: number;
  /** Commands that use it now. */
  readonly uses: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** The revision that the server speaks; undefined while it is being started. */
  readonly revision: string | undefined;
}

/** Why a server did not start. */
export interface WarmError {
  readonly kind: string;
  readonly message: string;
  readonly next?: string;
  /** How its process ended. */
  readonly processEnd?: ProcessEnd;
}

/** The answer to a request. After a `use` that is ok, both sides speak the Model Context Protocol. */
export interface WarmReply {
  readonly version: string;
  readonly pid: number;
  readonly isOk: boolean;
  readonly error?: WarmError;
  /** For `use`: the server had ended, and is started again for this command. */
  readonly isStartedAgain?: boolean;
  /** The servers that are running, or that were stopped. */
  readonly servers?: readonly WarmServer[];
}

/** Paths of sockets are limited to 104 bytes on some systems. */
const maxPathBytes = 100;

/** Returns the folder of the socket. It is private to the user. */
export async function warmFolder({ state, system }: CommandContext): Promise<string> {
  const folder = warmStateFolder(state);
  if (Buffer.byteLength(socketIn(folder)) <= maxPathBytes) return folder;
  const id = (await sha256(state.folder)).slice(0, 16);
  return join(system.env["XDG_RUNTIME_DIR"] || tmpdir(), `portolan-${userInfo().uid}-${id}`);
}

export function socketIn(folder: string): string {
  return join(folder, "socket");
}

/** Creates the folder if it is missing. Fails unless it belongs to the user alone. */
export async function prepareFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const problem = await folderProblem(folder);
  if (problem !== undefined)
    throw new Failure("failed", `${folder} ${problem}`, { next: `remove it, then try again: rm -r ${folder}` });
}

/** Returns why the folder is not safe; undefined if it is private to this user. A link is never followed. */
export async function folderProblem(folder: string): Promise<string | undefined> {
  const found = await lstat(folder);
  if (!found.isDirectory()) return "is not a folder";
  if (found.uid !== userInfo().uid) return "belongs to another user";
  return (found.mode & 0o077) === 0 ? undefined : "can be opened by other users";
}

/** Connects to the background process; undefined if there is none, or if its socket is not safe. */
export async function connectWarm(context: CommandContext): Promise<Socket | undefined> {
  if (context.system.platform === "win32") return undefined;
  const folder = await warmFolder(context);
  try {
    const found = await lstat(socketIn(folder));
    if (!found.isSocket() || found.uid !== userInfo().uid || (await folderProblem(folder)) !== undefined)
      return undefined;
  } catch {
    return undefined;
  }
  return new Promise((resolve) => {
    const socket = createConnection(socketIn(folder));
    socket.once("connect", () => resolve(socket));
    // A socket that remained of a process that was killed.
    socket.on("error", () => resolve(undefined));
  });
}

/** Sends a request, and returns the reply; undefined if the connection ends without one. */
export async function askWarm(socket: Socket, request: WarmRequest): Promise<WarmReply | undefined> {
  socket.write(`${JSON.stringify(request)}\n`);
  const line = await readLine(socket);
  try {
    return line === undefined ? undefined : (JSON.parse(line) as WarmReply);
  } catch {
    return undefined;
  }
}

/** A request has one entry of a configuration file. */
const maxLineBytes = 16 * 1024 * 1024;

/** Reads the first line. The rest stays in the socket. Undefined if it ends before, or if the line is too long. */
export function readLine(socket: Socket): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise((resolve) => {
    const settle = (line: string | undefined) => {
      socket.off("data", read).off("close", end).off("end", end);
      resolve(line);
    };
    const end = () => settle(undefined);
    const read = (chunk: Buffer) => {
      const at = chunk.indexOf(0x0a);
      size += chunk.length;
      if (at < 0 && size > maxLineBytes) {
        socket.destroy();
        return;
      }
      chunks.push(at < 0 ? chunk : chunk.subarray(0, at));
      if (at < 0) return;
      socket.pause();
      settle(Buffer.concat(chunks).toString("utf8"));
      if (at + 1 < chunk.length) socket.unshift(chunk.subarray(at + 1));
    };
    socket.on("data", read).on("close", end).on("end", end);
  });
}

/** Returns the digest of a server's configuration with all variables expanded: only the same server is used again. */
export async function warmDigest(entry: object): Promise<string> {
  return sha256(canonicalJson(JSON.parse(JSON.stringify(entry))));
}

/** A channel of newline-delimited JSON over a connected socket. */
export class SocketChannel implements Channel {
  readonly writesText = true;
  readonly #socket: Socket;
  #incoming: ChannelEvents | undefined;
  #drained: Promise<void> | undefined;
  #isClosed = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  open(incoming: ChannelEvents): void {
    this.#incoming = incoming;
    const reader = new LineReader(incoming);
    const socket = this.#socket;
    socket.on("data", (chunk: Buffer) => reader.push(chunk));
    socket.on("end", () => void reader.end());
    socket.on("error", () => {});
    socket.on("close", () => this.#end());
    socket.resume();
  }

  send(message: Sendable): void | Promise<void> {
    if (this.#isClosed) return undefined;
    if (this.#socket.write(`${serialize(message)}\n`)) return this.#drained;
    this.#drained ??= new Promise((resolve) => {
      const settle = () => {
        this.#drained = undefined;
        this.#socket.off("drain", settle).off("close", settle);
        resolve();
      };
      this.#socket.on("drain", settle).on("close", settle);
    });
    return this.#drained;
  }

  async close(): Promise<void> {
    if (!this.#isClosed) await new Promise<void>((resolve) => this.#socket.end(resolve));
    this.#socket.destroy();
    this.#end();
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#incoming?.closed();
  }
}
