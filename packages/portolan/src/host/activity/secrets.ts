/**
 * One look for anything that the patterns below could find; grouped by first letters, which is twice as fast. What each
 * begins with stands in secret-scan.ts, too.
 */
export const anySign: RegExp =
  /a(?:uth|kia|sia|iza)|b(?:earer|asic )|c(?:ookie|redential)|dpop |eyj|g(?:h[pousr]_|ithub_pat_|lpat-)|jwt|key|n(?:pm_|egotiate )|p(?:ass|wd|in")|rk_|s(?:ecret|essi|k[-_])|token|xox[abeprs]-|-----begin|:\/\/[^/\s"@]*@|assertion|[?&;](?:code|sig|auth|x-amz)/i;

/** Whether a text may hold a secret; quick, and sometimes wrongly true. */
export function mayHoldSecret(text: string): boolean {
  return anySign.test(text);
}

const secretName =
  /(?:^|[^a-z])(?:pwd|pass|pin|jwt|auth|bearer)$|(?:token|(?:authorization|password|passwd|passphrase|passcode|secret|apikey|accesskey|secretkey|privatekey|signingkey|credential|cookie|sessionid|clientassertion)s?)$/;
/** What names of secrets go on with: `passwordConfirmation`, `password2`, `token_value`. */
const nameEnd = /[-_.\s]?(?:value|string|text|pem|confirm(?:ation|ed)?|again|repeat(?:ed)?|\d{1,2})$/;
/** Tokens that open nothing. */
const harmlessName = /(?:progress|page|continuation|cancel|sync|next|max|stop|per)[-_.]?token$/i;

/** Whether what stands under this name is a secret. */
export function hasSecretName(name: string): boolean {
  if (name.length > 200 || !mayBeSecretName.test(name) || harmlessName.test(name)) return false;
  const words = name
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(nameEnd, "");
  return secretName.test(words) || secretName.test(words.replace(/[-_.\s]/g, ""));
}

const mayBeSecretName = /auth|pass|pwd|pin|jwt|secret|token|key|credential|cookie|session|assertion|bearer/i;

/** Whether the next item of a list is a secret: behind a flag of a command, or behind the name of a header. */
export function isSecretFlag(item: unknown): boolean {
  return typeof item === "string" && (/^--?[a-z]/i.test(item) || headerName.test(item)) && hasSecretName(item);
}

const headerName = /^(?:(?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]{1,60})$/i;

const word = String.raw`[\w.-]`;
const named = `(?:password|passwd|passphrase|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|client[-_]?assertion)`;

/** Each begins where a word does and repeats nothing within a repetition, so that a long text takes its length in time. */
const shapes: readonly { readonly pattern: RegExp; readonly instead: (mark: string) => string }[] = [
  {
    pattern: /-----BEGIN [A-Z\d ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z\d ]{0,40}PRIVATE KEY-----|$)/g,
    instead: (mark) => mark,
  },
  { pattern: /(?<![\w-])(Bearer|Basic|DPoP|Negotiate)\s{1,8}[\w.~+/-]{6,}=*/gi, instead: (mark) => `$1 ${mark}` },
  { pattern: /(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*){1,3}/g, instead: (mark) => mark },
  {
    pattern:
      /(?<![A-Za-z\d])(?:sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|xox[abeprs]-[\w-]{10,}|A(?:KIA|SIA)[A-Z\d]{16}|AIza[\w-]{30,}|glpat-[\w-]{16,}|npm_\w{20,}|[sr]k_(?:live|test)_\w{10,})/g,
    instead: (mark) => mark,
  },
  { pattern: /([a-z][a-z\d+.-]{0,20}:\/\/)[^\s/@"?#]{1,1024}@/gi, instead: (mark) => `$1${mark}@` },
  {
    pattern: new RegExp(
      String.raw`([?&;](?:[\w.-]{0,40}?(?:${named}|jwt)|code|key|sig|signature|auth|x-amz-[a-z-]{0,40})=)[^&#\s"'<>]{1,4096}`,
      "gi",
    ),
    instead: (mark) => `$1${mark}`,
  },
  // In quotes, to the one that ends it: in JSON within JSON each has backslashes of its own.
  {
    pattern: new RegExp(
      String.raw`(?<!${word})(${word}{0,64}?${named}\\{0,15}["']?\s{0,3}[=:]\s{0,3}(\\{0,15}["']))(?!\[redacted\])(?:(?!(?<!\\)\2)[\s\S]){1,65536}`,
      "gi",
    ),
    instead: (mark) => `$1${mark}`,
  },
  {
    pattern: new RegExp(
      String.raw`(?<![\w-])(--[\w-]{0,40}?(?:${named}|pass)\s{1,3})(?![-<[])(?:"[^"]{1,4096}"?|'[^']{1,4096}'?|[^\s"']{1,4096})`,
      "gi",
    ),
    instead: (mark) => `$1${mark}`,
  },
  {
    pattern: new RegExp(
      String.raw`(?<!${word})(${word}{0,64}?${named}["']?\s{0,3}[=:]\s{0,3}["']?)(?!\[redacted\])[^\s"'&,;]{1,4096}`,
      "gi",
    ),
    instead: (mark) => `$1${mark}`,
  },
  { pattern: /((?:set-)?cookie["']?\s{0,3}:\s{0,3})[^\r\n"]{1,8192}/gi, instead: (mark) => `$1${mark}` },
  { pattern: /(authorization["']?\s{0,3}:\s{0,3})(?!\[)[^\r\n",}]{1,8192}/gi, instead: (mark) => `$1${mark}` },
];

/** A text with all that looks like a secret replaced. */
export function replaceSecrets(text: string, mark: string): string {
  let left = text;
  for (const { pattern, instead } of shapes) left = left.replace(pattern, instead(mark));
  return left;
}
