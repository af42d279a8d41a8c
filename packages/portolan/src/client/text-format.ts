import { nameOf } from "../errors.ts";

interface Format {
  readonly expected: string;
  readonly fits: (text: string) => boolean;
}

/** The formats that a text field of a form may ask for. */
const formats = new Map<unknown, Format>([
  ["email", { expected: "an email address", fits: (text) => /^[^\s@]+@[^\s@]+$/.test(text) }],
  ["uri", { expected: "an absolute URI", fits: (text) => /^[a-z][a-z\d+.-]*:\S+$/i.test(text) && URL.canParse(text) }],
  ["date", { expected: "a date such as 1999-12-31", fits: isDate }],
  ["date-time", { expected: "a time such as 1999-12-31T23:59:59Z", fits: isTime }],
]);

/** What is wrong with a text of a format; undefined when it fits or the format is not known. */
export function problemOfFormat(format: unknown, text: string): string | undefined {
  const known = formats.get(format);
  return known === undefined || known.fits(text) ? undefined : `expected ${known.expected}, got ${nameOf(text)}`;
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  // A day that its month does not have is read as one of the next month.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** RFC 3339: the offset is not optional, and a leap second is the 60th. */
function isTime(text: string): boolean {
  const [, date = "", hour, minute, second, offsetHour = 0, offsetMinute = 0] =
    /^(\d{4}-\d\d-\d\d)t(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|[+-](\d\d):(\d\d))$/i.exec(text) ?? [];
  return (
    isDate(date) &&
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) <= 60 &&
    Number(offsetHour) < 24 &&
    Number(offsetMinute) < 60
  );
}
