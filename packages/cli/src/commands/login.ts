import { createInterface } from "node:readline";
import { loopback, type OAuthEvent, paste } from "portolan/auth/client";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { requireUsable } from "../servers/host.ts";
import { authFor, findHttpServer, redirectFor, redirectUriFor } from "../servers/sign-in.ts";

/** Signs in at a server: in a browser on this machine, or at an address that is opened anywhere and pasted back. */
export async function run(context: CommandContext, [given]: readonly string[], flags: Flags): Promise<CommandResult> {
  const { screen, signal, system } = context;
  const { entry, url } = await findHttpServer(context, given);
  // A file could send people, and a client secret, to any address.
  await requireUsable(context, entry);
  const show = (address: URL) => void system.stderr.write(`Open this address to sign in:\n${address.href}\n`);
  const asker = createAsker(context);
  const events: OAuthEvent[] = [];
  const auth = authFor(context, entry, {
    redirect:
      flags["browser"] === false
        ? paste({ ...redirectUriFor(entry), show, ask: asker.ask })
        : loopback({ ...redirectFor(entry), show }),
    onEvent: (event) => events.push(event),
  });
  await auth.login(url, { signal }).finally(() => asker.close());
  const { issuer, scopes = [] } = events.findLast(({ kind }) => kind === "signed-in") ?? {};
  return {
    value: { server: url, issuer, scopes },
    text: () => {
      const at = issuer === undefined ? "" : screen.style("dim", ` by ${screen.safe(issuer)}`);
      return `${screen.style("green", screen.mark("ok"))} signed in at ${screen.safe(url)}${at}`;
    },
  };
}

/** Reads pasted lines. One reader for all of them: a second one would lose lines that arrived together. */
function createAsker({ system, screen }: CommandContext): {
  ask(question: string, signal: AbortSignal): Promise<string>;
  close(): void;
} {
  let reader: ReturnType<typeof createInterface> | undefined;
  let lines: AsyncIterator<string> | undefined;
  return {
    async ask(question, signal) {
      reader ??= createInterface({ input: system.stdin });
      lines ??= reader[Symbol.asyncIterator]();
      signal.addEventListener("abort", () => reader?.close(), { once: true });
      system.stderr.write(`${screen.mark("ask")} ${question}\n`);
      const { done, value } = await lines.next();
      signal.throwIfAborted();
      if (done) throw new Failure("auth", "sign-in failed: nothing was pasted");
      return value;
    },
    close: () => reader?.close(),
  };
}
