// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how files write variables
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "portolan/server";
import { type ServerCardOptions, serveHttp } from "portolan/server/http";
import { describe, expect, onTestFinished, test } from "vitest";
import { OfficialSchema } from "../kit/official-schema.ts";
import { makeHome } from "./kit.ts";
import { errorOf, put, runPortolan, showOf } from "./manage-kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";
import { entryOf, type Registered, serveLoopback, serveRegistry } from "./registry-server.ts";

interface Shown {
  readonly name: string;
  readonly written: { readonly [member: string]: unknown };
  readonly isTrusted: boolean;
  readonly from: { readonly [member: string]: string };
  readonly warnings?: readonly string[];
  readonly problem?: string;
  readonly next: string;
}

type Env = { [name: string]: string };

const add = (cwd: string, args: readonly string[], env: Env = {}) => showOf<Shown>(["add", ...args], { cwd, env });

/** Runs an add that fails. Nothing may be written. */
async function failureOf(args: readonly string[], env: Env = {}, cwd = makeHome()) {
  const ran = await runPortolan(["add", ...args], { cwd, env });
  expect([ran.code === 0, existsSync(join(cwd, ".mcp.json"))]).toEqual([false, false]);
  return { code: ran.code, ...errorOf(ran) };
}

const entriesIn = (cwd: string) => JSON.parse(readFileSync(join(cwd, ".mcp.json"), "utf8")).mcpServers;

const info = { name: "weather", version: "2.0.0", description: "Tells the weather" };

/** Serves a server with a card. */
async function serveCard(card: Partial<ServerCardOptions> = {}, path = "/mcp"): Promise<string> {
  const server = createServer(info).tool("forecast", { run: () => "sun" });
  const endpoint = serveHttp(server, { path, card: { name: "com.example/weather", ...card } });
  onTestFinished(() => endpoint.close(0));
  return (await endpoint.listen()).url;
}

/** Serves one document at every path. */
const serveDocument = (document: object, type = "application/mcp-server-card+json") =>
  serveLoopback((_, response) => {
    response.writeHead(200, { "content-type": type }).end(JSON.stringify(document));
  });

const cardOf = (remotes: readonly object[], more: object = {}) => ({
  $schema: "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
  ...{ name: "com.example/weather", version: "1.0.0", description: "Tells the weather", remotes },
  ...more,
});

