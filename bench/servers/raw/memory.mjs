import { createAnswer } from "./answer.mjs";

/** @type {import("../../driver/memory-child.mjs").Connect} */
export function connect({ extraTools, onDefined }, receive) {
  const answer = createAnswer(extraTools);
  onDefined?.();
  return (message) => {
    const answered = answer(message, receive);
    if (answered instanceof Promise) answered.then(receive);
    else if (answered !== undefined) receive(answered);
  };
}
