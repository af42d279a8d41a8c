import type { Remembering } from "../session.ts";
import type { LiveSession } from "./live-session.ts";
import type { Sessions } from "./sessions.ts";

/** What requests have remembered goes into the record of their session, and to the stream that tells of changes. */
export function remembering(
  sessions: Sessions,
  id: string,
  live: LiveSession,
  announce: () => Promise<void>,
): Remembering {
  return {
    async setLogLevel(logLevel) {
      live.standalone?.session.setLogLevel(logLevel);
      await sessions.change(id, () => ({ logLevel }));
      await announce();
    },
    async subscribe(uri, hold) {
      await live.standalone?.session.subscribe(uri, hold);
      await sessions.change(id, ({ uris }) => ({ uris: [...new Set([...uris, uri])] }));
      await announce();
    },
    async unsubscribe(uri) {
      live.standalone?.session.unsubscribe(uri);
      await sessions.change(id, ({ uris }) => ({ uris: uris.filter((other) => other !== uri) }));
      await announce();
    },
  };
}
