import { StringDecoder } from "node:string_decoder";

/** One event of a stream. */
export interface ServerEvent {
  readonly type: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** Reads server-sent events out of chunks, however they are cut. */
export class EventReader {
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";
  #type = "message";
  #data: string[] = [];
  #id: string | undefined;

  read(chunk: Buffer): ServerEvent[] {
    const lines = (this.#rest + this.#decoder.write(chunk)).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#line(line) ?? []);
  }

  #line(line: string): ServerEvent | undefined {
    if (line === "") return this.#dispatch();
    const [, name, value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === "event") this.#type = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id") this.#id = value;
    return undefined;
  }

  #dispatch(): ServerEvent | undefined {
    const event = { type: this.#type, data: this.#data.join("\n"), id: this.#id };
    const isEmpty = this.#data.length === 0;
    this.#type = "message";
    this.#data = [];
    return isEmpty ? undefined : event;
  }
}
