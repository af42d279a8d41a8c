import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { createHost } from "portolan-host";
import { expect, onTestFinished, test } from "vitest";

test("the option via chooses the fetch function by address", async () => {
  const server = createServer({ name: "far", version: "1.0.0" }).tool("hi", { run: () => "hello" });
  const serving = serveHttp(server, { allowedHosts: ["far.example"] });
  onTestFinished(() => serving.close(0));
  const asked: string[] = [];
  await using host = await createHost({
    servers: { far: { url: "https://far.example/mcp" }, other: { url: "https://other.invalid/mcp" } },
    via: ({ hostname }) => {
      asked.push(hostname);
      return hostname === "far.example" ? async (input, init) => serving.fetch(new Request(input, init)) : undefined;
    },
  });
  await host.start("far");
  expect(await host.callTool("far", "hi", {}, { by: "user" })).toMatchObject({ content: [{ text: "hello" }] });
  await expect(host.start("other")).rejects.toThrow();
  expect(new Set(asked)).toEqual(new Set(["far.example", "other.invalid"]));
});
