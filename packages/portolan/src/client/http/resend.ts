import { addressOf, HttpFailure, refused } from "./failure.ts";
import { maxRedirects } from "./limits.ts";
import type { Challenge, Head, HttpAuth, HttpHeaders, OutgoingRequest } from "./options.ts";

// Loaded late, because most servers neither redirect nor refuse.

/** Returns the target of a redirect. Throws an HttpFailure for another host, another method, or too many redirects. */
export function followRedirect(request: OutgoingRequest, head: Head, followed: number): URL {
  const { status } = head;
  const location = head.header("location");
  const target =
    location !== undefined && URL.canParse(location, request.url) ? new URL(location, request.url) : undefined;
  const isKept = status === 307 || status === 308 || (request.method === "GET" && status <= 302);
  if (target && isKept && isSameHost(request.url, target) && followed < maxRedirects) return target;
  throw new HttpFailure("http-status", request, whyNot(status, target, followed), { status });
}

/** Passes a 401 or 403 to `auth`. Throws unless `auth` wants another attempt. */
export async function answerChallenge(
  about: Pick<Challenge, "request" | "sent" | "operation" | "signal">,
  head: Head,
  body: string,
  auth: HttpAuth | undefined,
): Promise<void> {
  const challenge: Challenge = {
    ...about,
    status: head.status as 401 | 403,
    header: (name: string) => head.header(name.toLowerCase()),
    body,
  };
  if ((await auth?.challenged?.(challenge)) !== "retry") throw refused(about.request, head, hide(body, about.sent));
}

/** Some servers repeat the refused token in their answer. */
function hide(body: string, sent: HttpHeaders): string {
  const tokens = Object.values(sent).map((value) => value.replace(/^\S+ +/, ""));
  return tokens.reduce((text, token) => (token === "" ? text : text.replaceAll(token, "…")), body);
}

/** Credentials go to their own host only; http may become https. */
function isSameHost(from: URL, to: URL): boolean {
  if (to.username !== "" || to.password !== "") return false;
  if (to.origin === from.origin) return true;
  return (
    from.protocol === "http:" && to.protocol === "https:" && from.hostname === to.hostname && from.port === to.port
  );
}

function whyNot(status: number, target: URL | undefined, followed: number): string {
  if (!target) return `answered ${status} without a valid Location header`;
  const shown = addressOf(target);
  if (followed >= maxRedirects) return `was redirected more than ${maxRedirects} times, last to ${shown}`;
  return `answered ${status}, a redirect to ${shown} that is not followed; if that is the server, connect to it`;
}
