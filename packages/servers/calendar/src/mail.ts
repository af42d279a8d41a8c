/** A message. */
export interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly body: string;
  readonly date: Date;
}

// The library is loaded with the first message: a server that starts often should not load what it may never need.
const load = () => import("nodemailer");

/** Writes a message in the format of `.eml` files (RFC 5322), which every mail program can open. */
export async function toEml({ from, to, subject, body, date }: Mail): Promise<Uint8Array> {
  const { createTransport } = await load();
  const writer = createTransport({ streamTransport: true, buffer: true, newline: "windows" });
  const { message } = await writer.sendMail({
    ...{ from, to: [...to], subject, text: body, date },
    // No value of a model may become the path of an attachment.
    ...{ disableFileAccess: true, disableUrlAccess: true },
  });
  return message as Uint8Array;
}

/** Sends a message through a mail server. */
export async function sendBySmtp(smtp: string, { from, to }: Mail, raw: Uint8Array): Promise<void> {
  const { createTransport } = await load();
  const transport = createTransport(smtp);
  try {
    await transport.sendMail({ envelope: { from, to: [...to] }, raw: Buffer.from(raw) });
  } finally {
    transport.close();
  }
}
