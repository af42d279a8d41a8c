import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectInMemory, scriptedAnswers, type TestClient } from "portolan/testing";
import { type CalendarOptions, createCalendar } from "portolan-calendar";
import { SMTPServer } from "smtp-server";
import { describe, expect, onTestFinished, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { connectCallers } from "../kit/callers.ts";
import { expectDescribed, failureOf } from "../kit/tools.ts";

const now = Date.parse("2026-11-15T10:00:00Z");
const trip = { title: "Barcelona Trip", startDate: "2024-06-15", endDate: "2024-06-22" };
const away = { to: "team@work.com", subject: "Out of Office", body: "I am in Barcelona.\nBack on Monday." };

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-calendar-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

type Options = NonNullable<Parameters<typeof connectInMemory>[1]>;

async function open(options: Options = {}, more: CalendarOptions = {}): Promise<TestClient> {
  const server = createCalendar({ folder: makeFolder(), now: () => now, ...more });
  const client = await connectInMemory(server, options);
  onTestFinished(() => client.close());
  return client as TestClient;
}

// biome-ignore lint/suspicious/noExplicitAny: tests only compare it
type Data = any;

async function call(client: TestClient, tool: string, args: object): Promise<Data> {
  const result: Data = await client.callTool(tool as never, args as never);
  expect(result.isError, JSON.stringify(result.content)).toBeFalsy();
  return result;
}

async function read(client: TestClient, uri: string): Promise<Data> {
  return JSON.parse(((await client.readResource(uri)).contents[0] as Data).text);
}

describe.each(revisions)("on %s", (revision) => {
  test("adds an event, which the year and the month list", async () => {
    const client = await open({ revision });
    const { content } = await call(client, "createCalendarEvent", trip);
    expect(content[0].text).toBe("Added to the calendar: Barcelona Trip, 2024-06-15 to 2024-06-22");
    expect((await read(client, "calendar://events/2024")).events).toMatchObject([trip]);
    expect((await read(client, "calendar://events/2023")).events).toEqual([]);
    const month = await read(client, "calendar://my-calendar/June-2024");
    expect(month).toMatchObject({ month: "June-2024", events: [trip] });
    expect(month.freeDays).toHaveLength(22);
    expect(await read(client, "calendar://my-calendar/2024-06")).toEqual(month);
    await expect(client.readResource("calendar://my-calendar/Juno-2024")).rejects.toThrow();
  });

  test("writes an e-mail to the outbox", async () => {
    const folder = makeFolder();
    const client = await open({ revision }, { folder });
    const { content } = await call(client, "sendEmail", away);
    expect(content[0].text).toContain("Written to the outbox for team@work.com");
    const [name] = readdirSync(join(folder, "outbox"));
    const mail = readFileSync(join(folder, "outbox", name!), "utf8");
    expect(mail).toMatch(/^From: me@localhost\r\nTo: team@work\.com\r\nSubject: Out of Office\r\n/);
    expect(mail).toContain("\r\n\r\nI am in Barcelona.\r\nBack on Monday.");
    const uri = `calendar://outbox/${name}`;
    expect((await client.listResources()).map((resource) => resource.uri)).toContain(uri);
    expect(((await client.readResource(uri)).contents[0] as Data).text).toBe(mail);
  });

  test("completes years and months", async () => {
    const client = await open({ revision });
    const month = { type: "ref/resource", uri: "calendar://my-calendar/{month}" } as const;
    expect((await client.complete(month, { name: "month", value: "ju" })).values).toEqual(["June-2027", "July-2027"]);
    const year = { type: "ref/resource", uri: "calendar://events/{year}" } as const;
    expect((await client.complete(year, { name: "year", value: "20" })).values).toEqual(["2026", "2027", "2028"]);
  });
});

test("describes its tools", async () => {
  await expectDescribed(await open());
});

test("writes calendar files that follow RFC 5545", async () => {
  const folder = makeFolder();
  const client = await open({}, { folder });
  const title = "Fish, chips; \\ and a long walk along the sea with everybody — été à la plage";
  await call(client, "createCalendarEvent", { ...trip, title, description: "one\ntwo", location: "Bar" });
  const [name] = readdirSync(join(folder, "events"));
  const text = readFileSync(join(folder, "events", name!), "utf8");
  expect(text).toContain("DTSTART;VALUE=DATE:20240615\r\nDTEND;VALUE=DATE:20240623\r\n");
  expect(text).toContain("DTSTAMP:20261115T100000Z\r\n");
  expect(text).toContain("SUMMARY:Fish\\, chips\\; \\\\ and");
  for (const line of text.split("\r\n")) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
  const [event] = (await read(client, "calendar://events/2024")).events;
  expect(event).toMatchObject({ title, description: "one\ntwo", location: "Bar" });
});

test("lists the events of other programs, and leaves out what it cannot read", async () => {
  const folder = makeFolder();
  mkdirSync(join(folder, "events"));
  const lines = [
    "BEGIN:VCALENDAR",
    "BEGIN:VEVENT",
    "UID:1",
    'DTSTART;TZID="Europe/Madrid":20240616T193000',
    "DTEND;TZID=Europe/Madrid:20240616T210000",
    "SUMMARY;LANGUAGE=en:Dinner with a very",
    "  long name",
    "END:VEVENT",
    "BEGIN:VEVENT",
    "DTSTART:20241399",
    "END:VEVENT",
    "END:VCALENDAR",
  ];
  writeFileSync(join(folder, "events/other.ics"), lines.join("\n"));
  writeFileSync(join(folder, "events/broken.ics"), "BEGIN:VEVENT\n\u0000");
  const { events, freeDays } = await read(await open({}, { folder }), "calendar://my-calendar/june-2024");
  expect(events).toEqual([
    { uid: "1", title: "Dinner with a very long name", startDate: "2024-06-16T19:30", endDate: "2024-06-16T21:00" },
  ]);
  expect(freeDays).not.toContain("2024-06-16");
});

test("keeps files from other users of the machine", async () => {
  const folder = makeFolder();
  const client = await open({}, { folder });
  await call(client, "createCalendarEvent", trip);
  await call(client, "sendEmail", away);
  for (const name of ["events", "outbox"]) {
    expect(statSync(join(folder, name)).mode & 0o077).toBe(0);
    const [file] = readdirSync(join(folder, name));
    expect(statSync(join(folder, name, file!)).mode & 0o077).toBe(0);
  }
});

test("reports new events to subscribers of the month", async () => {
  const client = await open();
  const watch = await client.watch({ uris: ["calendar://my-calendar/June-2024"] });
  await call(client, "createCalendarEvent", { ...trip, startDate: "2024-05-30" });
  for await (const change of watch) {
    expect(change).toEqual({ kind: "resource", uri: "calendar://my-calendar/June-2024" });
    break;
  }
});

test.each([
  ["createCalendarEvent", { ...trip, startDate: "2024-02-30" }, "expected two days such as 2024-06-15"],
  ["createCalendarEvent", { ...trip, endDate: "2024-06-22T10:00" }, "expected two days"],
  ["createCalendarEvent", { ...trip, endDate: "2024-06-14" }, "endDate: expected 2024-06-15 or later"],
  ["sendEmail", { ...away, to: "team" }, "to: expected addresses such as team@work.com"],
  ["sendEmail", { ...away, to: "a@b.c\r\nBcc: d@e.f" }, "to: expected addresses"],
  ["sendEmail", { ...away, to: "a@b.c," }, 'got ""'],
  ["sendEmail", { ...away, to: "a\u202E@b.c" }, "to: expected addresses"],
])("%s explains what is wrong with %j", async (tool, args, reason) => {
  expect(await failureOf(await open(), tool, args)).toContain(reason);
});

test("a line break in the subject is refused, and adds no header", async () => {
  const folder = makeFolder();
  const client = await open({}, { folder });
  expect(await failureOf(client, "sendEmail", { ...away, subject: "Hello\r\nBcc: all@work.com" })).toContain(
    "subject: expected one line without control characters",
  );
  expect(readdirSync(folder)).toEqual([]);
});

test.each([
  ["title", "a\u0001b"],
  ["location", "a\nb"],
  ["description", "a\u0000b"],
])("refuses control characters in %s", async (name, text) => {
  const folder = makeFolder();
  const client = await open({}, { folder });
  expect(await failureOf(client, "createCalendarEvent", { ...trip, [name]: text })).toContain(
    `${name}: expected a text without control characters`,
  );
  expect(readdirSync(folder)).toEqual([]);
});

const megabyte = 1024 * 1024;

/** Writes a calendar file of another program with events of the given size, all in June 2024. */
function writeEvents(folder: string, name: string, count: number, size: number): void {
  mkdirSync(join(folder, "events"), { recursive: true });
  const event = (day: number) =>
    `BEGIN:VEVENT\nDTSTART:202406${String(day).padStart(2, "0")}\nSUMMARY:${day}\nDESCRIPTION:${"\u0001".repeat(size)}\nEND:VEVENT\n`;
  writeFileSync(join(folder, "events", name), Array.from({ length: count }, (_, index) => event(index + 1)).join(""));
}

test.each(["calendar://events/2024", "calendar://my-calendar/June-2024"])(
  "%s has the first events that fit into 1 MiB, and says how many it lacks",
  async (uri) => {
    const folder = makeFolder();
    // Each control character is six characters of JSON.
    for (const name of ["a.ics", "b.ics", "c.ics"]) writeEvents(folder, name, 28, 20_000);
    const client = await open({}, { folder });
    const text = ((await client.readResource(uri)).contents[0] as Data).text as string;
    expect(Buffer.byteLength(text)).toBeLessThan(1.1 * megabyte);
    const { events, note, freeDays = ["2024-06-29", "2024-06-30"] } = JSON.parse(text);
    expect(events.map(({ title }: Data) => title)).toEqual(["1", "1", "1", "2", "2", "2", "3", "3"]);
    expect(note).toBe("Incomplete: 76 events do not fit into this result; read a shorter time.");
    // Events that are left out are counted all the same.
    expect(freeDays).toEqual(["2024-06-29", "2024-06-30"]);
  },
);

test("says that files were not read", async () => {
  const folder = makeFolder();
  writeEvents(folder, "large.ics", 1, megabyte);
  const { events, note } = await read(await open({}, { folder }), "calendar://events/2024");
  expect(events).toEqual([]);
  expect(note).toBe("Incomplete: 1 calendar files were not read, because they are too large or too many.");
});

test("adds no event to a calendar of 16 MiB", async () => {
  const folder = makeFolder();
  for (let number = 0; number < 16; number += 1) writeEvents(folder, `${number}.ics`, 1, megabyte - 100);
  const client = await open({}, { folder });
  await call(client, "createCalendarEvent", trip);
  writeEvents(folder, "last.ics", 1, 2_000);
  expect(await failureOf(client, "createCalendarEvent", trip)).toContain("The calendar is full: it has at most 10000");
  rmSync(join(folder, "events/0.ics"));
  await call(client, "createCalendarEvent", trip);
});

test("writes no message to an outbox of 16 MiB", async () => {
  const folder = makeFolder();
  mkdirSync(join(folder, "outbox"));
  for (let number = 0; number < 16; number += 1) {
    writeFileSync(join(folder, `outbox/${number}.eml`), Buffer.alloc(megabyte - 200));
  }
  const client = await open({}, { folder });
  const mail = { to: "ada@example.com", subject: "Hello", body: "x".repeat(1_000) };
  await call(client, "sendEmail", mail);
  const body = "x".repeat(4_000);
  expect(await failureOf(client, "sendEmail", { ...mail, body })).toContain(
    "The outbox is full: it has at most 10000 messages and 16777216 bytes. Ask the user to remove files from",
  );
  rmSync(join(folder, "outbox/0.eml"));
  await call(client, "sendEmail", { ...mail, body });
});

test("calls at the same time do not exceed the limit of the outbox", async () => {
  const folder = makeFolder();
  const client = await open({}, { folder });
  const mail = { to: "ada@example.com", subject: "Hello", body: "\u4e16".repeat(100_000) };
  // Each message has more than 400,000 bytes.
  const results: Data[] = await Promise.all(Array.from({ length: 50 }, () => client.callTool("sendEmail", mail)));
  expect(results.some(({ isError }) => isError)).toBe(true);
  const names = readdirSync(join(folder, "outbox"));
  const bytes = names.reduce((sum, name) => sum + statSync(join(folder, "outbox", name)).size, 0);
  expect(names.length).toBeGreaterThan(30);
  expect(bytes).toBeLessThanOrEqual(16 * megabyte);
});

test("one caller cannot fill the outbox of the others", async () => {
  const folder = makeFolder();
  const { hostile, innocent } = await connectCallers(createCalendar({ folder, now: () => now }));
  const mail = { to: "ada@example.com", subject: "Hello", body: "\u4e16".repeat(100_000) };
  const send = (client: Pick<TestClient, "callTool">) => failureOrNone(client, mail, "sendEmail");
  let refusal: string | undefined;
  for (let count = 0; refusal === undefined && count < 50; count += 1) refusal = await send(hostile);
  expect(refusal).toContain("This caller has added 8388608 bytes of messages, the most that one caller may");
  expect(await send(innocent)).toBeUndefined();
});

test.each(["..%2F..%2Fetc%2Fpasswd", "..%5Csecret.eml", "%2Fetc%2Fpasswd", ".."])(
  "the outbox has no message %s",
  async (name) => {
    const folder = makeFolder();
    writeFileSync(join(folder, "secret.eml"), "secret");
    const client = await open({}, { folder });
    await expect(client.readResource(`calendar://outbox/${name}`)).rejects.toThrow();
  },
);

test("one caller cannot fill the calendar of the others", async () => {
  const folder = makeFolder();
  const { hostile, innocent } = await connectCallers(createCalendar({ folder, now: () => now }));
  const description = "\u4e16".repeat(10_000);
  const add = () => failureOrNone(hostile, { ...trip, description });
  let refusal: string | undefined;
  let added = 0;
  // Each event has more than 30,000 bytes.
  for (; refusal === undefined && added < 300; added += 1) refusal = await add();
  expect(refusal).toContain("This caller has added 8388608 bytes of events, the most that one caller may");
  expect(await failureOrNone(innocent, trip)).toBeUndefined();
});

async function failureOrNone(
  client: Pick<TestClient, "callTool">,
  args: object,
  tool = "createCalendarEvent",
): Promise<string | undefined> {
  const { isError, content }: Data = await client.callTool(tool as never, args as never);
  return isError ? content[0].text : undefined;
}

/** Starts a mail server; returns its address and the messages it took. */
async function startMailServer(isRefusing = false): Promise<{ smtp: string; taken: string[] }> {
  const taken: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onRcptTo: (_address, _session, done) => done(isRefusing ? new Error("no such user") : undefined),
    onData(stream, session, done) {
      let text = "";
      stream.on("data", (bytes: Buffer) => {
        text += bytes;
      });
      stream.on("end", () => {
        taken.push(`${session.envelope.rcptTo.map(({ address }) => address).join()}\n${text}`);
        done();
      });
    },
  });
  const listening = server.listen(0, "127.0.0.1");
  await new Promise((resolve) => listening.once("listening", resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(resolve)));
  return { smtp: `smtp://127.0.0.1:${(listening.address() as Data).port}`, taken };
}

