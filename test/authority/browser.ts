/** A page or redirect that a browser has reached. */
export interface Visited {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Calls `fetch`; an error names the URL that did not answer. */
export async function ask(url: string, init: RequestInit): Promise<Response> {
  const signal = AbortSignal.timeout(20_000);
  return fetch(url, { ...init, signal }).catch((cause) => {
    throw new Error(`no answer: ${init.method ?? "GET"} ${url}`, { cause });
  });
}

/** A minimal browser for sign-in pages: cookies by host and path, redirects, refreshes, forms. */
export class Browser {
  readonly cookies: { name: string; value: string; host: string; path: string; attributes: string }[] = [];
  /** Every URL on the way to the present page. */
  readonly trail: string[] = [];
  readonly #stopAt: (url: URL) => boolean;

  /** Stops before it would open a URL of a client. */
  constructor(stopAt: (url: URL) => boolean) {
    this.#stopAt = stopAt;
  }

  async open(url: string, init: RequestInit = {}): Promise<Visited> {
    let next: string | undefined = url;
    let sent = init;
    let visited: Visited | undefined;
    for (let hops = 0; next !== undefined && hops < 20; hops += 1) {
      this.trail.push(next);
      if (this.#stopAt(new URL(next))) return { url: next, status: 0, headers: new Headers(), text: "" };
      visited = await this.fetch(next, sent);
      const location: string | null = visited.headers.get("location");
      const refresh = /<meta http-equiv="refresh" content="0;url=([^"]*)">/.exec(visited.text)?.[1];
      const target: string | undefined = location ?? refresh?.replaceAll("&amp;", "&");
      next = target === undefined ? undefined : new URL(target, next).href;
      sent = {};
    }
    if (!visited) throw new Error("nothing was visited");
    return visited;
  }

  /** Sends one request with its cookies. */
  async fetch(url: string, init: RequestInit = {}): Promise<Visited> {
    const headers = new Headers(init.headers);
    const cookie = this.cookieFor(url);
    if (cookie !== "") headers.set("cookie", cookie);
    const response = await ask(url, { ...init, headers, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) this.#keep(line, new URL(url));
    return { url, status: response.status, headers: response.headers, text: await response.text() };
  }

  cookieFor(url: string): string {
    const { hostname, pathname } = new URL(url);
    const fitting = this.cookies.filter(({ host, path }) => host === hostname && pathname.startsWith(path));
    return fitting.map(({ name, value }) => `${name}=${value}`).join("; ");
  }

  /** Fills in the form of a page that has a button with this value, and submits it. */
  press(page: Visited, button: string, fields: { readonly [name: string]: string } = {}): Promise<Visited> {
    const form = formsIn(page).find(({ buttons }) => buttons.includes(button));
    if (!form) throw new Error(`no form with ${button} in ${page.status} ${page.text.slice(-900)}`);
    const body = new URLSearchParams({ ...form.hidden, ...fields, do: button });
    return this.open(new URL(form.action, page.url).href, { method: "POST", body });
  }

  #keep(line: string, { hostname }: URL): void {
    const [pair = "", ...attributes] = line.split(/;\s*/);
    const [name = "", value = ""] = pair.split(/=(.*)/s);
    const path = attributes.find((one) => /^path=/i.test(one))?.slice(5) ?? "/";
    const index = this.cookies.findIndex((one) => one.name === name && one.host === hostname && one.path === path);
    if (index >= 0) this.cookies.splice(index, 1);
    if (value === "" || /expires=Thu, 01 Jan 1970/i.test(line)) return;
    this.cookies.push({ name, value, host: hostname, path, attributes: attributes.join("; ") });
  }
}

interface Form {
  readonly action: string;
  readonly hidden: { readonly [name: string]: string };
  readonly buttons: readonly string[];
}

export function formsIn({ text }: Visited): Form[] {
  return [...text.matchAll(/<form[^>]*action="([^"]*)"[^>]*>(.*?)<\/form>/gs)].map(([, action = "", inside = ""]) => ({
    action,
    hidden: Object.fromEntries(
      [...inside.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(([, name, value]) => [
        name,
        value,
      ]),
    ),
    buttons: [...inside.matchAll(/<button[^>]*value="([^"]*)"/g)].map(([, value = ""]) => value),
  }));
}
