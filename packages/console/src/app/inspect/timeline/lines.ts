import type { ConnectionRecord, MessageRow } from "../../../api.ts";

/** A line of the table: a row, with what belongs to it below it. */
export interface TimelineLine {
  readonly row: MessageRow;
  readonly depth: number;
  /** The row of the response that is shown with its request. */
  readonly response?: MessageRow;
  /** More than one: so many rows of the same kind stand in this line. */
  readonly count: number;
  readonly tookMs?: number;
  readonly bytes: number;
  readonly isError: boolean;
  readonly isCancelled?: boolean;
  readonly isUnsupported?: boolean;
}

/** Deeper questions stand as deep as this. */
const maxDepth = 3;

/**
 * Puts requests, their responses and what was asked in between together: a response stands in the line of its request,
 * questions and notifications below it, and notifications of one kind that follow each other in one line.
 */
export function linesOf(rows: readonly MessageRow[]): readonly TimelineLine[] {
  // Only rows that others belong to are looked up: of 20,000 most are notifications.
  const partners = new Set<number>();
  for (const { partner } of rows) if (partner !== undefined) partners.add(partner);
  const known = new Set<number>();
  for (const { n } of rows) if (partners.has(n)) known.add(n);
  const children = new Map<number, MessageRow[]>();
  const tops: MessageRow[] = [];
  for (const row of rows) {
    const { partner } = row;
    // A partner that comes later would be a circle.
    if (partner === undefined || partner >= row.n || !known.has(partner)) tops.push(row);
    else {
      const list = children.get(partner);
      if (list) list.push(row);
      else children.set(partner, [row]);
    }
  }
  const lines: TimelineLine[] = [];
  const add = (row: MessageRow, depth: number) => {
    const below = partners.has(row.n) ? (children.get(row.n) ?? []) : [];
    if (below.length === 0 && row.tookMs === undefined) {
      lines.push(lineOf(row, depth));
      return;
    }
    const response = row.kind === "request" ? below.find((each) => each.kind === "response") : undefined;
    const tookMs = response?.tookMs ?? row.tookMs;
    const isCancelled = below.some((each) => each.cancels === true);
    // Servers answer a cancelled request with an error or not at all: both are as it should be.
    const isError = row.isError === true || (response?.isError === true && !isCancelled);
    lines.push({
      row,
      depth,
      count: 1,
      bytes: row.bytes + (response?.bytes ?? 0),
      isError,
      ...(isCancelled && { isCancelled }),
      ...((row.isUnsupported || response?.isUnsupported) && { isUnsupported: true }),
      ...(response && { response }),
      ...(tookMs !== undefined && { tookMs }),
    });
    for (let at = 0; at < below.length; at++) {
      const child = below[at] as MessageRow;
      if (child === response) continue;
      if (child.kind === "request" || children.has(child.n)) {
        add(child, Math.min(maxDepth, depth + 1));
        continue;
      }
      let end = at;
      while (isSameKind(below[end + 1], child)) end += 1;
      const same = below.slice(at, end + 1);
      lines.push({
        row: child,
        depth: Math.min(maxDepth, depth + 1),
        count: same.length,
        bytes: same.reduce((sum, { bytes }) => sum + bytes, 0),
        isError: same.some((each) => each.isError === true),
        ...(child.tookMs !== undefined && { tookMs: child.tookMs }),
      });
      at = end;
    }
  };
  for (const row of tops) add(row, 0);
  return lines;
}

/** A row as a line of its own. */
export function lineOf(row: MessageRow, depth = 0): TimelineLine {
  const { bytes, tookMs, isUnsupported } = row;
  return {
    ...{ row, depth, count: 1, bytes, isError: row.isError === true },
    ...(isUnsupported && { isUnsupported }),
    ...(tookMs !== undefined && { tookMs }),
  };
}

function isSameKind(row: MessageRow | undefined, other: MessageRow): boolean {
  return (
    row !== undefined &&
    row.kind === "notification" &&
    other.kind === "notification" &&
    row.title === other.title &&
    row.lane === other.lane
  );
}

