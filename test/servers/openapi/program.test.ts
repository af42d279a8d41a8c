// The program as a host starts it, over the API of the examples.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { grade } from "../../../packages/check/src/index.ts";
import { forOfficialClients } from "../kit/official.ts";
import { connectTo, entryOf, scriptOf } from "../kit/programs.ts";
import { call, failureOf, start } from "../kit/tools.ts";

const root = join(import.meta.dirname, "../../..");
const script = scriptOf("openapi");
const description = join(root, "examples/openapi/orders.yaml");

let address = "";

beforeEach(async () => {
  const child = spawn(process.execPath, [join(root, "examples/openapi/orders-api.mjs"), "0"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ORDERS_KEY: "key-1" },
  });
  onTestFinished(async () => {
    child.kill();
    await once(child, "exit");
  });
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  address = /http\S+/.exec(line)![0];
});

const environment = () => ({ OPENAPI_TOKEN: "key-1" });

test("starts as its README says, and reads and changes with the key of the environment", async () => {
  const { command, args } = entryOf("examples/servers/openapi.json");
  const replaced = args.map((one) => (one.endsWith(".yaml") ? description : one.startsWith("https:") ? address : one));
  const client = await connectTo({ command, args: [...replaced, "--yes"], env: environment() });
  expect((await client.listTools()).map(({ name }) => name)).toEqual([
    ...["cancel_order", "create_order", "get_order", "list_orders"],
  ]);
  expect(await call(client, "get_order", { id: 2 })).toMatchObject({ item: "Chart of the Azores" });
  expect(await call(client, "create_order", { item: "Compass" })).toMatchObject({ id: 3, count: 1 });
  expect(await failureOf(client, "cancel_order", { id: 1 })).toContain("The order was sent already");
  expect(await failureOf(client, "create_order", { item: "" })).toContain("expected at least 1");
});

test("runs as the example program", async () => {
  const client = await start(join(root, "examples/openapi/server.mjs"), [], {
    ORDERS_URL: address,
    ORDERS_KEY: "key-1",
  });
  expect((await client.listTools()).map(({ name }) => name)).toEqual(["cancel", "get_order", "list_orders"]);
  expect(await call(client, "get_order", { id: 1 })).toMatchObject({ item: "Sextant" });
});

test("chooses, names and limits operations by flags", async () => {
  const common = [description, "--api", address];
  const list = async (...flags: string[]) =>
    (await (await start(script, [...common, ...flags], environment())).listTools()).map(({ name }) => name);
  expect(await list("--read-only", "--except", "get_*")).toEqual(["list_orders"]);
  expect(await list("--only", "GET /orders/{id}", "--name", "get_order=order")).toEqual(["order"]);
  expect(await list("--search")).toContain("find_operations");
  const keyed = await start(script, [...common, "--tools"], { OPENAPI_TOKEN_SHOPKEY: "key-1", OPENAPI_TOKEN: "wrong" });
  expect(await call(keyed, "get_order", { id: 1 })).toMatchObject({ id: 1 });
  const keyless = await start(script, common);
  expect(await failureOf(keyless, "get_order", { id: 1 })).toBe(
    "This operation needs a credential (shopKey). Set OPENAPI_TOKEN to it, and start the server again",
  );
  const wrong = await start(script, common, { OPENAPI_TOKEN: "key-2" });
  const failure = await failureOf(wrong, "get_order", { id: 1 });
  expect(failure).toContain("Orders does not accept the sign-in: status 401, The key is missing or wrong");
});

test.each<[string[], string]>([
  [[], "expected one description: a file, or an address"],
  [["/nowhere.yaml"], "/nowhere.yaml cannot be read"],
  [[description, "--api", "https://x.example", "--only", "GET /nothing"], 'only: no operation is "GET /nothing"'],
  [[description, "--name", "get_order"], "--name: expected <operation>=<name>, got get_order"],
  [[description, "--search", "--tools"], "expected --search or --tools, not both"],
])("says what is wrong with %j", async (args, message) => {
  const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  child.stderr.setEncoding("utf8").on("data", (chunk) => (text += chunk));
  const [code] = await once(child, "close");
  expect(text).toContain(message);
  expect(code).toBe(2);
});

test("conforms to the protocol on every revision", async () => {
  const args = [script, description, "--api", address];
  const { isPassed, totals, verdicts } = await grade({ command: process.execPath, args });
  expect(verdicts.filter((verdict) => verdict.grade === "fail")).toEqual([]);
  expect(totals.filter(({ isSpoken }) => isSpoken)).toHaveLength(5);
  expect(isPassed).toBe(true);
});

forOfficialClients(
  join(root, "examples/openapi/server.mjs"),
  "reads, and changes after the user agrees",
  async (client) => {
    expect((await client.listTools()).all).toHaveLength(3);
    const { structuredContent } = await client.callTool("get_order", { id: 2 });
    expect(structuredContent).toMatchObject({ state: "open" });
    await client.callTool("cancel", { id: 2 });
    expect(client.asked).toMatchObject([
      { params: { message: expect.stringContaining(`DELETE ${address}/orders/2`) } },
    ]);
    expect((await client.callTool("get_order", { id: 2 })).isError).toBe(true);
  },
  () => ({ ORDERS_URL: address, ORDERS_KEY: "key-1" }),
);
