import type { Link } from "portolan/client";
import { type HttpAuth, http } from "portolan/client/http";
import { stdio } from "portolan/client/stdio";
import type { ServerEntry } from "portolan-host";
import type { Context } from "./command.ts";
import { Failure } from "./failure.ts";
import { withHost } from "./hosting.ts";
import { fetchOption } from "./proxy/via.ts";
import { quote } from "./quote.ts";
import type { Recorder } from "./recording.ts";
import { authFor } from "./signing-in.ts";

/** Refuses servers that a file names and nobody has agreed to, and such that cannot be started as they are. */
export async function checkEntry(context: Context, entry: ServerEntry): Promise<void> {
  if (entry.source.kind === "code") return;
  await withHost(context, [entry], async (host) => {
    const { state, reason = "" } = host.servers.find(({ name }) => name === entry.name) ?? {};
    if (state === "untrusted") {
      throw new Failure("denied", `${entry.name} is not trusted yet, so it is not started`, {
        next: `portolan trust ${quote(entry.name)}`,
      });
    }
    if (state === "misconfigured" || state === "disabled") {
      throw new Failure("usage", `${entry.name} is ${state}${reason && `: ${reason}`}`, { next: "portolan doctor" });
    }
  });
}

/** A link to a server without a host around it; what the server writes to standard error is heard by `onStderr`. */
export async function linkTo(
  entry: ServerEntry,
  context: Context,
  onStderr: (line: string) => void = () => {},
): Promise<Link> {
  const { target: way } = entry;
  const { screen, world } = context;
  if ("command" in way) return stdio({ ...way, onStderr });
  if ("open" in way) throw new Failure("usage", "expected a command or an address");
  const { url, headers, legacySse, auth = authFor(context, entry, { interactive: screen.isInteractive }) } = way;
  return http(url, {
    auth,
    ...(headers && { headers }),
    ...(legacySse !== undefined && { legacySse }),
    ...fetchOption(world.env, url),
  });
}

/** A link to a server, whose conversation is written down without the tokens that it is had with. */
export async function recordedLink(entry: ServerEntry, context: Context, recorder: Recorder): Promise<Link> {
  const { target: way } = entry;
  if (!("url" in way)) return recordLink(await linkTo(entry, context), recorder);
  const auth: HttpAuth = way.auth ?? authFor(context, entry, { interactive: context.screen.isInteractive });
  const heard: HttpAuth = {
    async authorize(request) {
      const headers = await auth.authorize(request);
      recorder.learn(headers);
      return headers;
    },
    challenged: async (challenge) => auth.challenged?.(challenge) ?? "fail",
  };
  return recordLink(await linkTo({ ...entry, target: { ...way, auth: heard } }, context), recorder);
}

function recordLink(link: Link, recorder: Recorder): Link {
  const { silenceMeans } = link;
  return {
    ...(silenceMeans !== undefined && { silenceMeans }),
    open: (events) =>
      link.open({
        request(request, answer, during) {
          recorder.add("server", request);
          events.request(
            request,
            (response) => {
              recorder.add("client", response);
              answer(response);
            },
            during,
          );
        },
        notification(notification) {
          recorder.add("server", notification);
          events.notification(notification);
        },
        odd: (why) => events.odd(why),
        renewed: () => events.renewed?.(),
        held: (isHeld) => events.held?.(isHeld),
        lost: (reason) => events.lost(reason),
      }),
    exchange(request, sink) {
      recorder.add("client", request);
      link.exchange(request, {
        response(response) {
          recorder.add("server", response);
          sink.response(response);
        },
        failed: (reason) => sink.failed(reason),
      });
    },
    cancel(id, reason) {
      recorder.add("client", {
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: id, reason },
      });
      link.cancel(id, reason);
    },
    notify(notification) {
      recorder.add("client", notification);
      link.notify(notification);
    },
    close: () => link.close(),
  };
}

/** The same server, with what is said to it and by it written down. */
export function recordEntry(entry: ServerEntry, context: Context, recorder: Recorder): ServerEntry {
  return { ...entry, target: { open: () => recordedLink(entry, context, recorder) } };
}
