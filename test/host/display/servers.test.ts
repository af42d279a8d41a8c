import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "portolan/client";
import { display, displayValue, findSuspicious, lookalike } from "portolan-host";
import { expect, onTestFinished, test } from "vitest";

const scriptOf = (name: string) =>
  fileURLToPath(new URL(`../../../packages/servers/${name}/dist/main.js`, import.meta.url));

test.each([["calendar"], ["files"], ["git"], ["memory"], ["fetch"], ["time"], ["travel"], ["weather"]])(
  "the descriptions of the %s server are displayed unchanged and not flagged",
  async (name) => {
    const folder = mkdtempSync(join(tmpdir(), "portolan-display-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    execFileSync("git", ["init", "--quiet", folder]);
    const args: { [server: string]: string[] } = {
      calendar: ["--folder", folder],
      files: [folder],
      git: [folder],
      memory: ["--file", join(folder, "m")],
    };
    const client = await connect({ command: process.execPath, args: [scriptOf(name), ...(args[name] ?? [])] });
    onTestFinished(() => client.close());
    const tools = await client.listTools();
    expect(tools.length).toBeGreaterThan(0);
    const names = tools.map((tool) => tool.name);
    for (const tool of tools) {
      const text = tool.description ?? "";
      expect(display(text, { lines: "keep" })).toBe(text);
      expect(findSuspicious(`${text}\n${displayValue(tool.inputSchema)}`), tool.name).toEqual([]);
      expect(lookalike(tool.name, names)).toBeUndefined();
      expect(JSON.parse(displayValue(tool.inputSchema))).toEqual(tool.inputSchema);
    }
  },
);
