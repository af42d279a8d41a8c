import type { CommandDefinition } from "./command.ts";

/** The flag of commands that can print the text of a result alone. */
const textFlag = { "--text": "Print only the text, also in a pipe." };

const rootFlag = { "--root <folder...>": "A folder that servers may see, if you agree. Repeatable." };

/** The flags of commands that connect to a server, for this run only. */
const connectionFlags = {
  "--env <pair...>": "NAME=VALUE for a command or file, or NAME to pass a variable of your shell. Repeatable.",
  "--cwd <folder>": "Start the command or file in this folder.",
  "--header <pair...>": "NAME=VALUE for an address. Repeatable.",
  "--client-id <id>": "Sign in at an address as this client, which you registered by hand.",
};

const eraFlag = {
  "--era <era>":
    "Connect like a client of only this era: stateless, stateful or a revision. Default: auto, which detects it.",
};
const timeoutFlag = { "--timeout <seconds>": "Fail when the server is silent for this long. Default: 60." };

const targetFlags = { ...connectionFlags, ...eraFlag, ...timeoutFlag };

/** The flags of commands that use a model. */
const modelFlags = {
  "--server <target...>": "Use this server. Repeatable. Default: all configured servers.",
  "--model <model>":
    "demo, anthropic:<model>, openai:<model>, or a module such as ./model.mjs. Default: the provider whose API key is set, otherwise demo.",
  ...rootFlag,
  "--allow <pattern...>": "Allow server.tool without asking; * stands for any characters. Repeatable.",
  "--deny <pattern...>": "Deny server.tool, even if it is allowed otherwise. Repeatable.",
  "--yes-read-only": "Allow read-only tools without asking, where you ran: portolan trust <server> --hints.",
  "--timeout <seconds>": "Fail when a server is silent for this long. Default: 60.",
  ...connectionFlags,
  ...eraFlag,
};

