import { createAnswer } from "./answer.mjs";
import { createAsk } from "./ask.mjs";

/** @type {import("../../driver/client-child.mjs").Connect} */
export async function connect({ era }) {
  const client = createAsk(era, (message) => {
    const answered = answer(message, client.receive);
    if (answered instanceof Promise) answered.then(client.receive);
    else if (answered !== undefined) client.receive(answered);
  });
  const answer = createAnswer(0);
  await client.hello();
  return { ...client, close: async () => {} };
}