/** True for a recording that is shown as a connection: nothing can be sent on it. */
export function isRecorded({ id }: ConnectionRecord): boolean {
  return id.startsWith("recording.");
}

/** The lines to show. */
export type LineFilter = "all" | "calls" | "questions" | "errors";

/** Tells whether a line and what is below it is shown. */
export function isShown(line: TimelineLine, filter: LineFilter): boolean {
  switch (filter) {
    case "errors":
      return line.isError || line.row.kind === "invalid";
    case "questions":
      return line.row.kind === "request" && line.row.lane === "server";
    case "calls":
      return (
        line.row.kind === "request" &&
        line.row.lane === "client" &&
        /^(?:tools\/call|resources\/read|prompts\/get)$/.test(line.row.title)
      );
    default:
      return true;
  }
}

/** A bar or dot in a lane, in milliseconds since 1970. */
export interface LaneMark {
  readonly n: number;
  readonly from: number;
  /** Undefined: a dot. `Infinity`: not over yet. */
  readonly to?: number;
  readonly words: string;
  readonly tone: "call" | "plain" | "asks" | "bad";
  readonly level: number;
}

const maxLevels = 3;
const maxMarks = 280;
/** More dots than these stand on each other, and hide when something happened. */
const maxDots = 120;

/** Returns the marks of one lane in a range of time. Bars that overlap stand on up to three levels. */
export function marksOf(
  rows: readonly MessageRow[],
  lane: MessageRow["lane"],
  from: number,
  to: number,
): readonly LaneMark[] {
  const ends = new Map<number, MessageRow>();
  for (const row of rows) {
    if (row.partner === undefined || (row.kind !== "response" && row.kind !== "http" && !row.cancels)) continue;
    // An answer that comes after the cancellation changes nothing.
    if (!ends.get(row.partner)?.cancels) ends.set(row.partner, row);
  }
  // A request without an answer at the end of the connection never gets one.
  const lostAt = rows.find(({ kind, title }) => kind === "link" && /^(?:lost|closed)\b/.test(title))?.at;
  const marks: LaneMark[] = [];
  const levels: number[] = [];
  const dotMs = (to - from) / maxDots;
  let lastDotAt = Number.NEGATIVE_INFINITY;
  for (const row of rows) {
    if (row.lane !== lane || row.kind === "response" || row.cancels || marks.length >= maxMarks) continue;
    // The end of an exchange stands in the bar of its request.
    if (row.kind === "http" && row.partner !== undefined && ends.get(row.partner) === row) continue;
    const isBar = row.kind === "request" || row.kind === "http";
    const answer = ends.get(row.n);
    const end = isBar
      ? (answer?.at ?? (lostAt !== undefined && lostAt >= row.at ? lostAt : Number.POSITIVE_INFINITY))
      : row.at;
    if (end < from || row.at > to) continue;
    const outcome = answer?.cancels
      ? "cancelled"
      : answer?.isUnsupported
        ? "not supported"
        : answer?.isError
          ? "failed"
          : "";
    const words = [row.name ?? row.title, outcome].filter(Boolean).join(" ");
    const isBad = row.isError === true || answer?.isError === true || row.kind === "invalid";
    const tone = isBad
      ? "bad"
      : lane === "server" && row.kind === "request"
        ? "asks"
        : row.title === "tools/call" && !answer?.cancels
          ? "call"
          : "plain";
    if (!isBar) {
      if (!isBad && row.at - lastDotAt < dotMs) continue;
      lastDotAt = row.at;
      marks.push({ n: row.n, from: row.at, words, tone, level: 0 });
      continue;
    }
    let level = levels.findIndex((busy) => busy <= row.at);
    if (level === -1) level = levels.length < maxLevels ? levels.length : maxLevels - 1;
    levels[level] = end;
    marks.push({ n: row.n, from: row.at, to: end, words, tone, level });
  }
  return marks;
}
