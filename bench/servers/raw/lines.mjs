/**
 * Reads and writes messages as lines.
 * @param {NodeJS.WritableStream} output
 */
export function createLines(output) {
  let pending = "";
  /** @type {Buffer[]} chunks of an incomplete line */
  let partial = [];

  function flush() {
    const text = pending;
    pending = "";
    output.write(text);
  }

  return {
    /** Joins the messages of one tick into one write. */
    send(message) {
      if (pending === "") process.nextTick(flush);
      pending += `${JSON.stringify(message)}\n`;
    },

    read(chunk, onMessage) {
      let start = 0;
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        let line = chunk.subarray(start, end);
        if (partial.length > 0) {
          line = Buffer.concat([...partial, line]);
          partial = [];
        }
        onMessage(JSON.parse(line.toString("utf8")));
        start = end + 1;
      }
      if (start < chunk.length) partial.push(chunk.subarray(start));
    },
  };
}
