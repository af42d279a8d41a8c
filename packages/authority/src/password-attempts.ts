import type { IncomingMessage } from "node:http";
import { passwordLimits } from "./limits.ts";
import { refund, tryConsume } from "./rate-limit.ts";
import type { Settings } from "./settings.ts";
import type { Person } from "./users.ts";

/** The end of an attempt to sign in by password: the person, or the page's status and what it says. */
export type PasswordAttempt =
  | { readonly person: Person }
  | { readonly person?: undefined; readonly status: 401 | 429; readonly problem: string };

/** Checks a password within the limits for attempts. Tells of a failure by an event. */
export async function tryPassword(
  settings: Settings,
  request: IncomingMessage,
  userName: string,
  password: string,
): Promise<PasswordAttempt> {
  const { signIn, emit } = settings;
  const address = settings.addressOf(request);
  if (!(await mayTry(settings, userName, address))) {
    emit({ type: "sign-in-failed", reason: "limit", address });
    return { status: 429, problem: "There were too many attempts. Wait 15 minutes and try again." };
  }
  const person = signIn.kind === "passwords" ? await signIn.verify(userName, password) : undefined;
  if (!person) {
    emit({ type: "sign-in-failed", reason: "credentials", address });
    return { status: 401, problem: "Wrong user name or password." };
  }
  for (const [what, limit] of passwordLimits) {
    await refund(settings.rows, `password-${what}`, whoOf(what, userName, address), limit);
  }
  return { person };
}

/** Counts an attempt before it is made, so that parallel attempts count, too. */
async function mayTry({ rows }: Settings, userName: string, address: string): Promise<boolean> {
  for (const [what, limit] of passwordLimits) {
    if (!(await tryConsume(rows, `password-${what}`, whoOf(what, userName, address), limit))) return false;
  }
  return true;
}

function whoOf(what: "both" | "address" | "name", userName: string, address: string): string {
  return { both: `${address} ${userName}`, address, name: userName }[what];
}
