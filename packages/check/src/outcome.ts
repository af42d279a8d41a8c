/** The server did not do what a scenario expected; the message is the evidence. */
export class Failed extends Error {}

/** The scenario has nothing to look at on this server; the message is the reason. */
export class NotApplicable extends Error {}

/** The server did not answer in time. */
export class Silence extends Failed {}

/** Fails with the evidence unless something holds. */
export function check(holds: boolean, evidence: () => string): asserts holds {
  if (!holds) throw new Failed(evidence());
}
