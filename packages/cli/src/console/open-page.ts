import { spawn } from "node:child_process";
import { join } from "node:path";
import type { CommandContext } from "../command.ts";

/**
 * Opens a file of ours in the browser, if a person sits before a screen on which one can open. `makeFile` writes the file
 * and returns its address.
 */
export function openPage({ screen, system }: CommandContext, makeFile: () => string): void {
  const { platform, env } = system;
  const hasScreen = platform === "win32" || platform === "darwin" || env["DISPLAY"] || env["WAYLAND_DISPLAY"];
  if (!screen.isInteractive || env["SSH_CONNECTION"] || !hasScreen) return;
  const [command, ...args] = openers[platform]?.(env["SystemRoot"] ?? "C:\\Windows") ?? ["xdg-open"];
  const child = spawn(command, [...args, makeFile()], { detached: true, stdio: "ignore", shell: false });
  // Without a browser, the address on the screen is enough.
  child.on("error", () => {});
  child.unref();
}

const openers: { readonly [platform: string]: ((windows: string) => [string, ...string[]]) | undefined } = {
  darwin: () => ["/usr/bin/open"],
  // Not `start`, which is a command of cmd and interprets & and %.
  win32: (windows) => [join(windows, "System32", "rundll32.exe"), "url.dll,FileProtocolHandler"],
};
