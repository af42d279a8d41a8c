import type { Redirect, RedirectAttempt } from "portolan/auth/client";

type Doing = (page: URL, signal: AbortSignal) => Promise<URL>;

/** A person who signs in where the client sends them. A test can make them do something else. */
export class Person implements Redirect {
  readonly redirectUri: string;
  /** The pages they were sent to. */
  readonly visits: URL[] = [];
  /** Logins that were begun and not closed. */
  open = 0;
  does: Doing = comeBack;

  constructor(redirectUri = "http://127.0.0.1:3000/callback") {
    this.redirectUri = redirectUri;
  }

  async begin(): Promise<RedirectAttempt> {
    this.open += 1;
    return {
      redirectUri: this.redirectUri,
      visit: (page, signal) => {
        this.visits.push(page);
        return this.does(page, signal);
      },
      close: async () => {
        this.open -= 1;
      },
    };
  }
}

/** Follows the redirect of an authorization server without a sign-in page. */
export async function comeBack(page: URL): Promise<URL> {
  const response = await fetch(page, { redirect: "manual" });
  const location = response.headers.get("location");
  if (location === null) throw new Error(`the page answered ${response.status} and leads nowhere`);
  return new URL(location);
}

/** Comes back like `comeBack`, with a changed callback. */
export function comeBackWith(change: (answer: URLSearchParams, callback: URL) => void): Doing {
  return async (page) => {
    const callback = await comeBack(page);
    change(callback.searchParams, callback);
    return callback;
  };
}

/** Denies access. */
export const deny: Doing = comeBackWith((answer) => {
  answer.delete("code");
  answer.set("error", "access_denied");
});

/** Leaves the page open forever. */
export const stayAway: Doing = (_, signal) =>
  new Promise((_resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave, { once: true });
  });
