import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";

/** A server process that listens, and where. */
export interface ListeningServer {
  readonly url: string;
  stop(): Promise<void>;
}

export interface ServerCommand {
  readonly args: readonly string[];
  readonly env?: { readonly [name: string]: string };
  /** Where it listens, by a line that it prints on standard output or error; the line itself unless said otherwise. */
  toUrl?(line: string, port: number): string | undefined;
}

/** Starts a node program and resolves when it has said that it listens. */
export async function startServer({ args, env = {}, toUrl = toPrinted }: ServerCommand): Promise<ListeningServer> {
  const port = await findPort();
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stop = () => end(child);
  const said: string[] = [];
  const url = new Promise<string>((resolve, reject) => {
    const hear = (line: string) => {
      said.push(line);
      const found = toUrl(line, port);
      if (found !== undefined) resolve(found);
    };
    createInterface(child.stdout).on("line", hear);
    createInterface(child.stderr).on("line", hear);
    child.once("exit", (code) => reject(new Error(`the server ended with code ${code}:\n${said.join("\n")}`)));
  });
  return { url: await url, stop };
}

function toPrinted(line: string): string | undefined {
  return line.startsWith("http://") ? line : undefined;
}

/** A port that nobody uses, for servers that have to be told one. */
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
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}
