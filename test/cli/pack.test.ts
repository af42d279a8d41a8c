// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how files write variables
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readZip } from "../../packages/cli/src/sources/zip.ts";
import { bundleOf, manifestOf, program, putFolder, sha256Of, textFile } from "./bundle-kit.ts";
import { makeHome, root } from "./kit.ts";
import { errorOf, runPortolan, showOf } from "./manage-kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

interface Shown {
  readonly file: string;
  readonly sha256: string;
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
  readonly leftOut?: readonly { readonly path: string; readonly why: string }[];
  readonly [member: string]: unknown;
}

const pack = (cwd: string, ...args: readonly string[]) => showOf<Shown>(["pack", ...args], { cwd });

/** Creates a home with a folder that can be packed. */
function homeWith(manifest: object = manifestOf(), files: { readonly [path: string]: string | object } = {}): string {
  const cwd = makeHome();
  putFolder(join(cwd, "weather"), { "manifest.json": manifest, "server/index.mjs": program, ...files });
  return cwd;
}

describe("pack", () => {
  test("makes a bundle of a folder, which add reads, and shows what is in it", async () => {
    const cwd = homeWith(manifestOf(), { "bin/tool*": "#!/bin/sh\n", "node_modules/x/index.js": "1" });
    const shown = await pack(cwd, "weather");
    const bytes = readFileSync(join(cwd, "weather-1.2.0.mcpb"));
    expect(shown).toEqual({
      ...{ file: join(cwd, "weather-1.2.0.mcpb"), name: "weather", version: "1.2.0", manifestVersion: "0.3" },
      ...{ bytes: bytes.length, unpackedBytes: expect.any(Number), sha256: sha256Of(bytes) },
      files: ["bin/tool", "manifest.json", "node_modules/x/index.js", "server/index.mjs"].map((path) => ({
        ...{ path, bytes: expect.any(Number) },
      })),
      next: "portolan add ./weather-1.2.0.mcpb",
    });
    expect(readZip(bytes).map((file) => [file.path, file.isExecutable])).toContainEqual(["bin/tool", true]);
    const [, ...next] = String(shown["next"]).split(" ");
    expect(await showOf(next, { cwd })).toMatchObject({ from: { sha256: shown.sha256 } });
    const terminal = openTerminal(["pack", "weather"], { cwd, columns: 120 });
    expect(await terminal.exited).toBe(0);
    expect(terminal.screen()).toMatch(/bin\/tool +10 B/);
    expect(terminal.screen()).toContain(`SHA-256 ${shown.sha256}`);
    expect(terminal.screen()).toContain("portolan add ./weather-1.2.0.mcpb");
  });

  test("makes the same bytes of the same files, whatever their dates, and in any folder", async () => {
    const cwd = homeWith();
    const first = await pack(cwd, "weather", "--out", "one.mcpb");
    const elsewhere = join(makeHome(), "other");
    cpSync(join(cwd, "weather"), elsewhere, { recursive: true });
    utimesSync(join(elsewhere, "manifest.json"), 1, 1);
    const second = await pack(elsewhere, "--out", join(cwd, "two.mcpb"));
    expect(second.sha256).toBe(first.sha256);
    expect(readFileSync(join(cwd, "one.mcpb")).equals(readFileSync(join(cwd, "two.mcpb")))).toBe(true);
  });

  test("leaves secrets, links and the author's own files out, and says so", async () => {
    const secrets = [
      ".env",
      ".env.local",
      ".git/config",
      ".npmrc",
      ".ssh/id_rsa",
      "deploy/key.pem",
      "server/.aws/credentials",
    ];
    const junk = [".DS_Store", "debug.log", "old.mcpb", "types/index.d.ts", "node_modules/.bin/x", "package-lock.json"];
    const kept = ["node_modules/tls/ca.pem", "server/environment.js"];
    const files = Object.fromEntries(
      [...secrets, ...junk, ...kept, "docs/guide.md", "server/x.test.js"].map((path) => [path, "hunter22"]),
    );
    const cwd = homeWith(manifestOf(), { ...files, ".mcpbignore": "# mine\ndocs/\n*.test.js\n/server/**/none?\n" });
    symlinkSync("/etc/passwd", join(cwd, "weather/passwd"));
    symlinkSync("/etc", join(cwd, "weather/etc"));
    const { files: packed, leftOut = [] } = await pack(cwd, "weather");
    expect(packed.map(({ path }) => path)).toEqual(["manifest.json", kept[0], kept[1], "server/index.mjs"].toSorted());
    const left = (why: string) => leftOut.filter((each) => each.why === why).map(({ path }) => path);
    expect(left("secret")).toEqual([".env", ".env.local", ".git", ".npmrc", ".ssh", "deploy/key.pem", "server/.aws"]);
    expect(left("junk")).toEqual(
      [
        ".DS_Store",
        ".mcpbignore",
        "debug.log",
        "node_modules/.bin",
        "old.mcpb",
        "package-lock.json",
        "types/index.d.ts",
      ].toSorted(),
    );
    expect(left("ignored")).toEqual(["docs", "server/x.test.js"]);
    expect(left("link")).toEqual(["etc", "passwd"]);
  });

  test("replaces another bundle only with --force", async () => {
    const cwd = homeWith();
    await pack(cwd, "weather");
    await pack(cwd, "weather");
    writeFileSync(join(cwd, "weather/server/index.mjs"), `${program}\n`);
    const refused = await runPortolan(["pack", "weather"], { cwd });
    expect([refused.code, errorOf(refused)]).toEqual([
      2,
      expect.objectContaining({
        message: expect.stringContaining("exists and is another bundle; --force replaces it"),
        next: "portolan pack --force weather",
      }),
    ]);
    expect((await pack(cwd, "weather", "--force")).files).toHaveLength(2);
  });

  test.each<[string, object, string]>([
    ["an unknown member", manifestOf({ colour: "red" }), "colour: unknown member"],
    [
      "a member of a later version",
      manifestOf({ manifest_version: "0.1", icons: [] }),
      "icons: needs manifest_version 0.3",
    ],
    ["a wrong type", manifestOf({ keywords: "weather" }), "keywords: expected a list of texts"],
    ["no author", manifestOf({ author: {} }), "author: name: expected a text"],
    ["a file that is not there", manifestOf({ icon: "icon.png" }), "icon.png: not in the bundle"],
    [
      "a secret",
      manifestOf({}, { env: { API_KEY: "hunter22hunter22" } }),
      "env: API_KEY has a secret; ask for it in user_config",
    ],
    [
      "a secret as a default",
      manifestOf({
        user_config: { k: { type: "string", title: "K", description: "K", sensitive: true, default: "x" } },
      }),
      "user_config: k: default: a secret has none",
    ],
    [
      "an option of an unknown type",
      manifestOf({ user_config: { k: { type: "colour", title: "K", description: "K" } } }),
      "user_config: k: type: expected string",
    ],
    ["a part of an address", manifestOf({ homepage: "example.com" }), "homepage: expected a whole address"],
    ["an address of mail that is none", manifestOf({ author: { name: "A", email: "a" } }), "author: email"],
    [
      "a repository without a type",
      manifestOf({ repository: { url: "https://a.example" } }),
      "repository: type: expected a text",
    ],
    ["an icon without a size", manifestOf({ icons: [{ src: "https://a.example/x.png" }] }), "icons: size"],
  ])("refuses a manifest with %s, and writes nothing", async (_, manifest, message) => {
    const cwd = homeWith(manifest);
    const ran = await runPortolan(["pack", "weather"], { cwd });
    expect([ran.code, errorOf(ran).message]).toEqual([2, expect.stringContaining(message)]);
    expect(ran.stderr).not.toContain("hunter22");
    expect(readdirSync(cwd).filter((name) => name.endsWith(".mcpb"))).toEqual([]);
  });

  test("says what is missing: the folder, the manifest, the program", async () => {
    const cwd = homeWith();
    const messageOf = async (...args: string[]) => errorOf(await runPortolan(["pack", ...args], { cwd })).message;
    expect(await messageOf("none")).toBe("not found: none");
    expect(await messageOf("weather/server")).toContain("has no manifest.json");
    writeFileSync(
      join(cwd, "weather/manifest.json"),
      JSON.stringify(
        manifestOf({ server: { type: "node", entry_point: "none.mjs", mcp_config: { command: "node" } } }),
      ),
    );
    expect(await messageOf("weather")).toContain("entry_point: none.mjs is not in the bundle");
    writeFileSync(join(cwd, "weather/.mcpbignore"), "!x\n");
    expect(await messageOf("weather")).toContain('a rule cannot begin with "!"');
  });

  test("checks a bundle that exists, with all its files", async () => {
    const cwd = makeHome();
    const put = (bytes: Buffer) => writeFileSync(join(cwd, "x.mcpb"), bytes);
    put(bundleOf(manifestOf()));
    const shown = await pack(cwd, "x.mcpb");
    expect(shown).toMatchObject({ name: "weather", files: [{ path: "manifest.json" }, { path: "server/index.mjs" }] });
    put(bundleOf(manifestOf({ colour: "red", icon: "none.png" })));
    const wrong = await runPortolan(["pack", "x.mcpb"], { cwd });
    expect([wrong.code, errorOf(wrong).message]).toEqual([
      1,
      "x.mcpb has mistakes: colour: unknown member; none.png: not in the bundle",
    ]);
    const damaged = Buffer.from(bundleOf(manifestOf(), [textFile("server/index.mjs", "x")]));
    damaged.write("y", damaged.indexOf("server/index.mjs") + "server/index.mjs".length);
    put(damaged);
    expect(errorOf(await runPortolan(["pack", "x.mcpb"], { cwd })).message).toContain('"server/index.mjs" is damaged');
    const odd = await runPortolan(["pack", "x.mcpb", "--out", "y.mcpb"], { cwd });
    expect([odd.code, errorOf(odd).message]).toEqual([2, "--out is for a folder; x.mcpb is a bundle already"]);
  });
});

