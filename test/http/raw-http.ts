import { connect, type Socket } from "node:net";

/** One connection on which a test writes and reads raw bytes. */
export class RawHttp {
  readonly socket: Socket;
  /** Resolves when the connection is gone, with an error if it was reset. */
  readonly closed: Promise<Error | undefined>;
  received = "";

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      this.received += text;
    });
    this.closed = new Promise((resolve) => {
      let error: Error | undefined;
      socket.on("error", (reason) => {
        error = reason;
      });
      socket.on("close", () => resolve(error));
    });
  }

  static open(port: number): Promise<RawHttp> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true }, () => resolve(new RawHttp(socket)));
      socket.once("error", reject);
    });
  }

  write(...parts: (string | Uint8Array)[]): void {
    for (const part of parts) this.socket.write(part);
  }

  /** Resolves when the received text matches; rejects when the connection closes before. */
  until(pattern: RegExp): Promise<string> {
    return new Promise((resolve, reject) => {
      const done = (settle: () => void) => {
        this.socket.off("data", look).off("close", fail);
        settle();
      };
      const look = () => {
        if (pattern.test(this.received)) done(() => resolve(this.received));
      };
      const fail = () => done(() => reject(new Error(`closed after ${JSON.stringify(this.received)}`)));
      this.socket.on("data", look).on("close", fail);
      look();
    });
  }

  destroy(): void {
    this.socket.destroy();
  }
}

/** The text of a POST. */
export function post(path: string, body: string, headers = ""): string {
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`;
}
