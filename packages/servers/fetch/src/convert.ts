import { isMainThread, parentPort, workerData } from "node:worker_threads";

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

/** URL of this module, which also runs as a worker: a page must not block the server. */
export const file: string = import.meta.url;

const marker = "portolan-fetch";
const maxElements = 50_000;
const maxLinks = 20;
/** Elements without text for a reader. */
const noise = "script,style,noscript,template,iframe,object,embed,svg,canvas,form,button,input,select,textarea,dialog";
const surroundings = "nav,header,footer,aside";

export interface WorkerInput extends Source {
  readonly marker: typeof marker;
}

/** Returns the input of a worker. */
export function toWorkerInput(source: Source): WorkerInput {
  return { ...source, marker };
}

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
  return {
    ...(heading !== "" && { title: heading }),
    markdown: turndown.turndown(content).trim(),
    text: toText(content),
    links: linksOf(content),
  };
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
    if (/^https?:/.test(url) && text !== "" && !links.has(url)) links.set(url, text.slice(0, 200));
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
  const width = Math.max(0, ...rows.map((row) => row.length));
  if (rows.length < 2 || width < 2 || table.querySelector("table")) return undefined;
  const lines = rows.map((row) => `| ${Array.from({ length: width }, (_, at) => row[at] ?? "").join(" | ")} |`);
  lines.splice(1, 0, `|${" --- |".repeat(width)}`);
  return `\n\n${lines.join("\n")}\n\n`;
}

function toCell(cell: Element): string {
  return (cell.textContent ?? "").replace(/\s+/g, " ").trim().replaceAll("|", "\\|");
}

if (!isMainThread && (workerData as Partial<WorkerInput> | null)?.marker === marker) {
  parentPort?.postMessage(await convert(workerData as WorkerInput));
}
