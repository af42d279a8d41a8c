import { createEncoder } from "./encode.ts";
import type { EffectiveTraits, FirstRevision, Kind, MethodRow, Revision, RevisionChanges } from "./revision.ts";

/**
 * Builds all revisions from their changelogs, oldest first. What an older revision must not say follows from what the
 * later ones add, so that a new revision is one new file and its place in the list.
 */
export function deriveRevisions(first: FirstRevision, ...later: RevisionChanges[]): Revision[] {
  const changes: RevisionChanges[] = [first, ...later];
  return changes.map((_, index) => build(first, changes.slice(0, index + 1), changes.slice(index + 1)));
}

function build(first: FirstRevision, upTo: RevisionChanges[], after: RevisionChanges[]): Revision {
  const traits: EffectiveTraits = Object.assign({ ...first }, ...upTo.map(withoutUndefined));
  const { version } = upTo[upTo.length - 1] ?? first;
  const requests = table(upTo.map((c) => c.requests ?? {}));
  const notifications = table(upTo.map((c) => rowsOf(c.notifications ?? {})));
  const tells = allowed(upTo.map((c) => c.tells ?? {}));
  const asks = allowed(upTo.map((c) => c.asks ?? {}));
  const asking = { traits, requests, tells, asks, hidden: hiddenMembers(upTo, after), upTo, after };
  const { lifecycle, questions, logsUnasked, changes, batches, unreadableId, http } = traits;
  const revision: Revision = {
    version,
    lifecycle,
    questions,
    logsUnasked,
    changes,
    batches,
    unreadableId,
    http,
    requests,
    notifications,
    readPeer: (meta) => traits.readPeer(meta, revision),
    asking,
    ...createEncoder(asking),
  };
  return revision;
}

/** Keeps a changelog from erasing a trait with an undefined member. */
function withoutUndefined(changes: RevisionChanges): Partial<EffectiveTraits> {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

function table(layers: { readonly [method: string]: MethodRow | string | null }[]): Map<string, MethodRow> {
  const rows = new Map<string, MethodRow>();
  for (const layer of layers) {
    for (const [method, row] of Object.entries(layer)) {
      if (row && typeof row !== "string") rows.set(method, row);
      else rows.delete(method);
    }
  }
  return rows;
}

function rowsOf(checks: NonNullable<RevisionChanges["notifications"]>): { [method: string]: MethodRow | null } {
  return Object.fromEntries(Object.entries(checks).map(([method, params]) => [method, params && { params }]));
}

function allowed(layers: { readonly [name: string]: boolean }[]): Set<string> {
  const names = new Set<string>();
  for (const layer of layers) {
    for (const [name, isAllowed] of Object.entries(layer)) {
      if (isAllowed) names.add(name);
      else names.delete(name);
    }
  }
  return names;
}

function hiddenMembers(upTo: RevisionChanges[], after: RevisionChanges[]): Map<Kind, string[]> {
  const hidden = new Map<Kind, string[]>();
  for (const members of [...upTo.map((c) => c.removes), ...after.map((c) => c.adds)]) {
    for (const [kind, names] of Object.entries(members ?? {})) {
      hidden.set(kind as Kind, [...(hidden.get(kind as Kind) ?? []), ...(names ?? [])]);
    }
  }
  return hidden;
}
