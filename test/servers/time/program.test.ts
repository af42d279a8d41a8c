import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { connect } from "portolan/client";
import { expect, test } from "vitest";
import { forOfficialClients } from "../kit/official.ts";
import { call, start } from "../kit/tools.ts";

const script = fileURLToPath(new URL("../../../packages/servers/time/dist/main.js", import.meta.url));

test("serves over stdio, in the zone of --zone", async () => {
  const client = await start(script, ["--zone", "asia/kathmandu"]);
  const { times } = await call(client, "now");
  expect(times).toMatchObject([{ zone: "Asia/Kathmandu", offset: "+05:45" }]);
});

test("exits with the reason for an unknown zone", () => {
  const { status, stderr } = spawnSync(process.execPath, [script, "--zone", "Mars/Olympus"], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining("--zone: expected an IANA name") });
});

test("serves over HTTP", async () => {
  const child = spawn(process.execPath, [script, "--http", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = await once(child.stdout.setEncoding("utf8"), "data");
    const client = await connect(/http\S+/.exec(line)![0]);
    expect((await call(client, "now", { zones: ["UTC"] })).times[0].offset).toBe("+00:00");
    await client.close();
  } finally {
    child.kill();
    await once(child, "exit");
  }
});

forOfficialClients(script, "converts a time and completes a zone", async (client) => {
  const { all } = await client.listTools();
  expect(all.map(({ name }) => name)).toEqual(["convert", "now", "zones"]);
  const result = await client.callTool("convert", {
    time: "2026-07-01T12:00",
    from: "Europe/Paris",
    to: ["Asia/Tokyo"],
  });
  expect(result.structuredContent.readings[0].to[0].time).toBe("2026-07-01T19:00:00+09:00");
  const { contents } = await client.readResource("time://America/Argentina/Ushuaia");
  expect(JSON.parse(contents[0].text)).toMatchObject({ zone: "America/Argentina/Ushuaia", offset: "-03:00" });
  const ref = { type: "ref/resource", uri: "time://{+zone}" };
  const { completion } = await client.complete({ ref, argument: { name: "zone", value: "Europe/Ber" } });
  expect(completion.values).toEqual(["Europe/Berlin"]);
});
