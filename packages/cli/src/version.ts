import { existsSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { System } from "./system.ts";

/** The version of the command and of the library that contains it. */
export const version = "0.1.0";

/** The identity that the command sends to servers. */
export const info: { readonly name: string; readonly version: string } = { name: "portolan", version };

/**
 * Returns the folder of the library if the command runs from a clone. The version of a clone may not be published, so that
 * other projects install it from there. A published package has no sources.
 */
export function cloneFolder({ self }: Pick<System, "self">): string | undefined {
  const folder = resolve(dirname(realpathSync(self)), "../..");
  return existsSync(join(folder, "src")) ? folder : undefined;
}

/** Returns the word by which `npm install` finds one of our packages: its name, or its folder in a clone. */
export function installable(system: Pick<System, "self">, name: "portolan" | "portolan-host"): string {
  const folder = cloneFolder(system);
  if (folder === undefined) return name;
  return name === "portolan" ? folder : join(dirname(folder), "host");
}
