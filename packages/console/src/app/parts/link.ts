/** Longer addresses are not opened. */
const maxAddressChars = 8_192;

/** Returns the whole address if a text may link to it: the web and mail, and nothing that runs or reads files. */
export function safeAddress(href: string): string | undefined {
  if (href.length > maxAddressChars || !URL.canParse(href)) return undefined;
  const { protocol, href: whole } = new URL(href);
  return ["https:", "http:", "mailto:"].includes(protocol) ? whole : undefined;
}
