import { ToolError } from "portolan/server";

/** An error as the server sends it. */
interface ServerError {
  readonly code?: string;
  readonly message: string;
  readonly hint?: string;
  readonly detail?: string;
}

/** What the model can do about errors of a code or of a class of codes. */
const advice: { readonly [code: string]: string } = {
  "25006": "query only reads; changes need the tool execute, which the server has with --write",
  "42P01": "the tool tables lists what there is",
  "42703": "the tool describe lists the columns of a table",
  "42501": "the role of this server may not do it; use other tables",
  "42601": "give one statement; query takes SELECT, VALUES, TABLE or WITH",
  "55P03": "another session holds a lock; try again",
  "40P01": "nothing was changed; try again",
  "40001": "nothing was changed; try again",
  "25001": "each statement runs in a transaction whose mode stays; what needs another one has to be run elsewhere",
  "23": "nothing was changed; correct the values",
  "53": "the database server is short of something; try again later",
  "57014": "somebody has cancelled it at the database",
  "57": "the database server is going down or cannot be reached; try again later",
};

/** What the model is told of a failure; undefined for what the server has not said. */
export function explain(reason: unknown, timeoutMs: number): ToolError | undefined {
  const { code, message, hint, detail } = reason as ServerError;
  // The same code stands for a time-out and for somebody who cancels it at the database.
  if (code === "57014" && !/user request/.test(message ?? "")) {
    const why = `The statement took longer than ${timeoutMs / 1000} s and was ended`;
    return new ToolError(`${why}; narrow it, or see with explain what it does`);
  }
  if (code === undefined || !/^[0-9A-Z]{5}$/.test(code)) return undefined;
  const more = [detail, hint, advice[code] ?? advice[code.slice(0, 2)]].filter(
    (one) => one !== undefined && one !== "",
  );
  return new ToolError([`PostgreSQL: ${message}`, ...more].join("; "));
}
