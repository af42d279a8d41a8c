import { revisions, stateless } from "../../../kit/revisions.ts";
import { host, type Row } from "../../rows/row.ts";

const stdio = ["stdio"] as const;

/** The stdio transport. */
export const rowsC: { readonly [row: string]: Row } = {
  "C-C1": { about: "one message per line, without newlines inside", on: revisions, over: stdio },
  "C-C2": { about: "output between messages is dropped and reported", on: revisions, over: stdio },
  "C-C3": { about: "standard error is captured and is not a failure", on: revisions, over: stdio },
  "C-C4": { about: "a client supports stdio with a command", on: revisions, over: stdio },
  "C-C5": { about: "which messages each side may write", on: revisions, over: stdio },
  "C-C6": { about: "responses are correlated by request id, changes by subscription id", on: revisions, over: stdio },
  "C-C7": { about: "a cancellation is sent as a notification", on: revisions, over: stdio },
  "C-C8": { about: "when the process ends, calls fail at once with the reason", on: revisions, over: stdio },
  "C-XC8": { about: "a crashed server is restarted with its subscriptions", later: host },
  "C-C9": { about: "one process serves several clients", on: stateless, over: stdio },
  "C-C10": { about: "the first request probes which era the server supports", on: revisions, over: stdio },
  "C-C11": { about: "any byte stream can carry the lines of stdio", on: revisions, over: ["memory"] },
  "C-C12": { about: "credentials come from the given environment", on: revisions, over: stdio },
};
