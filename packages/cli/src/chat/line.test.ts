import type { CatalogView } from "portolan-host";
import { expect, test } from "vitest";
import { parseLine } from "./line.ts";

const catalog: CatalogView = {
  tools: [],
  prompts: [
    { server: "travel", name: "plan", arguments: [{ name: "to", required: true }, { name: "days" }] },
    { server: "notes", name: "sum", arguments: [{ name: "topic" }] },
    { server: "other", name: "sum" },
    { server: "notes", name: "help" },
    { server: "other", name: "travel.plan" },
  ],
  resources: [{ server: "notes", uri: "note://today", name: "today" }],
  templates: [],
  tool: () => undefined,
  byModelName: () => undefined,
  search: () => [],
  instructions: () => undefined,
};

test.each([
  ["hello /tools", { kind: "words", text: "hello /tools", attach: [] }],
  ["/tools read", { kind: "command", name: "tools", rest: "read" }],
  ["/help", { kind: "command", name: "help", rest: "" }],
  ["/exit", { kind: "command", name: "quit", rest: "" }],
  ["@", { kind: "pick", query: "" }],
  ["@tod", { kind: "pick", query: "tod" }],
  [
    "sum up @notes:note://today please",
    { kind: "words", text: "sum up note://today please", attach: [{ server: "notes", uri: "note://today" }] },
  ],
  ["mail a@b.c and @nobody:x", { kind: "words", text: "mail a@b.c and @nobody:x", attach: [] }],
  ['/plan to="New York" days=3', { kind: "prompt", args: { to: "New York", days: "3" } }],
  ["/plan New York days=3", { kind: "prompt", args: { to: "New York", days: "3" } }],
  ["/plan Rome", { kind: "prompt", args: { to: "Rome" } }],
  ["/notes.sum blue whales", { kind: "prompt", prompt: { server: "notes" }, args: { topic: "blue whales" } }],
  ["/notes.sum topic=whales", { kind: "prompt", args: { topic: "whales" } }],
  ["/travel.plan to=Rome", { kind: "prompt", prompt: { server: "travel" } }],
  ["/other.sum", { kind: "prompt", prompt: { server: "other" }, args: {} }],
])("%s", (line, expected) => {
  expect(parseLine(line, catalog)).toMatchObject(expected);
});

test.each([
  ["/nothing", "unknown command /nothing"],
  ["/sum whales", "several servers have /sum: /notes.sum, /other.sum"],
  ["/plan days=3 Rome", 'expected name=value, got "Rome"; the prompt has to (required), days'],
  ["/plan where=Rome", "unknown argument where; the prompt has to (required), days"],
  ["/other.sum a=b", "unknown argument a; the prompt has no arguments"],
])("refuses %s", (line, reason) => {
  expect(() => parseLine(line, catalog)).toThrow(reason);
});
