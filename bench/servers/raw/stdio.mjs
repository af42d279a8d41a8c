import { createAnswer } from "./answer.mjs";
import { createLines } from "./lines.mjs";

const { send, read } = createLines(process.stdout);
const answer = createAnswer(Number(process.env.BENCH_EXTRA_TOOLS ?? 0), send);

process.stdin.on("data", (chunk) =>
  read(chunk, (message) => {
    const response = answer(message);
    if (response !== undefined) send(response);
  }),
);
