import { PortolanError } from "../../errors.ts";
import { explain, isErrorReply, isUnsent, storeFailure } from "./failure.ts";
import { maxCommandBytes, reservedShare, silentDeadlines, slotParts } from "./limits.ts";
import type { RedisLink } from "./link.ts";

/** A command to Redis. */
export interface Command {
  /** Its name in messages: "kv.set". */
  readonly operation: string;
  readonly key: string;
  readonly args: readonly string[];
  /** True if the command changes something. If its answer is missing, the change may have happened. */
  readonly writes: boolean;
  /** True if the command may use only a part of the limits: what others need more urgently has the rest. Default: false. */
  readonly leavesReserve?: boolean;
}

/** The limits of all commands together. */
export interface CommandLimits {
  readonly commandMs: number;
  readonly maxCommands: number;
}

/** A command that was sent and not answered. */
interface Pending {
  readonly command: Command;
  readonly sentAt: number;
  readonly bytes: number;
  readonly part: number;
  readonly reject: (error: Error) => void;
}

/**
 * Sends commands over a link. Each ends within its deadline. While one is overdue and no other is answered, all further ones
 * fail at once. A command that ran out of time counts against the limits
 * until the link has forgotten it, so that memory stays bounded while Redis hangs.
 */
export class Commands {
  readonly #link: RedisLink;
  readonly #limits: CommandLimits;
  /** In the order of their deadlines, because all have the same time. */
  readonly #pending = new Set<Pending>();
  /** Those that ran out of time, in the order in which they were sent. */
  readonly #overdue = new Set<Pending>();
  readonly #overdueOfPart: number[] = [];
  /** The times of the latest answers. */
  readonly #answeredAt: number[] = [];
  /** Commands that wait for the first connection. */
  #waiting = 0;
  #bytes = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(link: RedisLink, limits: CommandLimits) {
    this.#link = link;
    this.#limits = limits;
  }

  get isCluster(): boolean {
    return this.#link.isCluster;
  }

  /** Sends a command and returns its reply. Two calls in a row are sent in this order, if they go to the same server. */
  run(command: Command): Promise<unknown> {
    const { state } = this.#link;
    if (state === "up") return this.#send(command);
    if (state === "idle") this.#link.open();
    if (state === "idle" || state === "connecting") return this.#sendWhenUp(command);
    return Promise.reject(this.#unreachable(command));
  }

  #unreachable({ operation }: Command): PortolanError {
    if (this.#link.state === "closed") return storeFailure(`${operation}: the Redis storage is closed`);
    const { reason } = this.#link;
    return storeFailure(`${operation}: Redis is not reachable: ${explain(reason)}`, reason);
  }

  async #sendWhenUp(command: Command): Promise<unknown> {
    const bytes = sizeOf(command);
    if (this.#isFull(command, bytes)) throw this.#full(command);
    this.#bytes += bytes;
    this.#waiting += 1;
    const { commandMs } = this.#limits;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, commandMs);
    });
    await Promise.race([this.#link.tried, late]);
    clearTimeout(timer);
    this.#bytes -= bytes;
    this.#waiting -= 1;
    if (this.#link.state === "up") return this.#send(command);
    if (this.#link.state !== "connecting") throw this.#unreachable(command);
    throw storeFailure(`${command.operation}: Redis was not reached within ${commandMs} ms; nothing was sent`);
  }

  #send(command: Command): Promise<unknown> {
    const part = this.isCluster ? partOf(command.key) : 0;
    if (this.#overdueOfPart[part] && this.#isSilent(part, this.#limits.commandMs)) {
      return Promise.reject(storeFailure(`${command.operation}: Redis does not answer; nothing was sent`));
    }
    const bytes = sizeOf(command);
    if (this.#isFull(command, bytes)) return Promise.reject(this.#full(command));
    return new Promise((resolve, reject) => {
      const pending: Pending = { command, sentAt: performance.now(), bytes, part, reject };
      this.#pending.add(pending);
      this.#bytes += bytes;
      this.#timer ??= setTimeout(this.#look, this.#limits.commandMs);
      this.#sent(command).then(
        (reply) => {
          this.#answeredAt[part] = performance.now();
          this.#forget(pending);
          resolve(reply);
        },
        (error) => {
          if (isErrorReply(error)) this.#answeredAt[part] = performance.now();
          this.#forget(pending);
          reject(this.#failure(command, error));
        },
      );
    });
  }

  /** A client may also throw. */
  async #sent({ key, args }: Command): Promise<unknown> {
    return this.#link.send(key, args);
  }

  #isFull({ leavesReserve = false }: Command, bytes: number): boolean {
    const share = leavesReserve ? 1 - reservedShare : 1;
    const commands = this.#pending.size + this.#overdue.size + this.#waiting;
    return commands >= share * this.#limits.maxCommands || this.#bytes + bytes > share * maxCommandBytes;
  }

  #full({ operation, leavesReserve }: Command): PortolanError {
    const { maxCommands } = this.#limits;
    const part = leavesReserve ? `${1 - reservedShare} of ` : "";
    return new PortolanError(
      "limit-reached",
      `${operation}: too much is under way to Redis: at most ${part}${maxCommands} commands and ${maxCommandBytes} bytes. Nothing was sent. Raise maxCommands, or store smaller values`,
    );
  }

  #failure({ operation, writes }: Command, error: unknown): PortolanError {
    if (isErrorReply(error)) {
      if (error.message.startsWith("READONLY")) this.#link.reset();
      return storeFailure(`${operation}: Redis refused: ${explain(error)}`, error);
    }
    if (isUnsent(error)) return storeFailure(`${operation}: Redis is not reachable: ${explain(error)}`, error);
    const unknown = writes ? ". The write may have happened" : "";
    return storeFailure(`${operation}: the connection to Redis was lost: ${explain(error)}${unknown}`, error);
  }

  #tooLate({ command: { operation, writes }, part }: Pending): PortolanError {
    const { commandMs } = this.#limits;
    const others = this.#isSilent(part, commandMs)
      ? ""
      : ", but answered other commands meanwhile. It is up; it has too much to do, or its answers are large";
    const unknown = writes ? ". The write may have happened, or may happen later" : "";
    return storeFailure(`${operation}: Redis did not answer within ${commandMs} ms${others}${unknown}`);
  }

  #forget(pending: Pending): void {
    this.#bytes -= pending.bytes;
    this.#pending.delete(pending);
    if (this.#overdue.delete(pending)) this.#overdueOfPart[pending.part] = (this.#overdueOfPart[pending.part] ?? 1) - 1;
    if (this.#pending.size + this.#overdue.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Returns whether a server has answered nothing for this long. A slow one that answers is not silent. */
  #isSilent(part: number, ms: number): boolean {
    const answeredAt = this.#answeredAt[part];
    return answeredAt === undefined || performance.now() - answeredAt >= ms;
  }

  /** A process that was busy for long has not read yet what has arrived. It reads before the next timer. */
  readonly #look = (): void => {
    this.#timer = setTimeout(this.#judge, 1);
  };

  /** Ends commands that ran out of time, and replaces a connection that stays silent. */
  readonly #judge = (): void => {
    const { commandMs } = this.#limits;
    const now = performance.now();
    for (const pending of this.#pending) {
      if (now - pending.sentAt < commandMs) break;
      this.#pending.delete(pending);
      this.#overdue.add(pending);
      this.#overdueOfPart[pending.part] = (this.#overdueOfPart[pending.part] ?? 0) + 1;
      pending.reject(this.#tooLate(pending));
    }
    const [oldest] = this.#overdue;
    const silentMs = silentDeadlines * commandMs;
    if (oldest && !this.isCluster && now - oldest.sentAt >= silentMs && this.#isSilent(oldest.part, silentMs)) {
      this.#link.reset();
    }
    const [first] = this.#pending;
    const restMs = first ? first.sentAt + commandMs - now : commandMs;
    this.#timer = first || oldest ? setTimeout(this.#look, Math.max(1, restMs)) : undefined;
  };
}

function sizeOf({ args }: Command): number {
  let bytes = 0;
  for (const arg of args) bytes += 2 * arg.length;
  return bytes;
}

/** Returns the part of a cluster's slots that a key is in. Neighbours are almost always on the same node. */
function partOf(key: string): number {
  return Math.floor((slotOf(key) * slotParts) / slots);
}

const slots = 16_384;

/** Returns the hash slot in which Redis Cluster keeps a key: CRC16 (XMODEM) of its hash tag, or of all of it. */
export function slotOf(key: string): number {
  const begin = key.indexOf("{");
  const end = begin === -1 ? -1 : key.indexOf("}", begin + 1);
  const hashed = end > begin + 1 ? key.slice(begin + 1, end) : key;
  let crc = 0;
  for (const byte of new TextEncoder().encode(hashed)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  }
  return (crc & 0xffff) % slots;
}
