// @ts-check
import { createHost } from "portolan-host";

/**
 * Creates an assistant that reads notes freely and writes one only after the user approves.
 * @param {Omit<import("portolan-host").HostOptions, "policy">} options
 */
export function createAssistant(options) {
  return createHost({
    ...options,
    policy: [
      { match: "notes.*", readOnly: true, then: "allow" },
      { match: "notes.*", then: "ask" },
      { then: "deny", reason: "this assistant only works with notes" },
    ],
  });
}
