/** A minimal browser for sign-in pages: cookies, redirects and forms. */
export class Browser {
  readonly #cookies = new Map<string, string>();
  /** The pages it has shown, by status and text. */
  readonly pages: string[] = [];

  /** Opens a page and follows it, until it is sent to a URL that begins with `target`. */
  async signIn(page: URL, target: string, fields: { readonly [name: string]: string }): Promise<URL> {
    let next: { url: URL; form?: URLSearchParams } = { url: page };
    for (let steps = 0; steps < 20; steps += 1) {
      if (next.url.href.startsWith(target)) return next.url;
      const response = await this.#fetch(next.url, next.form);
      const location = response.headers.get("location");
      if (location !== null) {
        next = { url: new URL(location, next.url) };
        continue;
      }
      const text = await response.text();
      this.pages.push(`${response.status} ${text}`);
      const form = /<form[^>]*action="([^"]*)"[^>]*>(.*?)<\/form>/s.exec(text);
      if (!form) throw new Error(`a page without a form: ${response.status} ${text.slice(0, 500)}`);
      const [, action = "", inside = ""] = form;
      const filled = new URLSearchParams();
      for (const [input] of inside.matchAll(/<input[^>]*>/g)) {
        const name = /name="([^"]*)"/.exec(input)?.[1] ?? "";
        filled.set(name, /value="([^"]*)"/.exec(input)?.[1] ?? fields[name] ?? "");
      }
      next = { url: new URL(action.replaceAll("&amp;", "&"), next.url), form: filled };
    }
    throw new Error("nobody gets anywhere in twenty steps");
  }

  async #fetch(url: URL, form: URLSearchParams | undefined): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, {
      redirect: "manual",
      headers: cookie === "" ? {} : { cookie },
      ...(form && { method: "POST", body: form }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return response;
  }
}
