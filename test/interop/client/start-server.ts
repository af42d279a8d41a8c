import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";

/** A server process that listens at a URL. */
export interface ListeningServer {
  readonly url: string;
  stop(): Promise<void>;
}

export interface ServerCommand {
  readonly args: readonly string[];
  readonly env?: { readonly [name: string]: string };
  /** Finds the URL in a line that the server prints. Default: a line that is a URL. */
  toUrl?(line: string, port: number): string | undefined;
}

/** Starts a Node program and resolves when it has printed its URL. */
export async function startServer({ args, env = {}, toUrl = toPrinted }: ServerCommand): Promise<ListeningServer> {
  const port = await findPort();
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stop = () => end(child);
  const lines: string[] = [];
  const url = new Promise<string>((resolve, reject) => {
    const onLine = (line: string) => {
      lines.push(line);
      const found = toUrl(line, port);
      if (found !== undefined) resolve(found);
    };
    createInterface(child.stdout).on("line", onLine);
    createInterface(child.stderr).on("line", onLine);
    child.once("exit", (code) => reject(new Error(`the server exited with code ${code}:\n${lines.join("\n")}`)));
  });
  return { url: await url, stop };
}

function toPrinted(line: string): string | undefined {
  return line.startsWith("http://") ? line : undefined;
}

/** Finds a free port, for servers that need a fixed one. */
async function findPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const closed = once(server, "close");
  server.close();
  await closed;
  if (address === null || typeof address === "string") throw new Error("expected a port");
  return address.port;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
