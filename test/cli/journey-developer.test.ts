import { cpSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { beginJourney, installOnce, widths } from "./journey-screens.ts";
import { root } from "./kit.ts";

test.each(widths)(
  "the screens of a developer who embeds a host fit %i columns and read as they were approved",
  async (columns) => {
    const modules = installOnce("host", "servers/files");
    const { home, open, keep } = beginJourney("developer", columns, modules);
    const project = join(home, "project");
    cpSync(join(root, "examples/host/script.mjs"), join(project, "script.mjs"));
    symlinkSync(modules, join(project, "node_modules"));
    const servers = { files: { command: "portolan-files", args: ["."] } };
    writeFileSync(join(project, ".mcp.json"), JSON.stringify({ mcpServers: servers }));

    const script = open('node script.mjs .mcp.json "write text=Hello path=note.md"');
    await script.answer(/Start it\? \[y\/N\]$/, "y\r");
    await script.answer(/only\s+read\? \[y\/N\]$/, "y\r");
    await script.answer(/files: write[\s\S]*\? \[y\/N\]$/, "y\r");
    expect(await script.exited).toBe(0);
    await keep("01-script", script, { isRaw: true });
  },
);
