import type { ConfigInput } from "portolan-host";
import type { World } from "../system.ts";

/** The variable that answers what a file asks its user for, such as `${input:api-key}`. */
export function variableOf(id: string): string {
  return `PORTOLAN_INPUT_${id.toUpperCase().replace(/[^A-Z\d]+/g, "_")}`;
}

/** The answer that needs nobody: of the variable, or the one that the file itself proposes. */
export function knownAnswer({ id, default: proposed }: ConfigInput, { env }: World): string | undefined {
  return env[variableOf(id)] ?? proposed;
}
