import { expectRoom, type Remembering } from "../../channel/session.ts";
import type { LiveSessions } from "./live-sessions.ts";
import type { Sessions } from "./sessions.ts";

/** What requests have remembered goes into the record of their session, and to the stream that tells of changes. */
export function remembering(
  sessions: Sessions,
  id: string,
  live: LiveSessions,
  announce: () => Promise<void>,
): Remembering {
  return {
    async setLogLevel(logLevel) {
      live.get(id)?.standalone?.session.setLogLevel(logLevel);
      await sessions.change(id, () => ({ logLevel }));
      await announce();
    },
    async subscribe(uri, hold) {
      await live.get(id)?.standalone?.session.subscribe(uri, hold);
      await sessions.change(id, ({ uris }) => {
        if (uris.includes(uri)) return {};
        expectRoom(uris.length);
        return { uris: [...uris, uri] };
      });
      await announce();
    },
    async unsubscribe(uri) {
      live.get(id)?.standalone?.session.unsubscribe(uri);
      await sessions.change(id, ({ uris }) => ({ uris: uris.filter((other) => other !== uri) }));
      await announce();
    },
  };
}