describe.each(["2025-11-25", "2026-07-28"] as const)("with a mail server, on %s", (revision) => {
  test("sends once after the user confirms, and not at all after a no", async () => {
    const { smtp, taken } = await startMailServer();
    const folder = makeFolder();
    const answers = scriptedAnswers(
      { action: "accept", content: {} } as never,
      {
        action: "decline",
      } as never,
    );
    const client = await open({ revision, answers }, { folder, smtp, from: "ada@example.com" });
    const { structuredContent } = await call(client, "sendEmail", { ...away, to: "team@work.com, boss@work.com" });
    expect(structuredContent.status).toBe("sent");
    const message =
      'Send this e-mail?\n\nTo: team@work.com\nTo: boss@work.com\nSubject: "Out of Office"\n\nI am in Barcelona.\nBack on Monday.';
    expect(answers.asked).toMatchObject([{ params: { message } }]);
    expect(await failureOf(client, "sendEmail", away)).toContain("nothing was sent");
    expect(taken).toHaveLength(1);
    expect(taken[0]).toMatch(/^team@work\.com,boss@work\.com\nFrom: ada@example\.com/);
    expect(readdirSync(join(folder, "sent"))).toEqual([structuredContent.file]);
    expect(readdirSync(join(folder, "outbox"))).toEqual([]);
  });
});

