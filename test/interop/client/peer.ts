import { type Answers, type Client, type CommandTarget, type ConnectOptions, connect } from "portolan/client";
import type { HttpLink } from "portolan/client/http";
import type { Data } from "../../peers/clients/peer.d.mts";

/** The answers of the user, the model and the host behind the client; a test may change them between calls. */
export type Host = Required<Answers>;

/** Our client, connected to another implementation's server, with a record of what it received. */
export interface Peer {
  readonly client: Client;
  readonly host: Host;
  /** Questions of the server, in order. */
  readonly asked: readonly { kind: keyof Answers; params: Data; context: Data }[];
  readonly logs: readonly Data[];
  readonly heard: readonly { method: string; params: Data }[];
  /** Errors that the client reported without failing a call. */
  readonly errors: string[];
  readonly stderr: readonly string[];
  /** The session id, if the server has sessions. */
  readonly sessionId: () => string | undefined;
  /** Resolves as soon as a recorded event makes the condition true. */
  until(isSo: () => boolean): Promise<void>;
}

/** Roots that do not exist, so that no server finds files in them. */
export const folders = [
  { uri: "file:///nowhere/ada", name: "ada" },
  { uri: "file:///nowhere/alan", name: "alan" },
];

/** Returns answers that accept everything, echo every prompt and list two roots. */
export function defaultAnswers(): Host {
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
  const host = defaultAnswers();
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