const vendor = join(root, "test/peers/node_modules/@anthropic-ai/mcpb/dist/cli/cli.js");

/** Runs the vendor's own command. */
function runVendor(cwd: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [vendor, ...args], { cwd, encoding: "utf8" });
  return { status, output: stdout + stderr };
}

describe("the vendor's mcpb and this command", () => {
  const user_config = {
    key: { type: "string", title: "Key", description: "Your key", sensitive: true, required: true },
  };
  const full = (version: string) =>
    manifestOf(
      {
        ...{ manifest_version: version, display_name: "The weather", homepage: "https://example.com", user_config },
        author: { name: "Example", email: "mail@example.com", url: "https://example.com" },
        repository: { type: "git", url: "https://example.com/weather.git" },
        tools: [{ name: "tell", description: "Tells" }],
        compatibility: { platforms: ["darwin", "linux", "win32"], runtimes: { node: ">=20" } },
        license: "MIT",
      },
      { command: "node", env: { KEY: "${user_config.key}" }, platform_overrides: { win32: { command: "node.exe" } } },
    );

  test.each(["0.1", "0.2", "0.3", "0.4"])(
    "the vendor accepts and unpacks what this command packs (%s)",
    async (version) => {
      const cwd = homeWith(full(version), { "bin/tool*": "#!/bin/sh\n", "server/ö.txt": "ö" });
      const { file, files } = await pack(cwd, "weather");
      expect(runVendor(cwd, "validate", "weather/manifest.json")).toMatchObject({ status: 0 });
      expect(runVendor(cwd, "info", file)).toMatchObject({ output: expect.stringContaining("weather") });
      expect(runVendor(cwd, "unpack", file, "out")).toMatchObject({ status: 0 });
      for (const { path } of files) {
        expect(readFileSync(join(cwd, "out", path)).equals(readFileSync(join(cwd, "weather", path)))).toBe(true);
      }
    },
  );

  test("this command accepts, checks and adds what the vendor packs", async () => {
    const cwd = homeWith(full("0.3"), { "bin/tool*": "#!/bin/sh\n", "node_modules/x/index.js": "1" });
    const packed = runVendor(cwd, "pack", "weather", "vendor.mcpb");
    expect(packed, packed.output).toMatchObject({ status: 0 });
    const { files } = await pack(cwd, "vendor.mcpb");
    expect(files.map(({ path }) => path)).toEqual((await pack(cwd, "weather")).files.map(({ path }) => path));
    const env = { WEATHER_KEY: "k" };
    expect(await showOf(["add", "vendor.mcpb"], { cwd, env })).toMatchObject({
      written: { command: "node", env: ["KEY"] },
    });
  });

  test("a bundle that the vendor has signed is read", async () => {
    const cwd = homeWith(full("0.3"));
    expect(runVendor(cwd, "pack", "weather", "signed.mcpb")).toMatchObject({ status: 0 });
    const signed = runVendor(cwd, "sign", "signed.mcpb", "--self-signed");
    expect(signed, signed.output).toMatchObject({ status: 0 });
    expect(await pack(cwd, "signed.mcpb")).toMatchObject({ name: "weather" });
  });

  test.each<[string, object]>([
    ["an unknown member", manifestOf({ colour: "red" })],
    ["no author", manifestOf({ author: {} })],
    ["a wrong type", manifestOf({ keywords: "weather" })],
    ["an option without a title", manifestOf({ user_config: { k: { type: "string", description: "K" } } })],
    ["a homepage that is no address", manifestOf({ homepage: "example.com" })],
    [
      "an unknown server type",
      manifestOf({ server: { type: "ruby", entry_point: "server/index.mjs", mcp_config: { command: "x" } } }),
    ],
    ["an icon without a size", manifestOf({ icons: [{ src: "x.png" }] })],
  ])("both refuse a manifest with %s", async (_, manifest) => {
    const cwd = homeWith(manifest);
    expect(runVendor(cwd, "validate", "weather/manifest.json").status).not.toBe(0);
    expect((await runPortolan(["pack", "weather"], { cwd })).code).toBe(2);
  });
});
