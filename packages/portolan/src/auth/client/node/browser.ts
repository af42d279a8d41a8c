import { spawn } from "node:child_process";
import { join } from "node:path";
import { browserStartMs } from "../limits.ts";
import { checkBrowserUrl } from "../redirect.ts";

/** Opens a URL in the browser of this machine. Rejects if the browser command is known to have failed. */
export async function openBrowser(url: URL): Promise<void> {
  checkBrowserUrl(url);
  const [command, ...args] = opener();
  // Without a shell the URL is one argument, whatever characters it contains.
  const child = spawn(command, [...args, url.href], { detached: true, stdio: "ignore", shell: false });
  child.unref();
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, browserStartMs);
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
      // Not `start`, which is a command of cmd and interprets & and %.
      return [
        join(process.env["SystemRoot"] ?? "C:\\Windows", "System32", "rundll32.exe"),
        "url.dll,FileProtocolHandler",
      ];
    default:
      return ["xdg-open"];
  }
}

/** Writes the URL to stderr for the person to open. */
export function showAddress(url: URL): void {
  process.stderr.write(`Open this URL in a browser: ${url.href}\n`);
}
