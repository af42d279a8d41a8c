import { expect, test } from "vitest";
import { nameOfCommand, shortFlagsWithValue } from "./command-name.ts";

test.each([
  ["node server.js", "server"],
  ["/usr/bin/node --import tsx --no-warnings src/weather.ts --port 3", "weather"],
  ["C:\\node\\node.exe C:\\work\\notes.mjs", "notes"],
  ["tsx watch.ts", "watch"],
  ["node /srv/weather/dist/index.js", "weather"],
  ["node ./dist/main.js", "main"],
  ["npx -y @modelcontextprotocol/server-everything@latest stdio", "server-everything"],
  ["npx.cmd --package=typescript some-server", "some-server"],
  ["npx -p some-package its-command", "its-command"],
  ["npm exec -- @acme/tools@1", "tools"],
  ["npm exec --yes time-server", "time-server"],
  ["pnpm dlx time-server", "time-server"],
  ["bunx time-server", "time-server"],
  ["bun x time-server", "time-server"],
  ["bun run server.ts", "server"],
  ["deno run -A main.ts", "main"],
  ["uvx mcp-server-git==2025.1 --repository .", "mcp-server-git"],
  ["uvx --from git+https://example.com/x mcp-x", "mcp-x"],
  ["uv --directory /srv run server.py", "uv"],
  ["uv run --directory /srv server.py", "server"],
  ["uv tool run mcp-server-time", "mcp-server-time"],
  ["python3 -m mcp_server_time --local", "mcp_server_time"],
  ["python -m acme.tools.server", "server"],
  ["python -u server.py", "server"],
  ["docker run -i --rm -e TOKEN -v /a:/b ghcr.io/github/github-mcp-server:v1", "github-mcp-server"],
  ["docker run -i localhost:5000/time@sha256:abc", "time"],
  ["env TOKEN=x node server.js", "server"],
  ["/opt/bin/weather-server --stdio", "weather-server"],
  ["sh -c something", "sh"],
  ["node -e console.log(1)", "node"],
  ["node", "node"],
  ["npm start", "npm"],
  ["", "server"],
])("names the server of %s %s", (line, name) => {
  expect(nameOfCommand(line.split(" "))).toBe(name);
});

test.each([
  ["node server.js -p hunter2", ["-p"]],
  ["node -r ./hook.js server.js", []],
  ["npx -y @scope/server -p hunter2 -v --port 1", ["-p"]],
  ["python -m some.server -t hunter2", ["-t"]],
  ["./server -p hunter2", ["-p"]],
  ["node -e code", []],
  ["docker run -i -e PW=hunter2 image", ["-e"]],
  ["docker run --rm image -p hunter2", ["-p"]],
])("finds the short flags of the server in %s", (command, flags) => {
  const [program = "", ...args] = command.split(" ");
  expect(shortFlagsWithValue(program, args).map(({ flag }) => flag)).toEqual(flags);
});
