import { startWatchdog } from "portolan-server-kit/watchdog";

/** A converted page. */
export interface Converted {
  readonly title?: string;
  readonly markdown: string;
  readonly text: string;
  readonly links: readonly Link[];
}

export interface Link {
  readonly url: string;
  readonly text: string;
}

/** A page to convert. */
export interface Source {
  readonly html: string;
  readonly url: string;
}

/** A message of the program: the converted page, or the reason why there is none. */
export type ChildMessage = { readonly converted: Converted } | { readonly failed: string };

/** URL of this module, which also runs as a program: a page that exhausts a process ends only that process. */
export const file: string = import.meta.url;

/** Argument that marks a start as the program. */
export const marker = "portolan-fetch-convert";

/** Elements of the article; Readability refuses more. */
const maxElements = 50_000;
const maxTableCells = 100_000;
const maxLinks = 20;
/** Characters of a link's URL: as many as the tool accepts. */
const maxUrlLength = 4_000;
/** Memory of the whole process; its JavaScript heap has a smaller limit of its own. */
const maxMemoryMb = 512;
/** Elements without text for a reader. */
const noise = "script,style,noscript,template,iframe,object,embed,svg,canvas,form,button,input,select,textarea,dialog";
const surroundings = "nav,header,footer,aside";

async function convert({ html, url }: Source): Promise<Converted> {
  const [{ parseHTML }, { Readability }, { default: Turndown }] = await Promise.all([
    import("linkedom/worker"),
    import("@mozilla/readability"),
    import("turndown"),
  ]);
  const { document } = parseHTML(/<html[\s>]/i.test(html) ? html : `<!doctype html><html><body>${html}</body></html>`);
  for (const element of [...document.querySelectorAll(noise)]) element.remove();
  resolveAddresses(document, url);
  const title = document.title.trim();
  const whole = document.body.cloneNode(true) as HTMLElement;
  for (const element of [...whole.querySelectorAll(surroundings)]) element.remove();
  const article = new Readability(document, { maxElemsToParse: maxElements, serializer: (node) => node }).parse();
  const found = article?.content as HTMLElement | null | undefined;
  // An index page is not an article; Readability would leave too little of it.
  const content = found && isMost(found, whole) ? found : whole;
  const turndown = new Turndown({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-" });
  turndown.addRule("table", { filter: "table", replacement: (inside, node) => toTable(node as HTMLElement) ?? inside });
  const heading = article?.title?.trim() || title;
  const markdown = turndown.turndown(content).trim();
  const text = toText(content);
  // Relative links become longer: a small page with a long base URL could fill the memory of the server.
  if (markdown.length + text.length > maxLengthOf(html)) throw new Error("its converted form is too long");
  return { ...(heading !== "" && { title: heading.slice(0, 1_000) }), markdown, text, links: linksOf(content) };
}

/** Characters of a converted page, Markdown and text together. */
function maxLengthOf(html: string): number {
  return Math.max(2_000_000, html.length * 3);
}

function isMost(article: HTMLElement, whole: HTMLElement): boolean {
  const [part, all] = [article, whole].map((element) => (element.textContent ?? "").trim().length);
  return (part ?? 0) >= 500 || (part ?? 0) * 2 >= (all ?? 0);
}

/** Makes URLs absolute; removes those that a reader cannot visit. */
function resolveAddresses(document: Document, url: string): void {
  const given = document.querySelector("base[href]")?.getAttribute("href");
  const base = given && URL.canParse(given, url) ? new URL(given, url).href : url;
  for (const [selector, name] of [
    ["a[href]", "href"],
    ["img[src]", "src"],
  ] as const) {
    for (const element of [...document.querySelectorAll(selector)]) {
      const address = element.getAttribute(name) ?? "";
      const resolved = URL.canParse(address, base) ? new URL(address, base) : undefined;
      if (resolved && /^(https?|mailto):$/.test(resolved.protocol)) element.setAttribute(name, resolved.href);
      else element.removeAttribute(name);
    }
  }
}

function linksOf(content: HTMLElement): Link[] {
  const links = new Map<string, string>();
  for (const element of [...content.querySelectorAll("a[href]")]) {
    const [url = ""] = (element.getAttribute("href") ?? "").split("#", 1);
    const text = (element.textContent ?? "").replace(/\s+/g, " ").trim();
    const isUsable = /^https?:/.test(url) && url.length <= maxUrlLength;
    if (isUsable && text !== "" && !links.has(url)) links.set(url, text.slice(0, 200));
    if (links.size === maxLinks) break;
  }
  return [...links].map(([url, text]) => ({ url, text }));
}

const blocks = "p,div,li,h1,h2,h3,h4,h5,h6,tr,pre,blockquote,section,article,table,ul,ol,dt,dd,figure";

function toText(content: HTMLElement): string {
  const copy = content.cloneNode(true) as HTMLElement;
  for (const element of [...copy.querySelectorAll(blocks)]) element.append("\n");
  for (const element of [...copy.querySelectorAll("br")]) element.replaceWith("\n");
  const text = (copy.textContent ?? "").replace(/[^\S\n]+/g, " ").replace(/ ?\n ?/g, "\n");
  return text.replace(/\n{3,}/g, "\n\n").trim();
}

/** Converts a data table; undefined for a layout table. */
function toTable(table: HTMLElement): string | undefined {
  const rows = [...table.querySelectorAll("tr")].map((row) => [...row.querySelectorAll("th,td")].map(toCell));
  const width = rows.reduce((most, row) => Math.max(most, row.length), 0);
  if (rows.length < 2 || width < 2 || table.querySelector("table")) return undefined;
  // One long row in a long table would become a cell in every other row.
  if (rows.length * width > maxTableCells) return undefined;
  const lines = rows.map((row) => `| ${Array.from({ length: width }, (_, at) => row[at] ?? "").join(" | ")} |`);
  lines.splice(1, 0, `|${" --- |".repeat(width)}`);
  return `\n\n${lines.join("\n")}\n\n`;
}

function toCell(cell: Element): string {
  return (cell.textContent ?? "").replace(/\s+/g, " ").trim().replaceAll("|", "\\|");
}

if (process.argv[2] === marker && process.send !== undefined) {
  startWatchdog({ maxMemoryMb });
  process.once("message", async (source: Source) => {
    const say = (said: ChildMessage) => process.send?.(said);
    try {
      say({ converted: await convert(source) });
    } catch (reason) {
      say({ failed: String((reason as Error).message).slice(0, 200) });
    }
  });
}
