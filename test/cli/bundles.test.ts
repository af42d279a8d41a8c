// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how files write variables
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { writeZip } from "../../packages/cli/src/sources/zip.ts";
import { bundleOf, manifestOf, program, sha256Of, textFile } from "./bundle-kit.ts";
import { makeHome } from "./kit.ts";
import { errorOf, runPortolan, showOf, stateOf } from "./manage-kit.ts";
import { entryOf, serveRegistry } from "./registry-server.ts";

type Env = { [name: string]: string };

interface Shown {
  readonly written: {
    readonly command: string;
    readonly args: string[];
    readonly env: string[];
    readonly cwd?: string;
  };
  readonly from: { readonly folder: string; readonly sha256: string };
  readonly [member: string]: unknown;
}

function homeWith(bundle: Buffer): string {
  const cwd = makeHome();
  writeFileSync(join(cwd, "weather.mcpb"), bundle);
  return cwd;
}

const add = (cwd: string, args: readonly string[] = [], env: Env = {}) =>
  showOf<Shown>(["add", "./weather.mcpb", ...args], { cwd, env });

/** Returns why a bundle cannot be added. Nothing may be written or unpacked. */
async function failureOf(bundle: Buffer, args: readonly string[] = [], env: Env = {}) {
  const cwd = homeWith(bundle);
  const ran = await runPortolan(["add", "./weather.mcpb", ...args], { cwd, env });
  const bundles = join(stateOf(cwd), "bundles");
  expect([ran.code === 0, existsSync(join(cwd, ".mcp.json")), existsSync(bundles)]).toEqual([false, false, false]);
  return { code: ran.code, ...errorOf(ran) };
}

/** Trusts the server, and returns what it tells of itself. */
async function tell(cwd: string, env: Env = {}): Promise<{ args: string[]; env: Env; folder: string }> {
  await showOf(["trust", "weather", "--yes"], { cwd, env });
  const { content } = await showOf<{ content: { text: string }[] }>(["call", "weather.tell"], { cwd, env });
  return JSON.parse(content[0]?.text ?? "");
}

const user = (type: string, more: object = {}) => ({ type, title: "A value", description: "What it is", ...more });

