import { maxBlankRun, maxInspectedChars } from "../limits.ts";
import { display } from "./escape.ts";

/** The kind of a finding. */
export type SuspicionKind =
  | "hidden-characters"
  | "secrecy"
  | "override"
  | "markup"
  | "other-tool"
  | "secret-place"
  | "sends-away"
  | "encoded"
  | "padding";

/** A place in a text that a person should read before trusting it. */
export interface SuspiciousText {
  readonly kind: SuspicionKind;
  /** Position in characters. */
  readonly at: number;
  /** The text at this place, escaped. */
  readonly excerpt: string;
  readonly why: string;
}

/** Options of `findSuspicious`. */
export interface SuspicionOptions {
  /** Names of tools that this text has no reason to mention, such as those of other servers. */
  readonly otherTools?: Iterable<string>;
}

/**
 * Finds the usual forms of instructions for a model that its user should not see. A text without findings may still be
 * hostile, and one with findings may be honest.
 */
export function findSuspicious(text: string, options: SuspicionOptions = {}): SuspiciousText[] {
  // No honest description is longer; the user sees the rest as well.
  const inspected = text.slice(0, maxInspectedChars);
  const plain = inspected
    .normalize("NFKC")
    .replace(/[\p{DI}\p{Cf}]/gu, "")
    // Adjacent patterns of blanks would take quadratic time for a long gap.
    .replace(longGap, (gap) => gap.slice(0, maxBlankRun));
  const findings: SuspiciousText[] = [];
  for (const { kind, why, pattern, raw } of shapes) {
    const place = (raw === true ? inspected : plain).match(pattern);
    if (place) findings.push(toFinding(kind, why, place.index ?? 0, place[0]));
  }
  for (const name of options.otherTools ?? []) {
    const at = findWord(plain, name);
    if (at !== -1) findings.push(toFinding("other-tool", "It mentions a tool of another server.", at, name));
  }
  return findings.sort((a, b) => a.at - b.at);
}
const longGap = new RegExp(String.raw`\s{${maxBlankRun + 1},}`, "g");

interface Shape {
  readonly kind: SuspicionKind;
  readonly why: string;
  /** Without nested repetition, so that it takes linear time. */
  readonly pattern: RegExp;
  /** Applied before invisible characters are removed. */
  readonly raw?: boolean;
}

const user = String.raw`(?:the\s+|this\s+|your\s+)?(?:user|human|person|operator|customer|client|them|him|her|anyone|anybody)`;
const not = String.raw`(?:do\s+not|don['’]?t|never|must\s+not|should\s+not|shouldn['’]?t|without|avoid|no\s+need\s+to|refrain\s+from)`;
const tell = `(?:tell(?:ing)?|mention(?:ing)?|inform(?:ing)?|notify(?:ing)?|reveal(?:ing)?|show(?:ing)?|disclos(?:e|ing)|explain(?:ing)?|ask(?:ing)?|alert(?:ing)?|report(?:ing)?|warn(?:ing)?)`;
const before = `(?:previous|prior|earlier|above|preceding|other|existing|all)`;
const orders = `(?:instructions?|rules?|guidelines?|directions?|prompts?|polic(?:y|ies)|messages?|safety|restrictions?)`;

