import { revisions, stateless } from "../../../kit/revisions.ts";
import { host, type Row } from "../../rows/row.ts";

const stdio = ["stdio"] as const;

/** The stdio transport. */
export const rowsC: { readonly [row: string]: Row } = {
  "C-C1": { about: "one message per line, without newlines inside", on: revisions, over: stdio },
  "C-C2": { about: "what is printed between messages is dropped and reported", on: revisions, over: stdio },
  "C-C3": { about: "standard error is heard and means no failure", on: revisions, over: stdio },
  "C-C4": { about: "a command is all that stdio needs", on: revisions, over: stdio },
  "C-C5": { about: "who may write what", on: revisions, over: stdio },
  "C-C6": { about: "responses find their requests by id, changes their subscription", on: revisions, over: stdio },
  "C-C7": { about: "a cancellation is told by its notification", on: revisions, over: stdio },
  "C-C8": { about: "when the process ends, calls fail at once and say why", on: revisions, over: stdio },
  "C-XC8": { about: "a server that crashed is started again, and its subscriptions with it", later: host },
  "C-C9": { about: "one process serves several conversations", on: stateless, over: stdio },
  "C-C10": { about: "the first request asks which era the server speaks", on: revisions, over: stdio },
  "C-C11": { about: "any byte stream can carry the lines of stdio", on: revisions, over: ["memory"] },
  "C-C12": { about: "credentials come from the environment that is given", on: revisions, over: stdio },
};
