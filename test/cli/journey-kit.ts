import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { makeHome, root } from "./kit.ts";
import { openTerminal, type PseudoTerminal } from "./pseudo-terminal.ts";

/** Creates a folder with the package installed as published. */
export function installPackage(): string {
  const folder = makeHome();
  const npm = (args: readonly string[], cwd: string) => {
    const { status, stderr } = spawnSync("npm", args, { cwd, encoding: "utf8" });
    expect({ args, status, stderr }).toMatchObject({ status: 0 });
  };
  const packed = join(folder, "packed");
  mkdirSync(packed);
  npm(["pack", "--silent", "--pack-destination", packed], join(root, "packages/portolan"));
  const [tarball = ""] = readdirSync(packed);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  npm(["install", "--prefer-offline", "--no-audit", "--no-fund", join(packed, tarball)], folder);
  return folder;
}

/** Adds what `npm install` would bring besides the package, which is installed above the project. */
export function installPeers(folder: string): void {
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "@types"), { recursive: true });
  for (const name of ["zod", "typescript", "@types/node"]) {
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  }
  mkdirSync(join(modules, ".bin"));
  symlinkSync(join(root, "node_modules/typescript/bin/tsc"), join(modules, ".bin/tsc"));
}

/** Types a line in a shell where the package is installed. */
export function typeLine(
  line: string,
  cwd: string,
  home: string,
  env: { [name: string]: string } = {},
): PseudoTerminal {
  const path = `${join(home, "node_modules/.bin")}:${process.env["PATH"]}`;
  const given = { HOME: home, PORTOLAN_HOME: join(home, ".portolan"), PATH: path, npm_config_offline: "true", ...env };
  return openTerminal(["-c", line], { cwd, program: ["sh"], env: given });
}

/** Returns the next commands that a screen suggests. */
export function stepsOn(screen: string): string[] {
  return [...screen.matchAll(/→ (.+)$/gm)].map(([, step = ""]) => step.trim());
}
