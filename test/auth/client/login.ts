import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

const program = join(import.meta.dirname, "fixtures/login.mjs");

export interface Login {
  readonly child: ChildProcess;
  readonly redirectUri: string;
  /** Everything it has written to stderr so far. */
  errors(): string;
  /** How it ended, if the process ended by itself. */
  outcome(): Promise<string>;
}

/** Starts a process that logs in. */
export async function startLogin(
  kind: "loopback" | "paste",
  address: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Login> {
  const child = spawn(process.execPath, [program, kind, address], { env: { ...process.env, ...env } });
  onTestFinished(() => void child.kill("SIGKILL"));
  let [output, errors] = ["", ""];
  child.stderr.setEncoding("utf8").on("data", (chunk) => {
    errors += chunk;
  });
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    output += chunk;
  });
  while (!output.includes("\n")) await once(child.stdout, "data");
  const ended = once(child, "close");
  const outcome = async () => {
    await ended;
    return output.trim().split("\n").at(-1)!;
  };
  return { child, redirectUri: output.split("\n")[0]!, errors: () => errors, outcome };
}

export interface Asked {
  readonly method?: string;
  readonly host?: string;
  /** The host to connect to, whatever the URL says. */
  readonly address?: string;
  /** The target of the request line, whatever the URL says. */
  readonly target?: string;
}

export interface Page {
  readonly status: number | undefined;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  readonly body: string;
}

/** Sends one request to a callback, exactly as the test spells it. */
export async function ask(url: string, { method = "GET", host, address, target }: Asked = {}): Promise<Page> {
  const { hostname, port, pathname, search, host: named } = new URL(url);
  const asked = request({
    ...{ method, port, hostname: address ?? hostname, path: target ?? pathname + search, agent: false },
    headers: { host: host ?? named },
  });
  asked.end();
  const [response] = await once(asked, "response");
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}
