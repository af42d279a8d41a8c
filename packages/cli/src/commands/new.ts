import { existsSync, readdirSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { filesOf, serverFile } from "../scaffold/project.ts";
import { templates } from "../scaffold/templates.ts";
import { wrap } from "../terminal/wrap.ts";
import { cloneFolder, version } from "../version.ts";

/** Creates a folder with a new server and its test. */
export async function run(
  { system, screen }: CommandContext,
  [name = ""]: readonly string[],
  flags: Flags,
): Promise<CommandResult> {
  if (!/^[a-z0-9][a-z0-9._-]{0,100}$/.test(name)) {
    throw new Failure(
      "usage",
      `expected a name of lowercase letters, digits, dots and dashes, got ${JSON.stringify(name)}`,
      { next: "portolan new weather" },
    );
  }
  const chosen = flags["template"] ?? "tools";
  const template = typeof chosen === "string" && Object.hasOwn(templates, chosen) ? templates[chosen] : undefined;
  if (!template) {
    throw new Failure("usage", `--template: expected ${Object.keys(templates).join(", ")}, got ${String(chosen)}`);
  }
  if (flags["ts"] === true && flags["js"] === true) throw new Failure("usage", "expected --ts or --js, not both");
  const language = flags["js"] === true ? "js" : "ts";
  const folder = resolve(system.cwd, name);
  if (existsSync(folder) && (!statSync(folder).isDirectory() || readdirSync(folder).length > 0)) {
    throw new Failure("usage", `the folder ${name} exists and is not empty; nothing was written`, {
      next: `portolan new ${name}-2`,
    });
  }
  const clone = cloneFolder(system);
  const library = clone === undefined ? `^${version}` : `file:${clone}`;
  const files = filesOf({ name, template, language, library });
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    // Never overwrites a file.
    await writeFile(file, text, { flag: "wx" });
  }
  const attempt = template.tryIt.replace("FILE", `./${serverFile(language)}`);
  const next = [`cd ${name}`, "npm install", "npm test", `npx portolan ${attempt}`, "npm run dev"];
  const dim = (line: string) => screen.style("dim", `  ${screen.safe(line)}`);
  return {
    value: { folder, files: Object.keys(files), server: join(folder, serverFile(language)), next },
    text: () =>
      [
        `${screen.style("green", screen.mark("ok"))} ${name}: a server with ${template.summary}`,
        ...Object.keys(files).map(dim),
        ...next.map((line) => `${screen.mark("next")} ${line}`),
        ...(clone === undefined ? [] : wrap(`package.json uses portolan from ${clone}`, screen.columns - 2).map(dim)),
      ].join("\n"),
  };
}
