import type { Grant } from "portolan-host";
import { textFlag } from "../arguments/flags.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { withHost } from "../servers/host.ts";

const idLength = 8;
/** Fewer characters could be a typing mistake. */
const minIdLength = 4;

/** Lists permanent grants and refusals, or revokes one. */
export async function run(context: CommandContext, _: readonly string[], flags: Flags): Promise<CommandResult> {
  const { screen } = context;
  const wanted = textFlag(flags, "revoke");
  return withHost(context, [], async (host) => {
    const grants = host.grants.list().toSorted(byServer);
    if (wanted !== undefined) {
      const grant = findGrant(grants, wanted);
      await host.grants.revoke(grant.id);
      return {
        value: { revoked: grant.id },
        text: () =>
          `${screen.style("green", screen.mark("ok"))} revoked: ${describe(grant, context).slice(1).join(" ")}`,
      };
    }
    return {
      value: { grants },
      text() {
        if (grants.length === 0) return "Nothing is permanently allowed or denied.";
        const head = ["id", "", "what", "server", "until"].map((title) => screen.style("dim", title));
        return screen.table([head, ...grants.map((grant) => describe(grant, context))], { isTitled: true });
      },
    };
  });
}

function byServer(a: Grant, b: Grant): number {
  return order(a.server, b.server) || order(a.kind, b.kind) || order(a.subject, b.subject);
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function findGrant(grants: readonly Grant[], wanted: string): Grant {
  const found = wanted.length < minIdLength ? [] : grants.filter(({ id }) => id.startsWith(wanted));
  const [grant] = found;
  if (grant && found.length === 1) return grant;
  const what = grant ? "several grants begin with" : "no grant has the id";
  throw new Failure("usage", `${what} ${JSON.stringify(wanted)}`, { next: "portolan grants" });
}

function describe({ id, allow, kind, subject, server, args, expiresAt }: Grant, { screen }: CommandContext): string[] {
  const what = kind === "trust" ? (subject === "hints" ? "its labels" : "start") : `${kind} ${subject}`;
  return [
    id.slice(0, idLength),
    allow ? screen.style("green", "allowed") : screen.style("red", "denied"),
    `${screen.safe(what.trim())}${args === undefined ? "" : " (certain arguments)"}`,
    screen.safe(server),
    expiresAt === undefined ? "" : new Date(expiresAt).toISOString().slice(0, 10),
  ];
}
