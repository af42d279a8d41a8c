import type { CommandDefinition } from "./command.ts";

/** The commands that look after servers. */
export const care: readonly CommandDefinition[] = [
  {
    name: "watch",
    usage: "[target] [uris...]",
    summary: "changes, logs and states of a server as they come, until Ctrl-C",
    flags: {
      "--level <level>": "the least severe log message to show (info)",
      "--limit <count>": "end after so many events",
    },
    examples: ["portolan watch files", "portolan watch notes notes:///today"],
    load: () => import("./commands/watch.ts"),
  },
  {
    name: "add",
    usage: "<name> [url]",
    summary: "add a server to .mcp.json of this project",
    flags: {
      "--user": "to your own file instead, for every project",
      "--env <pair...>": "KEY=VALUE for a command; may be given again",
      "--header <pair...>": "NAME=VALUE for an address; may be given again",
      "--from <file>": "take the entry of this name from another product's file",
      "--force": "replace an entry of this name",
    },
    examples: [
      "portolan add files -- npx -y some-server .",
      "portolan add jira https://jira.example.com/mcp --header 'X-Team=docs'",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: this is how a variable is written in the file
      "portolan add db --env 'PGURL=${PGURL}' -- node server.js",
      "portolan add files --from ~/.cursor/mcp.json",
    ],
    load: () => import("./commands/add.ts"),
  },
  {
    name: "remove",
    usage: "<server>",
    summary: "remove a server from the file that names it, and its trust with it",
    flags: { "--force": "even from another product's file" },
    load: () => import("./commands/remove.ts"),
  },
  {
    name: "trust",
    usage: "<server>",
    summary: "see what a file would start, and allow it",
    flags: {
      "--hints": "believe what it says of its tools (read-only and so on)",
      "--changes": "see definitions that have changed, and accept them",
      "--revoke": "trust it no longer",
      "--yes": "without a question",
    },
    examples: ["portolan trust files", "portolan trust files --changes", "portolan trust files --revoke"],
    load: () => import("./commands/trust.ts"),
  },
  {
    name: "grants",
    summary: "what you have allowed and refused for good",
    flags: { "--revoke <id>": "forget one; the beginning of its id will do" },
    load: () => import("./commands/grants.ts"),
  },
  {
    name: "log",
    summary: "what was done, asked and decided",
    flags: {
      "--server <name>": "of one server",
      "--kind <kind...>": "of one kind: call, result, decision, trust…; may be given again",
      "--text <text>": "with this text in it",
      "--since <time>": "from a time on: 2026-11-15T12:00Z, or 30m, 2h, 7d ago",
      "--limit <count>": "the latest so many (50)",
      "--follow": "go on as more happens, until Ctrl-C",
      "--verify": "check that nothing was changed, taken out or added",
    },
    examples: ["portolan log --server files --since 1h", "portolan log --kind decision --follow"],
    load: () => import("./commands/log.ts"),
  },
  {
    name: "login",
    usage: "<server>",
    summary: "sign in at a server, by its name or address",
    flags: { "--no-browser": "show the address, and take the one you are sent back to" },
    load: () => import("./commands/login.ts"),
  },
  {
    name: "logout",
    usage: "<server>",
    summary: "forget the tokens for a server, and have them revoked",
    load: () => import("./commands/logout.ts"),
  },
  {
    name: "doctor",
    usage: "[target]",
    summary: "find out what is wrong with servers, and what to do",
    flags: {
      "--timeout <seconds>": "how long a server may take to start (20)",
      "--slow <seconds>": "what is called a slow start (5)",
      "--era <era>": "as a client that speaks only this: stateless, stateful or a revision",
    },
    examples: ["portolan doctor", "portolan doctor files", "portolan doctor -- node server.js"],
    load: () => import("./commands/doctor.ts"),
  },
  {
    name: "check",
    usage: "[target]",
    summary: "grade a server by what the protocol asks of it",
    flags: {
      "--revision <date...>": "in this revision alone; may be given again",
      "--only <scenario...>": "scenarios by name, * for any characters; may be given again",
      "--timeout <seconds>": "how long it may take for each thing (10)",
    },
    examples: ["portolan check files", "portolan check --only 'tools/*' -- node server.js"],
    load: () => import("./commands/check.ts"),
  },
];
