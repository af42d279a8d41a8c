import { createAnswer } from "./answer.mjs";
import { createLines } from "./lines.mjs";

const { send, read } = createLines(process.stdout);
const answer = createAnswer(Number(process.env.BENCH_EXTRA_TOOLS ?? 0));

process.stdin.on("data", (chunk) =>
  read(chunk, (message) => {
    const answered = answer(message, send);
    if (answered instanceof Promise) answered.then(send);
    else if (answered !== undefined) send(answered);
  }),
);
