import type { ClientCapabilities, JsonObject } from "portolan";
import type { Client, TapEvent } from "portolan/client";
import type { ConnectionRecord, MessageDetail, MessageRow, RowFilter } from "../../api.ts";
import { createSlices } from "../base.ts";
import { maxDetailChars, maxKeptExchanges, maxPendingRequests, maxTitleChars, pageRows, sliceMs } from "../limits.ts";
import { factsOf, type MessageFacts } from "./message.ts";
import type { Spool } from "./spool.ts";

/** A connection before it is told of. */
export type NewConnection = Pick<ConnectionRecord, "id" | "server" | "isMain" | "state">;

interface Pending {
  readonly n: number;
  readonly at: number;
  readonly method: string;
  readonly name: string | undefined;
  isCancelled?: boolean;
}

/** The name and the capabilities that this side has told. */
export interface ToldClient {
  readonly name: string;
  readonly version: string;
  readonly capabilities: ClientCapabilities;
}

/** One connection: what was heard of it, as rows. */
export class Connection {
  readonly spool: Spool;
  readonly #onRow: (row: MessageRow) => void;
  readonly #callOf: (label: string) => string | undefined;
  #record: Omit<ConnectionRecord, "rows">;
  /** Requests without a response, by the side that sent them and their id. */
  readonly #pending = new Map<string, Pending>();
  readonly #tokens = new Map<string, number>();
  /** The row of the last request of a call, by the label of the call. */
  readonly #calls = new Map<string, number>();
  /** The rows of HTTP exchanges: the request, and its status. */
  readonly #exchanges = new Map<number, { sent: number; at: number; isProbe: boolean; status?: number }>();
  client: Client | undefined;
  told: ToldClient | undefined;

  constructor(
    record: NewConnection,
    spool: Spool,
    onRow: (row: MessageRow) => void,
    callOf: (label: string) => string | undefined,
  ) {
    this.#record = record;
    this.spool = spool;
    this.#onRow = onRow;
    this.#callOf = callOf;
  }

