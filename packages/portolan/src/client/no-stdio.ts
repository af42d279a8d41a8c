import { PortolanError } from "../errors.ts";

/** Replaces `stdio.ts` on runtimes without processes (package imports condition). */
export function stdio(): never {
  throw new PortolanError(
    "invalid-argument",
    "connect: this runtime cannot start processes; expected an http address, a link or a channel",
  );
}
