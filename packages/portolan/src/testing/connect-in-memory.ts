import type { Client } from "../client/api.ts";
import { connect } from "../client/connect.ts";
import type { Answers, ConnectOptions } from "../client/options.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import { createMemoryPair } from "../jsonrpc/memory.ts";
import { type ServeChannelOptions, type ServedChannel, serveChannel } from "../server/channel/serve-channel.ts";
import type { Servable } from "../server/define/server.ts";
import { type ScriptedAnswer, scriptedAnswers } from "./scripted.ts";
import { recordChannel, type Transcript } from "./transcript.ts";

/** Options of `connectInMemory`, besides those of `connect`. */
export interface ConnectInMemoryOptions extends Omit<ConnectOptions, "answers"> {
  /** The protocol version. Default: the newest that both support. */
  readonly revision?: string;
  /** Answer handlers, or the answers to give in this order. */
  readonly answers?: Answers | readonly ScriptedAnswer[];
  /** Options of the server's side, such as the principal. */
  readonly serve?: ServeChannelOptions;
  /** Wraps the client's channel, for example with `faulty`. */
  readonly through?: (channel: Channel) => Channel;
}

/** A client with the transcript and the server's side. `close` ends both. */
export interface TestClient<S = unknown> extends Client<S> {
  /** All messages that the client sent and received. */
  readonly transcript: Transcript;
  /** The server's side of the connection. */
  readonly serving: ServedChannel;
}

/**
 * Connects a client to a server in this process. Every message is serialized and parsed. Rejects if a feature of the server
 * is invalid.
 */
export async function connectInMemory<S extends Servable>(
  server: S,
  options: ConnectInMemoryOptions = {},
): Promise<TestClient<S>> {
  const { revision, answers, serve, through = (channel) => channel, ...rest } = options;
  const [near, far] = createMemoryPair({ serialize: true });
  const serving = serveChannel(server, far, serve);
  const [recorded, transcript] = recordChannel(through(near));
  try {
    await serving.ready;
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
