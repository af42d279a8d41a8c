import { StringDecoder } from "node:string_decoder";

/** Cuts bytes into lines, however they arrive. */
export class Lines {
  readonly #decoder = new StringDecoder("utf8");
  #partial: string[] = [];

  /** The lines that have ended. */
  read(chunk: string | Uint8Array): string[] {
    const text = typeof chunk === "string" ? chunk : this.#decoder.write(chunk);
    const [first = "", ...rest] = text.split("\n");
    this.#partial.push(first);
    return rest.map((next) => {
      const line = this.#partial.join("");
      this.#partial = [next];
      return line;
    });
  }
}
