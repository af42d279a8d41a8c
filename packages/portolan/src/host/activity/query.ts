import type { ActivityEntry, ActivityQuery } from "./entry.ts";
import type { ActivityReading } from "./sink.ts";

/** The entries of a log that a query asks for. */
export async function* readEntries(reading: ActivityReading, query: ActivityQuery): AsyncGenerator<ActivityEntry> {
  const { limit = Number.POSITIVE_INFINITY, newestFirst = false } = query;
  const needle = query.text === undefined ? undefined : JSON.stringify(query.text).slice(1, -1).toLowerCase();
  const isWanted = filterOf(query);
  let count = 0;
  if (count >= limit) return;
  for await (const { text } of reading.texts) {
    const lines = text.split("\n");
    for (const line of newestFirst ? lines.reverse() : lines) {
      if (!line.startsWith('{"seq":') || (needle !== undefined && !line.toLowerCase().includes(needle))) continue;
      const entry = parseEntry(line);
      if (entry === undefined || !isWanted(entry)) continue;
      yield entry;
      count += 1;
      if (count >= limit) return;
    }
  }
}

function filterOf(query: ActivityQuery): (entry: ActivityEntry) => boolean {
  const { kinds, server, name, id } = query;
  const since = toIso(query.since);
  const until = toIso(query.until);
  return (entry) =>
    (kinds === undefined || kinds.includes(entry.kind)) &&
    (server === undefined || entry.server === server) &&
    (name === undefined || entry.name === name) &&
    (id === undefined || entry.id === id) &&
    (since === undefined || entry.at >= since) &&
    (until === undefined || entry.at < until);
}

function toIso(time: Date | string | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}

/** Damage is for `verify` to report; what can still be read is read. */
function parseEntry(line: string): ActivityEntry | undefined {
  try {
    return JSON.parse(line) as ActivityEntry;
  } catch {
    return undefined;
  }
}
