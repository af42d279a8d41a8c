import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeHome, portolan } from "./kit.ts";

export const root: string = join(import.meta.dirname, "../..");

/** Creates a folder with these files, in which the library and zod are installed. */
export function makeProject(files: { readonly [path: string]: string } = {}): string {
  const folder = makeHome();
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(join(root, "packages/portolan"), join(folder, "node_modules/portolan"));
  symlinkSync(join(root, "node_modules/zod"), join(folder, "node_modules/zod"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

/** A server in TypeScript, in two files. */
export const weather: { readonly [path: string]: string } = {
  "highs.ts": "export const highs: Record<string, number[]> = { Oslo: [4, 6, 5] };\n",
  "server.ts": `import { createServer } from "portolan/server";
import { highs } from "./highs.ts";

interface Asked { city: string; token?: string }

export default createServer({ name: "weather", version: "1.0.0" }).tool("forecast", {
  description: "Highs of the next days",
  input: { type: "object", properties: { city: { type: "string" }, token: { type: "string" } }, required: ["city"] },
  async run({ city }: Asked, ctx) {
    await ctx.progress(1, 2, "asking the sky");
    return JSON.stringify(highs[city] ?? []);
  },
});
`,
};

/** Waits until a function returns a value. */
export async function until<T>(look: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (Date.now() > deadline) throw new Error("it did not happen");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A command that runs until it is ended. */
export interface Running {
  readonly child: ChildProcess;
  /** Returns the output so far. */
  readonly output: () => string;
  readonly errors: () => string;
  /** Resolves to the next JSON line with this event. */
  event(name: string): Promise<{ [member: string]: unknown }>;
  /** Sends a signal. Resolves to the exit code. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts the command. The caller must end it. */
export function startPortolan(args: readonly string[], cwd: string, env: { [name: string]: string } = {}): Running {
  const child = spawn(process.execPath, [portolan, ...args], {
    cwd,
    env: { PATH: process.env["PATH"], HOME: cwd, PORTOLAN_HOME: join(cwd, ".portolan"), LANG: "C.UTF-8", ...env },
  });
  let stdout = "";
  let stderr = "";
  let seen = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
  return {
    child,
    output: () => stdout,
    errors: () => stderr,
    event: (name) =>
      until(() => {
        const lines = stdout.split("\n").slice(0, -1);
        while (seen < lines.length) {
          const said = JSON.parse(lines[seen++]!);
          if (said.event === name) return said;
        }
        if (child.exitCode !== null) throw new Error(`it ended: ${stderr}`);
        return undefined;
      }),
    end(signal = "SIGINT") {
      child.kill(signal);
      return closed;
    },
  };
}
