import type { Raw } from "../collector.ts";

/** The types that come up most; the others are looked up. */
export const knownTypes: { readonly [oid: number]: string } = {
  16: "boolean",
  17: "bytea",
  18: '"char"',
  19: "name",
  20: "bigint",
  21: "smallint",
  23: "integer",
  25: "text",
  26: "oid",
  114: "json",
  700: "real",
  701: "double precision",
  1042: "character",
  1043: "character varying",
  1082: "date",
  1083: "time without time zone",
  1114: "timestamp without time zone",
  1184: "timestamp with time zone",
  1186: "interval",
  1700: "numeric",
  2950: "uuid",
  3802: "jsonb",
};

/** A value out of the text that the server sends. What JSON cannot hold exactly stays the text. */
export function toRaw(text: string | null, oid: number): Raw {
  if (text === null) return null;
  switch (oid) {
    case 16:
      return text === "t";
    case 17:
      return Buffer.from(text.slice(2), "hex");
    case 20:
      return BigInt(text);
    case 21:
    case 23:
    case 26:
    case 700:
    case 701:
      return Number(text);
    default:
      return text;
  }
}
