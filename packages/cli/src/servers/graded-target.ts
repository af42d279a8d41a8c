import { connect } from "portolan/client";
import { childEnvironment } from "portolan/client/stdio";
import type { Target as GradedTarget } from "portolan-check";
import type { ServerEntry } from "portolan-host";
import { withoutValues } from "../arguments/flags.ts";
import type { CommandContext } from "../command.ts";
import { Failure, httpStatusOf, toFailure } from "../failure.ts";
import { proxyFor } from "../http-proxy/choose.ts";
import { quoteCommand } from "../terminal/escape.ts";
import { info } from "../version.ts";
import { explainStart, withStray } from "./explain.ts";
import { strayLine } from "./host.ts";
import { createLink } from "./link.ts";
import { authFor } from "./sign-in.ts";

/** Returns what `grade` connects to, with the environment or the headers that a host would give. */
export async function gradedTarget(context: CommandContext, entry: ServerEntry): Promise<GradedTarget> {
  const { target } = entry;
  if ("command" in target) {
    const { command, args = [], cwd } = target;
    // The server gets the same environment as in a host, without our secrets.
    const env = childEnvironment(context.system.env, target.env);
    return { command, args, env, inherits: false, ...(cwd !== undefined && { cwd }) };
  }
  if (!("url" in target)) throw new Failure("usage", "expected a command or an address");
  const url = new URL(target.url);
  const proxy = proxyFor(url, context.system.env);
  if (proxy) {
    // The report would blame the server for changes that a proxy makes.
    throw new Failure("usage", `check needs a direct connection, but ${proxy.variable} sets a proxy for this server`, {
      next: `if it can be reached directly: NO_PROXY=${url.hostname} portolan ${quoteCommand(withoutValues(context.system.argv))}`,
    });
  }
  const signed = await authFor(context, entry).authorize({ server: url, method: "POST", url });
  return { url: target.url, headers: { ...signed, ...target.headers } };
}

/**
 * Fails if a server does not start, does not answer at all or requires sign-in: a report would blame it for the protocol.
 * Everything else is left to the report.
 */
export async function requireAnswering(
  context: CommandContext,
  entry: ServerEntry,
  { connectMs, signal }: { readonly connectMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const { target, settings } = entry;
  const said: string[] = [];
  let stray: string | undefined;
  const onError = ({ message }: Error) => {
    if (strayLine.test(message)) stray ??= message;
  };
  const tried = "url" in target ? { ...entry, target: { auth: authFor(context, entry), ...target } } : entry;
  try {
    const link = await createLink(tried, context, (line) => void (said.length < maxSaidLines && said.push(line)));
    const { era } = settings;
    const client = await connect(link, {
      info,
      signal,
      connectMs,
      cache: false,
      onError,
      ...(era !== undefined && { era }),
    });
    await client.close();
  } catch (reason) {
    signal.throwIfAborted();
    const { kind } = toFailure(reason);
    const status = httpStatusOf(reason);
    const isAbsent = kind === "unreachable" && (status === undefined || status === 404);
    if (!isAbsent && kind !== "timeout" && kind !== "auth") return;
    throw await explainStart(context, entry, withSaid(toFailure(reason), said, stray));
  }
}

/** The first lines of what a server wrote before it fell silent. */
const maxSaidLines = 5;

/** Adds what a silent server wrote first, in place of its latest output. The reason of an ended process has it already. */
function withSaid(failure: Failure, said: readonly string[], stray: string | undefined): Failure {
  const { kind, message, next, cause } = failure;
  if (kind === "timeout" && stray !== undefined) return withStray(failure, stray);
  if (kind !== "timeout" || said.length === 0) return failure;
  const reason = message.replace(/; its latest output: [\s\S]*$/, "");
  return new Failure(kind, `${reason}; it wrote: ${said.join(" | ")}`, { next, cause });
}
