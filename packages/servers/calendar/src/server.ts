import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Context, createServer, type FullResult, RpcError, type Server, ToolError } from "portolan/server";
import {
  addDays,
  annotations,
  callerOf,
  dayOf,
  Gate,
  GateFullError,
  isDay,
  object,
  string,
  textResult,
} from "portolan-server-kit";
import { ConsentedEffects, maxShownLength, visible } from "portolan-server-kit/consent";
import { daysBetween, isMoment, type Month, monthsBetween, parseMonth } from "./days.ts";
import { eventsBetween, type FoundEvents, LimitedFolder, readIn } from "./files.ts";
import { toIcs } from "./ics.ts";
import { type Mail, sendBySmtp, toEml } from "./mail.ts";

/** Options of `createCalendar`. */
export interface CalendarOptions {
  /** Where the files are. Default: `portolan/calendar` in the user's data folder. */
  readonly folder?: string;
  /** The sender of e-mail. Default: `me@localhost`. */
  readonly from?: string;
  /** The mail server that sends e-mail. Default: messages stay in the outbox. */
  readonly smtp?: string;
  /** Asks the user before an e-mail is sent, and sends none for a client that cannot ask. Default: true. */
  readonly ask?: boolean;
  /** Called when the mail server fails. Default: prints to standard error. */
  readonly onProblem?: (problem: string) => void;
  /** Returns the current time in milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
}

interface EventInput {
  readonly title: string;
  readonly startDate: string;
  readonly endDate: string;
  readonly location?: string;
  readonly description?: string;
}

interface MailInput {
  readonly to: string;
  readonly subject: string;
  readonly body: string;
}

interface Delivered {
  readonly status: "in the outbox" | "sent";
  readonly file: string;
}

const maxRecipients = 50;

/** Each reads all files of the calendar. */
const readsAtOnce = 2;
const maxWaiting = 64;

/** Creates a server for a calendar and an outbox, both kept in files. */
export function createCalendar(options: CalendarOptions = {}): Server {
  const { folder = defaultFolder(), from = "me@localhost", smtp, ask = true, now = Date.now } = options;
  const { onProblem = (problem) => console.error(`portolan-calendar: ${problem}`) } = options;
  const events = join(folder, "events");
  const calendar = new LimitedFolder(events, ".ics", { folder: "calendar", files: "events" });
  const outbox = new LimitedFolder(join(folder, "outbox"), ".eml", { folder: "outbox", files: "messages" });
  const sent = new LimitedFolder(join(folder, "sent"), ".eml", {
    folder: "folder of sent messages",
    files: "messages",
  });
  const consents = new ConsentedEffects<FullResult<Delivered>>();
  const reads = new Gate(readsAtOnce, maxWaiting);
  const writes = new Gate(1, maxWaiting);
  const sending = ask ? "sendEmail sends after the user agrees." : "sendEmail sends at once.";
  const today = () => dayOf(now());
  const thisYear = () => Number(today().slice(0, 4));
  const nextMonths = () => monthsBetween(today(), addDays(today(), 365), 13).map(({ name }) => name);

  const server = createServer(
    { name: "portolan-calendar", version: "0.1.0", title: "Calendar" },
    {
      instructions: `Read calendar://my-calendar/{month} (such as June-2024) before you propose dates. ${
        smtp === undefined ? "sendEmail writes to the outbox; nothing leaves this machine." : sending
      }`,
    },
  )
    .tool("createCalendarEvent", {
      title: "Create a calendar event",
      description: "Adds an event to the user's calendar",
      input: object(
        {
          title: string("What the event is", { minLength: 1, maxLength: 200 }),
          startDate: string("First day, such as 2024-06-15, or a local time such as 2024-06-15T14:30", date),
          endDate: string("Last day (included), such as 2024-06-22, or a local time", date),
          location: string("Where it is", { maxLength: 200 }),
          description: string("Notes", { maxLength: 10_000 }),
        },
        ["location", "description"],
      ),
      output: object({
        ...{ uid: string("Id of the event"), file: string("Name of the calendar file") },
        ...{ title: string("The title"), startDate: string("The start"), endDate: string("The end") },
      }),
      annotations: annotations.adds,
      async run(input: EventInput, ctx) {
        checkDates(input);
        checkTexts(input);
        const uid = randomUUID();
        await inTurn(
          writes,
          ctx,
          () => calendar.add(`${uid}.ics`, toIcs({ uid, ...input }, now()), callerOf(ctx)),
          toToolError,
        );
        publishChange(input);
        const { title, startDate, endDate } = input;
        const text = `Added to the calendar: ${title}, ${startDate} to ${endDate}`;
        return textResult(text, { uid, file: `${uid}.ics`, title, startDate, endDate });
      },
    })
    .tool("sendEmail", {
      title: "Send an e-mail",
      description:
        smtp === undefined
          ? "Writes an e-mail to the outbox folder on this machine, from where the user can send it"
          : `Sends an e-mail${ask ? ", after the user has read it and agrees" : ""}`,
      input: object({
        to: string("Address of the recipient, such as team@work.com; several are separated by commas", {
          minLength: 3,
          maxLength: 2_000,
        }),
        subject: string("Subject", { minLength: 1, maxLength: 300 }),
        body: string("Plain text", { maxLength: 100_000 }),
      }),
      output: object({
        status: { enum: ["in the outbox", "sent"], description: "in the outbox: nothing has left this machine" },
        file: string("Name of the message file"),
      }),
      annotations: { ...annotations.adds, openWorldHint: smtp !== undefined },
      async run(input: MailInput, ctx) {
        if (/\p{C}/u.test(input.subject)) throw new ToolError("subject: expected one line without control characters");
        const mail = { ...input, from, to: needRecipients(input.to), date: new Date(now()) };
        if (smtp === undefined || !ask) return deliver(mail, ctx);
        const delivered = await consents.run(ctx, questionOn(mail, ctx), () => deliver(mail, ctx));
        return delivered?.result ?? ctx.cancelled("The user declined: nothing was sent.");
      },
    })
    .template("calendar://events/{year}", {
      name: "events",
      title: "Events of a year",
      description: "The events of a year, as JSON; a subscription reports new events",
      mimeType: "application/json",
      subscribe: true,
      list: () => [{ uri: `calendar://events/${thisYear()}`, name: `Events of ${thisYear()}` }],
      complete: { year: (typed) => [0, 1, 2].map((more) => String(thisYear() + more)).filter(startsWith(typed)) },
      async read({ year }, ctx) {
        if (!/^\d{4}$/.test(String(year))) return undefined;
        const found = await inTurn(reads, ctx, () => eventsBetween(events, `${year}-01-01`, `${year}-12-31`));
        return JSON.stringify({ year, ...found });
      },
    })
    .template("calendar://my-calendar/{month}", {
      name: "my-calendar",
      title: "Calendar of a month",
      description: "The events and the free days of a month such as June-2024, as JSON",
      mimeType: "application/json",
      subscribe: true,
      list: () =>
        nextMonths()
          .slice(0, 3)
          .map((name) => ({ uri: `calendar://my-calendar/${name}`, name: name.replace("-", " ") })),
      complete: { month: (typed) => nextMonths().filter(startsWith(typed)) },
      async read({ month }, ctx) {
        const wanted = parseMonth(String(month));
        return wanted && JSON.stringify(await inTurn(reads, ctx, () => monthOf(wanted)));
      },
    })
    .template("calendar://outbox/{message}", {
      name: "outbox",
      title: "A message in the outbox",
      description: "A message that waits in the outbox",
      mimeType: "message/rfc822",
      list: async () => (await outbox.names()).slice(-100).map((name) => ({ uri: `calendar://outbox/${name}`, name })),
      complete: { message: async (typed) => (await outbox.names()).filter(startsWith(typed)) },
      read: ({ message }) => readIn(outbox.path, String(message)),
    });
  return server;

  async function monthOf({ name, first, last }: Month): Promise<FoundEvents & { month: string; freeDays: string[] }> {
    const free = new Set(daysBetween(first, last));
    const found = await eventsBetween(events, first, last, ({ startDate, endDate }) => {
      for (const day of free) if (startDate.slice(0, 10) <= day && endDate.slice(0, 10) >= day) free.delete(day);
    });
    return { month: name, ...found, freeDays: [...free] };
  }

  /** Tells subscribers of each year and month that the event touches. */
  function publishChange({ startDate, endDate }: EventInput): void {
    const months = monthsBetween(startDate.slice(0, 10), endDate.slice(0, 10), 120);
    const uris = months.flatMap(({ name, first }) => [
      `calendar://events/${first.slice(0, 4)}`,
      `calendar://my-calendar/${name}`,
      `calendar://my-calendar/${first.slice(0, 7)}`,
    ]);
    for (const uri of new Set(uris)) server.publish("resources/updated", { uri });
  }

  async function deliver(mail: Mail, ctx: Context): Promise<FullResult<Delivered>> {
    const file = `${mail.date.toISOString().replace(/[:.]/g, "-")}-${randomUUID().slice(0, 8)}.eml`;
    const raw = await toEml(mail);
    const caller = callerOf(ctx);
    const write = async () => {
      // A message that is sent moves there afterwards: whoever sends it must not find out then that it does not fit.
      if (smtp !== undefined) await sent.requireRoom(Buffer.byteLength(raw), caller);
      return outbox.add(file, raw, caller);
    };
    const path = await inTurn(writes, ctx, write, toToolError);
    const recipients = mail.to.join(", ");
    if (smtp === undefined) {
      return textResult(`Written to the outbox for ${recipients}: ${path}`, { status: "in the outbox", file } as const);
    }
    try {
      await sendBySmtp(smtp, mail, raw);
    } catch (reason) {
      // The reason may name the account at the mail server: it is for the operator, not for the model.
      onProblem(`the mail server failed: ${reason instanceof Error ? reason.message : reason}`);
      throw new ToolError(`The mail server did not accept the message; it waits in the outbox: ${path}`);
    }
    await outbox.move(file, caller, sent);
    return textResult(`Sent to ${recipients}`, { status: "sent", file } as const);
  }
}

const date = { minLength: 10, maxLength: 16 };

/** Runs work of a caller behind a gate. Throws the error for the client if too much waits. */
async function inTurn<T>(
  gate: Gate,
  ctx: Context,
  work: () => Promise<T>,
  toError: (why: string) => Error = toRpcError,
): Promise<T> {
  try {
    return await gate.run(callerOf(ctx), work);
  } catch (reason) {
    if (!(reason instanceof GateFullError)) throw reason;
    throw toError("Too many requests for the calendar wait; try again when earlier ones are done");
  }
}

function toRpcError(why: string): RpcError {
  return new RpcError(1_001, why);
}

function toToolError(why: string): ToolError {
  return new ToolError(why);
}

/** Returns the question before a message is sent: all of it, in an order that its text cannot imitate. */
function questionOn({ to, subject, body }: Mail, ctx: Context): string {
  if (!ctx.mayAsk("elicitation.form")) {
    throw new ToolError(
      "This client cannot ask the user, and an e-mail needs the user's consent. Nothing was sent; ask the user to send it, or to start the server with --yes",
    );
  }
  const recipients = to.map((address) => `To: ${address}`);
  const message = visible([...recipients, `Subject: ${JSON.stringify(subject)}`, "", body].join("\n"));
  if (message.length > maxShownLength) {
    throw new ToolError(
      `The message is too long for the user to review, so nothing was sent; use less than ${maxShownLength} characters in all`,
    );
  }
  return `Send this e-mail?\n\n${message}`;
}

function startsWith(typed: string): (value: string) => boolean {
  return (value) => value.toLowerCase().startsWith(typed.toLowerCase());
}

function checkDates({ startDate, endDate }: EventInput): void {
  const isTimed = isMoment(startDate);
  const isRight = isTimed ? isMoment(endDate) : isDay(startDate) && isDay(endDate);
  if (!isRight) {
    throw new ToolError(
      `startDate, endDate: expected two days such as 2024-06-15, or two times such as 2024-06-15T14:30, got ${JSON.stringify(startDate)} and ${JSON.stringify(endDate)}`,
    );
  }
  if (endDate < startDate) throw new ToolError(`endDate: expected ${startDate} or later, got ${endDate}`);
}

/** Throws for control characters, which hide text, and which JSON writes with six characters each. */
function checkTexts({ title, location = "", description = "" }: EventInput): void {
  for (const [name, text] of Object.entries({ title, location, description })) {
    const isWrong = name === "description" ? /(?![\t\n\r])\p{Cc}/u.test(text) : /\p{Cc}/u.test(text);
    if (isWrong) throw new ToolError(`${name}: expected a text without control characters`);
  }
}

function needRecipients(text: string): string[] {
  const addresses = text.split(",").map((address) => address.trim());
  const wrong = addresses.find((address) => !isAddress(address));
  if (wrong !== undefined) {
    throw new ToolError(`to: expected addresses such as team@work.com, got ${JSON.stringify(wrong)}`);
  }
  if (addresses.length > maxRecipients) throw new ToolError(`to: expected at most ${maxRecipients} addresses`);
  return addresses;
}

/** Returns true for a plain address, without a name and without control characters. */
export function isAddress(text: string): boolean {
  return /^[^\s@<>(),;:"\\\p{C}]{1,64}@[a-zA-Z0-9.-]{1,253}$/u.test(text);
}

/** Returns the default folder, in the user's data folder. */
export function defaultFolder(env: NodeJS.ProcessEnv = process.env): string {
  const shared = process.platform === "win32" ? env["LOCALAPPDATA"] : env["XDG_DATA_HOME"];
  // The XDG specification says to ignore a relative path.
  const base = shared?.match(/^([/\\]|[a-z]:)/i) ? shared : join(homedir(), ".local", "share");
  return join(base, "portolan", "calendar");
}
