import { revisions, stateless } from "../../kit/revisions.ts";
import { client, type Row } from "./row.ts";

const stdio = ["stdio"] as const;

export const rowsC: { readonly [row: string]: Row } = {
  C1: { about: "one message per line, without newlines inside", on: revisions, over: stdio },
  C2: { about: "standard output carries messages only", on: revisions, over: stdio },
  C3: { about: "standard error is free for logs", on: revisions, over: stdio },
  C4: { about: "clients support stdio", later: client },
  C5: { about: "which messages each side may write", on: revisions, over: stdio },
  C6: { about: "responses are correlated by request id, changes by subscription id", on: revisions, over: stdio },
  C7: { about: "after a cancellation no more messages follow for that request", on: revisions, over: stdio },
  C8: { about: "a crashed server is restarted", later: client },
  C9: { about: "one process serves several clients", on: stateless, over: stdio },
  C10: { about: "a client may probe which era a server supports", on: revisions, over: stdio },
  C11: { about: "any byte stream can carry the lines of stdio", on: revisions, over: ["memory"] },
  C12: {
    about: "credentials come from the environment",
    untestable: "each server decides how it reads its environment",
  },
  "X-R09": { about: "chunks, line ends, byte order marks and blank lines do not matter", on: revisions, over: stdio },
  "X-R10": { about: "invalid UTF-8 is refused, not replaced", on: revisions, over: stdio },
  "X-R13": {
    about: "reading takes time in proportion to the bytes",
    untestable: "timed, so it belongs to the benchmarks",
  },
  "X-T33": { about: "a message that is too long is refused with its id", on: revisions, over: stdio },
};
