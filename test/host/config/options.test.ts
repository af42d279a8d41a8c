import { editConfig, expandEntry, parseConfig } from "portolan-host";
import { findConfigs, readConfigs, writeServer } from "portolan-host/node";
import { expect, test } from "vitest";

const file = "/repo/.mcp.json";
const text = '{"mcpServers":{"a":{"command":"x"}}}';

/** Hides the names from the compiler, which refuses them too. */
const misspelt = (options: object): object => options;

test.each([
  ["parseConfig", () => parseConfig(text, { file, ...misspelt({ formt: "json" }) }), "`format`"],
  ["editConfig", () => editConfig(text, { file, ...misspelt({ prodct: "cursor" }) }, "a", undefined), "`product`"],
  ["findConfigs", () => findConfigs({ ...misspelt({ product: ["cursor"] }) }), "`products`"],
  ["readConfigs", () => readConfigs([], { ...misspelt({ worksapceFolder: "/" }) }), "`workspaceFolder`"],
  ["writeServer", () => writeServer(file, "a", undefined, { ...misspelt({ fromat: "json" }) }), "`format`"],
  [
    "expandEntry",
    async () => {
      const [raw] = (await parseConfig(text, { file })).servers;
      return raw && (await expandEntry(raw, { env: {}, ...misspelt({ userHom: "/" }) }));
    },
    "`userHome`",
  ],
])("%s refuses an unknown option and suggests the nearest one", async (name, call, meant) => {
  await expect(call()).rejects.toMatchObject({
    code: "invalid-argument",
    message: expect.stringMatching(new RegExp(`^${name}: unknown option .*did you mean ${meant}`)),
  });
});
