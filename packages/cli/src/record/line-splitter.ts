/** Longer lines are not messages. */
const maxBytes = 16 * 1024 * 1024;

/** Splits chunks into lines and passes each on without its end. Lines above `limit` bytes are dropped. */
export function createLineSplitter(
  heard: (line: string) => void,
  limit: number = maxBytes,
): { push(chunk: Buffer): void; end(): void } {
  let held: Buffer[] = [];
  let bytes = 0;
  const hold = (part: Buffer) => {
    bytes += part.length;
    if (bytes > limit) held = [];
    else held.push(part);
  };
  const take = (last: Buffer) => {
    const isTooLong = bytes + last.length > limit;
    bytes = 0;
    if (isTooLong) {
      held = [];
      return;
    }
    const line = Buffer.concat([...held, last])
      .toString("utf8")
      .replace(/\r$/, "");
    held = [];
    if (line.trim() !== "") heard(line);
  };
  return {
    push(chunk) {
      let start = 0;
      // Works on bytes: a chunk may end within a character.
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
        take(chunk.subarray(start, end));
        start = end + 1;
      }
      if (start < chunk.length) hold(chunk.subarray(start));
    },
    end: () => take(Buffer.alloc(0)),
  };
}
