import type { JsonObject } from "../../jsonrpc/message.ts";
import type { Rounds } from "../ask/rounds.ts";
import type { ErrorReport, ServerOptions } from "../define/definition.ts";
import type { Snapshot } from "../define/snapshot.ts";
import { type Audience, Hub } from "./hub.ts";

/** What was said outside a request, and to whom. */
export interface Publication {
  readonly topic: string;
  readonly payload: JsonObject;
  readonly audience: Audience | undefined;
}

/** What all connections of one server share: its compiled features, and whatever outlives a request. */
export class Runtime {
  /** Replaced as a whole when a live server changes; requests that run keep the one they began with. */
  snapshot: Snapshot;
  readonly hub: Hub = new Hub((error) => this.report(error));
  /** Hand on to other processes what this one publishes. */
  readonly relays: Set<(publication: Publication) => void> = new Set();
  /** What questions need between their rounds; made when the first one is asked. */
  rounds: Rounds | undefined;

  constructor(snapshot: Snapshot) {
    this.snapshot = snapshot;
  }

  /** Tells the operator of an error that the peer does not see; returns the reference that the peer gets instead. */
  report(error: unknown, method?: string): string {
    const reference = crypto.randomUUID().slice(0, 8);
    const about: ErrorReport = method === undefined ? { reference } : { method, reference };
    tellOperator(this.snapshot.options, error, about);
    return reference;
  }
}

/** Hands an error to whoever runs the server; a hook that fails itself does not hide it. */
export function tellOperator(
  { onError = printError }: ServerOptions<unknown>,
  error: unknown,
  about: ErrorReport,
): void {
  try {
    onError(error, about);
  } catch (failure) {
    printError(error, about);
    printError(failure, about);
  }
}

function printError(error: unknown, { method, reference }: ErrorReport): void {
  const where = [method, reference && `(reference ${reference})`].filter(Boolean).join(" ");
  console.error(`portolan: ${where}`, error);
}
