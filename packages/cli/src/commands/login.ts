import { createInterface } from "node:readline";
import { PortolanError } from "portolan";
import { type KnownClient, loopback, type OAuthEvent, paste } from "portolan/auth/client";
import { againWith, listFlag, secondsFlag, textFlag, withoutValues } from "../arguments/flags.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { entryLocation } from "../doctor/finding.ts";
import { Failure, interruption, toFailure } from "../failure.ts";
import { requireUsable } from "../servers/host.ts";
import { findRefusal } from "../servers/refusal.ts";
import { authFor, findHttpServer, hasClient, redirectFor, redirectUriFor } from "../servers/sign-in.ts";
import { quote, quoteCommand } from "../terminal/escape.ts";
import { QuestionDismissed } from "../terminal/input.ts";
import { refreshWarmTokens } from "../warm/warm-entry.ts";

/** Signs in at a server: in a browser on this machine, or at an address that is opened anywhere and pasted back. */
export async function run(context: CommandContext, [given]: readonly string[], flags: Flags): Promise<CommandResult> {
  const { screen, signal, system, terminal } = context;
  const { entry, url, shown } = await findHttpServer(context, given);
  // A file could send people, and a client secret, to any address.
  await requireUsable(context, entry);
  const show = (address: URL) => {
    terminal.waits.clear();
    system.stderr.write(`Open this address to sign in:\n${address.href}\n`);
  };
  const asker = createAsker(context);
  const events: OAuthEvent[] = [];
  const newClient = await clientOf(flags, () => asker.next(signal));
  const isByHand = newClient !== undefined;
  const timeoutMs = secondsFlag(flags, "timeout");
  if (isByHand && hasClient(entry)) {
    throw new Failure("usage", `${entry.name} has a client id in its configuration file`, {
      next: `change it at ${entryLocation(entry)}`,
    });
  }
  let redirectUri = "";
  const redirect =
    flags["browser"] === false
      ? paste({ ...redirectUriFor(entry, isByHand), show, ask: asker.ask })
      : loopback({ ...redirectFor(entry, isByHand), show, ...(timeoutMs !== undefined && { timeoutMs }) });
  const auth = authFor(context, entry, {
    redirect: {
      async begin(registered) {
        const attempt = await redirect.begin(registered);
        // Only the page knows that its server has forgotten the registration.
        if (registered !== undefined && screen.isInteractive)
          terminal.say(
            screen.style(
              "dim",
              `If the page does not know the app: press Ctrl-C, then run: portolan login ${quote(given ?? shown)}`,
            ),
          );
        redirectUri = attempt.redirectUri;
        return attempt;
      },
    },
    ...(newClient && { newClient }),
    ...(timeoutMs !== undefined && { loginWaitMs: timeoutMs }),
    scopes: listFlag(flags, "scope").flatMap((given) => given.split(/\s+/).filter(Boolean)),
    async askClient(issuer, { isGuessed }) {
      const { name, target } = entry;
      const refusal = isGuessed && "url" in target ? await findRefusal(entry, target, system) : undefined;
      if (refusal) throw new Failure("auth", `${name} ${refusal.lacks}; it ${refusal.what}`, { next: refusal.next });
      return askClient(context, { issuer, isGuessed, redirectUri, server: given ?? shown });
    },
    onEvent: (event) => events.push(event),
  });
  const signingIn = auth
    .login(url, { signal })
    .catch((reason: unknown) => {
      const { kind, message, next, cause } = toFailure(reason);
      // A sign-in that was not finished can be tried again as it was typed.
      const isTimeout = kind === "timeout" && timeoutMs !== undefined;
      const again = isTimeout
        ? againWith(system, "--timeout", String(Math.ceil((2 * timeoutMs) / 1_000)))
        : `portolan ${quoteCommand(withoutValues(system.argv))}`;
      const isUnfinished = kind === "timeout" || (cause instanceof PortolanError && cause.code === "answer-invalid");
      throw isUnfinished
        ? new Failure("auth" === kind || kind === "timeout" ? kind : "auth", message, { next: next ?? again, cause })
        : reason;
    })
    .finally(() => asker.close());
  // Without a browser, the person pastes an address where the wait would be drawn.
  if (flags["browser"] === false) await signingIn;
  else await terminal.waits.during(`waiting for your sign-in at ${screen.safe(shown)}`, signingIn);
  await refreshWarmTokens(context);
  const { issuer, scopes = [] } = events.findLast(({ kind }) => kind === "signed-in") ?? {};
  return {
    value: { server: shown, issuer, scopes },
    text: () => {
      const at = issuer === undefined ? "" : screen.style("dim", ` by ${screen.safe(issuer)}`);
      const next = screen.step(`portolan ls ${quote(given ?? shown)}`);
      return `${screen.style("green", screen.mark("ok"))} signed in at ${screen.safe(shown)}${at}\n  ${screen.mark("next")} ${next}`;
    },
  };
}

