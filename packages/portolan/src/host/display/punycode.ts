const base = 36;
const [tMin, tMax, skew, damp, firstBias, firstCode] = [1, 26, 38, 700, 72, 128];

/** A host with its `xn--` labels as the signs that they stand for; a label that cannot be read stays as it is. */
export function toUnicodeHost(host: string): string {
  return host
    .split(".")
    .map((label) => (label.startsWith("xn--") ? (decode(label.slice(4)) ?? label) : label))
    .join(".");
}

/** RFC 3492. A host is at most 253 characters, so inserting in the middle costs nothing. */
function decode(label: string): string | undefined {
  if (label === "") return undefined;
  const cut = label.lastIndexOf("-");
  const signs = cut > 0 ? [...label.slice(0, cut)].map((sign) => sign.charCodeAt(0)) : [];
  let code = firstCode;
  let bias = firstBias;
  let place = 0;
  for (let at = cut > 0 ? cut + 1 : 0; at < label.length; ) {
    const before = place;
    let weight = 1;
    for (let k = base; ; k += base) {
      const digit = digitOf(label.charCodeAt(at));
      at += 1;
      if (digit === undefined) return undefined;
      place += digit * weight;
      const threshold = Math.min(Math.max(k - bias, tMin), tMax);
      if (digit < threshold) break;
      weight *= base - threshold;
    }
    const count = signs.length + 1;
    bias = adapt(place - before, count, before === 0);
    code += Math.floor(place / count);
    if (!(code <= 0x10ffff)) return undefined;
    place %= count;
    signs.splice(place, 0, code);
    place += 1;
  }
  return String.fromCodePoint(...signs);
}

function digitOf(code: number): number | undefined {
  if (code >= 0x61 && code <= 0x7a) return code - 0x61;
  if (code >= 0x30 && code <= 0x39) return code - 0x30 + 26;
  return undefined;
}

function adapt(distance: number, count: number, isFirst: boolean): number {
  let delta = Math.floor(distance / (isFirst ? damp : 2));
  delta += Math.floor(delta / count);
  let k = 0;
  for (; delta > ((base - tMin) * tMax) >> 1; k += base) delta = Math.floor(delta / (base - tMin));
  return k + Math.floor(((base - tMin + 1) * delta) / (delta + skew));
}
