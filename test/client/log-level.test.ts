import { connect } from "portolan/client";
import { expect, test } from "vitest";

/** A server that declares logging, and answers the request for its level in its own way. */
const serverThat = (setsLevel: string) => ({
  command: process.execPath,
  args: [
    "-e",
    `const say = (id, rest) => console.log(JSON.stringify({ jsonrpc: "2.0", id, ...rest }));
    const tools = [{ name: "echo", inputSchema: { type: "object" } }];
    require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      const { protocolVersion } = params ?? {};
      if (method === "initialize")
        say(id, { result: { protocolVersion, capabilities: { tools: {}, logging: {} }, serverInfo: { name: "s", version: "1" } } });
      else if (method === "tools/list") say(id, { result: { tools } });
      else if (method === "logging/setLevel") { ${setsLevel} }
      else if (id !== undefined) say(id, { error: { code: -32601, message: "No such method" } });
    });`,
  ],
  graceMs: 100,
});
const refuses = 'say(id, { error: { code: -32601, message: "Method not found" } })';

test.each(["2024-11-05", "2025-11-25"])(
  "a server of %s that cannot set the level of its log is used, with a warning",
  async (era) => {
    const errors: Error[] = [];
    const options = { era, logLevel: "info", onError: (error: Error) => errors.push(error) } as const;
    await using client = await connect(serverThat(refuses), options);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["echo"]);
    expect(errors.map(({ message }) => message)).toEqual([
      "logging/setLevel failed (-32601): Method not found; the server keeps its own level",
    ]);
    // Whoever asks for another level later is told that there is none.
    await expect(client.setLogLevel("error")).rejects.toMatchObject({ code: -32601 });
  },
);

test("a server that ends when its level is set is not connected", async () => {
  const reason = await connect(serverThat("process.exit(3)"), { era: "2025-06-18", logLevel: "info" }).catch(
    (error: unknown) => error,
  );
  expect(reason).toMatchObject({ code: "connection-closed", message: expect.stringContaining("exited with code 3") });
});
