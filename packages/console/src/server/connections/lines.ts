import type { HostEvent } from "portolan-host";
import type { LineRow, Page, PageRequest } from "../../api.ts";
import type { ConsoleBase } from "../base.ts";
import { batchMs, maxLineChars, maxServerLines, pageRows } from "../limits.ts";

/** Lines of servers: standard error, log messages, and warnings of the host. */
export class Lines {
  readonly #base: ConsoleBase;
  readonly #servers = new Map<string, { last: number; rows: LineRow[] }>();
  /** Rows that are sent together. */
  readonly #waiting = new Map<string, LineRow[]>();
  #timer: NodeJS.Timeout | undefined;

  constructor(base: ConsoleBase) {
    this.#base = base;
  }

  hear(event: HostEvent): void {
    const at = Date.now();
    if (event.kind === "stderr") this.#add(event.server, { at, kind: "stderr", text: event.line });
    if (event.kind === "warning") this.#add(event.server, { at, kind: "warning", text: event.message });
    if (event.kind === "server" && event.status.state === "closed") this.#servers.delete(event.server);
    if (event.kind !== "log") return;
    const { server, level, logger, data } = event;
    const text = typeof data === "string" ? data : (JSON.stringify(data) ?? "");
    this.#add(server, { at, kind: "log", level, text, ...(logger !== undefined && { logger }) });
  }

  page(server: string, { before, after, limit = pageRows }: PageRequest): Page<LineRow> {
    const { rows, last } = this.#servers.get(server) ?? { rows: [], last: 0 };
    const first = rows[0]?.n ?? (last === 0 ? 0 : last + 1);
    if (after !== undefined) return { rows: rows.filter(({ n }) => n > after).slice(0, limit), first, last };
    const older = before === undefined ? rows : rows.filter(({ n }) => n < before);
    return { rows: older.slice(-limit), first, last };
  }

  #add(server: string, line: Omit<LineRow, "n">): void {
    const own = this.#servers.get(server) ?? { last: 0, rows: [] };
    this.#servers.set(server, own);
    own.last += 1;
    const row = { n: own.last, ...line, text: line.text.slice(0, maxLineChars) };
    own.rows.push(row);
    if (own.rows.length > maxServerLines) own.rows.splice(0, own.rows.length - maxServerLines / 2);
    const waiting = this.#waiting.get(server);
    if (waiting) waiting.push(row);
    else this.#waiting.set(server, [row]);
    this.#timer ??= setTimeout(() => this.#send(), batchMs);
  }

  #send(): void {
    this.#timer = undefined;
    for (const [server, rows] of this.#waiting) {
      for (let from = 0; from < rows.length; from += pageRows) {
        this.#base.publish({ kind: "lines", server, rows: rows.slice(from, from + pageRows) });
      }
    }
    this.#waiting.clear();
  }
}
