// @ts-check
import { createHost } from "portolan-host";

/**
 * An assistant that may read notes, and writes one only after its user has agreed.
 * @param {Omit<import("portolan-host").HostOptions, "policy">} options
 */
export function createAssistant(options) {
  return createHost({
    ...options,
    policy: [
      { match: "notes.*", readOnly: true, then: "allow" },
      { match: "notes.*", then: "ask" },
      { then: "deny", reason: "this assistant is for notes only" },
    ],
  });
}
