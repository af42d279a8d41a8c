import type { Client } from "../client/api.ts";
import { connect } from "../client/connect.ts";
import type { Answers, ConnectOptions } from "../client/options.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import { createMemoryPair } from "../jsonrpc/memory.ts";
import { type ServeChannelOptions, type ServedChannel, serveChannel } from "../server/channel/serve-channel.ts";
import type { Servable } from "../server/define/server.ts";
import { type ScriptedAnswer, scriptedAnswers } from "./scripted.ts";
import { recordChannel, type Transcript } from "./transcript.ts";

export interface ConnectInMemoryOptions extends Omit<ConnectOptions, "answers"> {
  /** The protocol version to speak; the newest that the server knows unless said otherwise. */
  readonly revision?: string;
  /** How questions are answered, or what is answered, in order. */
  readonly answers?: Answers | readonly ScriptedAnswer[];
  /** How the server is served, such as for whom. */
  readonly serve?: ServeChannelOptions;
  /** Puts something into the client's end of the wire, such as faults. */
  readonly through?: (channel: Channel) => Channel;
}

/** A client, what was said, and the server's side of it; `close` ends both. */
export interface TestClient<S = unknown> extends Client<S> {
  /** Everything that the client sent and received. */
  readonly transcript: Transcript;
  readonly serving: ServedChannel;
}

/** Serves a server to a client in this process; every message makes the trip through its JSON text. */
export async function connectInMemory<S extends Servable>(
  server: S,
  options: ConnectInMemoryOptions = {},
): Promise<TestClient<S>> {
  const { revision, answers, serve, through = (channel) => channel, ...rest } = options;
  const [near, far] = createMemoryPair({ serialize: true });
  const serving = serveChannel(server, far, serve);
  const [recorded, transcript] = recordChannel(through(near));
  try {
    const client = await connect<S>(recorded, {
      ...rest,
      ...(revision !== undefined && { era: revision }),
      ...(answers && { answers: isScript(answers) ? scriptedAnswers(...answers) : answers }),
    });
    return withServer(client, transcript, serving);
  } catch (reason) {
    await serving.close();
    throw reason;
  }
}

function isScript(answers: Answers | readonly ScriptedAnswer[]): answers is readonly ScriptedAnswer[] {
  return Array.isArray(answers);
}

function withServer<S>(client: Client<S>, transcript: Transcript, serving: ServedChannel): TestClient<S> {
  const closeClient = client.close.bind(client);
  const close = async () => {
    await closeClient();
    await serving.close();
  };
  return Object.assign(client, { transcript, serving, close, [Symbol.asyncDispose]: close });
}
