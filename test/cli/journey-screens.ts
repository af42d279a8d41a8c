import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { installPackage } from "./journey-kit.ts";
import { root } from "./kit.ts";
import { openTerminal, type PseudoTerminal } from "./pseudo-terminal.ts";

/** The widths at which every journey is played and its screens are kept. */
export const widths: readonly number[] = [40, 80, 120];

const made = new Set<string>();
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

let installed: string | undefined;

/** Installs the packed command once per test file, and these workspaces beside it. Returns its `node_modules`. */
export function installOnce(...workspaces: string[]): string {
  installed ??= join(installPackage(), "node_modules");
  for (const workspace of workspaces) {
    const folder = join(root, "packages", workspace);
    const { name, bin = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    rmSync(join(installed, name), { recursive: true, force: true });
    symlinkSync(folder, join(installed, name));
    for (const [command, path] of Object.entries<string>(bin)) {
      rmSync(join(installed, ".bin", command), { force: true });
      symlinkSync(join(folder, path), join(installed, ".bin", command));
    }
  }
  return installed;
}

export interface Journey {
  /** The home folder, empty at the start. */
  readonly home: string;
  /** Types a line, waits for its end, and compares its screen with the golden file of this step. */
  run(step: string, line: string, options?: LineOptions): Promise<string>;
  /** Types a line that asks or goes on running. */
  open(line: string, options?: LineOptions): PseudoTerminal;
  /** Compares the screen of a terminal with the golden file of this step. */
  keep(step: string, terminal: PseudoTerminal, options?: Pick<LineOptions, "isRaw">): Promise<string>;
}

export interface LineOptions {
  readonly cwd?: string;
  readonly code?: number;
  readonly env?: { [name: string]: string };
  /** The screen shows text of another program as it is, so the terminal may break its lines. */
  readonly isRaw?: boolean;
}

/** Begins a journey on an empty machine, in a terminal of this width. */
export function beginJourney(name: string, columns: number, modules: string): Journey {
  // The length of this path decides where lines are broken, so it is the same on every machine.
  const home = realpathSync(mkdtempSync("/tmp/portolan-"));
  made.add(home);
  mkdirSync(join(home, "project"));
  const open = (line: string, { cwd = join(home, "project"), env = {} }: LineOptions = {}) => {
    const path = `${join(modules, ".bin")}:${process.env["PATH"]}`;
    const given = {
      HOME: home,
      PORTOLAN_HOME: join(home, ".portolan"),
      PATH: path,
      npm_config_offline: "true",
      ...env,
    };
    return openTerminal(["-c", line], { cwd, program: ["sh"], env: given, columns, rows: 200 });
  };
  const keep: Journey["keep"] = async (step, terminal, { isRaw = false } = {}) => {
    const shown = settle(terminal.screen(), home);
    if (!isRaw) expect.soft({ step, broken: brokenTexts(terminal) }).toEqual({ step, broken: [] });
    await expect.soft(`${shown}\n`).toMatchFileSnapshot(`./screens/journeys/${name}/${step}-${columns}.txt`);
    return shown;
  };
  return {
    home,
    open,
    keep,
    async run(step, line, options = {}) {
      const terminal = open(line, options);
      const { code = 0 } = options;
      expect({ line, code: await terminal.exited }).toEqual({ line, code });
      return keep(step, terminal, options);
    },
  };
}

/** Returns what the terminal had to break. A command or an address stays on one line, so that it can be copied. */
function brokenTexts(terminal: PseudoTerminal): string[] {
  const rows = terminal.screen().split("\n");
  const isCopied = (text: string) => {
    let at = rows.indexOf(text) - 1;
    // A long address fills several rows.
    while (/^\S+$/.test(rows[at] ?? "")) at -= 1;
    return /\b(portolan|npm|npx|export) |https?:\/\//.test(rows[at] ?? "");
  };
  return terminal.broken().filter((text) => !isCopied(text));
}

/** Replaces what differs from run to run: folders, ports, durations, and the time at the start of a line. */
function settle(screen: string, home: string): string {
  return (
    screen
      .replaceAll(home, "/tmp/portolan-XXXXXX")
      .replace(/(?<=127\.0\.0\.1:)(?:\d\n?){5}/g, (port) => {
        // At the edge of a narrow screen, a line ends within the port.
        const digits = [..."50000"];
        return port.replace(/\d/g, () => digits.shift() ?? "");
      })
      // At the edge of a narrow screen, a line ends within the token, too.
      .replace(/(?<=#launch=)\n?(?:[\w.-]\n?)+/g, (token) => token.replace(/[^\n]/g, "X"))
      .replace(/\b(\d+) ms( *)/g, (_, digits: string, spaces: string) => {
        // The column beside it stays in its place.
        return `N ms${spaces && " ".repeat(digits.length - 1)}${spaces}`;
      })
      .replace(/^ {2}\d\d:\d\d:\d\d /gm, "  12:00:00 ")
      .split("\n")
      .map((line) => line.trimEnd())
      .join("\n")
  );
}
