import type { Verb, Verbs } from "../api.ts";
import { ApiRefusal } from "./failure.ts";
import { maxBodyBytes, maxPageRows } from "./limits.ts";
import { type Check, object, optional, uuid, whole } from "./takes.ts";

/** One verb: the check of its request, and its work. */
export interface VerbRow<V extends Verb> {
  readonly takes: Check;
  /** True if the verb changes something: the same `request` again gives the same reply. */
  readonly changes: boolean;
  /** Default: 1 MiB. */
  readonly maxBytes: number;
  readonly run: (takes: Verbs[V]["takes"]) => Verbs[V]["gives"] | Promise<Verbs[V]["gives"]>;
}

/** The verbs of one subject. */
export type VerbTable<V extends Verb> = { readonly [Name in V]: VerbRow<Name> };

type Members = { readonly [member: string]: Check };

/** A verb that only reads. */
export function reads<V extends Verb>(
  members: Members,
  run: VerbRow<V>["run"],
  maxBytes: number = maxBodyBytes,
): VerbRow<V> {
  return { takes: object(members), changes: false, maxBytes, run };
}

/** A verb that changes something. */
export function changes<V extends Verb>(
  members: Members,
  run: VerbRow<V>["run"],
  maxBytes: number = maxBodyBytes,
): VerbRow<V> {
  return { takes: object({ request: uuid, ...members }), changes: true, maxBytes, run };
}

/** The members of a request for a page of rows. */
export const pageMembers: Members = {
  before: optional(whole(0)),
  after: optional(whole(0)),
  limit: optional(whole(1, maxPageRows)),
};

/** Throws unless a request is as the verb takes it. */
export function checkTakes({ takes }: { readonly takes: Check }, body: unknown): void {
  const paths = takes(body, "").slice(0, 20);
  const [first] = paths;
  if (!first) return;
  const message = `${first.path === "" ? "" : `${first.path}: `}${first.message}`;
  throw new ApiRefusal("bad-request", message, { paths });
}
