/** A table in plain text; the words of a heading stand one below the other. */
export declare function toTable(heading: readonly string[], rows: readonly (readonly string[])[]): string;