describe("add <bundle> (X135)", () => {
  test("unpacks it into the state folder and makes an untrusted entry; nothing runs before it is trusted", async () => {
    const bundle = bundleOf(manifestOf(), [
      textFile("server/index.mjs", program),
      { ...textFile("server/tool", "#!/bin/sh\n"), isExecutable: true },
    ]);
    const cwd = homeWith(bundle);
    const shown = await add(cwd);
    const folder = join(stateOf(cwd), "bundles", `weather-${sha256Of(bundle).slice(0, 32)}`);
    expect(shown).toEqual({
      ...{ name: "weather", file: join(cwd, ".mcp.json"), isTrusted: false, isUsed: true },
      written: { command: process.execPath, args: [`${folder}/server/index.mjs`], env: [] },
      from: {
        ...{ kind: "bundle", name: "weather", version: "1.2.0", place: join(cwd, "weather.mcpb") },
        ...{ folder, sha256: sha256Of(bundle) },
      },
      next: "portolan trust weather",
    });
    expect(readdirSync(join(folder, "..")).length).toBe(1);
    expect(readFileSync(join(folder, "server/index.mjs"), "utf8")).toBe(program);
    const modes = ["", "server/index.mjs", "server/tool"].map((path) => statSync(join(folder, path)).mode & 0o777);
    expect(modes).toEqual([0o700, 0o600, 0o700]);
    const denied = await runPortolan(["call", "weather.tell"], { cwd });
    expect([denied.code, errorOf(denied).next]).toEqual([6, "portolan trust weather"]);
    expect((await tell(cwd)).args).toEqual([]);
    // The same bundle again is the same entry; another one is another folder.
    expect(await add(cwd, ["--force"])).toMatchObject({ from: { folder } });
    writeFileSync(join(cwd, "weather.mcpb"), bundleOf(manifestOf({ version: "1.3.0" })));
    const newer = await add(cwd, ["--force"]);
    expect(newer.from.folder).not.toBe(folder);
    expect((await runPortolan(["call", "weather.tell"], { cwd })).code).toBe(6);
  });

  test("fills in its folder, the places of the person and the values of user_config", async () => {
    const config = {
      args: [
        ...["${__dirname}/server/index.mjs", "--home=${HOME}", "${DESKTOP}${/}x", "${user_config.folders}"],
        ...["${user_config.units}", "n=${user_config.count}", "${user_config.none}", "${user_config.flag}"],
      ],
      env: { W_KEY: "${user_config.key}", W_NONE: "${user_config.none}", W_OPTIONAL: "${user_config.optional}" },
    };
    const user_config = {
      folders: user("directory", { multiple: true, required: true, default: ["${HOME}/a", "${DOCUMENTS}"] }),
      units: user("string", { default: "metric" }),
      count: user("number", { required: true, min: 1, max: 9 }),
      flag: user("boolean", { default: true }),
      none: user("string"),
      key: user("string", { sensitive: true, required: true }),
      optional: user("string", { sensitive: true }),
    };
    const bundle = bundleOf(manifestOf({ user_config }, config));
    const env = { WEATHER_KEY: "hunter22" };
    const missing = await failureOf(bundle, [], env);
    expect([missing.code, missing.message]).toEqual([
      2,
      "weather needs a value: count (A value: What it is); add --set count=VALUE",
    ]);
    expect((await failureOf(bundle, ["--set", "count=10"], env)).message).toBe(
      'count: expected a number from 1 up to 9, got "10"',
    );
    expect((await failureOf(bundle, ["--set", "count=2", "--set", "flag=maybe"], env)).message).toContain(
      "one of true, false",
    );
    expect((await failureOf(bundle, ["--set", "count=2", "--set", "count=3"], env)).message).toContain(
      "expected one value",
    );
    const clear = await failureOf(bundle, ["--set", "count=2", "--set", "key=hunter22"]);
    expect(clear.message).toContain("is a secret, which is not written into a file; set the variable WEATHER_KEY");
    expect(clear.message).not.toContain("hunter22");
    const cwd = homeWith(bundle);
    await add(cwd, ["--set", "count=2", "--set", "folders=b", "--set", "folders=/c"], env);
    expect(readFileSync(join(cwd, ".mcp.json"), "utf8")).not.toContain("hunter22");
    expect(await tell(cwd, env)).toMatchObject({
      args: [`--home=${cwd}`, join(cwd, "Desktop/x"), join(cwd, "b"), "/c", "metric", "n=2", "true"],
      env: { W_KEY: "hunter22" },
    });
    expect((await runPortolan(["trust", "weather"], { cwd, env })).stderr).not.toContain("hunter22");
  });

  test("reads manifests of versions 0.1 to 0.4, also with the older name of the version", async () => {
    for (const version of ["0.1", "0.2", "0.3", "0.4"]) {
      const cwd = homeWith(bundleOf(manifestOf({ manifest_version: version })));
      expect(await add(cwd)).not.toHaveProperty("warnings");
    }
    const { manifest_version, ...old } = manifestOf({ dxt_version: "0.1" });
    expect(manifest_version).toBe("0.3");
    expect(await add(homeWith(bundleOf(old)))).toMatchObject({ name: "weather" });
    const uv = manifestOf({ manifest_version: "0.4", server: { type: "uv", entry_point: "server/index.mjs" } });
    const shown = await add(homeWith(bundleOf(uv)));
    expect(shown.written).toMatchObject({
      command: "uv",
      args: ["run", "--directory", shown.from.folder, "server/index.mjs"],
    });
    expect(shown["warnings"]).toEqual(["manifest.json: server: mcp_config: expected an object, got none"]);
  });

  test("uses the command of this platform, programs of the bundle, and its folder for relative paths", async () => {
    const platform_overrides = {
      [process.platform]: { args: ["server/index.mjs", "x"], env: { W_B: "2" } },
      other: { command: "no" },
    };
    const cwd = homeWith(bundleOf(manifestOf({}, { env: { W_A: "1" }, platform_overrides })));
    const shown = await add(cwd);
    expect(shown.written).toMatchObject({ args: ["server/index.mjs", "x"], cwd: shown.from.folder });
    expect(await tell(cwd)).toMatchObject({ args: ["x"], env: { W_A: "1", W_B: "2" }, folder: shown.from.folder });
    const server = { type: "binary", entry_point: "server/tool", mcp_config: { command: "server/tool" } };
    const files = [{ ...textFile("server/tool", "#!/bin/sh\n"), isExecutable: true }];
    const binary = await add(homeWith(bundleOf(manifestOf({ server }), files)));
    expect(binary.written.command).toBe(join(binary.from.folder, "server/tool"));
  });

  test.each<[string, Buffer, string]>([
    ["that is no archive", Buffer.from("hello"), "it is not a zip archive"],
    ["that is empty", Buffer.alloc(0), "it is not a zip archive"],
    ["without a manifest", writeZip([textFile("server/index.mjs", program)]), "it has no manifest.json"],
    ["with a path that leads out", bundleOf(manifestOf(), [textFile("../evil", "x")]), 'the path "../evil" leads out'],
    ["with an absolute path", bundleOf(manifestOf(), [textFile("/tmp/evil", "x")]), 'the path "/tmp/evil" leads out'],
    [
      "with two files of one name",
      bundleOf(manifestOf(), [textFile("A", "x"), textFile("a", "y")]),
      "two files have the path",
    ],
    ["without its program", bundleOf(manifestOf(), []), "entry_point: server/index.mjs is not in the bundle"],
    [
      "of a later version",
      bundleOf(manifestOf({ manifest_version: "9.0" })),
      "manifest_version: expected 0.1, 0.2, 0.3, 0.4, got 9.0",
    ],
    ["without a name", bundleOf(manifestOf({ name: undefined })), "name: expected a text"],
    ["whose manifest is no object", bundleOf([]), "expected a JSON object"],
    [
      "for another platform",
      bundleOf(manifestOf({ compatibility: { platforms: ["none"] } })),
      "the bundle is for none, not for",
    ],
    [
      "that takes a variable of the shell",
      bundleOf(manifestOf({}, { args: ["${AWS_SECRET}"] })),
      "has ${AWS_SECRET}, which would",
    ],
    [
      "that composes one",
      bundleOf(
        manifestOf(
          { user_config: { x: user("string", { default: "" }) } },
          { args: ["$${user_config.x}{AWS_SECRET}"] },
        ),
      ),
      "would pass on a variable",
    ],
    [
      "whose default is one",
      bundleOf(
        manifestOf(
          { user_config: { x: user("string", { default: "${AWS_SECRET}" }) } },
          { args: ["${user_config.x}"] },
        ),
      ),
      "would pass on a variable",
    ],
    ["with variables that are no texts", bundleOf(manifestOf({}, { env: { A: 1 } })), "env: expected texts"],
    [
      "with an entry point outside",
      bundleOf(manifestOf({ server: { type: "node", entry_point: "../x", mcp_config: { command: "x" } } })),
      "expected a path in the bundle",
    ],
  ])("refuses a bundle %s", async (_, bundle, message) => {
    expect((await failureOf(bundle)).message).toContain(message);
  });

  test("refuses a link, and a file that is larger than it says", async () => {
    const link = Buffer.from(bundleOf(manifestOf()));
    const list = link.readUInt32LE(link.length - 22 + 16);
    const second = list + 46 + "manifest.json".length;
    link.writeUInt32LE((0o120777 << 16) >>> 0, second + 38);
    expect((await failureOf(link)).message).toContain('"server/index.mjs" is a link or a device');
    const bomb = Buffer.from(bundleOf(manifestOf(), [textFile("server/index.mjs", " ".repeat(10_000_000))]));
    bomb.writeUInt32LE(10, bomb.readUInt32LE(bomb.length - 22 + 16) + 46 + "manifest.json".length + 24);
    const cwd = homeWith(bomb);
    const ran = await runPortolan(["add", "weather.mcpb"], { cwd });
    expect([ran.code, errorOf(ran).message]).toEqual([2, expect.stringContaining("larger than it says")]);
    expect([existsSync(join(cwd, ".mcp.json")), readdirSync(join(stateOf(cwd), "bundles"))]).toEqual([false, []]);
  });

  test("says that a file does not exist", async () => {
    const ran = await runPortolan(["add", "none.mcpb"], { cwd: makeHome() });
    expect([ran.code, errorOf(ran).message]).toEqual([2, "file not found: none.mcpb"]);
  });
});