describe("add <address> with a server card (X133)", () => {
  test("makes an untrusted entry of the card beside the address, which works once it is trusted", async () => {
    const url = await serveCard();
    const cwd = makeHome();
    expect(await add(cwd, [url])).toEqual({
      name: "weather",
      file: join(cwd, ".mcp.json"),
      written: { url, headers: [] },
      isTrusted: false,
      isUsed: true,
      from: { kind: "card", name: "com.example/weather", version: "2.0.0", place: `${url}/server-card` },
      next: "portolan trust weather",
    });
    expect((await runPortolan(["ls", "weather"], { cwd })).code).toBe(6);
    await showOf(["trust", "weather", "--yes"], { cwd });
    expect(await showOf(["call", "weather.forecast"], { cwd })).toMatchObject({ content: [{ text: "sun" }] });
  });

  test("reads the card itself, and the live server decides what is shown of it", async () => {
    const url = await serveCard();
    const { origin } = await serveDocument(
      cardOf([{ type: "streamable-http", url }], { version: "9.9.9", title: "Liar" }),
    );
    const cwd = makeHome();
    const shown = await add(cwd, [`${origin}/cards/weather.json`, "--name", "sky"]);
    expect(shown).toMatchObject({ name: "sky", written: { url }, from: { version: "9.9.9" } });
    expect(shown.warnings).toEqual([`the card at ${new URL(origin).host} leads to another host: ${new URL(url).host}`]);
    await showOf(["trust", "sky", "--yes"], { cwd });
    expect(await showOf(["ls", "sky"], { cwd })).toMatchObject({
      server: { info: { name: "weather", version: "2.0.0" } },
    });
    expect(readFileSync(join(cwd, ".mcp.json"), "utf8")).not.toMatch(/9\.9\.9|Liar|weather/);
  });

  test("asks for inputs, keeps secrets as references, and leaves optional secrets out", async () => {
    const url = await serveCard({
      remotes: [
        {
          url: "http://127.0.0.1:1/{region}/mcp",
          variables: { region: { isRequired: true, choices: ["eu", "us"] } },
          headers: [
            {
              name: "Authorization",
              value: "Bearer {token}",
              variables: { token: { isRequired: true, isSecret: true } },
            },
            { name: "X-Team", default: "sky" },
            { name: "X-Trace", isSecret: true },
          ],
        },
      ],
    });
    expect(await failureOf([url])).toMatchObject({
      code: 2,
      message: "weather needs a value: region (one of eu, us); add --set region=VALUE",
    });
    expect((await failureOf([url, "--set", "region=moon"])).message).toBe('region: expected one of eu, us, got "moon"');
    expect((await failureOf([url, "--set", "planet=moon"])).message).toContain(
      'has no input "planet"; it has token, region',
    );
    const secret = await failureOf([url, "--set", "region=eu", "--set", "token=hunter22"]);
    expect(secret.message).toContain(
      "it is a secret, which is not written into a file; set the variable WEATHER_TOKEN",
    );
    expect(secret.message).not.toContain("hunter22");
    const cwd = makeHome();
    const shown = await add(cwd, [url, "--set", "region=eu"], { WEATHER_TOKEN: "hunter22" });
    expect(shown).toMatchObject({
      written: { url: "http://127.0.0.1:1/eu/mcp", headers: ["Authorization", "X-Team"] },
      warnings: [
        "an optional secret is left out; to pass it, add --set 'X-Trace=${NAME}'",
        `the card at ${new URL(url).host} leads to another host: 127.0.0.1:1`,
      ],
    });
    expect(entriesIn(cwd).weather).toMatchObject({
      headers: { Authorization: "Bearer ${WEATHER_TOKEN}", "X-Team": "sky" },
    });
    const other = ["--set", "token=${MINE}", "--set", "X-Trace=${TRACE}", "--force"];
    await add(cwd, [url, "--set", "region=us", ...other], { MINE: "m", TRACE: "t" });
    expect(entriesIn(cwd).weather.headers).toMatchObject({ Authorization: "Bearer ${MINE}", "X-Trace": "${TRACE}" });
  });

  test("asks a person at the terminal for the values, and shows the whole entry", async () => {
    const variables = { region: { isRequired: true, description: "Where you are", choices: ["eu", "us"] } };
    const url = await serveCard({ remotes: [{ url: "http://127.0.0.1:1/{region}/mcp", variables }] });
    const cwd = makeHome();
    const terminal = openTerminal(["add", url], { cwd, columns: 120 });
    await terminal.answer(/Where you are[\s\S]*2 us/, "eu\r");
    expect(await terminal.exited).toBe(0);
    expect(terminal.screen()).toMatch(/server card: com\.example\/weather 2\.0\.0/);
    expect(terminal.screen()).toMatch(/Address +http:\/\/127\.0\.0\.1:1\/eu\/mcp/);
    expect(terminal.screen()).toContain("portolan trust weather");
  });

  test("refuses a card that would take a variable of the shell, however it is composed", async () => {
    const remote = (url: string, more: object = {}) => [{ type: "streamable-http", url, ...more }];
    const header = (value: string, variables?: object) => ({
      headers: [{ name: "X-A", value, ...(variables && { variables }) }],
    });
    const cases = [
      remote("http://127.0.0.1:1/${AWS_SECRET}"),
      remote("http://127.0.0.1:1/", header("${AWS_SECRET}")),
      remote("http://127.0.0.1:1/", header("$\u007bx}", { x: { default: "{AWS_SECRET}", isRequired: true } })),
      remote("http://127.0.0.1:1/$\u007bx}", { variables: { x: { default: "{AWS_SECRET}", isRequired: true } } }),
      remote("http://127.0.0.1:1/", { headers: [{ name: "X-A", default: "${AWS_SECRET}" }] }),
    ];
    for (const remotes of cases) {
      const { origin } = await serveDocument(cardOf(remotes));
      const { code, message } = await failureOf([`${origin}/card.json`], { AWS_SECRET: "hunter22" });
      expect([code, message]).toEqual([6, expect.stringContaining("would pass on a variable of your shell")]);
    }
  });

  test("refuses what another product would read as a variable, when its file is written", async () => {
    const { origin } = await serveDocument(
      cardOf([{ type: "streamable-http", url: "http://127.0.0.1:1/?a=$AWS_SECRET" }]),
    );
    const cwd = makeHome();
    const refused = await runPortolan(["add", `${origin}/card.json`, "--to", "gemini"], { cwd });
    expect([refused.code, errorOf(refused).message]).toEqual([
      6,
      expect.stringContaining("other products may read a variable"),
    ]);
    expect(await add(cwd, [`${origin}/card.json`])).toMatchObject({ isTrusted: false });
  });

  test("refuses addresses that the person did not type: of this machine, of a private network, or without https", async () => {
    for (const url of [
      "http://localhost:1/mcp",
      "https://10.0.0.1/mcp",
      "https://169.254.169.254/",
      "http://far.example/mcp",
    ]) {
      const { origin } = await serveDocument(cardOf([{ type: "streamable-http", url }]));
      const { code, message } = await failureOf([`${origin}/card.json`]);
      expect([code, message]).toEqual([4, expect.stringMatching(/is refused: /)]);
      expect(message).not.toContain("privateHosts");
    }
  });

  test("says how to add an address without a card, and that command works", async () => {
    const { origin } = await serveLoopback((_, response) => response.writeHead(404).end());
    const { code, message, next } = await failureOf([`${origin}/mcp`]);
    expect([code, message]).toEqual([2, `${origin}/mcp has no server card; to add the address itself, give it a name`]);
    expect(next).toBe(`portolan add server ${origin}/mcp`);
    const cwd = makeHome();
    const [, ...typed] = String(next).split(" ");
    expect(await showOf(typed, { cwd })).toMatchObject({ name: "server", isTrusted: true });
  });

  test("finds no card at an address that answers with a stream without an end", async () => {
    const { origin, asked } = await serveLoopback((_, response, url) => {
      if (url.pathname !== "/mcp") response.writeHead(404).end();
      else response.writeHead(200, { "content-type": "text/event-stream" }).write(": open\n\n");
    });
    expect((await failureOf([`${origin}/mcp`])).message).toContain("has no server card");
    expect(asked).toEqual(["GET /mcp/server-card", "GET /mcp"]);
  });

  test.each<[string, object | string, string]>([
    ["no JSON", "<html>", "is not JSON"],
    ["a list", [], "expected a JSON object"],
    ["a card without a name", { ...cardOf([]), name: "weather" }, "has no valid name"],
    ["a card without addresses", cardOf([]), "names no address"],
    [
      "a card that is too large",
      { ...cardOf([]), _meta: "x".repeat(2 * 1024 * 1024) },
      "expected at most 1048576 bytes",
    ],
  ])("refuses %s", async (_, document, message) => {
    const { origin } = await serveLoopback((__, response) => {
      const text = typeof document === "string" ? document : JSON.stringify(document);
      response.writeHead(200, { "content-type": "application/mcp-server-card+json" }).end(text);
    });
    expect((await failureOf([`${origin}/card.json`])).message).toContain(message);
  });
});

