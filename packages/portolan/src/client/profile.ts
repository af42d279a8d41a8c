import type { Implementation, ServerCapabilities } from "../protocol/types/index.ts";

/** Who answered, as far as it said. */
export interface ServerProfile {
  /** The protocol version that is spoken. */
  readonly version: string;
  /** Whether each request describes itself, or a handshake came first. */
  readonly era: "stateless" | "stateful";
  readonly info?: Implementation | undefined;
  readonly capabilities: ServerCapabilities;
  readonly instructions?: string | undefined;
}
