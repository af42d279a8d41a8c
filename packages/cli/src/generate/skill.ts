import type { Tool } from "portolan";
import { display } from "portolan-host";
import { type GenerateInput, generatedMark, oneLine } from "./typescript.ts";

/** Longest description of a skill. */
const maxDescription = 1_024;

/** Returns the name of a skill: lowercase letters, digits and hyphens. */
export function skillName(name: string): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z\d]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return plain.slice(0, 64).replace(/-+$/, "") || "server";
}

/** Writes a SKILL.md that teaches an assistant to use a server through the command line. */
export function skillFile({ name, tools, instructions, again }: GenerateInput, callOf: (tool: Tool) => string): string {
  const about = tools.map((tool) => firstSentence(tool)).filter(Boolean);
  const description = `Use the tools of ${oneLine(name)} from the command line: ${about.join(" ")}`;
  const sections = tools.map((tool) => {
    const rows = rowsOf(tool);
    const text = safe(String(tool.description ?? tool.title ?? ""));
    const hint = tool.annotations?.readOnlyHint ? "Read-only." : "";
    return [`### ${display(tool.name)}`, text, hint, codeBlock(callOf(tool)), rows].filter(Boolean).join("\n\n");
  });
  return `---
name: ${skillName(name)}
description: ${JSON.stringify(cut(safe(description).replace(/\s+/g, " ")))}
---

<!-- ${generatedMark} skill. The command at the end of this file writes it again after the server has changed. -->

# ${safe(oneLine(name))}

Each tool is one command. \`…\` stands for a value. Arguments are \`key=value\`; \`key:=json\` for lists and objects. In a
pipe the output is JSON with \`content\` and, for some tools, \`structuredContent\`. Exit code 0 is success, 5 a failure of
the tool, 2 a wrong argument; the reason is on standard error.
${instructions === undefined ? "" : `\n## Instructions of the server\n\n${safe(instructions)}\n`}
## Tools

${sections.join("\n\n")}

## How to write this file again

${codeBlock(oneLine(again))}
`;
}

/** Formats a command as a block of code. A name of the server cannot end the block. */
function codeBlock(command: string): string {
  let fence = "```";
  for (const [marks] of command.matchAll(/`+/g)) if (marks.length >= fence.length) fence = `${marks}\``;
  return `${fence}sh\n${display(command)}\n${fence}`;
}

function firstSentence({ name, description = "", title = "" }: Tool): string {
  const [first = ""] = (description || title).trim().split(/(?<=[.!?])\s|\n/);
  return first ? `${first.replace(/[.!?]$/, "")} (${name}).` : `${name}.`;
}

function cut(text: string): string {
  return text.length <= maxDescription ? text : `${text.slice(0, maxDescription - 1)}…`;
}

/** Lists the arguments of a tool as a table. */
function rowsOf({ inputSchema }: Tool): string {
  const { properties, required } = inputSchema as { readonly properties?: unknown; readonly required?: unknown };
  if (typeof properties !== "object" || properties === null || Object.keys(properties).length === 0) return "";
  const needed = new Set<unknown>(Array.isArray(required) ? required : []);
  const rows = Object.entries(properties as { readonly [name: string]: unknown }).map(([name, field]) => {
    const {
      type,
      enum: values,
      default: standard,
      description,
    } = (field ?? {}) as { readonly [keyword: string]: unknown };
    const kind = Array.isArray(values) ? values.map((value) => JSON.stringify(value)).join(", ") : typeText(type);
    const facts = [
      needed.has(name) ? "required" : "",
      standard === undefined ? "" : `default ${JSON.stringify(standard)}`,
    ];
    const cells = [name, kind, [...facts.filter(Boolean), String(description ?? "")].filter(Boolean).join("; ")];
    return `| ${cells.map((cell) => safe(cell).replace(/\s+/g, " ").replaceAll("|", "\\|")).join(" | ")} |`;
  });
  return ["| argument | type | meaning |", "| --- | --- | --- |", ...rows].join("\n");
}

function typeText(type: unknown): string {
  return Array.isArray(type) ? type.join(" or ") : String(type ?? "any");
}

/** Escapes control and invisible characters: an assistant reads them, and a person would not see them. */
function safe(text: string): string {
  return display(text, { lines: "keep" });
}