/** All commands, in the order of help. To add one: a row here and a file in `commands/`. */
export const commands: readonly CommandDefinition[] = [
  {
    name: "servers",
    summary: "List the servers configured on this machine, with their states.",
    flags: {
      "--offline": "Do not start or contact any server.",
      "--timeout <seconds>": "Give up on a server that does not answer within this time. Default: 5.",
    },
    load: () => import("./commands/servers.ts"),
  },
  {
    name: "ls",
    usage: "[target] [tool]",
    summary: "List what a server offers, or show the documentation of one tool or prompt.",
    flags: { "--schema": "Show the complete schemas of tools.", ...targetFlags },
    examples: [
      "portolan ls files",
      "portolan ls files.read",
      "portolan ls https://example.com/mcp",
      "portolan ls --env KEY -- node my.js",
    ],
    load: () => import("./commands/ls.ts"),
  },
  {
    name: "call",
    usage: "<target> [tool] [arguments...]",
    summary: "Call a tool. With a tool, --help shows its documentation.",
    helpShowsTool: true,
    flags: {
      ...textFlag,
      "--save <folder>": "Save images, audio and files of the result to this folder.",
      ...rootFlag,
      "--record <file>": "Record all messages to and from the server.",
      "--raw": "Keep secrets in the recording.",
      "--detach": "Start the tool as a task, and do not wait for its result. A command as server needs portolan up.",
      ...targetFlags,
    },
    examples: [
      "portolan call files.read path=README.md lines:=5",
      "portolan call ./server.ts forecast city=Oslo",
      'echo \'{"city":"Oslo"}\' | portolan call weather.forecast -',
    ],
    load: () => import("./commands/call.ts"),
  },
  {
    name: "tasks",
    usage: "[action] [id]",
    summary: "List calls that go on as tasks (ls), or show, wait, cancel or answer one.",
    flags: {
      ...textFlag,
      "--save <folder>": "With wait: save images, audio and files of the result to this folder.",
      "--data <json>": "With answer: the fields of the form that the task asks for, as a JSON object.",
      "--decline": "With answer: decline the question.",
      "--env <pair...>":
        "NAME=VALUE or NAME, as at the start of the task. Default: the variables of your shell. Repeatable.",
      "--header <pair...>": "NAME=VALUE, as at the start of the task. Repeatable.",
      ...timeoutFlag,
    },
    examples: ["portolan tasks", "portolan tasks wait k3f", `portolan tasks answer k3f --data '{"name":"Ada"}'`],
    load: () => import("./commands/tasks.ts"),
  },
  {
    name: "read",
    usage: "<target> [uri]",
    summary: "Read a resource.",
    flags: { ...textFlag, "--save <folder>": "Save the contents to this folder.", ...targetFlags },
    load: () => import("./commands/read.ts"),
  },
  {
    name: "prompt",
    usage: "<target> [name] [arguments...]",
    summary: "Get a prompt. Arguments are key=value.",
    flags: { ...textFlag, ...targetFlags },
    load: () => import("./commands/prompt.ts"),
  },
  {
    name: "complete",
    usage: "<target> <prompt-or-template> [argument] [value] [known...]",
    summary: "Ask a server to complete an argument of a prompt or template.",
    flags: targetFlags,
    examples: ["portolan complete notes review language py", 'portolan complete staff assign name "" department=Sales'],
    load: () => import("./commands/complete.ts"),
  },
  {
    name: "skills",
    usage: "<action> [target] [skill] [file]",
    summary: "List (ls), show or verify the skills of a server: instructions for models.",
    flags: { ...textFlag, ...targetFlags },
    examples: [
      "portolan skills ls shop",
      "portolan skills show shop refunds",
      "portolan skills show shop refunds examples/email.md --text",
      "portolan skills verify -- node server.js",
    ],
    load: () => import("./commands/skills.ts"),
  },
  {
    name: "run",
    usage: "[task...]",
    summary: "Let a model work on one task with your servers.",
    flags: {
      "--text": "Print only the answer of the model, also in a pipe.",
      ...modelFlags,
      "--max-turns <count>": "At most this many turns of the model. Default: 20.",
    },
    examples: [
      'portolan run "what changed this week?" --server git',
      "portolan run --text --allow 'git.*' - < task.txt",
    ],
    load: () => import("./commands/run.ts"),
  },
  {
    name: "chat",
    summary: "Chat with a model that uses your servers.",
    flags: modelFlags,
    examples: ["portolan chat --server files --server git", "portolan chat --model demo --env KEY -- node server.js"],
    load: () => import("./commands/chat.ts"),
  },
  {
    name: "console",
    usage: "[servers...]",
    summary: "Open the web console: chat with servers, and look at what they do, in the browser.",
    flags: {
      "--port <port>": "The port. Default: the port of the last time, or any free port.",
      "--no-open": "Do not open a browser.",
      ...modelFlags,
    },
    examples: ["portolan console", "portolan console files ./server.ts", "portolan console -- node server.js"],
    load: () => import("./commands/console.ts"),
  },
  {
    name: "watch",
    usage: "[target] [uris...]",
    summary: "Show changes, logs and states of a server until Ctrl-C.",
    flags: {
      "--level <level>": "The least severe log messages to show. Default: info.",
      "--limit <count>": "Stop after this many events.",
      ...targetFlags,
    },
    examples: ["portolan watch files", "portolan watch notes notes:///today"],
    load: () => import("./commands/watch.ts"),
  },
  {
    name: "up",
    usage: "[targets...]",
    summary: "Keep servers running in the background, so that calls need no start and share their state.",
    flags: {
      "--idle <minutes>": "Stop a server after this long without use. Default: 30.",
      "--timeout <seconds>": "Fail when a server does not start within this time. Default: 60.",
      ...connectionFlags,
      ...eraFlag,
    },
    examples: [
      "portolan up browser",
      "portolan up files db --idle 120",
      "portolan up --env KEY -- node server.js",
      "portolan up",
    ],
    load: () => import("./commands/up.ts"),
  },
  {
    name: "down",
    usage: "[servers...]",
    summary: "Stop servers that up keeps running. Default: all of them.",
    examples: ["portolan down", "portolan down browser"],
    load: () => import("./commands/down.ts"),
  },
  {
    name: "add",
    usage: "<name-or-source> [url]",
    summary: "Add a server to the .mcp.json of this project: a command, an address, a bundle, a name in a registry.",
    flags: {
      "--user": "Write to your own file instead, for all projects.",
      "--to <product>":
        "Write to the file of this product: cursor, claude (the desktop app), claude-code, vscode, codex, gemini, windsurf, zed, goose… Without a command or address, copy the configured server of this name.",
      "--env <pair...>":
        "NAME=VALUE for a command, or NAME for a reference to the variable of your shell. With the name of a configured server alone, set it there. Repeatable.",
      "--header <pair...>": "NAME=VALUE for an address, also of a configured server. Repeatable.",
      "--from <product>": "Copy the entry of this name from this product, or from a file.",
      "--force": "Replace an existing entry of this name.",
      "--name <name>":
        "The name of the entry, for a card, a registry or a bundle. Default: the last part of its own name.",
      "--set <pair...>":
        // biome-ignore lint/suspicious/noTemplateCurlyInString: this is how a variable is written in the file
        "NAME=VALUE for an input of a card, a registry entry or a bundle. A secret takes '${VARIABLE}' alone. Repeatable.",
      "--registry <url>": "Look the name up in this registry. Default: the official one.",
      "--package <kind>":
        "Use this kind of package of a registry entry: npm, pypi, oci, nuget, mcpb, or remote. Default: the first that can be used.",
    },
    examples: [
      "portolan add files -- npx -y some-server .",
      "portolan add https://mcp.example.com/mcp",
      "portolan add io.github.example/weather",
      "portolan add ./weather.mcpb --set units=metric",
      "portolan add jira https://jira.example.com/mcp --header 'X-Team=docs'",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: this is how a variable is written in the file
      "portolan add db --env 'PGURL=${PGURL}' -- node server.js",
      "portolan add db --env PGPASSWORD",
      "portolan add files --from cursor",
      "portolan add files --to vscode",
      "portolan add files --to claude -- npx -y some-server .",
    ],
    load: () => import("./commands/add.ts"),
  },
  {
    name: "remove",
    usage: "<server>",
    summary: "Remove a server from its file, and revoke its grants.",
    flags: { "--force": "Remove it even from the file of another product." },
    load: () => import("./commands/remove.ts"),
  },
  {
    name: "trust",
    usage: "<server>",
    summary: "Show what a configured server would start, and allow it.",
    flags: {
      "--hints": "Also trust its read-only labels.",
      "--changes": "Show changed definitions, and accept them.",
      "--revoke": "Stop trusting it.",
      "--yes": "Do not ask.",
      ...timeoutFlag,
    },
    examples: ["portolan trust files", "portolan trust files --changes", "portolan trust files --revoke"],
    load: () => import("./commands/trust.ts"),
  },
  {
    name: "grants",
    summary: "List what you have permanently allowed and denied.",
    flags: { "--revoke <id>": "Revoke one: its id, the first characters of it, or a name such as files.write." },
    load: () => import("./commands/grants.ts"),
  },
  {
    name: "log",
    summary: "Show the activity log: calls, questions, decisions.",
    flags: {
      "--server <name>": "Only entries of this server.",
      "--kind <kind...>":
        "Only entries of this kind: call, result, decision, trust… Repeatable. On a terminal, ordinary states of servers are shown only with server.",
      "--text <text>": "Only entries that contain this text.",
      "--since <time>": "Only entries since a time (2026-11-15T12:00Z) or for a duration (30m, 2h, 7d).",
      "--limit <count>": "At most this many entries, the latest ones. Default: 50.",
      "--follow": "Show new entries until Ctrl-C.",
      "--verify": "Check that no entry was changed, removed or added.",
    },
    examples: ["portolan log --server files --since 1h", "portolan log --kind decision --follow"],
    load: () => import("./commands/log.ts"),
  },
  {
    name: "login",
    usage: "<server>",
    summary: "Sign in at a server, by its name or address.",
    flags: {
      "--no-browser": "Show the address, and ask for the one that the browser is redirected to.",
      "--client-id <id>": "Use this client, which you registered by hand, from now on.",
      "--scope <scope...>": "Also ask for this scope; several are separated by spaces. Repeatable.",
      "--client-secret-stdin": "Read the secret of the client from the first line of standard input.",
      "--timeout <seconds>": "Fail when the browser does not come back within this time. Default: 600.",
    },
    examples: [
      "portolan login notes",
      "portolan login notes --scope notes:write",
      "portolan login notes --client-id my-app --client-secret-stdin < secret.txt",
    ],
    load: () => import("./commands/login.ts"),
  },
  {
    name: "logout",
    usage: "<server>",
    summary: "Delete and revoke the tokens for a server.",
    load: () => import("./commands/logout.ts"),
  },
  {
    name: "doctor",
    usage: "[target]",
    summary: "Find out what is wrong with servers, and what to do.",
    flags: {
      "--timeout <seconds>": "Fail when a server does not start within this time. Default: 20.",
      "--slow <seconds>": "Report a start that takes longer. Default: 5.",
      ...connectionFlags,
      ...eraFlag,
    },
    examples: ["portolan doctor", "portolan doctor files", "portolan doctor -- node server.js"],
    load: () => import("./commands/doctor.ts"),
  },
  {
    name: "check",
    usage: "[target]",
    summary: "Grade how well a server follows the protocol.",
    flags: {
      "--revision <date...>": "Only this revision. Repeatable. Default: all.",
      "--only <scenario...>": "Only these scenarios; * stands for any characters. Repeatable.",
      "--tool <name...>": "Allow calls of this tool. Repeatable. Default: known test tools and read-only tools.",
      "--allow-known-gaps": "Exit with 0 if nothing failed but known gaps of official SDKs.",
      "--timeout <seconds>": "Fail a scenario when an answer takes longer. Default: 10.",
      ...connectionFlags,
      "--era <era>": "Only revisions of this era: stateless, stateful or a revision.",
    },
    examples: ["portolan check files", "portolan check --only 'tools/*' -- node server.js"],
    load: () => import("./commands/check.ts"),
  },
  {
    name: "test",
    usage: "[names...]",
    summary:
      "Run the saved calls of the project (.portolan/calls.json), and compare their results with what is expected.",
    flags: { "--timeout <seconds>": "Fail when a server is silent for this long. Default: 60." },
    examples: ["portolan test", "portolan test 'weather *'"],
    load: () => import("./commands/test.ts"),
  },
  {
    name: "record",
    usage: "[target]",
    summary: "Record all messages between a client and a server.",
    flags: {
      "--out <file>": "The recording. Default: <server>.jsonl.",
      "--raw": "Keep secrets. Default: they are removed.",
      ...connectionFlags,
    },
    examples: ["portolan record --out talk.jsonl -- node server.js", "portolan record https://example.com/mcp"],
    load: () => import("./commands/record.ts"),
  },
  {
    name: "replay",
    usage: "<recording> [target]",
    summary: "Show a recording, or run it again against a server.",
    flags: {
      "--check": "Send the recorded requests again, and compare the answers. Ids and times may differ.",
      ...connectionFlags,
      ...timeoutFlag,
    },
    examples: ["portolan replay talk.jsonl", "portolan replay talk.jsonl --check -- node server.js"],
    load: () => import("./commands/replay.ts"),
  },
  {
    name: "new",
    usage: "<name>",
    summary: "Create a folder with a new server and its test.",
    flags: {
      "--template <name>": "tools, resources or everything. Default: tools.",
      "--ts": "Write TypeScript (default).",
      "--js": "Write JavaScript.",
    },
    examples: ["portolan new weather", "portolan new notes --template resources --js"],
    load: () => import("./commands/new.ts"),
  },
  {
    name: "dev",
    usage: "[file]",
    summary: "Serve a server file over HTTP, and reload it after each change.",
    flags: {
      "--http <port>": "The port; 0 is any free port. Default: 3333, or any free port if it is in use.",
      "--apps":
        "Also open a page that shows its apps. It shows those of any other server, too: an address, a name, or a command after --.",
      "--env <pair...>": "NAME=VALUE for the server file. Repeatable. It also sees the variables of your shell.",
      "--cwd <folder>": "Run the server file in this folder.",
    },
    examples: ["portolan dev server.ts", "portolan dev server.ts --apps", "portolan dev --apps -- node server.js"],
    load: () => import("./commands/dev.ts"),
  },
  {
    name: "serve",
    usage: "[target]",
    summary: "Serve a command over HTTP, or an address over standard input and output.",
    flags: {
      "--http <port>": "Serve over HTTP (default for a command). 0 is any free port.",
      "--stdio": "Serve over standard input and output (default for an address).",
      "--host <address>": "The address to listen on. Default: 127.0.0.1. Others need PORTOLAN_TOKEN.",
      ...targetFlags,
    },
    examples: ["portolan serve files --http 8080", "portolan serve https://example.com/mcp --stdio"],
    load: () => import("./commands/serve.ts"),
  },
  {
    name: "gen",
    usage: "<kind> [target]",
    summary: "Generate from a server: ts (a typed client module), cli (a standalone command) or skill (a SKILL.md).",
    flags: {
      "--out <file>": "The file to write; - is standard output. Default: named after the server.",
      "--force": "Replace a file that was not generated.",
      ...connectionFlags,
      "--env <pair...>":
        "NAME=VALUE for a command or file, or NAME to pass a variable of your shell. What is generated reads the variable NAME. Repeatable.",
      "--header <pair...>": "NAME=VALUE for an address. What is generated reads the value from a variable. Repeatable.",
      ...eraFlag,
      ...timeoutFlag,
    },
    examples: [
      "portolan gen ts files",
      "portolan gen ts --env KEY -- node server.js",
      "portolan gen cli files --out files.mjs",
      "portolan gen skill -- node server.js",
    ],
    load: () => import("./commands/gen.ts"),
  },
  {
    name: "card",
    usage: "<target>",
    summary: "Print the server card of an address, or make one for a server.",
    flags: {
      "--name <name>": "Make a card with this name: a domain of yours, reversed, and a name.",
      "--url <url>": "The public address of the server, for a card that is made.",
      "--description <text>": "What the server does, in at most 100 characters. Default: what the server says.",
    },
    examples: [
      "portolan card https://mcp.example.com/mcp",
      "portolan card ./server.ts --name com.example/weather --url https://mcp.example.com/mcp",
    ],
    load: () => import("./commands/card.ts"),
  },
  {
    name: "pack",
    usage: "[folder-or-bundle]",
    summary: "Make a bundle (.mcpb) of a folder with a manifest.json, or check one that exists.",
    flags: {
      "--out <file>": "The bundle to write. Default: <name>-<version>.mcpb.",
      "--force": "Replace another bundle.",
    },
    examples: ["portolan pack", "portolan pack ./weather --out weather.mcpb", "portolan pack weather.mcpb"],
    load: () => import("./commands/pack.ts"),
  },
  {
    name: "keys",
    usage: "<action> [storage]",
    summary: "rotate: replace the secret key that the processes of a server share.",
    flags: {
      "--prefix <prefix>": "The prefix of the servers in Redis. Default: portolan.",
      "--cluster": "The address is that of a node of a Redis Cluster.",
    },
    examples: ["REDIS_URL=redis://127.0.0.1:6379 portolan keys rotate", "portolan keys rotate ./storage"],
    load: () => import("./commands/keys.ts"),
  },
  {
    name: "completion",
    usage: "<shell>",
    summary: "Print the completion script for bash, zsh, fish or powershell.",
    examples: ['eval "$(portolan completion bash)"', "portolan completion fish | source"],
    load: () => import("./commands/completion.ts"),
  },
  {
    name: "complete-words",
    summary: "Print completions for the words after --.",
    isHidden: true,
    load: () => import("./commands/complete-words.ts"),
  },
  {
    name: "keep-warm",
    summary: "Keep servers running for up, until the last one is stopped.",
    isHidden: true,
    load: () => import("./commands/keep-warm.ts"),
  },
  {
    name: "serve-file",
    usage: "<file>",
    summary: "Serve a server file over standard input and output.",
    isHidden: true,
    load: () => import("./commands/serve-file.ts"),
  },
  {
    name: "serve-recording",
    usage: "<file>",
    summary: "Serve a recording over standard input and output.",
    isHidden: true,
    load: () => import("./commands/serve-recording.ts"),
  },
];

/** The headings of help, and the commands below each. */
export const commandGroups: { readonly [heading: string]: readonly string[] } = {
  "Look at servers and call them": [
    "servers",
    "ls",
    "call",
    "tasks",
    "read",
    "prompt",
    "complete",
    "skills",
    "watch",
    "up",
    "down",
  ],
  "Let a model use them": ["run", "chat", "console"],
  "Manage servers and permissions": ["add", "remove", "trust", "grants", "log", "login", "logout"],
  "Find out what is wrong": ["doctor", "check", "test", "record", "replay"],
  "Make and serve your own": ["new", "dev", "serve", "gen", "card", "pack", "keys"],
  "Set up your shell": ["completion"],
};
