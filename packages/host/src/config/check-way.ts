import type { ConfiguredTarget, RawEntry } from "./configured.ts";

/** What no system would take, seen before anything is started; without the values, which may be secrets. */
export function checkWay(way: ConfiguredTarget, { source }: RawEntry): string | undefined {
  const reason = "command" in way ? checkCommand(way) : (checkAddress(way.url) ?? checkHeaders(way.headers ?? {}));
  return reason === undefined ? undefined : `${source.path} in ${source.file}: ${reason}`;
}

function checkCommand({
  command,
  args = [],
  cwd = "",
  env = {},
}: Extract<ConfiguredTarget, { command: string }>): string | undefined {
  if (command.trim() === "") return "expected a command, got an empty one";
  if ([command, cwd, ...args, ...Object.values(env)].some((text) => text.includes("\0"))) {
    return "expected texts without the character 0";
  }
  const odd = Object.keys(env).find((name) => !/^[^=\0]+$/.test(name));
  return odd === undefined ? undefined : "expected names of variables without = in env";
}

function checkAddress(url: string): string | undefined {
  if (!URL.canParse(url)) return "expected a whole address such as https://example.com/mcp";
  const { protocol } = new URL(url);
  const isWeb = protocol === "https:" || protocol === "http:";
  return isWeb ? undefined : `expected an address of http or https, got one of ${JSON.stringify(protocol)}`;
}

function checkHeaders(headers: { readonly [name: string]: string }): string | undefined {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) return `expected the name of a header, got ${JSON.stringify(name)}`;
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      return `expected a value for the header ${name} without line ends, control characters and characters above U+00FF`;
    }
  }
  return undefined;
}