  get #isRecorded(): boolean {
    return this.#record.id.startsWith("recording.");
  }

  get record(): ConnectionRecord {
    return { ...this.#record, rows: this.spool.last };
  }

  set(changed: Partial<Pick<ConnectionRecord, "state" | "revision" | "pid" | "reason">>): void {
    this.#record = { ...this.#record, ...changed };
  }

  /** Returns the row of the last request that was sent with a label. */
  rowOfCall(label: string): number | undefined {
    return this.#calls.get(label);
  }

  hear(event: TapEvent): void {
    const { at } = event;
    const call = event.call === undefined ? undefined : this.#callOf(event.call);
    const base = { n: this.spool.last + 1, at, ...(call !== undefined && { call }) };
    switch (event.kind) {
      case "message":
        this.#hearMessage(event, base);
        return;
      case "http":
        this.#hearHttp(event, base);
        return;
      case "stderr":
        this.#add(
          { ...base, lane: "stderr", kind: "line", title: cut(event.line), bytes: event.line.length },
          event.line,
        );
        return;
      case "invalid": {
        const { text, reason } = event;
        this.#add(
          { ...base, lane: "server", kind: "invalid", title: cut(reason), bytes: text.length, isError: true },
          text,
        );
        return;
      }
      case "link": {
        const { state, reason } = event;
        const title = reason === undefined ? state : `${state}: ${reason}`;
        const isError = state === "lost";
        this.#add(
          { ...base, lane: "client", kind: "link", title: cut(title), bytes: 0, ...(isError && { isError }) },
          title,
        );
        return;
      }
      default:
        return;
    }
  }

  /** Returns rows before or after a number, or the newest, that pass a filter. */
  async page({
    before,
    after,
    limit = pageRows,
    filter = {},
  }: {
    readonly before?: number;
    readonly after?: number;
    readonly limit?: number;
    readonly filter?: RowFilter;
  }): Promise<readonly MessageRow[]> {
    const rows: MessageRow[] = [];
    const pause = createSlices(sliceMs);
    const step = after === undefined ? -1 : 1;
    const { first, last } = this.spool;
    let n = after === undefined ? Math.min((before ?? last + 1) - 1, last) : Math.max(after + 1, first);
    for (; n >= first && n <= last && rows.length < limit; n += step) {
      const row = this.spool.row(n);
      if (row && this.#fits(row, filter)) rows.push(row);
      await pause();
    }
    return step < 0 ? rows.reverse() : rows;
  }

  detail(n: number): MessageDetail | undefined {
    const row = this.spool.row(n);
    if (!row) return undefined;
    if (row.kind === "http" && row.cancels !== true) return this.#httpDetail(row);
    const text = this.spool.text(n);
    const shown = text.slice(0, maxDetailChars);
    const isCut = shown.length < text.length || Buffer.byteLength(text) < row.bytes;
    return { ...row, text: shown, isCut };
  }

  #hearMessage(event: Extract<TapEvent, { kind: "message" }>, base: Pick<MessageRow, "n" | "at" | "call">): void {
    const { from, text } = event;
    const bytes = Buffer.byteLength(text);
    const facts = factsOf(text);
    if (!facts) {
      this.#add({ ...base, lane: from, kind: "invalid", title: cut(text), bytes, isError: true }, text);
      return;
    }
    const { kind, id, isError } = facts;
    if (kind === "response") {
      const key = `${from === "client" ? "server" : "client"} ${id}`;
      const request = this.#pending.get(key);
      this.#pending.delete(key);
      const { n: partner, at: since = base.at, method = "response", name } = request ?? {};
      this.#add(
        {
          ...base,
          ...{ lane: from, kind, title: method, bytes },
          ...(name !== undefined && { name }),
          ...(partner !== undefined && { partner }),
          // A recording has whole milliseconds, and what came before it has none.
          ...(partner !== undefined && (!this.#isRecorded || base.at > since) && { tookMs: base.at - since }),
          ...(isError && (isUnsupported(method, facts.code) ? { isUnsupported: true } : { isError })),
        },
        text,
      );
      return;
    }
    const { method = "", name, cancelledId } = facts;
    const cancelled = cancelledId === undefined ? undefined : this.#pending.get(`${from} ${cancelledId}`);
    if (cancelled) cancelled.isCancelled = true;
    const partner = cancelled?.n ?? this.#partnerOf(event, facts);
    this.#add(
      {
        ...base,
        ...{ lane: from, kind, title: method, bytes },
        ...(name !== undefined && { name }),
        ...(partner !== undefined && { partner }),
        ...(cancelled && { cancels: true }),
      },
      text,
    );
    if (kind === "request") this.#noteRequest(event, facts, base);
    if (from === "client" && facts.params) this.#noteClient(facts.params);
  }

  /** The request that a notification or a question belongs to. */
  #partnerOf({ from, call }: Extract<TapEvent, { kind: "message" }>, facts: MessageFacts): number | undefined {
    const { kind, progressToken } = facts;
    if (kind === "notification" && progressToken !== undefined) return this.#tokens.get(progressToken);
    return from === "server" && call !== undefined ? this.#calls.get(call) : undefined;
  }

  #noteRequest(
    { from, call }: Extract<TapEvent, { kind: "message" }>,
    { id, method = "", name, progressToken }: MessageFacts,
    { n, at }: Pick<MessageRow, "n" | "at">,
  ): void {
    remember(this.#pending, `${from} ${id}`, { n, at, method, name });
    if (from !== "client") return;
    if (progressToken !== undefined) remember(this.#tokens, progressToken, n);
    if (call !== undefined) remember(this.#calls, call, n);
  }

  /** Keeps what this side said of itself: once in the handshake, or with each request. */
  #noteClient(params: JsonObject): void {
    if (this.told && !("capabilities" in params)) return;
    const meta = (params["_meta"] ?? {}) as JsonObject;
    const memberOf = (end: string) => Object.entries(meta).find(([name]) => name.endsWith(`/${end}`))?.[1];
    const info = (params["clientInfo"] ?? memberOf("clientInfo")) as Partial<ToldClient> | undefined;
    const capabilities = (params["capabilities"] ?? memberOf("clientCapabilities")) as ClientCapabilities | undefined;
    if (!info || !capabilities) return;
    this.told = { name: String(info.name), version: String(info.version), capabilities };
  }

  #hearHttp(event: Extract<TapEvent, { kind: "http" }>, base: Pick<MessageRow, "n" | "at" | "call">): void {
    const { exchange, stage, method = "", url = "", status, reason, headers = {} } = event;
    const known = this.#exchanges.get(exchange);
    const text = JSON.stringify(event);
    const row = { ...base, lane: "http", kind: "http", bytes: event.bytes ?? 0 } as const;
    if (stage === "sent") {
      remember(
        this.#exchanges,
        exchange,
        { sent: base.n, at: base.at, isProbe: headers["mcp-method"] === probe },
        maxKeptExchanges,
      );
      this.#add({ ...row, title: cut(`${method} ${pathOf(url)}`) }, text);
      return;
    }
    // The end of a complete response says nothing that its status did not.
    if (stage === "end" || !known) {
      this.#noteClosed(event, base);
      return;
    }
    known.status = base.n;
    const title = stage === "failed" ? `failed: ${reason ?? ""}` : `${status ?? ""}`;
    const isProblem = stage === "failed" || (status ?? 0) >= 400;
    // An older server refuses the probe, which tells the client to shake hands instead.
    const isRefused = known.isProbe && (status === 400 || status === 404 || status === 405);
    const end = isRefused ? { isUnsupported: true } : isProblem ? { isError: true } : {};
    const took = { partner: known.sent, tookMs: base.at - known.at };
    this.#add({ ...row, ...took, title: cut(title), ...end }, text);
    if (stage === "failed") this.#noteClosed(event, { ...base, n: this.spool.last + 1 });
  }

  /** Over HTTP a request may be cancelled by closing its exchange, without any message. */
  #noteClosed(
    { call, reason }: Extract<TapEvent, { kind: "http" }>,
    base: Pick<MessageRow, "n" | "at" | "call">,
  ): void {
    const partner = call === undefined ? undefined : this.#calls.get(call);
    if (partner === undefined || reason !== "closed by this side") return;
    const request = [...this.#pending.values()].find(({ n }) => n === partner);
    if (!request || request.isCancelled) return;
    request.isCancelled = true;
    const text = "This side closed the exchange, which cancels the request.";
    this.#add({ ...base, lane: "client", kind: "http", title: reason, bytes: 0, partner, cancels: true }, text);
  }

  #httpDetail(row: MessageRow): MessageDetail {
    const partner = row.partner ?? this.#statusRowOf(row.n);
    const [sent, ended] = row.partner === undefined ? [row.n, partner] : [partner, row.n];
    const request = this.#httpEvent(sent);
    const response = this.#httpEvent(ended);
    const ms = row.tookMs ?? (ended === undefined ? undefined : this.spool.row(ended)?.tookMs);
    return {
      ...row,
      text: "",
      isCut: false,
      http: {
        method: request?.method ?? "",
        url: request?.url ?? "",
        requestHeaders: Object.entries(request?.headers ?? {}).map(([name, value]) => [name, String(value)]),
        responseHeaders: Object.entries(response?.headers ?? {}).map(([name, value]) => [name, String(value)]),
        ...(response?.status !== undefined && { status: response.status }),
        ...(ms !== undefined && { ms }),
      },
    };
  }

  #statusRowOf(sent: number): number | undefined {
    for (const exchange of this.#exchanges.values()) if (exchange.sent === sent) return exchange.status;
    return undefined;
  }

  #httpEvent(n: number | undefined): Extract<TapEvent, { kind: "http" }> | undefined {
    const text = n === undefined ? "" : this.spool.text(n);
    return text === "" ? undefined : (JSON.parse(text) as Extract<TapEvent, { kind: "http" }>);
  }

  #fits(row: MessageRow, { text, lanes, onlyErrors, method, from, to }: RowFilter): boolean {
    if (from !== undefined && row.at < from) return false;
    if (to !== undefined && row.at > to) return false;
    if (onlyErrors === true && row.isError !== true) return false;
    if (lanes && !lanes.includes(row.lane)) return false;
    if (method !== undefined && row.title !== method) return false;
    if (text === undefined || text === "") return true;
    const wanted = text.toLowerCase();
    return (
      row.title.toLowerCase().includes(wanted) ||
      row.name?.toLowerCase().includes(wanted) === true ||
      this.spool.text(row.n).toLowerCase().includes(wanted)
    );
  }

  #add(row: MessageRow, text: string): void {
    this.spool.add(row, text);
    this.#onRow(row);
  }
}

/** The first request to a server of unknown age. */
const probe = "server/discover";
const methodNotFound = -32_601;
const internalError = -32_603;

/** Tells if an error only says that a server is older: it refuses the probe, or has no ping. */
function isUnsupported(method: string, code: number | undefined): boolean {
  return (
    code !== undefined && (method === probe ? code !== internalError : method === "ping" && code === methodNotFound)
  );
}

/** Sets an entry, and forgets the oldest beyond the bound. */
function remember<K, V>(map: Map<K, V>, key: K, value: V, most: number = maxPendingRequests): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= most) return;
    map.delete(oldest);
  }
}

function cut(text: string): string {
  return text.length <= maxTitleChars ? text : text.slice(0, maxTitleChars).replace(/[\uD800-\uDBFF]$/, "");
}

function pathOf(url: string): string {
  try {
    const { pathname, search } = new URL(url);
    return pathname + search;
  } catch {
    return url;
  }
}
