import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { forOfficialClients } from "../kit/official.ts";
import { call, failureOf, start } from "../kit/tools.ts";
import { article } from "./kit.ts";

const script = fileURLToPath(new URL("../../../packages/servers/fetch/dist/main.js", import.meta.url));
const site = createServer((request, response) => {
  if (request.url === "/robots.txt") response.end("User-agent: *\nDisallow: /private");
  else response.setHeader("content-type", "text/html").end(article("<p>Served from here</p>"));
});
let url = "";

beforeAll(async () => {
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  url = `http://localhost:${(site.address() as AddressInfo).port}`;
});

afterAll(() => {
  site.closeAllConnections();
  site.close();
});

test("fetches from a private host only with --allow-private", async () => {
  const allowed = await start(script, ["--allow-private", "localhost"]);
  expect((await call(allowed, "fetch", { url })).text).toContain("Served from here");
  expect(await failureOf(allowed, "fetch", { url: url.replace("localhost", "127.0.0.1") })).toContain("is not allowed");
  const strict = await start(script);
  expect(await failureOf(strict, "fetch", { url })).toContain("is not allowed");
});

test("obeys its flags for robots.txt and sizes", async () => {
  const strict = await start(script, ["--allow-private", "localhost", "--max-bytes", "100"]);
  expect(await failureOf(strict, "fetch", { url })).toContain("larger than 100 bytes");
  expect(await failureOf(strict, "fetch", { url: `${url}/private` })).toContain("robots.txt");
  const rude = await start(script, ["--allow-private", "localhost", "--ignore-robots"]);
  expect((await call(rude, "fetch", { url: `${url}/private` })).text).toContain("Served from here");
});

test("exits with the reason for an invalid host", () => {
  const { status, stderr } = spawnSync(process.execPath, [script, "--allow-private", "http://x/"], {
    encoding: "utf8",
    input: "",
  });
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining("--allow-private") });
});

forOfficialClients(script, "gets errors, prompts and resources", async (client) => {
  const { all } = await client.listTools();
  expect(all.map(({ name }) => name)).toEqual(["fetch"]);
  const result = await client.callTool("fetch", { url });
  expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("is not allowed") }] });
  const { messages } = await client.getPrompt("fetch", { url });
  expect(messages[0].content.text).toContain("could not be fetched");
  expect((await client.listTemplates()).all.map(({ uriTemplate }) => uriTemplate)).toEqual([
    "fetch://page{?url,from,format}",
  ]);
});
