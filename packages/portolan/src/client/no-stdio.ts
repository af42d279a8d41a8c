import { PortolanError } from "../errors.ts";

/** Stands for `stdio.ts` on runtimes that have no processes. */
export function stdio(): never {
  throw new PortolanError(
    "invalid-argument",
    "connect: this runtime cannot start a server as a process; expected an http address, a link or a channel",
  );
}
