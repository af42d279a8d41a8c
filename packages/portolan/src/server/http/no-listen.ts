import { PortolanError } from "../../errors.ts";

/** Stands for `node/listen.ts` on runtimes without `node:http`. */
export async function listenOn(): Promise<never> {
  throw new PortolanError(
    "invalid-argument",
    "listen: this runtime cannot open a port; pass `fetch` of the endpoint to the runtime instead",
  );
}

/** Stands for the error of `node/listen.ts`. */
export function unsafeBinding(): PortolanError {
  return new PortolanError("invalid-argument", "listen: this runtime cannot open a port");
}
