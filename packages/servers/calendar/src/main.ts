#!/usr/bin/env node
import { runMain, UsageError } from "portolan/server/main";
import { createCalendar, defaultFolder, isAddress } from "./server.ts";

const smtpVariable = "PORTOLAN_SMTP_URL";

await runMain({
  name: "portolan-calendar",
  version: "0.1.0",
  about: "An MCP server for a calendar and an outbox of e-mail, kept as .ics and .eml files.",
  flags: {
    folder: { type: "string", value: "<path>", says: `where the files are. Default: ${defaultFolder()}` },
    from: { type: "string", value: "<address>", says: "the sender of e-mail. Default: me@localhost" },
    yes: { type: "boolean", says: "send e-mail without asking the user" },
  },
  environment: {
    [smtpVariable]: {
      says: "the mail server that sends e-mail, such as smtps://user:password@mail.example.com",
      isSecret: true,
    },
  },
  create(line) {
    const [folder, from, smtp] = [line.text("folder"), line.text("from"), process.env[smtpVariable]];
    if (from !== undefined && !isAddress(from)) {
      throw new UsageError(`--from: expected an address such as ada@example.com, got ${JSON.stringify(from)}`);
    }
    // The value may contain a password, so no message repeats it.
    if (smtp && !(/^smtps?:\/\//.test(smtp) && URL.canParse(smtp))) {
      throw new UsageError(`${smtpVariable}: expected an address such as smtps://user:password@mail.example.com`);
    }
    if (smtp && from === undefined) throw new UsageError(`--from <address> is required with ${smtpVariable}`);
    return createCalendar({
      ...{ ask: !line.isSet("yes") },
      ...(folder && { folder }),
      ...(from && { from }),
      ...(smtp && { smtp }),
    });
  },
});
