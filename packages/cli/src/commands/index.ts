import type { CommandDefinition } from "../command.ts";
import { care } from "./care.ts";

/** Every command, in the order of help. */
export const commands: readonly CommandDefinition[] = [
  {
    name: "servers",
    summary: "what is configured on this machine, and the state of each server",
    flags: { "--offline": "start and reach nothing" },
    load: () => import("./servers.ts"),
  },
  {
    name: "ls",
    usage: "[target]",
    summary: "what a server offers: tools as signatures, resources, prompts",
    flags: { "--schema": "whole schemas of tools" },
    examples: ["portolan ls files", "portolan ls https://example.com/mcp", "portolan ls -- node server.js"],
    load: () => import("./ls.ts"),
  },
  {
    name: "call",
    usage: "<target> [tool] [arguments...]",
    summary: "call a tool",
    flags: {
      "--save <folder>": "write images, sounds and files of the result there",
      "--timeout <seconds>": "give up after so long without a sign of life",
    },
    examples: [
      "portolan call files.read path=README.md lines:=5",
      "portolan call ./server.ts forecast city=Oslo",
      'echo \'{"city":"Oslo"}\' | portolan call weather.forecast -',
    ],
    load: () => import("./call.ts"),
  },
  {
    name: "read",
    usage: "<target> [uri]",
    summary: "read a resource",
    flags: { "--save <folder>": "write what is read there" },
    load: () => import("./read.ts"),
  },
  {
    name: "prompt",
    usage: "<target> [name] [arguments...]",
    summary: "get a prompt, with its arguments as key=value",
    load: () => import("./prompt.ts"),
  },
  {
    name: "complete",
    usage: "<target> <prompt-or-template> <argument> [value]",
    summary: "what a server proposes for an argument",
    load: () => import("./complete.ts"),
  },
  ...care,
];
