import { type Answers, type Client, type CommandTarget, type ConnectOptions, connect } from "portolan/client";
import type { HttpLink } from "portolan/client/http";
import type { Data } from "../../peers/clients/peer.d.mts";

/** How the user, the model and the host behind the client answer; may be changed between calls. */
export type Host = Required<Answers>;

/** Our client, connected to another implementation's server, and what it heard. */
export interface Peer {
  readonly client: Client;
  readonly host: Host;
  /** What the server asked, in order. */
  readonly asked: readonly { kind: keyof Answers; params: Data; context: Data }[];
  readonly logs: readonly Data[];
  readonly heard: readonly { method: string; params: Data }[];
  /** What the client found wrong without failing a call. */
  readonly errors: string[];
  readonly stderr: readonly string[];
  /** The session with the server, where it has them. */
  readonly sessionId: () => string | undefined;
  /** Resolves as soon as something that was recorded makes it true. */
  until(isSo: () => boolean): Promise<void>;
}

/** Neither is there, so that no server comes to anything in them. */
export const folders = [
  { uri: "file:///nowhere/ada", name: "ada" },
  { uri: "file:///nowhere/alan", name: "alan" },
];

/** A user who accepts everything, a model of few words, and a host with two folders. */
export function agreeable(): Host {
  return {
    elicit: () => ({ action: "accept", content: { name: "Ada" } }),
    openUrl: () => ({ action: "accept" }),
    sample: ({ messages }) => {
      const { content } = messages[0] as Data;
      return { role: "assistant", model: "tiny-1", content: { type: "text", text: `<${content.text}>` } };
    },
    roots: () => folders,
  };
}

export async function openPeer(target: CommandTarget | HttpLink, options: ConnectOptions = {}): Promise<Peer> {
  const { record, until } = createRecorder();
  const host = agreeable();
  const asked: { kind: keyof Answers; params: Data; context: Data }[] = [];
  const logs: Data[] = [];
  const heard: { method: string; params: Data }[] = [];
  const errors: string[] = [];
  const stderr: string[] = [];
  const ask = (kind: keyof Host) => (params: Data, context: Data) => {
    record(asked, { kind, params, context });
    return (host[kind] as Data)(params, context);
  };
  const answers: Answers = {
    elicit: ask("elicit"),
    openUrl: ask("openUrl"),
    sample: ask("sample"),
    roots: (context) => {
      record(asked, { kind: "roots", params: undefined, context });
      return typeof host.roots === "function" ? host.roots(context) : host.roots;
    },
  };
  const client = await connect("command" in target ? { ...target, onStderr: (line) => record(stderr, line) } : target, {
    info: { name: "interop", version: "1.0.0" },
    answers,
    onLog: (message) => record(logs, message),
    onNotification: (method, params) => record(heard, { method, params }),
    onError: (error) => record(errors, error.message),
    ...options,
  });
  const sessionId = () => ("sessionId" in target ? target.sessionId : undefined);
  return { client, host, asked, logs, heard, errors, stderr, sessionId, until };
}

function createRecorder() {
  const waiting = new Set<() => void>();
  return {
    record<T>(list: T[], value: T): void {
      list.push(value);
      for (const look of [...waiting]) look();
    },
    until: (isSo: () => boolean) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (!isSo()) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}
