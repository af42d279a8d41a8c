import { spawn } from "node:child_process";
import { join } from "node:path";
import { checkVisitable } from "../redirect.ts";

/** A program that has not failed by then has opened something; some stay for as long as the browser does. */
const patienceMs = 3_000;

/** Opens an address in the browser of this machine; rejects when that is known to have failed. */
export async function openBrowser(url: URL): Promise<void> {
  checkVisitable(url);
  const [command, ...args] = opener();
  // Without a shell: the address is one argument, whatever is in it.
  const child = spawn(command, [...args, url.href], { detached: true, stdio: "ignore", shell: false });
  child.unref();
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, patienceMs);
    timer.unref();
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`${command} ended with ${code ?? signal}`));
    });
    child.on("close", () => clearTimeout(timer));
  });
}

function opener(): [string, ...string[]] {
  switch (process.platform) {
    case "darwin":
      return ["/usr/bin/open"];
    case "win32":
      // Not `start`, which is a word of cmd and reads & and % as its own.
      return [
        join(process.env["SystemRoot"] ?? "C:\\Windows", "System32", "rundll32.exe"),
        "url.dll,FileProtocolHandler",
      ];
    default:
      return ["xdg-open"];
  }
}

/** Tells the person which address to open. */
export function showAddress(url: URL): void {
  process.stderr.write(`Open this address in a browser: ${url.href}\n`);
}