describe("card", () => {
  const schema = new OfficialSchema("ext/server-card");
  const card = (cwd: string, ...args: readonly string[]) =>
    showOf<{ [member: string]: unknown }>(["card", ...args], { cwd });

  test("prints the card of an address, and makes one of what any server says of itself", async () => {
    const url = await serveCard();
    const cwd = makeHome();
    expect(await card(cwd, url)).toEqual(await (await fetch(`${url}/server-card`)).json());
    const made = await card(cwd, url, "--name", "org.example/sky", "--url", "https://sky.example.org/mcp");
    expect(made).toMatchObject({ name: "org.example/sky", version: "2.0.0", description: "Tells the weather" });
    expect(made["remotes"]).toMatchObject([{ type: "streamable-http", url: "https://sky.example.org/mcp" }]);
    expect(schema.problems("ServerCard", made)).toEqual([]);
    expect(await card(cwd, url, "--name", "org.example/sky", "--description", "Sky")).toMatchObject({
      description: "Sky",
    });
    const terminal = openTerminal(["card", url], { cwd });
    expect(await terminal.exited).toBe(0);
    expect(terminal.screen()).toContain('"com.example/weather"');
  });

  test("says what is wrong: no address, no card, a name or a description that no card may have", async () => {
    const cwd = makeHome();
    const messageOf = async (...args: string[]) => errorOf(await runPortolan(["card", ...args], { cwd })).message;
    expect(await messageOf("notes")).toContain("expected an address that has a card, or --name");
    expect(await messageOf("https://a.example", "--url", "https://b.example")).toContain(
      "--url is for a card that is made",
    );
    const { origin } = await serveLoopback((_, response) => response.writeHead(404).end());
    expect(await messageOf(`${origin}/mcp`)).toContain("has no server card");
    const url = await serveCard();
    expect(await messageOf(url, "--name", "weather")).toBe(
      'the server cannot have a card yet: name: expected a reversed domain and a name, such as "com.example/weather", got "weather"',
    );
  });
});

