/** Hands on each line of what arrives in pieces, without its end. */
export function createLineSplitter(heard: (line: string) => void): { push(chunk: Buffer): void; end(): void } {
  let held: Buffer[] = [];
  const take = (last: Buffer) => {
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
      if (start < chunk.length) held.push(chunk.subarray(start));
    },
    end: () => take(Buffer.alloc(0)),
  };
}