describe.each(["2025-11-25", "2026-07-28"] as const)("with a mail server, on %s", (revision) => {
  test("a subject cannot imitate a recipient, and hidden characters are shown", async () => {
    const { smtp } = await startMailServer();
    const answers = scriptedAnswers({ action: "decline" } as never);
    const client = await open({ revision, answers }, { smtp, from: "ada@example.com" });
    await failureOf(client, "sendEmail", {
      ...{ to: "evil@attacker.example", subject: 'Lunch" to team@work.com?', body: "secret\u202E\u2028key" },
    });
    expect(answers.asked).toMatchObject([
      {
        params: {
          message:
            'Send this e-mail?\n\nTo: evil@attacker.example\nSubject: "Lunch\\" to team@work.com?"\n\nsecret\\u{202e}\\u{2028}key',
        },
      },
    ]);
  });

  test("does not ask about a message that is too long to be read", async () => {
    const { smtp, taken } = await startMailServer();
    const answers = scriptedAnswers();
    const client = await open({ revision, answers }, { smtp, from: "ada@example.com" });
    expect(await failureOf(client, "sendEmail", { ...away, body: "x".repeat(8_000) })).toContain(
      "too long for the user to review, so nothing was sent",
    );
    expect(taken).toEqual([]);
  });

  test("sends nothing for a client that cannot ask, unless the operator allows it", async () => {
    const { smtp, taken } = await startMailServer();
    const folder = makeFolder();
    const client = await open({ revision }, { folder, smtp, from: "ada@example.com" });
    expect(await failureOf(client, "sendEmail", away)).toContain("start the server with --yes");
    expect(taken).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
    const bold = await open({ revision }, { folder, smtp, from: "ada@example.com", ask: false });
    expect((await call(bold, "sendEmail", away)).structuredContent.status).toBe("sent");
    expect(taken).toHaveLength(1);
  });
});

