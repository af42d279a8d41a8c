import { revisions, stateless } from "../../kit/revisions.ts";
import { client, type Row } from "./row.ts";

const stdio = ["stdio"] as const;

export const rowsC: { readonly [row: string]: Row } = {
  C1: { about: "one message per line, without newlines inside", on: revisions, over: stdio },
  C2: { about: "standard output carries messages only", on: revisions, over: stdio },
  C3: { about: "standard error is free for logs", on: revisions, over: stdio },
  C4: { about: "clients support stdio", later: client },
  C5: { about: "who may write what", on: revisions, over: stdio },
  C6: { about: "responses find their requests by id, changes their subscription", on: revisions, over: stdio },
  C7: { about: "after a cancellation nothing more is said", on: revisions, over: stdio },
  C8: { about: "a crashed server is started again", later: client },
  C9: { about: "one process serves several conversations", on: stateless, over: stdio },
  C10: { about: "a client may ask first which era a server speaks", on: revisions, over: stdio },
  C11: { about: "any byte stream can carry the lines of stdio", on: revisions, over: ["memory"] },
  C12: {
    about: "credentials come from the environment",
    untestable: "how a server reads its environment is its own affair",
  },
  "X-R09": { about: "chunks, line ends, byte order marks and blank lines do not matter", on: revisions, over: stdio },
  "X-R10": { about: "invalid UTF-8 is refused, not replaced", on: revisions, over: stdio },
  "X-R13": {
    about: "reading costs time in proportion to the bytes",
    untestable: "timed, so it belongs to the benchmarks",
  },
  "X-T33": { about: "a message that is too long is refused under its id", on: revisions, over: stdio },
};
