/** No message is longer: what is, is no line to anybody. */
const maxBytes = 16 * 1024 * 1024;

/** Hands on each line of what arrives in pieces, without its end; one that is far too long is left out. */
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
      // Bytes, not characters: a chunk may end in the middle of one.
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
        take(chunk.subarray(start, end));
        start = end + 1;
      }
      if (start < chunk.length) hold(chunk.subarray(start));
    },
    end: () => take(Buffer.alloc(0)),
  };
}