test("sends no message while the folder of sent messages has 16 MiB", async () => {
  const { smtp, taken } = await startMailServer();
  const folder = makeFolder();
  mkdirSync(join(folder, "sent"));
  for (let number = 0; number < 16; number += 1) {
    writeFileSync(join(folder, `sent/${number}.eml`), Buffer.alloc(megabyte));
  }
  const client = await open({}, { folder, smtp, from: "ada@example.com", ask: false });
  expect(await failureOf(client, "sendEmail", away)).toContain(
    "The folder of sent messages is full: it has at most 10000 messages and 16777216 bytes. Ask the user to remove files from",
  );
  expect(taken).toEqual([]);
  expect(readdirSync(folder)).toEqual(["sent"]);
  rmSync(join(folder, "sent/0.eml"));
  expect((await call(client, "sendEmail", away)).structuredContent.status).toBe("sent");
  expect(taken).toHaveLength(1);
  expect(readdirSync(join(folder, "sent"))).toHaveLength(16);
});

test("one yes sends one message, however often the client repeats it", async () => {
  const { smtp, taken } = await startMailServer();
  const capabilities = { elicitation: { form: {} } };
  const client = await open({ revision: "2026-07-28", capabilities }, { smtp, from: "ada@example.com" });
  const send = (round: object): Promise<Data> =>
    client.callTool("sendEmail" as never, away as never, { autoAnswer: false, ...round } as never);
  const { inputRequests, requestState } = await send({});
  const [key] = Object.keys(inputRequests);
  const yes = { requestState, inputResponses: { [key!]: { action: "accept", content: {} } } };
  const results = [...(await Promise.all([send(yes), send(yes)])), await send(yes)];
  for (const { structuredContent } of results) expect(structuredContent).toEqual(results[0].structuredContent);
  expect(results[0].structuredContent.status).toBe("sent");
  expect(taken).toHaveLength(1);
});

test.each([
  ["a recipient", ""],
  ["the password", "ada:hunter2@"],
])("a message stays in the outbox if the mail server refuses %s", async (_what, account) => {
  const { smtp } = await startMailServer(true);
  const folder = makeFolder();
  const problems: string[] = [];
  const onProblem = (problem: string) => problems.push(problem);
  const url = smtp.replace("//", `//${account}`);
  const client = await open({}, { folder, smtp: url, from: "ada@example.com", ask: false, onProblem });
  const reason = await failureOf(client, "sendEmail", away);
  expect(reason).toContain("did not accept the message; it waits in the outbox");
  expect(problems).toEqual([expect.stringContaining("the mail server failed")]);
  expect(reason + problems).not.toContain("hunter2");
  expect(readdirSync(join(folder, "outbox"))).toHaveLength(1);
});
