import { PortolanError } from "../../errors.ts";

/** Replaces `readText` of `node/read.ts` on runtimes without files. */
export async function readText(): Promise<never> {
  throw new PortolanError(
    "invalid-definition",
    "app: this runtime reads no files; give `html` the text, or a function that returns it",
  );
}