describe("a bundle in a registry (X134, X135)", () => {
  const name = "io.github.example/weather";
  const serve = async (bundle: Buffer, fileSha256: string | undefined) => {
    const files = { "/weather.mcpb": bundle };
    const entry = { server: entryOf(name, {}) as ReturnType<typeof entryOf> & { packages?: object[] } };
    const registry = await serveRegistry([entry], files);
    const identifier = `${registry.origin}/weather.mcpb`;
    entry.server = {
      ...entry.server,
      packages: [{ registryType: "mcpb", identifier, fileSha256, transport: { type: "stdio" } }],
    };
    return registry;
  };

  test("is downloaded, compared with its digest, and added", async () => {
    const bundle = bundleOf(manifestOf());
    const { origin } = await serve(bundle, sha256Of(bundle));
    const cwd = makeHome();
    const shown = await showOf(["add", name, "--registry", origin], { cwd });
    expect(shown).toMatchObject({
      from: { kind: "registry", name, version: "1.2.0", sha256: sha256Of(bundle), folder: expect.any(String) },
      isTrusted: false,
    });
    expect((await tell(cwd)).args).toEqual([]);
  });

  test.each<[string, string | undefined, number, string]>([
    ["another digest", "0".repeat(64), 6, "is not the bundle of the registry: its SHA-256 is"],
    ["no digest", undefined, 8, "has no SHA-256 of the bundle"],
  ])("is refused with %s", async (_, digest, code, message) => {
    const { origin } = await serve(bundleOf(manifestOf()), digest);
    const cwd = makeHome();
    const ran = await runPortolan(["add", name, "--registry", origin], { cwd });
    expect([ran.code, errorOf(ran).message]).toEqual([code, expect.stringContaining(message)]);
    expect([existsSync(join(cwd, ".mcp.json")), existsSync(join(stateOf(cwd), "bundles"))]).toEqual([false, false]);
  });
});
