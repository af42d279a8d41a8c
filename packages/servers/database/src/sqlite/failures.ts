import { ToolError } from "portolan/server";

/** What the model can do about what SQLite says; its words stay the same, and not every failure has a code. */
const advice: readonly (readonly [said: RegExp, advice: string])[] = [
  [/^no such table/, "the tool tables lists what there is"],
  [/^no such column|has no column named/, "the tool describe lists the columns of a table"],
  [
    /not authorized|authorization denied/,
    "this is not allowed here: query only reads, execute (with --write) only changes, and neither leaves the database",
  ],
  [/constraint failed/, "nothing was changed; correct the values"],
  [/is locked/, "another program holds the database; try again"],
  [/readonly database/, "the file may only be read: tell the user"],
  [/too big/, "a value would be too long; select less of it, with substr"],
  [/out of memory/, "it needed too much memory; select less"],
  [/malformed|not a database|disk image/, "the file is damaged, or no database: tell the user"],
  [/disk is full|disk I\/O|unable to open/, "tell the user"],
];

/** What the model is told of a failure. */
export function explain(message: string): ToolError {
  const more = advice.find(([said]) => said.test(message))?.[1];
  return new ToolError(more === undefined ? `SQLite: ${message}` : `SQLite: ${message}; ${more}`);
}
