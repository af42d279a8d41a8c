import { existsSync } from "node:fs";
import { join } from "node:path";
import type { System } from "../system.ts";

/**
 * Returns the words with which a person starts this command again. npm adds folders of its own to the PATH of what it
 * starts, but not to the one of the shell: a command that only npm finds is typed with `npx`.
 */
export function programWords({ env, platform }: Pick<System, "env" | "platform">): "portolan" | "npx portolan" {
  if (env["npm_command"] === undefined) return "portolan";
  const isWindows = platform === "win32";
  const names = isWindows ? ["portolan.cmd", "portolan.exe"] : ["portolan"];
  const folders = (env["PATH"] ?? env["Path"] ?? "")
    .split(isWindows ? ";" : ":")
    .filter((folder) => folder !== "" && !/[\\/]node_modules[\\/]\.bin[\\/]?$/.test(folder));
  const isInstalled = folders.some((folder) => names.some((name) => existsSync(join(folder, name))));
  return isInstalled ? "portolan" : "npx portolan";
}
