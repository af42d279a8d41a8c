/** The five revisions, oldest first. */
export const revisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] as const;

export type RevisionDate = (typeof revisions)[number];

/** The revisions of a range, both ends included. */
export function between(from: RevisionDate, to: RevisionDate): readonly RevisionDate[] {
  return revisions.slice(revisions.indexOf(from), revisions.indexOf(to) + 1);
}

/** The revisions with a handshake. */
export const stateful: readonly RevisionDate[] = between("2024-11-05", "2025-11-25");

/** The revisions without a handshake: each request has its own metadata. */
export const stateless: readonly RevisionDate[] = ["2026-07-28"];

export function isStateless(revision: RevisionDate): boolean {
  return stateless.includes(revision);
}

export const transports = ["memory", "stdio"] as const;

export type Transport = (typeof transports)[number];