/** Returns the client of `--client-id`. Its secret is the first line of standard input, because others can see flags. */
async function clientOf(flags: Flags, readLine: () => Promise<string | undefined>): Promise<KnownClient | undefined> {
  const clientId = textFlag(flags, "clientId");
  const hasSecret = flags["clientSecretStdin"] === true;
  if (clientId === undefined) {
    if (hasSecret) throw new Failure("usage", "--client-secret-stdin needs --client-id");
    return undefined;
  }
  if (!hasSecret) return { clientId };
  const clientSecret = (await readLine())?.trim();
  if (!clientSecret)
    throw new Failure("usage", "--client-secret-stdin: expected the secret on standard input, got nothing");
  return { clientId, clientSecret };
}

interface ClientRequest {
  readonly issuer: string;
  readonly isGuessed: boolean;
  readonly redirectUri: string;
  readonly server: string;
}

/** Asks for a client that the person has registered by hand, where the authorization server registers none itself. */
async function askClient(
  { screen, terminal, signal }: CommandContext,
  { issuer, isGuessed, redirectUri, server }: ClientRequest,
): Promise<KnownClient> {
  const missing = `${issuer} offers no client registration`;
  const otherwise = isGuessed ? ". If it requires an API key instead, add it as a header" : "";
  const next = `register a client there, then run in a terminal, which asks for its id: portolan login ${quote(server)}`;
  if (!screen.isInteractive) throw new Failure("auth", `${missing}${otherwise}`, { next });
  const asked = terminal.ask(signal, async () => {
    terminal.heading("", issuer, " offers no client registration. Register a client there by hand.");
    terminal.say("  Its redirect address:");
    terminal.quote(redirectUri);
    if (isGuessed)
      terminal.warn("The server may require an API key in a header instead, which portolan add --help explains");
    const clientId = (await terminal.line({ prompt: "  client id > " })).trim();
    if (clientId === "") throw new Failure("auth", `${missing}${otherwise}`, { next });
    const clientSecret = (
      await terminal.line({ prompt: "  client secret (Enter for none) > ", isSecret: true })
    ).trim();
    return { clientId, ...(clientSecret !== "" && { clientSecret }) };
  });
  return asked.catch((reason: unknown) => {
    throw reason instanceof QuestionDismissed ? interruption() : reason;
  });
}

/** Reads pasted lines. One reader for all of them: a second one would lose lines that arrived together. */
function createAsker({ system, screen }: CommandContext): {
  ask(question: string, signal: AbortSignal): Promise<string>;
  /** Returns the next line. Undefined at the end of the input. */
  next(signal: AbortSignal): Promise<string | undefined>;
  close(): void;
} {
  let reader: ReturnType<typeof createInterface> | undefined;
  let lines: AsyncIterator<string> | undefined;
  const next = async (signal: AbortSignal): Promise<string | undefined> => {
    reader ??= createInterface({ input: system.stdin });
    lines ??= reader[Symbol.asyncIterator]();
    signal.addEventListener("abort", () => reader?.close(), { once: true });
    const { done, value } = await lines.next();
    signal.throwIfAborted();
    return done ? undefined : value;
  };
  return {
    next,
    async ask(question, signal) {
      system.stderr.write(`${screen.mark("ask")} ${question}\n`);
      const line = await next(signal);
      if (line === undefined) throw new Failure("auth", "sign-in failed: nothing was pasted");
      return line;
    },
    close: () => reader?.close(),
  };
}