const npm = (more: object = {}) => ({
  ...{ registryType: "npm", identifier: "@example/weather", version: "1.2.0", transport: { type: "stdio" } },
  ...more,
});

describe("add <name in a registry> (X134)", () => {
  const name = "io.github.example/weather";
  const withPackages = (...packages: object[]): Registered => ({ server: entryOf(name, { packages }) });
  const addFrom = async (cwd: string, entry: Registered, args: readonly string[] = [], env: Env = {}) => {
    const { origin } = await serveRegistry([entry]);
    return add(cwd, [name, "--registry", origin, ...args], env);
  };
  const failFrom = async (entry: Registered, args: readonly string[] = [], env: Env = {}) => {
    const { origin } = await serveRegistry([entry]);
    return failureOf([name, "--registry", origin, ...args], env);
  };

  test("makes a command of a package of npm, with its arguments and variables, and asks the registry alone", async () => {
    const entry = withPackages(
      npm({
        runtimeHint: "npx",
        runtimeArguments: [{ type: "positional", value: "-y" }],
        packageArguments: [
          { type: "positional", valueHint: "folder", isRequired: true, isRepeated: true, format: "filepath" },
          { type: "named", name: "--units", default: "metric", choices: ["metric", "imperial"] },
          { type: "named", name: "--tag", isRepeated: true },
        ],
        environmentVariables: [
          { name: "WEATHER_KEY", isRequired: true, isSecret: true, description: "Your key" },
          { name: "LOG", default: "info" },
          { name: "PROXY_TOKEN", isSecret: true },
        ],
      }),
    );
    const { origin, asked } = await serveRegistry([entry]);
    const cwd = makeHome();
    const given = ["--set", "folder=a", "--set", "folder=b", "--set", "tag=x", "--set", "tag=y"];
    const shown = await add(cwd, [name, "--registry", origin, ...given], { WEATHER_KEY: "hunter22" });
    const args = ["-y", "@example/weather@1.2.0", "a", "b", "--units", "metric", "--tag", "x", "--tag", "y"];
    expect(shown).toMatchObject({
      name: "weather",
      written: { command: "npx", args, env: ["WEATHER_KEY", "LOG"] },
      isTrusted: false,
      from: { kind: "registry", name, version: "1.2.0" },
      warnings: ["an optional secret is left out; to pass it, add --env PROXY_TOKEN"],
      next: "portolan trust weather",
    });
    expect(asked).toEqual(["GET /v0.1/servers/io.github.example%2Fweather/versions/latest"]);
    expect(entriesIn(cwd).weather.env).toEqual({ WEATHER_KEY: "${WEATHER_KEY}", LOG: "info" });
    const denied = await runPortolan(["ls", "weather"], { cwd, env: { WEATHER_KEY: "hunter22" } });
    expect([denied.code, errorOf(denied).next]).toEqual([6, "portolan trust weather"]);
  });

  test("writes the file of another product with its own references, or the person's own file", async () => {
    const variables = [{ name: "WEATHER_KEY", isRequired: true, isSecret: true }];
    const { origin } = await serveRegistry([withPackages(npm({ environmentVariables: variables }))]);
    const [cwd, env] = [makeHome(), { WEATHER_KEY: "hunter22" }];
    const given = ["add", name, "--registry", origin];
    const { file, diff } = await showOf<{ file: string; diff: string[] }>([...given, "--to", "cursor"], { cwd, env });
    expect(readFileSync(file, "utf8")).toContain('"WEATHER_KEY": "${env:WEATHER_KEY}"');
    expect(diff.join()).not.toContain("hunter22");
    const own = await showOf<{ file: string }>([...given, "--user", "--name", "mine"], { cwd, env });
    expect(JSON.parse(readFileSync(own.file, "utf8")).mcpServers.mine.env).toEqual({ WEATHER_KEY: "${WEATHER_KEY}" });
  });

  test("adds variables of --env, and says which variable of the shell is missing", async () => {
    const cwd = makeHome();
    const variables = [{ name: "WEATHER_KEY", isRequired: true, isSecret: true }];
    const shown = await addFrom(cwd, withPackages(npm({ environmentVariables: variables })), ["--env", "MORE=1"]);
    expect(shown).toMatchObject({
      written: { env: ["WEATHER_KEY", "MORE"] },
      problem: expect.stringContaining("WEATHER_KEY"),
    });
  });

  test("makes commands of packages of PyPI, NuGet and container images", async () => {
    const cases: [object, object][] = [
      [
        { registryType: "pypi", identifier: "weather-mcp", version: "1.2.0" },
        { command: "uvx", args: ["weather-mcp@1.2.0"] },
      ],
      [
        { registryType: "nuget", identifier: "Weather.Mcp", version: "1.2.0" },
        { command: "dnx", args: ["--yes", "Weather.Mcp@1.2.0"] },
      ],
      [
        {
          ...{
            registryType: "oci",
            identifier: "ghcr.io/example/weather:1.2.0",
            environmentVariables: [{ name: "LOG", default: "x" }],
          },
          runtimeArguments: [
            { type: "positional", value: "run" },
            { type: "positional", value: "-i" },
          ],
        },
        { command: "docker", args: ["run", "-i", "--rm", "-e", "LOG", "ghcr.io/example/weather:1.2.0"] },
      ],
    ];
    for (const [item, written] of cases) {
      expect(await addFrom(makeHome(), withPackages({ transport: { type: "stdio" }, ...item }))).toMatchObject({
        written,
      });
    }
  });

  test("uses the first package that can be used, says what else there is, and --package chooses", async () => {
    const remotes = [{ type: "streamable-http", url: "https://weather.example.com/mcp" }];
    const packages = [npm({ registryType: "cargo" }), npm()];
    const entry = { server: entryOf(name, { packages, remotes }) };
    expect(await addFrom(makeHome(), entry)).toMatchObject({
      written: { command: "npx" },
      warnings: ["the npm package is used; there is also: cargo, remote (--package)"],
    });
    const remote = await addFrom(makeHome(), entry, ["--package", "remote"]);
    expect(remote).toMatchObject({ written: { url: "https://weather.example.com/mcp" } });
    expect(remote.warnings).toBeUndefined();
    expect((await failFrom(entry, ["--package", "oci"])).message).toContain("its packages: cargo, npm, remote");
  });

  test("takes a version, warns of a deprecated one, and refuses a deleted one", async () => {
    const of = (version: string, status: NonNullable<Registered["status"]>): Registered => ({
      ...{ server: { ...entryOf(name, { packages: [npm({ version })] }), version }, status, statusMessage: "use sky" },
    });
    const { origin } = await serveRegistry([of("2.0.0", "active"), of("1.0.0", "deprecated"), of("0.9.0", "deleted")]);
    const cwd = makeHome();
    expect(await add(cwd, [name, "--registry", origin])).toMatchObject({ from: { version: "2.0.0" } });
    const old = await add(cwd, [`${name}@1.0.0`, "--registry", origin, "--name", "old"]);
    expect(old).toMatchObject({ name: "old", warnings: [`${name} is deprecated: use sky`] });
    const deleted = await failureOf([`${name}@0.9.0`, "--registry", origin]);
    expect([deleted.code, deleted.message]).toEqual([
      6,
      `${name}@0.9.0 was deleted from the registry: use sky; nothing was added`,
    ]);
    const none = await failureOf([`${name}@3.0.0`, "--registry", origin]);
    expect(none.message).toContain(`has no ${name} in version 3.0.0`);
  });

  test("says which names are similar to one that the registry does not have", async () => {
    const { origin } = await serveRegistry([withPackages(npm())]);
    const { code, message } = await failureOf(["com.example/weather", "--registry", origin]);
    expect([code, message]).toEqual([
      2,
      `the registry ${new URL(origin).host} has no com.example/weather; it has ${name}`,
    ]);
  });

  test.each<[string, object, string]>([
    ["a path as a name", npm({ identifier: "../evil" }), "is not the name of a package of npm"],
    ["an address as a name", npm({ identifier: "git+https://evil.example/x" }), "is not the name of a package of npm"],
    [
      "an option as a name",
      npm({ identifier: "--registry=https://evil.example" }),
      "is not the name of a package of npm",
    ],
    ["a range as a version", npm({ version: "^1.0.0" }), "has no exact version"],
    ["the latest version", npm({ version: "latest" }), "has no exact version"],
    ["no version", npm({ version: undefined }), "has no version"],
    [
      "another registry",
      npm({ registryBaseUrl: "https://evil.example" }),
      "is in another registry, https://evil.example",
    ],
    [
      "an image of another registry",
      npm({
        registryType: "oci",
        identifier: "example/weather:1.2.0",
        version: undefined,
        registryBaseUrl: "https://evil.example",
      }),
      "is in another registry, https://evil.example",
    ],
    ["a digest that cannot be compared", npm({ fileSha256: "0".repeat(64) }), "has a digest that only a download"],
    ["a package that serves HTTP", npm({ transport: { type: "sse", url: "http://x" } }), "serves HTTP"],
    ["an unknown kind", npm({ registryType: "cargo" }), 'no program here runs packages of the kind "cargo"'],
    ["a reference", npm({ packageArguments: [{ type: "positional", value: "${HOME}" }] }), "would pass on a variable"],
    ["a NUL", npm({ packageArguments: [{ type: "positional", value: "a\u0000b" }] }), "has a NUL character"],
  ])("refuses a package with %s", async (_, item, message) => {
    expect((await failFrom(withPackages(item))).message).toContain(message);
  });

  test("refuses an answer for another name, and a registry that fails or answers with something else", async () => {
    const other = await serveLoopback((_, response) =>
      response.end(JSON.stringify({ server: entryOf("io.evil/weather", {}) })),
    );
    const wrong = await failureOf([name, "--registry", other.origin]);
    expect([wrong.code, wrong.message]).toEqual([
      8,
      expect.stringContaining('answered for "io.evil/weather" instead of'),
    ]);
    const broken = await serveLoopback((_, response) => response.writeHead(503).end());
    expect(await failureOf([name, "--registry", broken.origin])).toMatchObject({
      code: 4,
      message: expect.stringContaining("503"),
    });
    const odd = await serveLoopback((_, response) => response.end("[]"));
    expect((await failureOf([name, "--registry", odd.origin])).code).toBe(8);
    expect((await failureOf([name, "--registry", "ftp://x"])).message).toContain(
      "--registry: expected an http or https",
    );
  });

  test("follows no redirect of a registry to another origin", async () => {
    const target = await serveRegistry([withPackages(npm())]);
    const { origin } = await serveLoopback((request, response) => {
      response.writeHead(302, { location: `${target.origin}${request.url}` }).end();
    });
    expect(await failureOf([name, "--registry", origin])).toMatchObject({ code: 4 });
    expect(target.asked).toEqual([]);
  });

  test("a path is not looked up in a registry, and a program gets the command that adds it", async () => {
    const cwd = makeHome();
    put(cwd, "servers/shop.mjs", {});
    const registry = ["--registry", "https://a.example"];
    for (const path of ["./servers/shop.mjs", "servers/shop.mjs"]) {
      const { code, message, next } = await failureOf([path, ...registry], {}, cwd);
      expect({ code, message }).toEqual({
        code: 2,
        message: `expected an address, a bundle (.mcpb) or a name in a registry, got the program "${path}"`,
      });
      expect(next).toBe(`portolan add shop -- portolan serve --stdio ${path}`);
    }
    expect(await failureOf(["./notes"], {}, cwd)).toMatchObject({ code: 2, next: "portolan add --help" });
  });

  test("an entry that is configured under such a name is still meant by it", async () => {
    const cwd = makeHome();
    put(cwd, ".mcp.json", { mcpServers: { "a/b": { command: "x" } } });
    await showOf(["add", "a/b", "--env", "A=1"], { cwd });
    expect(entriesIn(cwd)["a/b"].env).toEqual({ A: "1" });
  });
});

test.each([
  [["a", "--set", "x=1", "--", "b"], "--set is for an address with a server card, a name in a registry, or a bundle"],
  [["a", "https://a.example", "--name", "b"], "--name is for an address with a server card"],
  [
    ["https://a.example", "--registry", "https://b.example"],
    "--registry is for a name in a registry, not for a server card",
  ],
  [["a", "https://a.example", "--package", "npm"], "--package is for a name in a registry, not for this"],
  [["io.a/b", "--set", "SECRET"], "--set: expected NAME=VALUE"],
  [["io.a/b", "--name", " "], "--name: expected a name"],
])("refuses %j", async (args, message) => {
  const { code, message: said } = await failureOf(args);
  expect([code, said]).toEqual([2, expect.stringContaining(message)]);
  expect(said).not.toContain("SECRET");
});
