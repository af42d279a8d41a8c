import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { forOfficialClients } from "../kit/official.ts";
import { connectTo, entryOf, scriptOf, serveHttp } from "../kit/programs.ts";

const script = scriptOf("calendar");
const folder = mkdtempSync(join(tmpdir(), "portolan-calendar-"));
const trip = { title: "Barcelona Trip", startDate: "2024-06-15", endDate: "2024-06-22" };

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the host configuration in the README works", async () => {
  const client = await connectTo({ ...entryOf("examples/servers/calendar.json"), env: { XDG_DATA_HOME: folder } });
  const tools = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["createCalendarEvent", "sendEmail"]);
});

test("serves a folder over HTTP", async () => {
  const client = await connectTo(await serveHttp(script, ["--folder", join(folder, "http")]));
  await client.callTool("createCalendarEvent", trip);
  const { contents } = await client.readResource("calendar://events/2024");
  expect(JSON.stringify(contents)).toContain("Barcelona Trip");
});

test.each([
  [[], "Sends an e-mail, after the user has read it and agrees"],
  [["--yes"], "Sends an e-mail"],
])("asks the user before it sends e-mail, but not with --yes: %j", async (flags, description) => {
  const client = await connectTo({
    ...{ command: process.execPath, args: [script, "--from", "ada@example.com", ...flags] },
    env: { XDG_DATA_HOME: folder, PORTOLAN_SMTP_URL: "smtp://127.0.0.1:9" },
  });
  expect((await client.listTools())[1]).toMatchObject({ name: "sendEmail", description });
});

test.each([
  [["--from", "nobody"], {}, "--from: expected an address such as ada@example.com"],
  [[], { PORTOLAN_SMTP_URL: "smtp://mail.example.com" }, "--from <address> is required with PORTOLAN_SMTP_URL"],
  [["--from", "a@b.c"], { PORTOLAN_SMTP_URL: "http://me:secret@x" }, "PORTOLAN_SMTP_URL: expected an address"],
])("refuses %j with the variables %j", (flags, env, reason) => {
  const options = { encoding: "utf8", env: { ...process.env, ...env } } as const;
  const { status, stderr } = spawnSync(process.execPath, [script, ...flags], options);
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(reason) });
  expect(stderr).not.toContain("secret");
});

forOfficialClients(
  script,
  "adds an event and writes an e-mail",
  async (client) => {
    const added = await client.callTool("createCalendarEvent", trip);
    expect(added.structuredContent).toMatchObject(trip);
    const mail = { to: "team@work.com", subject: "Out of Office", body: "..." };
    expect((await client.callTool("sendEmail", mail)).structuredContent).toMatchObject({ status: "in the outbox" });
    const { contents } = await client.readResource("calendar://my-calendar/June-2024");
    expect(JSON.parse(contents[0].text).events[0]).toMatchObject(trip);
  },
  () => ({ XDG_DATA_HOME: folder }),
);
