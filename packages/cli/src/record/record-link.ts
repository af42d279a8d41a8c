import { closeSync, openSync, readSync, statSync } from "node:fs";
import type { Link } from "portolan/client";
import type { HttpAuth } from "portolan/client/http";
import type { ConfiguredServer, ServerEntry } from "portolan-host";
import { openRecorder, type Recorder } from "portolan-recording";
import type { CommandContext, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { createLink } from "../servers/link.ts";
import { authFor } from "../servers/sign-in.ts";
import { version } from "../version.ts";

/** Opens a recorder with the flags of a command line. It redacts the secrets of the environment and of the entry. */
export function createRecorder(
  { system }: CommandContext,
  file: string,
  entry: ServerEntry,
  { raw = false }: Flags,
): Recorder {
  requireReplaceable(file);
  const recorder = openRecorder(file, { server: entry.name, by: `portolan ${version}`, isRaw: raw === true }, system);
  const { oauth } = entry as Partial<ConfiguredServer>;
  recorder.learn([system.env, entry.target, entry.configured, oauth]);
  return recorder;
}

/** Fails if a recording would overwrite a file of another kind. */
function requireReplaceable(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found?.isFile() || found.size === 0) return;
  if (beginsWith(file, '{"recording":')) return;
  throw new Failure("usage", `${file} exists and is not a recording; nothing was written`);
}

/** Reads no more of the file than needed, because it may be of any size. */
function beginsWith(file: string, text: string): boolean {
  const descriptor = openSync(file, "r");
  try {
    const start = Buffer.alloc(Buffer.byteLength(text));
    readSync(descriptor, start);
    return start.toString("utf8") === text;
  } finally {
    closeSync(descriptor);
  }
}

/** Returns a link to a server whose messages are recorded, without the tokens of its requests. */
export async function recordedLink(entry: ServerEntry, context: CommandContext, recorder: Recorder): Promise<Link> {
  const { target } = entry;
  if (!("url" in target)) return recordLink(await createLink(entry, context), recorder);
  const auth: HttpAuth = target.auth ?? authFor(context, entry, { interactive: context.screen.isInteractive });
  const heard: HttpAuth = {
    async authorize(request) {
      const headers = await auth.authorize(request);
      recorder.learn(headers);
      return headers;
    },
    challenged: async (challenge) => auth.challenged?.(challenge) ?? "fail",
  };
  return recordLink(await createLink({ ...entry, target: { ...target, auth: heard } }, context), recorder);
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
        invalid: (why) => events.invalid(why),
        renewed: () => events.renewed?.(),
        interrupted: () => events.interrupted?.(),
        login: (isOpen) => events.login?.(isOpen),
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

/** Returns the same server, with all its messages recorded. */
export function recordEntry(entry: ServerEntry, context: CommandContext, recorder: Recorder): ServerEntry {
  return { ...entry, target: { open: () => recordedLink(entry, context, recorder) } };
}
