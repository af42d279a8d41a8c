import type { CommandDefinition } from "./command.ts";
import { care } from "./command-table-care.ts";

/** What commands with a model have in common. */
const talking = {
  "--server <target...>": "with this server; can be said again; all that are configured unless said",
  "--model <model>": "demo, anthropic:<model>, openai:<model>; by the keys in the environment unless said",
  "--root <folder...>": "a folder that servers may know of, if you agree; can be said again",
  "--yes-read-only": "do not ask about tools that only read, where their server is believed",
};

/** Every command, in the order of help. */
export const commands: readonly CommandDefinition[] = [
  {
    name: "servers",
    summary: "what is configured on this machine, and the state of each server",
    flags: { "--offline": "start and reach nothing" },
    load: () => import("./commands/servers.ts"),
  },
  {
    name: "ls",
    usage: "[target]",
    summary: "what a server offers: tools as signatures, resources, prompts",
    flags: { "--schema": "whole schemas of tools" },
    examples: ["portolan ls files", "portolan ls https://example.com/mcp", "portolan ls -- node server.js"],
    load: () => import("./commands/ls.ts"),
  },
  {
    name: "call",
    usage: "<target> [tool] [arguments...]",
    summary: "call a tool",
    flags: {
      "--save <folder>": "write images, sounds and files of the result there",
      "--root <folder...>": "a folder that the server may know of, if you agree; can be said again",
      "--timeout <seconds>": "give up after so long without a sign of life",
      "--record <file>": "write down what is said to the server and by it",
      "--raw": "keep what looks like a secret in the recording",
    },
    examples: [
      "portolan call files.read path=README.md lines:=5",
      "portolan call ./server.ts forecast city=Oslo",
      'echo \'{"city":"Oslo"}\' | portolan call weather.forecast -',
    ],
    load: () => import("./commands/call.ts"),
  },
  {
    name: "read",
    usage: "<target> [uri]",
    summary: "read a resource",
    flags: { "--save <folder>": "write what is read there" },
    load: () => import("./commands/read.ts"),
  },
  {
    name: "prompt",
    usage: "<target> [name] [arguments...]",
    summary: "get a prompt, with its arguments as key=value",
    load: () => import("./commands/prompt.ts"),
  },
  {
    name: "complete",
    usage: "<target> <prompt-or-template> [argument] [value] [known...]",
    summary: "what a server proposes for an argument, given others that are known",
    examples: ["portolan complete notes review language py", 'portolan complete staff assign name "" department=Sales'],
    load: () => import("./commands/complete.ts"),
  },
  {
    name: "run",
    usage: "<task...>",
    summary: "have a model work on one task with your servers",
    flags: {
      ...talking,
      "--max-turns <count>": "how often the model may speak; 20 unless said",
    },
    examples: ['portolan run "what changed this week?" --server git', 'portolan run "list the files" --model demo'],
    load: () => import("./commands/run.ts"),
  },
  {
    name: "chat",
    summary: "talk with a model that uses your servers",
    flags: talking,
    examples: ["portolan chat --server files --server git", "portolan chat --model demo -- node server.js"],
    load: () => import("./commands/chat.ts"),
  },
  ...care,
  {
    name: "record",
    usage: "[target]",
    summary: "stand between a client and a server, and write down what both say",
    flags: {
      "--out <file>": "where to write it; <server>.jsonl unless given",
      "--raw": "keep what looks like a secret; it is taken out unless given",
    },
    examples: ["portolan record --out talk.jsonl -- node server.js", "portolan record https://example.com/mcp"],
    load: () => import("./commands/record.ts"),
  },
  {
    name: "replay",
    usage: "<recording> [target]",
    summary: "show a recording, or have it again with a server",
    flags: { "--check": "say again what the client said, and compare the answers; ids and times do not count" },
    examples: ["portolan replay talk.jsonl", "portolan replay talk.jsonl --check -- node server.js"],
    load: () => import("./commands/replay.ts"),
  },
  {
    name: "new",
    usage: "<name>",
    summary: "make a folder with a new server and its test",
    flags: {
      "--template <name>": "what it begins with: tools, resources or everything; tools unless given",
      "--ts": "in TypeScript, which is the default",
      "--js": "in JavaScript",
    },
    examples: ["portolan new weather", "portolan new notes --template resources --js"],
    load: () => import("./commands/new.ts"),
  },
  {
    name: "dev",
    usage: "<file>",
    summary: "run a server file over HTTP, and again after each change",
    flags: { "--http <port>": "where to listen; 3333 or any free port unless given, 0: any free port" },
    examples: ["portolan dev server.ts"],
    load: () => import("./commands/dev.ts"),
  },
  {
    name: "serve",
    usage: "[target]",
    summary: "a server over HTTP that speaks standard input and output, or the reverse, to every revision",
    flags: {
      "--http <port>": "serve over HTTP, which a command is unless said; 0: any free port",
      "--stdio": "serve over standard input and output, which an address is unless said",
      "--host <address>": "where to listen, 127.0.0.1 unless given; others need PORTOLAN_TOKEN",
      "--revision <version>": "the revision to speak to the target; found out unless given",
    },
    examples: ["portolan serve files --http 8080", "portolan serve https://example.com/mcp --stdio"],
    load: () => import("./commands/serve.ts"),
  },
  {
    name: "completion",
    usage: "<shell>",
    summary: "what bash, zsh, fish or powershell needs to complete commands, flags and names",
    examples: ['eval "$(portolan completion bash)"', "portolan completion fish | source"],
    load: () => import("./commands/completion.ts"),
  },
  {
    name: "complete-words",
    summary: "the words that fit behind those after --",
    isHidden: true,
    load: () => import("./commands/complete-words.ts"),
  },
  {
    name: "serve-file",
    usage: "<file>",
    summary: "a server file over standard input and output",
    isHidden: true,
    load: () => import("./commands/serve-file.ts"),
  },
  {
    name: "serve-recording",
    usage: "<file>",
    summary: "a recording over standard input and output",
    isHidden: true,
    load: () => import("./commands/serve-recording.ts"),
  },
];