const shapes: readonly Shape[] = [
  {
    kind: "hidden-characters",
    why: "It contains invisible characters.",
    pattern:
      /[\u200b\u2060-\u2064\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e0fff}\u00ad\u180e\ufeff\u061c\u200e\u200f\u115f\u1160\u3164]|[\ufe00-\ufe0e]|\p{Cs}|\p{Co}|(?![\n\r\t])\p{Cc}|\ufe0f{2}/u,
    raw: true,
  },
  {
    kind: "secrecy",
    why: "It asks to keep something secret from the user.",
    pattern: new RegExp(String.raw`\b${not}\s+(?:\w+\s+){0,2}?${tell}\s+(?:\w+\s+){0,3}?(?:to\s+)?${user}\b`, "i"),
  },
  {
    kind: "secrecy",
    why: "It asks to keep something secret from the user.",
    pattern:
      /\b(?:(?:keep|hide|conceal)\s+(?:\w+\s+){0,4}?(?:secret|hidden|confidential|private|from\s+(?:the\s+)?(?:user|human|person))|(?:silently|secretly|quietly|covertly|discreetly)\s+(?!ignor|skip|discard|drop|fail|truncat|omit)\w+|user\s+(?:must|should|does|need|will)\s*(?:not|n['’]t|never)\s+(?:know|see|notice|be\s+(?:told|aware|informed))|confidential\s+to\s+the\s+(?:model|assistant|agent))/i,
  },
  {
    kind: "override",
    why: "It asks to ignore other instructions.",
    pattern: new RegExp(
      String.raw`\b(?:ignore|disregard|forget|override|bypass|supersede|set\s+aside)s?\s+(?:\w+\s+){0,3}?${before}?\s*(?:\w+\s+){0,2}?${orders}\b`,
      "i",
    ),
  },
  {
    kind: "override",
    why: "It gives the model instructions that go beyond this tool.",
    pattern:
      /\b(?:before\s+(?:using|calling|invoking|running|you\s+(?:use|call|invoke|run))\s+(?:any|this|the|other|another|every)\s+(?:\w+\s+)?tools?|(?:you\s+are\s+now|from\s+now\s+on,?\s+you|new\s+(?:system\s+)?instructions?\s*:|system\s+(?:prompt|override|message)\s*:)|(?:otherwise|or\s+else)[,\s]+(?:\w+\s+){0,4}?(?:will\s+(?:fail|not\s+work|crash|break|be\s+(?:deleted|lost|terminated|fired)))|(?:whenever|every\s+time|each\s+time)\s+(?:\w+\s+){0,5}?(?:tool|message|e-?mail|payment|command|file)s?\s+(?:\w+\s+){0,4}?(?:is|are|must|should)\s+(?:\w+\s+)?(?:also|first|instead|always)|(?:instead\s+of|rather\s+than)\s+(?:calling|using|the\s+(?:tool|recipient|address|number))\b)/i,
  },
  {
    kind: "markup",
    why: "It imitates the markup of system messages.",
    pattern:
      /<\/?\s*(?:important|system|instructions?|secret|critical|assistant|human|admin|override|hidden|sudo|mandatory|note[\s_-]?to[\s_-]?(?:ai|model|assistant))\b[^<>]{0,40}>|\[\/?(?:INST|SYSTEM|IMPORTANT)\]|<\|[a-z_]{2,30}\|>|<!--|^\s{0,8}#{1,6}\s*(?:system|instructions?\s+for\s+(?:the\s+)?(?:ai|model|assistant))\b|^\s{0,8}(?:system|assistant|human)\s*:/im,
  },
  {
    kind: "secret-place",
    why: "It names a place where secrets are stored.",
    pattern:
      /~?\/?\.ssh\b|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|\.aws\/credentials|\.(?:cursor|vscode|claude)\/mcp\.json|\.mcp\.json|claude_desktop_config|\.kube\/config|\.netrc\b|\.npmrc\b|\.git-credentials|\/etc\/(?:passwd|shadow)\b|\.gnupg\b|(?:^|[\s"'`(/])\.env\b|\bwallet\.dat\b|\.docker\/config\.json|(?:contents?|values?|dump)\s+of\s+(?:\w+\s+){0,3}?environment\s+variables|(?:your|the)\s+(?:system\s+prompt|conversation\s+history|chat\s+history|previous\s+messages)/i,
  },
  {
    kind: "sends-away",
    why: "It asks to send data elsewhere.",
    pattern:
      /\b(?:send|post|forward|upload|exfiltrate|transmit|leak|copy|bcc|cc|append|include|pass|attach|put|add|encode)\b[^.\n]{0,120}?(?:\bto\s+(?:https?:\/\/|[\w.+-]{1,64}@[\w-]{1,64}\.|\+\d{6})|\b(?:as|in|into|to)\s+(?:the\s+|a\s+)?['"`]?(?:sidenote|side_note|notes?|context|metadata|feedback|debug|extra|comment)['"`]?\s+(?:parameter|argument|field|property)|\b(?:as|in)\s+(?:a\s+)?(?:query|url)\s+(?:parameter|string))/i,
  },
  {
    kind: "encoded",
    why: "It contains a long encoded text.",
    pattern:
      /(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{120,}={0,2}|(?<![0-9a-f])(?:[0-9a-f]{2}[\s:]?){80,}|(?:\\x[0-9a-f]{2}){12,}|(?:%[0-9a-f]{2}){20,}/i,
  },
  {
    kind: "padding",
    why: "A long gap hides the rest.",
    pattern: /[ \t\u00a0\u2000-\u200a\u3000]{60,}|(?:\r?\n[ \t]?){20,}/,
    raw: true,
  },
];

function toFinding(kind: SuspicionKind, why: string, at: number, found: string): SuspiciousText {
  return { kind, at, excerpt: display(found, { maxChars: 120 }), why };
}

/** Finds a name as a whole word. Short names are ignored, because they are ordinary words. */
function findWord(text: string, name: string): number {
  if (name.length < 5 || !/[\W_]|[a-z][A-Z]/.test(name)) return -1;
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + name.length)) {
    const isAlone = !/[\w-]/.test(text[at - 1] ?? " ") && !/[\w-]/.test(text[at + name.length] ?? " ");
    if (isAlone) return at;
  }
  return -1;
}

/** Letters of other scripts by the Latin letter that they look like, in lower case; without those that NFKC folds. */
const looksLike: { readonly [latin: string]: string } = {
  a: "аαɑạąǎ⍺",
  b: "ЬьвƄβ",
  c: "сϲςⅽᴄ",
  d: "ԁɗđ",
  e: "еєҽεəɛ℮",
  f: "ƒғϝẝ",
  g: "ɡցǥɢ",
  h: "һհнħ",
  i: "іɩιıɪӏ1l|ǀوӀǃ!",
  j: "јϳʝ",
  k: "кκĸқ",
  m: "мṃʍ",
  n: "пηոռɴ",
  o: "оοσօ0ø๐੦౦೦൦०০໐ଠഠө",
  p: "рρϸƿþ",
  q: "ԛգ",
  r: "гɾʀɼ",
  s: "ѕʂꜱƽ",
  t: "тτƭŧ",
  u: "υսʋцᴜ",
  v: "ѵνᴠ",
  w: "ԝωшɯѡᴡ",
  x: "хχ×ҳ",
  y: "уүγʏყ",
  z: "ᴢʐƶ",
  "-": "‐‑‒–—―−﹣",
  ".": "․‧·。｡",
  "/": "⁄∕╱⧸",
};

const latinOf = new Map(
  Object.entries(looksLike).flatMap(([latin, others]) => [...others].map((other) => [other, latin] as const)),
);
/** Characters that are confused with each other; equal only where names are compared. */
const alike = new Map<string, string>([
  ["l", "i"],
  ["1", "i"],
  ["|", "i"],
  ["!", "i"],
  ["0", "o"],
]);

/** Replaces look-alike letters by Latin ones; digits and letters stay different. */
export function toLatin(name: string): string {
  let text = "";
  for (const sign of bare(name)) text += sign >= "!" && sign <= "~" ? sign : (latinOf.get(sign) ?? sign);
  return text;
}

/** Returns the same text for all names that a person may confuse. */
export function skeletonOf(name: string): string {
  let text = "";
  for (const sign of toLatin(name)) text += alike.get(sign) ?? sign;
  return text
    .replaceAll("rn", "m")
    .replaceAll("vv", "w")
    .replace(/[\s._-]+/g, "_");
}

/** Folds compatibility forms, removes marks and invisible characters, and converts to lower case. */
export function bare(name: string): string {
  // Folded first, because some capitals have a small form only afterwards.
  return name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[\p{M}\p{DI}\p{Cf}\p{Cc}]+/gu, "");
}

/** Returns the first other name that this one may be confused with. An equal name is ignored. */
export function lookalike(name: string, others: Iterable<string>): string | undefined {
  const skeleton = skeletonOf(name);
  for (const other of others) {
    if (other !== name && skeletonOf(other) === skeleton) return other;
  }
  return undefined;
}
