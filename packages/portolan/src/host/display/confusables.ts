/** Letters of other scripts by the Latin one that they look like, in lower case; what NFKC folds is not repeated here. */
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
/** Between themselves these are told apart by context at best, so they stand for one another only where names are compared. */
const alike = new Map<string, string>([
  ["l", "i"],
  ["1", "i"],
  ["|", "i"],
  ["!", "i"],
  ["0", "o"],
]);

/** A name in the Latin letters that it seems to be written in; digits and letters stay apart. */
export function toLatin(name: string): string {
  let text = "";
  for (const sign of bare(name)) text += sign >= "!" && sign <= "~" ? sign : (latinOf.get(sign) ?? sign);
  return text;
}

/** The same for all names that a person may take for one another. */
export function skeletonOf(name: string): string {
  let text = "";
  for (const sign of toLatin(name)) text += alike.get(sign) ?? sign;
  return text
    .replaceAll("rn", "m")
    .replaceAll("vv", "w")
    .replace(/[\s._-]+/g, "_");
}

/** Compatibility forms folded, marks and all that is invisible taken away, lower case. */
export function bare(name: string): string {
  // Folded first: some capitals have no small form before they are.
  return name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[\p{M}\p{DI}\p{Cf}\p{Cc}]+/gu, "");
}
