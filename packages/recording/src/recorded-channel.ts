import { type Channel, createMemoryPair } from "portolan";
import { RecordedServer } from "./recorded-server.ts";
import type { Recording } from "./recording.ts";

/** Returns a channel to a server that answers from a recording, in this process. */
export function openRecordedServer(recording: Recording): Channel {
  const [near, far] = createMemoryPair();
  const server = new RecordedServer(recording, (text) => void far.send({ messageText: text }));
  far.open({
    message: (message) => server.receive(message),
    batch(messages) {
      for (const message of messages) server.receive(message);
    },
    unreadable() {},
    closed() {},
  });
  return near;
}
