import type { RootsQuestion, RootsVerdict } from "portolan-host";
import type { Context } from "../command.ts";
import { heading } from "./heading.ts";

/** Asks whether a server may know of some directories. */
export async function askRoots(context: Context, { server, roots }: RootsQuestion): Promise<RootsVerdict> {
  const { terminal } = context;
  heading(context, server, "wants to know which folders you work in:");
  for (const { uri } of roots) terminal.quote(uri);
  return terminal.choose<RootsVerdict>([
    { key: "y", label: "tell it, this session", value: { allow: true, for: "session" } },
    { key: "a", label: "always", value: { allow: true, for: "always" } },
    { key: "n", label: "no", value: { allow: false, for: "session" } },
    { key: "N", label: "never", value: { allow: false, for: "always" } },
  ]);
}
