import { createAnswer } from "./answer.mjs";

/** @type {import("../../driver/memory-child.mjs").Connect} */
export function connect({ extraTools }, receive) {
  const answer = createAnswer(extraTools, receive);
  return (message) => {
    const response = answer(message);
    if (response !== undefined) receive(response);
  };
}
