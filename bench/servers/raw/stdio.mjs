import { createAnswer } from "./answer.mjs";

let pending = "";
/** Joins what is written in one tick into one write. */
function send(message) {
  if (pending === "") process.nextTick(flush);
  pending += `${JSON.stringify(message)}\n`;
}
function flush() {
  const text = pending;
  pending = "";
  process.stdout.write(text);
}

const answer = createAnswer(Number(process.env.BENCH_EXTRA_TOOLS ?? 0), send);
/** @type {Buffer[]} chunks of a line whose end has not come yet */
let partial = [];

process.stdin.on("data", (chunk) => {
  let start = 0;
  for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
    let line = chunk.subarray(start, end);
    if (partial.length > 0) {
      line = Buffer.concat([...partial, line]);
      partial = [];
    }
    const response = answer(JSON.parse(line.toString("utf8")));
    if (response !== undefined) send(response);
    start = end + 1;
  }
  if (start < chunk.length) partial.push(chunk.subarray(start));
});
