import type { Peer, Question } from "./revision.ts";
import type { ClientCapabilities } from "./types/index.ts";

/** Whether a client may be asked this: its revision has the question, and it declared that it answers. */
export function mayAsk({ revision, capabilities }: Peer, question: Question): boolean {
  return revision.asking.asks.has(question) && declares[question](capabilities);
}

const declares: { [Q in Question]: (capabilities: ClientCapabilities) => boolean } = {
  roots: (c) => c.roots !== undefined,
  sampling: (c) => c.sampling !== undefined,
  "sampling.tools": (c) => c.sampling?.tools !== undefined,
  "sampling.context": (c) => c.sampling?.context !== undefined,
  // An empty elicitation capability means forms only.
  "elicitation.form": (c) =>
    c.elicitation !== undefined && (c.elicitation.form !== undefined || c.elicitation.url === undefined),
  "elicitation.url": (c) => c.elicitation?.url !== undefined,
};

/** Whether a name is that of a question. */
export function isQuestion(name: string): name is Question {
  return Object.hasOwn(declares, name);
}
