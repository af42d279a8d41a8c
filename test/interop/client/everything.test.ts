import { afterAll, beforeAll, expect, test } from "vitest";
import { schemasMissing } from "../../kit/official-schema.ts";
import { columns } from "./columns.ts";
import { textOf } from "./feature.ts";
import type { Peer } from "./peer.ts";
import { useFolder } from "./reference-folder.ts";

const everything = columns.find(({ title }) => title.startsWith("everything"))!;
const secret = "PORTOLAN_TEST_SECRET";

useFolder();

let peer: Peer;
beforeAll(async () => {
  process.env[secret] = "hunter2";
  peer = await everything.open({}, { env: { GIVEN: "to the server" } });
});
afterAll(async () => {
  delete process.env[secret];
  await peer.client.close();
});

test("a server's environment has only basic variables and those given to it", async () => {
  const environment = JSON.parse(textOf(await peer.client.callTool("get-env")));
  expect(environment).toMatchObject({ GIVEN: "to the server", PATH: process.env["PATH"] });
  expect(environment).not.toHaveProperty(secret);
  expect(environment).not.toHaveProperty("VITEST");
});

test("a call that needs a URL visit fails with the URL, and succeeds when it is repeated", async () => {
  const args = { url: "https://example.com/done", errorPath: true };
  const elicitations = [{ mode: "url", url: "https://modelcontextprotocol.io" }];
  await expect(peer.client.callTool("trigger-url-elicitation", args)).rejects.toMatchObject({
    code: -32042,
    data: { elicitations },
  });
  expect(textOf(await peer.client.callTool("trigger-url-elicitation", args))).toContain("completed");
});

test.skipIf(schemasMissing)("our messages are valid", async () => {
  await peer.client.close();
  everything.tap.expectValid("client", 5);
});
