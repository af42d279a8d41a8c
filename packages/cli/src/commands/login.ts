import { createInterface } from "node:readline";
import { loopback, type OAuthEvent, paste } from "portolan/auth/client";
import type { Context, Flags, Shown } from "../command.ts";
import { Failure } from "../failure.ts";
import { requireUsable } from "../servers/host.ts";
import { addressOfReturn, authFor, httpTarget, placeOfReturn } from "../servers/sign-in.ts";

/** Signs in at a server: by the browser of this machine, or by an address that is opened anywhere and pasted back. */
export async function run(context: Context, [given]: readonly string[], flags: Flags): Promise<Shown> {
  const { screen, signal, world } = context;
  const { entry, url } = await httpTarget(context, given);
  // A file could send people, and the secret of a client, to anybody.
  await requireUsable(context, entry);
  const show = (address: URL) => void world.stderr.write(`Open this address to sign in:\n${address.href}\n`);
  const asker = createAsker(context);
  const events: OAuthEvent[] = [];
  const auth = authFor(context, entry, {
    redirect:
      flags["browser"] === false
        ? paste({ ...addressOfReturn(entry), show, ask: asker.ask })
        : loopback({ ...placeOfReturn(entry), show }),
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

/** Asks for lines; one reader for all of them, since lines that come together would be lost with the first. */
function createAsker({ world, screen }: Context): {
  ask(question: string, signal: AbortSignal): Promise<string>;
  close(): void;
} {
  let reader: ReturnType<typeof createInterface> | undefined;
  let lines: AsyncIterator<string> | undefined;
  return {
    async ask(question, signal) {
      reader ??= createInterface({ input: world.stdin });
      lines ??= reader[Symbol.asyncIterator]();
      signal.addEventListener("abort", () => reader?.close(), { once: true });
      world.stderr.write(`${screen.mark("ask")} ${question}\n`);
      const { done, value } = await lines.next();
      signal.throwIfAborted();
      if (done) throw new Failure("auth", "nothing was pasted, so nobody is signed in");
      return value;
    },
    close: () => reader?.close(),
  };
}
