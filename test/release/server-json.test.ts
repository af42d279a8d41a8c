import { describe, expect, test } from "vitest";
import { problemsOfServerJson } from "../../scripts/release/server-json-rules.mjs";

const schema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

const valid = {
  $schema: schema,
  name: "io.github.ada/files",
  description: "Folders",
  version: "1.0.0-rc.1",
  title: "Files",
  websiteUrl: "https://example.com/files",
  repository: { url: "https://github.com/ada/files", source: "github", subfolder: "packages/files" },
  icons: [{ src: "https://example.com/icon.png", mimeType: "image/png", sizes: ["48x48", "any"], theme: "dark" }],
  packages: [
    {
      registryType: "npm",
      identifier: "ada-files",
      version: "1.0.0",
      runtimeHint: "npx",
      runtimeArguments: [{ type: "positional", value: "-y" }],
      packageArguments: [
        { type: "positional", valueHint: "folder", isRequired: true, isRepeated: true, format: "filepath" },
        { type: "named", name: "--port", default: "80", format: "number", choices: ["80", "81"] },
      ],
      environmentVariables: [{ name: "TOKEN", isSecret: true, value: "{token}", variables: { token: {} } }],
      transport: { type: "streamable-http", url: "http://127.0.0.1:{--port}/mcp", headers: [{ name: "X-Token" }] },
    },
    { registryType: "npm", identifier: "ada-files", transport: { type: "stdio" } },
  ],
  remotes: [{ type: "sse", url: "https://{tenant}.example.com/sse", variables: { tenant: { description: "Yours" } } }],
};

const [first, second] = valid.packages;
const withPackage = (more: object) => ({ packages: [{ ...second, ...more }] });
const withArgument = (argument: unknown) => withPackage({ packageArguments: [argument] });

test("accepts an entry that follows all rules", () => {
  expect(problemsOfServerJson(valid)).toEqual([]);
});

test("names the place, the rule and the value", () => {
  expect(problemsOfServerJson({ ...valid, ...withPackage({ version: "^1.0.0" }) })).toEqual([
    'packages[0].version: expected one version, not a range or latest, got "^1.0.0"',
  ]);
});

test.each([undefined, null, [], "text"])("refuses %j, which is no entry", (value) => {
  expect(problemsOfServerJson(value)).toHaveLength(1);
});

describe("refuses", () => {
  test.each<[string, object, string]>([
    ["another schema", { $schema: schema.replace("2025-12-11", "2025-09-29") }, "$schema"],
    ["no name", { name: undefined }, "name"],
    ["a name without a namespace", { name: "files" }, "name"],
    ["a name with two slashes", { name: "io.github.ada/files/x" }, "name"],
    ["a namespace that ends with a dot", { name: "io.github./files" }, "name"],
    ["a long name", { name: `io.github.ada/${"x".repeat(190)}` }, "name"],
    ["an empty description", { description: "" }, "description"],
    ["a long description", { description: "x".repeat(101) }, "description"],
    ["no version", { version: undefined }, "version"],
    ["the version latest", { version: "latest" }, "version"],
    ["a range of versions", { version: ">=1.2.3" }, "version"],
    ["a hyphen range", { version: "1.2.3 - 2.0.0" }, "version"],
    ["alternatives", { version: "1.2 || 1.3" }, "version"],
    ["a wildcard", { version: "1.x" }, "version"],
    ["a blank title", { title: "  " }, "title"],
    ["a website without TLS", { websiteUrl: "http://example.com" }, "websiteUrl"],
    ["a relative website", { websiteUrl: "/docs" }, "websiteUrl"],
    [
      "a repository elsewhere",
      { repository: { url: "https://example.com/a/b", source: "other" } },
      "repository.source",
    ],
    [
      "a repository without a name",
      { repository: { url: "https://github.com/a", source: "github" } },
      "repository.url",
    ],
    ["a folder outside", { repository: { ...valid.repository, subfolder: "../x" } }, "repository.subfolder"],
    ["an icon without TLS", { icons: [{ src: "http://example.com/x.png" }] }, "icons[0].src"],
    ["an icon of another type", { icons: [{ ...valid.icons[0], mimeType: "image/gif" }] }, "icons[0].mimeType"],
    ["an icon of another size", { icons: [{ ...valid.icons[0], sizes: ["big"] }] }, "icons[0].sizes[0]"],
    ["packages that are no list", { packages: {} }, "packages"],
    ["a package without a registry", withPackage({ registryType: undefined }), "packages[0].registryType"],
    ["an identifier with a space", withPackage({ identifier: "a b" }), "packages[0].identifier"],
    ["an empty version of a package", withPackage({ version: "" }), "packages[0].version"],
    ["a wrong digest", withPackage({ fileSha256: "abc" }), "packages[0].fileSha256"],
    ["no transport", withPackage({ transport: undefined }), "packages[0].transport"],
    ["an unknown transport", withPackage({ transport: { type: "tcp" } }), "packages[0].transport.type"],
    ["stdio with an address", withPackage({ transport: { type: "stdio", url: "x" } }), "packages[0].transport.url"],
    ["sse without an address", withPackage({ transport: { type: "sse" } }), "packages[0].transport.url"],
    [
      "an address with an unknown variable",
      withPackage({ transport: { ...first?.transport, url: "http://127.0.0.1:{port}" } }),
      "packages[0].transport.url",
    ],
    ["an argument of no type", withArgument({ value: "x" }), "packages[0].packageArguments[0].type"],
    ["a positional argument of no value", withArgument({ type: "positional" }), "packages[0].packageArguments[0]"],
    ["a flag without a name", withArgument({ type: "named" }), "packages[0].packageArguments[0].name"],
    [
      "a flag with its value",
      withArgument({ type: "named", name: "--port <n>" }),
      "packages[0].packageArguments[0].name",
    ],
    [
      "a value with its flag",
      withArgument({ type: "named", name: "--port", value: "--port 80" }),
      "packages[0].packageArguments[0].value",
    ],
    [
      "an unknown format",
      withArgument({ type: "positional", value: "x", format: "path" }),
      "packages[0].packageArguments[0].format",
    ],
    [
      "a flag that is no boolean",
      withArgument({ type: "positional", value: "x", isRequired: "yes" }),
      "packages[0].packageArguments[0].isRequired",
    ],
    [
      "a choice that is no text",
      withArgument({ type: "positional", value: "x", choices: [1] }),
      "packages[0].packageArguments[0].choices[0]",
    ],
    [
      "a variable without a name",
      withPackage({ environmentVariables: [{ isSecret: true }] }),
      "packages[0].environmentVariables[0].name",
    ],
    ["a remote over stdio", { remotes: [{ type: "stdio", url: "https://example.com" }] }, "remotes[0].type"],
    ["a remote on this machine", { remotes: [{ type: "sse", url: "https://localhost/sse" }] }, "remotes[0].url"],
    ["a remote without TLS", { remotes: [{ type: "sse", url: "http://example.com" }] }, "remotes[0].url"],
    ["a remote with an unknown variable", { remotes: [{ type: "sse", url: "https://{x}.com" }] }, "remotes[0].url"],
  ])("%s", (_, change, place) => {
    const problems = problemsOfServerJson({ ...valid, ...change });
    expect(problems.map((problem) => problem.split(":")[0])).toEqual([place]);
  });
});
