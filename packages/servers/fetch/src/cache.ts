import type { Settings } from "./options.ts";
import type { Page } from "./page.ts";

/** Pages of which somebody may want to see more. */
export interface PageCache {
  get(url: string): Page | undefined;
  set(url: string, page: Page): void;
}

/** Keeps a few pages for a while, those used last. */
export function createCache({ cachePages, cacheLength, cacheMs }: Settings, now: () => number = Date.now): PageCache {
  const pages = new Map<string, { readonly page: Page; readonly until: number }>();
  let length = 0;
  const remove = (url: string) => {
    length -= sizeOf(pages.get(url)?.page);
    pages.delete(url);
  };
  return {
    get(url) {
      const found = pages.get(url);
      if (!found) return undefined;
      if (found.until <= now()) {
        remove(url);
        return undefined;
      }
      pages.delete(url);
      pages.set(url, found);
      return found.page;
    },
    set(url, page) {
      remove(url);
      if (sizeOf(page) > cacheLength) return;
      pages.set(url, { page, until: now() + cacheMs });
      length += sizeOf(page);
      for (const oldest of pages.keys()) {
        if (pages.size <= cachePages && length <= cacheLength) break;
        remove(oldest);
      }
    },
  };
}

/** What is made of a page is hardly longer than itself, and may come later: it is counted from the start. */
function sizeOf(page: Page | undefined): number {
  if (!page) return 0;
  return page.source.length * (page.isHtml ? 3 : 1) + (page.image?.length ?? 0);
}
