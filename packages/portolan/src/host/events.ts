import type { Change } from "../client/api.ts";
import type { Progress } from "../client/options.ts";
import type { LogLevel } from "../protocol/types/index.ts";
import type { OfferKind } from "./catalog/load-lists.ts";
import { Feed } from "./feed.ts";
import type { ChangedDefinition } from "./policy/index.ts";
import type { Question } from "./questions.ts";
import type { ServerStatus } from "./status.ts";

/** Something that an interface may want to show. */
export type HostEvent =
  | { readonly kind: "server"; readonly server: string; readonly status: ServerStatus }
  /** What a server offers is another now. */
  | { readonly kind: "catalog"; readonly server: string; readonly changed: OfferKind }
  /** A definition has changed since it was accepted, and cannot be used until it is again. */
  | { readonly kind: "definition"; readonly server: string; readonly change: ChangedDefinition }
  | { readonly kind: "resource"; readonly server: string; readonly uri: string }
  | {
      readonly kind: "call";
      readonly server: string;
      readonly id: string;
      readonly name: string;
      readonly run?: string;
    }
  | {
      readonly kind: "progress";
      readonly server: string;
      readonly id: string;
      readonly name: string;
      readonly progress: Progress;
    }
  /** A call has ended in one way or another. */
  | {
      readonly kind: "ended";
      readonly server: string;
      readonly id: string;
      readonly name: string;
      readonly how: "done" | "failed" | "cancelled";
      readonly ms: number;
    }
  | {
      readonly kind: "log";
      readonly server: string;
      readonly level: LogLevel;
      readonly logger?: string;
      readonly data: unknown;
    }
  | { readonly kind: "stderr"; readonly server: string; readonly line: string }
  | { readonly kind: "question"; readonly server: string; readonly question: Question }
  /** A question needs no answer any more. */
  | { readonly kind: "answered"; readonly server: string; readonly question: Question }
  /** Something odd that failed no call. */
  | { readonly kind: "warning"; readonly server: string; readonly message: string }
  /** So many events were not kept for a reader that was too slow. */
  | { readonly kind: "lost"; readonly server: ""; readonly count: number };

export type HostEventKind = HostEvent["kind"];

/** Which events to hear of; all unless said. */
export interface EventFilter {
  readonly kinds?: readonly HostEventKind[];
  readonly server?: string;
}

export function createHostFeed(): Feed<HostEvent> {
  return new Feed<HostEvent>({
    keyOf(event) {
      if (event.kind === "progress") return `progress ${event.id}`;
      if (event.kind === "server") return `server ${event.server}`;
      if (event.kind === "catalog") return `catalog ${event.server} ${event.changed}`;
      return event.kind === "resource" ? `resource ${event.server} ${event.uri}` : undefined;
    },
    lost: (count) => ({ kind: "lost", server: "", count }),
  });
}

/** Whether an event is wanted. */
export function wants({ kinds, server }: EventFilter): (event: HostEvent) => boolean {
  const set = kinds && new Set<string>(kinds);
  return (event) => (set?.has(event.kind) ?? true) && (server === undefined || event.server === server);
}

/** The kinds of lists that a change is about. */
export function offersChangedBy(change: Change): OfferKind | undefined {
  return change.kind === "resource" ? undefined : change.kind;
}
