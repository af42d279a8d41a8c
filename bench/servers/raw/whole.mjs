import { createAnswer } from "./answer.mjs";
import { createAsk } from "./ask.mjs";

/** @type {import("../../driver/client-child.mjs").Connect} */
export async function connect({ era }) {
  const client = createAsk(era, (message) => {
    const response = answer(message);
    if (response !== undefined) client.receive(response);
  });
  const answer = createAnswer(0, client.receive);
  await client.hello();
  return { ...client, close: async () => {} };
}
