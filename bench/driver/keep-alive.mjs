import { once } from "node:events";
import { connect } from "node:net";

const HEAD_END = "\r\n\r\n";
const LAST_CHUNK = Buffer.from("\r\n0\r\n\r\n");

/**
 * A received answer: the head as text, the body as raw bytes.
 * @typedef {{ status: number, head: string, pieces: Buffer[], bodyStart: number }} Answer
 */

/**
 * One keep-alive connection with one request at a time and a minimal parser: it reads only as much of an answer as it needs
 * to find its end, so that creating the load is cheaper than serving it.
 */
export class Connection {
  #socket;
  #done;
  #pieces = [];
  #bytes = 0;
  #head = "";
  #bodyStart = 0;
  /** The end of the body in bytes; unknown for a chunked body, which ends with its last chunk. */
  #end;

  static async open({ hostname, port }) {
    const socket = connect(Number(port), hostname);
    socket.setNoDelay(true);
    await once(socket, "connect");
    return new Connection(socket);
  }

  constructor(socket) {
    this.#socket = socket;
    socket.on("data", (chunk) => this.#read(chunk));
    socket.on("error", () => {});
    socket.on("close", () => this.#settle(new Error("the connection was closed")));
  }

  /**
   * @param {string} text a whole request in ASCII
   * @param {(error: Error | undefined, answer?: Answer) => void} done
   */
  send(text, done) {
    this.#done = done;
    this.#socket.write(text, "latin1");
  }

  /** @returns {Promise<Answer>} */
  exchange(text) {
    return new Promise((resolve, reject) => {
      this.send(text, (error, answer) => (error ? reject(error) : resolve(answer)));
    });
  }

  /** Resolves with the head of an open-ended answer; the rest is discarded. */
  async begin(text) {
    this.#socket.removeAllListeners("data");
    this.#socket.write(text, "latin1");
    let head = "";
    for (; !head.includes(HEAD_END); ) head += String((await once(this.#socket, "data"))[0]);
    this.#socket.resume();
    return { status: statusOf(head), head };
  }

  async close() {
    this.#done = undefined;
    if (this.#socket.destroyed) return;
    const closed = once(this.#socket, "close");
    this.#socket.destroy();
    await closed;
  }

  #read(chunk) {
    if (this.#head !== "") {
      this.#pieces.push(chunk);
      this.#bytes += chunk.length;
    } else if (!this.#readHead(chunk)) return;
    if (this.#end === undefined ? !this.#hasLastChunk() : this.#bytes < this.#end) return;
    const answer = { status: statusOf(this.#head), head: this.#head, pieces: this.#pieces, bodyStart: this.#bodyStart };
    this.#pieces = [];
    this.#head = "";
    this.#settle(undefined, answer);
  }

  #readHead(chunk) {
    const whole = this.#pieces.length > 0 ? Buffer.concat([...this.#pieces, chunk]) : chunk;
    this.#pieces = [whole];
    this.#bytes = whole.length;
    const end = whole.indexOf(HEAD_END);
    if (end === -1) return false;
    this.#head = whole.latin1Slice(0, end + 2);
    this.#bodyStart = end + HEAD_END.length;
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(this.#head);
    if (length) this.#end = this.#bodyStart + Number(length[1]);
    else this.#end = /\r\ntransfer-encoding: chunked\r\n/i.test(this.#head) ? undefined : 0;
    return true;
  }

  #hasLastChunk() {
    const last = this.#pieces.at(-1);
    const tail = last.length < LAST_CHUNK.length ? Buffer.concat(this.#pieces.slice(-LAST_CHUNK.length)) : last;
    return tail.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK);
  }

  #settle(error, answer) {
    const done = this.#done;
    this.#done = undefined;
    done?.(error, answer);
  }
}

const statusOf = (head) => Number(head.slice(9, 12));

export const headerOf = ({ head }, name) => new RegExp(`\r\n${name}: ([^\r\n]*)`, "i").exec(head)?.[1];

export const isStream = (answer) => headerOf(answer, "content-type")?.startsWith("text/event-stream") === true;

/** The JSON-RPC messages in an answer, of one kind or the other. */
export function messagesOf(answer) {
  const body = Buffer.concat(answer.pieces).subarray(answer.bodyStart);
  const text = String(headerOf(answer, "transfer-encoding") === "chunked" ? withoutChunks(body) : body);
  if (!isStream(answer)) return text === "" ? [] : [JSON.parse(text)];
  const data = text.split(/\r?\n/).filter((line) => line.startsWith("data:") && line.trim() !== "data:");
  return data.map((line) => JSON.parse(line.slice(5)));
}

function withoutChunks(body) {
  const parts = [];
  for (let at = 0; ; ) {
    const lineEnd = body.indexOf("\r\n", at);
    const size = Number.parseInt(body.latin1Slice(at, lineEnd), 16);
    if (size === 0) return Buffer.concat(parts);
    parts.push(body.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
